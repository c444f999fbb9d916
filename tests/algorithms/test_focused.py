"""Focused Gaussian: equal to its oracle, within its budget, with a boundary that holds to the last digit."""

import math
from functools import lru_cache

import mpmath
import numpy as np
import pytest
import reference
from hypothesis import example, given, settings
from hypothesis import strategies as st
from normals import computed_normals
from user_sets import numbered, sets_of

from dpsu.algorithms import focused
from dpsu.algorithms.focused import FocusedGaussian, bell
from dpsu.algorithms.request import Request
from dpsu.api.plan import Plan
from dpsu.engines.local import LocalEngine
from dpsu.errors import InvalidArgument
from dpsu.kernels.units import ONE
from dpsu.kernels.weights import weigh_proportionally
from dpsu.privacy import crossing, gaussian
from dpsu.randomness.stream import Purpose, Stream

DEFAULT = FocusedGaussian()
PAPER = (3.0, math.exp(-10), 100)
REQUESTS = [PAPER, (1.0, 1e-5, 100), (1.0, 1e-6, 300), (0.1, 1e-9, 1), (10.0, 0.2, 7)]
CONSTANTS = [
    FocusedGaussian(),
    FocusedGaussian(cap=0.45),
    FocusedGaussian(rounds=1),
    FocusedGaussian(rounds=5, growth=0.7, warmup=2.0, split=0.3),
]


@lru_cache
def calibrate(epsilon, delta, max_items, focus=DEFAULT):
    return focus.calibrate(Request(epsilon, delta, max_items))


some_sets = st.lists(st.sets(st.integers(0, 5), min_size=1), min_size=1, max_size=25).map(numbered)


@settings(deadline=None, max_examples=25)
@given(some_sets, st.binary(min_size=32, max_size=32), st.sampled_from([1.0, 0.5, 0.0]))
def test_a_selection_is_the_oracles(rows, key, cap):
    mechanism = calibrate(1.0, 0.1, 6, FocusedGaussian(cap=cap))
    sets, stream = sets_of(rows), Stream(key)
    table = mechanism.select(LocalEngine(), sets, stream)
    words = [stream.words(Purpose.NOISE, r, sets.item_digests) for r in range(mechanism.focus.rounds)]
    normals = [dict(enumerate(computed_normals(row)[0])) for row in words]
    totals, released = reference.focused(rows, normals, mechanism.boundary, mechanism.focus)
    assert set(np.flatnonzero(table["released"]).tolist()) == released
    # A weight may differ by its last unit, and so a total by a cell now and then.
    assert all(abs(table["noisy"][item] - total) <= 1 for item, total in totals.items())


def test_even_rounds_give_what_equal_priorities_would():
    caps = calibrate(*PAPER).boundary.caps
    sizes = np.arange(1, len(caps))
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    items = np.repeat(np.arange(len(sizes), dtype=np.uint32), sizes)  # user u gives u + 1 times to item u
    totals = np.zeros(len(sizes), np.int64)
    assert not weigh_proportionally(
        indptr, items, np.full(len(sizes), 0.3), caps, totals, np.empty(len(caps))
    )
    assert (totals == sizes * focused.even_weights(caps)[1:]).all()


priorities = st.lists(
    st.one_of(
        st.floats(0, 1),
        st.floats(0, 1e-300),
        st.sampled_from([0.0, 5e-324, 1e-308, 1e-162, 1e-154, 0.5, 1.0]),
    ),
    min_size=1,
    max_size=40,
)


@settings(deadline=None, max_examples=500)
@given(priorities, st.floats(0, 1))
@example([5e-324] * 300, 1.0)
@example([1e-162] * 300, 1.0)
@example([1.0] * 300, 0.0)
@example([0.0] * 300, 1.0)
@example([1.0, *[1e-160] * 299], 0.3)
@example([1.0, *[1.5e-162] * 297, 3e-162, 3e-162], 0.0)
def test_a_user_never_spends_more_than_one_budget(priority, cap):
    """Whatever the totals say: priorities that vanish when squared, that are all alike, or all zero."""
    size = len(priority)
    caps = np.maximum(cap, 1 / np.sqrt([1, *range(1, size + 1)]))
    given_ = np.zeros(size, np.int64)
    rows = np.array([0, size]), np.arange(size, dtype=np.uint32)
    assert not weigh_proportionally(*rows, np.array(priority), caps, given_, np.empty(size))
    weights = given_.tolist()
    assert all(weight >= 0 for weight in weights)
    assert sum(weight**2 for weight in weights) <= ONE**2
    assert max(weights) <= caps[size] * ONE
    if max(priority) == 0:
        assert max(weights) == 0
    elif cap == 1:
        assert sum(weight**2 for weight in weights) > 0.999 * ONE**2


@pytest.mark.parametrize("request_", REQUESTS)
@pytest.mark.parametrize("focus", CONSTANTS)
def test_all_rounds_together_are_one_gaussian_sum(request_, focus):
    """Shares and squares sum to one budget at most, in exact arithmetic; so do the parts of delta."""
    epsilon, delta, _ = request_
    mechanism = calibrate(*request_, focus)
    boundary = mechanism.boundary
    with mpmath.workdps(50):
        spent = mpmath.fsum(
            (mpmath.mpf(share) / mpmath.mpf(scale)) ** 2
            for share, scale in zip(boundary.shares, boundary.scales, strict=True)
        )
        assert spent <= mpmath.mpf(boundary.sigma) ** -2
        assert spent <= mpmath.mpf(mechanism.budget().mu) ** 2
        assert spent > (1 - mpmath.mpf(1e-10)) * mpmath.mpf(boundary.sigma) ** -2
    assert mechanism.budget().delta(epsilon) <= delta
    assert mechanism.budget().delta(epsilon) > delta * (1 - 1e-9)


@pytest.mark.parametrize("request_", REQUESTS)
@pytest.mark.parametrize("focus", CONSTANTS)
def test_the_boundary_is_that_of_the_proof(request_, focus):
    """At 40 digits: each round's noise alone exceeds the boundary, less what a user can give, with its part of p_t."""
    _, _, max_items = request_
    mechanism = calibrate(*request_, focus)
    boundary = mechanism.boundary
    caps = boundary.caps
    assert (np.diff(caps[1:]) <= 0).all()
    assert (caps[1:] >= 1 / np.sqrt(np.arange(1, max_items + 1))).all()
    assert caps.max() <= 1
    deal = np.array(boundary.shares) ** focus.delta_growth
    deal /= deal.sum()
    tails = [float(gaussian.per_item_tail(mechanism.delta_new, t)) for t in (max_items, 1)]
    deal *= crossing.excess(deal, np.array(boundary.shares), *tails)
    tightest = np.full(len(deal), np.inf)
    with mpmath.workdps(40):
        for t in {1, 2, 3, max_items // 2, max_items} & set(range(1, max_items + 1)):
            p_t = -mpmath.expm1(mpmath.log1p(-mpmath.mpf(mechanism.delta_new)) / t)
            given_, variance, spent_before = mpmath.mpf(0), mpmath.mpf(0), 0.0
            for r, share in enumerate(boundary.shares):
                even = r == 0 or spent_before < focus.warmup
                given_ += share * (1 / mpmath.sqrt(t) if even else mpmath.mpf(caps[t]))
                variance += mpmath.mpf(boundary.scales[r]) ** 2
                spent_before = boundary.spent[r]
                crossed = mpmath.ncdf(-(mpmath.mpf(boundary.thresholds[r]) - given_) / mpmath.sqrt(variance))
                assert crossed <= p_t * deal[r]
                tightest[r] = min(tightest[r], float(1 - crossed / (p_t * deal[r])))
    assert tightest[-1] < 1e-8


@pytest.mark.parametrize("tail", [0.0, 0.3, 1.0])
def test_the_focus_is_a_bell_that_leans_to_the_right(tail):
    x = np.linspace(-6, 6, 241)
    expected = np.exp(-0.5 * np.where(x <= 0, x, tail * x) ** 2)

    def bells(totals, centre, width):
        return bell(totals, centre, width, tail)

    found = bells(2 + 0.5 * x, 2.0, 0.5)
    assert np.abs(found - expected).max() < 1e-4
    assert bells(np.array([-1e9, 1e9]), 0.0, 1.0).tolist() == [0, 1 if tail == 0 else 0]
    # Of its own total alone: wherever it stands in an array, and whatever stands beside it.
    assert all(bells(2 + 0.5 * x[i:], 2.0, 0.5)[0] == found[i] for i in range(len(x)))


@pytest.mark.parametrize(
    "wrong",
    [
        {"rounds": 0},
        {"rounds": 2.5},
        {"split": 1.0},
        {"growth": 0.0},
        {"width": math.nan},
        {"cap": 1.5},
        {"warmup": -1.0},
        {"growth": 1e300},
        {"delta_growth": 1e6},
    ],
)
def test_constants_that_make_no_sense_are_refused(wrong):
    with pytest.raises(InvalidArgument):
        FocusedGaussian(**wrong)


@pytest.mark.parametrize(
    "constants",
    [{"growth": 100.0}, {"rounds": 90, "growth": 3.0}, {"rounds": 40, "growth": 100.0, "delta_growth": 0.0}],
)
def test_rounds_without_any_chance_are_refused(constants):
    with pytest.raises(InvalidArgument, match="fewer rounds"):
        calibrate(1.0, 1e-6, 300, FocusedGaussian(**constants))


def test_a_plan_knows_the_boundary_and_the_chances():
    mechanism = calibrate(*PAPER)
    plan = Plan("focused-gaussian", mechanism)
    assert plan.parameters["thresholds"] == list(mechanism.boundary.thresholds)
    chances = plan.chance([1, 4, 7, 10, 20])
    assert (np.diff(chances) >= 0).all()
    assert chances[0] < 0.001
    assert chances[-1] == 1.0


@pytest.mark.parametrize(("holders", "set_size"), [(7, 1), (9, 5), (25, 30)])
def test_the_chance_of_a_plan_is_the_share_that_a_release_keeps(holders, set_size):
    """Groups of users who share all their items, through the product itself."""
    mechanism = calibrate(*PAPER)
    groups = 20_000 // set_size
    rows = [[g * set_size + k for k in range(set_size)] for g in range(groups) for _ in range(holders)]
    table = mechanism.select(LocalEngine(), sets_of(rows), Stream(bytes(range(32))))
    expected = mechanism.chance(np.array([holders]), set_size)[0]
    assert 0.05 < expected < 0.95
    assert abs(table["released"].mean() - expected) < 0.025
