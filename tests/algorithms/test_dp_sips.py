"""DP-SIPS: equal to its oracle, within its budget, in rounds that see nothing of what is released."""

import math

import mpmath
import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from normals import computed_normals
from user_sets import copies_of, numbered, sets_of

from dpsu.algorithms import dp_sips
from dpsu.algorithms.request import Request
from dpsu.api.plan import Plan
from dpsu.engines.local import LocalEngine
from dpsu.errors import InvalidArgument
from dpsu.randomness.stream import Purpose, Stream

some_sets = st.lists(st.sets(st.integers(0, 5), min_size=1), min_size=1, max_size=25).map(numbered)


def calibrate(epsilon, delta, max_items, calibration="exact", **options):
    return dp_sips.DpSips(**options).calibrate(Request(epsilon, delta, max_items, calibration))


@settings(deadline=None, max_examples=60)
@given(some_sets, st.binary(min_size=32, max_size=32), st.integers(1, 6))
def test_a_selection_is_the_oracles(rows, key, max_items):
    mechanism = calibrate(1.0, 0.2, max_items)
    sets, stream = sets_of(rows), Stream(key)
    table = mechanism.select(LocalEngine(), sets, stream)

    def draw(r, left):
        priorities = [
            stream.words(Purpose.BOUND, r, user ^ sets.item_digests).tolist() for user in sets.user_digests
        ]
        return reference.bound(left, priorities, max_items)

    noise = []
    for r, selection in enumerate(mechanism.rounds):
        words = stream.words(Purpose.NOISE, r, sets.item_digests)
        noise.append(dict(enumerate(selection.sigma * computed_normals(words)[0])))
    thresholds = [selection.threshold for selection in mechanism.rounds]
    expected = reference.dp_sips(rows, thresholds, draw, noise)
    assert set(np.flatnonzero(table["released"]).tolist()) == expected


@pytest.mark.parametrize("calibration", ["exact", "paper"])
@pytest.mark.parametrize("request_", [(3.0, math.exp(-10), 100), (1.0, 1e-5, 300), (0.1, 1e-12, 7)])
@pytest.mark.parametrize("shares", [(0.05, 0.15, 0.8), (1.0,), (0.25, 0.25, 0.25, 0.25)])
def test_the_rounds_together_keep_epsilon_and_delta(calibration, request_, shares):
    """In high precision: the noise of all rounds as one Gaussian, and every round's chance of new items."""
    epsilon, delta, max_items = request_
    mechanism = calibrate(epsilon, delta, max_items, calibration, shares=shares)
    with mpmath.workdps(40):
        sigma = 1 / mpmath.sqrt(sum(1 / mpmath.mpf(each.sigma) ** 2 for each in mechanism.rounds))
        new = mpmath.mpf(0)
        for each in mechanism.rounds:
            tails = [
                1 - mpmath.ncdf((each.threshold - 1 / mpmath.sqrt(t)) / each.sigma) ** t
                for t in range(1, max_items + 1)
            ]
            new += max(tails)
        spent = mpmath.mpf(reference.delta_gaussian(epsilon, float(sigma))) + new
        assert 0.99 * delta < spent <= delta
    assert mechanism.budget().delta(epsilon) <= delta * (1 + 1e-12)


def test_what_a_round_releases_is_off_the_list_of_the_next():
    """With both items open neither gets enough; once the popular one is out, the other has all of the last budget."""
    mechanism = calibrate(3.0, 1e-5, 2)
    rows = [[0, 1]] * 13 + [[0]] * 500
    table = mechanism.select(LocalEngine(), sets_of(rows), Stream(bytes(32)))
    assert table["released"].tolist() == [True, True]
    in_one_round = calibrate(3.0, 1e-5, 2, shares=(1.0,))
    assert in_one_round.rounds[0].threshold + 2 * in_one_round.rounds[0].sigma > 13 / math.sqrt(2)


@pytest.mark.parametrize(("users", "size"), [(8, 1), (14, 3), (16, 4)])
def test_the_plan_tells_the_chance(users, size):
    """The others of a set thin out at their mean in a plan; in truth their number varies a little."""
    mechanism = calibrate(3.0, 1e-3, 3)
    times = 4000
    table = mechanism.select(LocalEngine(), copies_of([list(range(size))] * users, times), Stream(bytes(32)))
    assert Plan("dp-sips", mechanism).chance(users, size) == pytest.approx(table["released"].mean(), abs=0.04)


@pytest.mark.parametrize("shares", [(), (0.5, 0.6), (1.0, 0.0), (1.5, -0.5), "1", 1.0, [1 / 101] * 101])
def test_shares_must_be_a_division_of_the_budget(shares):
    with pytest.raises(InvalidArgument, match="shares"):
        calibrate(1.0, 1e-5, 10, shares=shares)
