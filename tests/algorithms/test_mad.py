"""MAD and MAD2R: equal to their oracle, a sensitivity of 1, and the bound on new items."""

import math
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from normals import computed_normals
from user_sets import copies_of, numbered, sets_of

from dpsu.algorithms import mad
from dpsu.algorithms.mad import AdaptiveRound
from dpsu.algorithms.mechanism import GaussianSelection
from dpsu.algorithms.request import Request
from dpsu.api.plan import Plan
from dpsu.engines.local import LocalEngine
from dpsu.errors import InvalidArgument, TooLarge
from dpsu.kernels.mad import divide_with_bias, require_one_budget
from dpsu.kernels.units import FINE_ONE, LIMIT
from dpsu.randomness.stream import Purpose, Stream

ITEMS = 8
UNIT = 1 / FINE_ONE
NO_SELECTION = GaussianSelection(1.0, 1.0)

some_sets = st.lists(st.sets(st.integers(0, ITEMS - 1), min_size=1), min_size=1, max_size=30).map(numbered)
some_biases = st.lists(
    st.floats(0.0, 1.0) | st.just(1.0) | st.sampled_from([0.5, 0.25, 1e-300]), min_size=ITEMS, max_size=ITEMS
)


def calibrate(number, epsilon, delta, max_items, calibration="exact", **options):
    return mad.ALGORITHMS[number](**options).calibrate(Request(epsilon, delta, max_items, calibration))


def totals_of(adaptive, sets, bias=None):
    """The exact totals of a round, in budgets."""
    engine = LocalEngine()
    items = {**engine.items(sets), **({} if bias is None else {"bias": np.asarray(bias, np.float64)})}
    rows = engine.bound(sets, adaptive.max_items, Stream(bytes(32)))
    return adaptive.totals(engine, rows, items)["total"] * UNIT


@settings(deadline=None, max_examples=150)
@given(some_sets, st.floats(1.0, 3.0), st.integers(1, ITEMS))
def test_totals_are_the_oracles(rows, cutoff, d_max):
    found = totals_of(AdaptiveRound(NO_SELECTION, cutoff, ITEMS, d_max), sets_of(rows))
    expected = reference.mad(rows, cutoff, d_max)
    assert {item: found[item] for item in expected} == pytest.approx(expected, abs=1e-9)


@settings(deadline=None, max_examples=150)
@given(some_sets, some_biases, st.floats(1.0, 3.0), st.integers(4, ITEMS), st.sampled_from([1.0, 1.3, 2.0]))
def test_totals_with_bias_are_the_oracles(rows, bias, cutoff, d_max, b_max):
    sets = sets_of(rows)
    adaptive = AdaptiveRound(NO_SELECTION, cutoff, ITEMS, d_max, 0.5, b_max)
    found = totals_of(adaptive, sets, bias[: len(sets.item_digests)])
    expected = reference.mad(rows, cutoff, d_max, bias, 0.5, b_max)
    assert {item: found[item] for item in expected} == pytest.approx(expected, abs=1e-7)


@settings(deadline=None, max_examples=500)
@given(
    st.lists(st.floats(0.0, 1.0) | st.just(1.0), min_size=1, max_size=300),
    st.floats(0.01, 1),
    st.floats(1, 20),
)
def test_weights_with_bias_stay_within_one_budget_and_their_limits(bias, b_min, b_max):
    size = len(bias)
    _, least, even, most = AdaptiveRound(NO_SELECTION, 1.0, size, size, b_min, b_max).bias_table[:, size]
    weights = np.array(bias)
    divide_with_bias(weights, least, even, most)
    require_one_budget(weights)
    assert weights.min() >= b_min / math.sqrt(size) * (1 - 1e-12)
    assert weights.max() <= b_max / math.sqrt(size)


def test_more_than_one_budget_is_stopped():
    with pytest.raises(ArithmeticError):
        require_one_budget(np.array([0.6, 0.8, 1e-5]))


def test_totals_stop_at_the_limit():
    """2^14 budgets are out of reach of every threshold; beyond them sums of many parts could leave 64 bits."""
    rows = [[0]] * (LIMIT // FINE_ONE + 100)
    found = totals_of(AdaptiveRound(NO_SELECTION, 5.0, 1, 1), sets_of(rows))
    assert found[0] <= 5 + 2 * LIMIT * UNIT
    with pytest.raises(InvalidArgument, match="too small"):
        calibrate(0, 0.0005, 1e-10, 10)


# Sensitivity: thousands of databases at once, each with items of its own; a random user of each is the extra one.


@dataclass(frozen=True)
class Greedy(AdaptiveRound):
    """Reroutes everything that is sent back, to as few as have sent it: what alpha and d_max are there to prevent."""

    alpha = 6.0


def random_databases(rng, count, d_max):
    """Users of few patterns, so that items overflow and others send back together; the last user is the extra one."""
    databases = []
    for _ in range(count):
        patterns = [
            sorted(rng.choice(ITEMS, rng.integers(1, d_max + 1), replace=False))
            for _ in range(rng.integers(1, 4))
        ]
        users = [patterns[k] for k in rng.integers(0, len(patterns), rng.integers(2, 14))]
        extra = sorted(rng.choice(ITEMS, rng.integers(1, ITEMS + 1), replace=False))
        databases.append([*users, extra])
    return databases


def distances(adaptive, databases, biases=None):
    """How far the totals of every database move in ℓ2 when its last user joins."""

    def totals(chosen):
        rows = [[item + ITEMS * k for item in own] for k, users in enumerate(chosen) for own in users]
        # One user holds everything, in a set too large to reroute, so that all items exist on both sides.
        sets = sets_of([*rows, list(range(ITEMS * len(chosen)))])
        return totals_of(replace_max(adaptive, ITEMS * len(chosen)), sets, biases)

    with_extra, without = totals(databases), totals([users[:-1] for users in databases])
    return np.sqrt(((with_extra - without) ** 2).reshape(len(databases), ITEMS).sum(axis=1))


def replace_max(adaptive, max_items):
    return type(adaptive)(
        NO_SELECTION, adaptive.cutoff, max_items, adaptive.d_max, adaptive.b_min, adaptive.b_max
    )


CASES = [(cutoff, d_max) for cutoff in (1.0, 1.2, 2.0) for d_max in (1, 2, 4, 8)]


@pytest.mark.parametrize(("cutoff", "d_max"), CASES)
def test_sensitivity_without_bias(cutoff, d_max):
    databases = random_databases(np.random.default_rng(d_max), 400, d_max)
    worst = distances(AdaptiveRound(NO_SELECTION, cutoff, ITEMS, d_max), databases).max()
    assert 0.999 < worst <= 1 + mad.rounding_slack(d_max)


@pytest.mark.parametrize(("cutoff", "d_max"), [case for case in CASES if case[1] >= 4])
@pytest.mark.parametrize("b_max", [1.0, 2.0])
def test_sensitivity_with_bias(cutoff, d_max, b_max):
    rng = np.random.default_rng(d_max)
    databases = random_databases(rng, 400, d_max)
    biases = np.where(rng.random(ITEMS * 400) < 0.5, rng.random(ITEMS * 400), 1.0)
    adaptive = AdaptiveRound(NO_SELECTION, cutoff, ITEMS, d_max, 0.5, b_max)
    assert distances(adaptive, databases, biases).max() <= 1 + mad.rounding_slack(d_max)


def test_the_search_finds_rerouting_that_goes_too_far():
    databases = random_databases(np.random.default_rng(2), 400, 2)
    assert distances(Greedy(NO_SELECTION, 1.0, ITEMS, 2), databases).max() > 1.02


@pytest.mark.parametrize(("b_min", "b_max"), [(1.0, 1.0), (0.5, 2.0)])
def test_new_items_get_no_more_than_the_threshold_allows(b_min, b_max):
    """A user with t new items and others that everybody holds: rerouting helps the new ones, but never beyond h(t)."""
    rng = np.random.default_rng(1)
    for shared in range(1, ITEMS):
        for new in range(1, ITEMS - shared + 1):
            extra = list(range(shared + new))
            sets = sets_of([*[list(range(shared))] * 200, extra])
            adaptive = AdaptiveRound(NO_SELECTION, 1.0, ITEMS, ITEMS, b_min, b_max)
            bias = np.where(rng.random(len(extra)) < 0.5, 0.1, 1.0)
            total = totals_of(adaptive, sets, bias)[shared:]
            assert (total <= min(1, b_max / math.sqrt(new)) + 1e-12).all()
            # Without bias the exact calibration also needs them to get their even share at least.
            assert b_min < 1 or (total >= len(extra) ** -0.5 - UNIT).all()


# The mechanisms.


def normals_of(stream, sets, r):
    words = stream.words(Purpose.NOISE, r, sets.item_digests)
    return dict(enumerate(computed_normals(words)[0]))


@settings(deadline=None, max_examples=60)
@given(some_sets, st.binary(min_size=32, max_size=32))
def test_a_selection_of_mad_is_the_oracles(rows, key):
    mechanism = calibrate(0, 1.0, 0.3, ITEMS, d_max=3, beta=0.0)
    sets, stream = sets_of(rows), Stream(key)
    released = mechanism.select(LocalEngine(), sets, stream)["released"]
    adaptive, noise = mechanism.adaptive, normals_of(stream, sets, 0)
    expected = {
        item
        for item, total in reference.mad(rows, adaptive.cutoff, 3).items()
        if total + adaptive.selection.sigma * noise[item] > adaptive.selection.threshold
    }
    assert set(np.flatnonzero(released).tolist()) == expected


def constants(adaptive):
    selection = adaptive.selection
    return SimpleNamespace(
        sigma=selection.sigma,
        threshold=selection.threshold,
        cutoff=adaptive.cutoff,
        d_max=adaptive.d_max,
        b_min=adaptive.b_min,
        b_max=adaptive.b_max,
    )


@settings(deadline=None, max_examples=60)
@given(some_sets, st.binary(min_size=32, max_size=32), st.sampled_from([(0.5, 0.5), (0.1, 0.9)]))
def test_a_selection_of_mad2r_is_the_oracles(rows, key, shares):
    mechanism = calibrate(1, 3.0, 0.3, ITEMS, d_max=5, beta=0.0, c_lb=0.5, c_ub=1.0, shares=shares)
    sets, stream = sets_of(rows), Stream(key)
    released = mechanism.select(LocalEngine(), sets, stream)["released"]
    first, second = constants(mechanism.first), constants(mechanism.second)
    noise = [
        {item: adaptive.sigma * z for item, z in normals_of(stream, sets, r).items()}
        for r, adaptive in enumerate((first, second))
    ]
    expected = reference.mad2r(rows, first, second, noise, mechanism.c_lb, mechanism.c_ub)
    assert set(np.flatnonzero(released).tolist()) == expected


@pytest.mark.parametrize("calibration", ["exact", "paper"])
def test_both_rounds_together_keep_epsilon_and_delta(calibration):
    epsilon, delta = 1.0, 1e-5
    mechanism = calibrate(1, epsilon, delta, 100, calibration)
    slack = 1 + mad.rounding_slack(50)
    sigmas = [adaptive.selection.sigma / slack for adaptive in (mechanism.first, mechanism.second)]
    sigma = 1 / math.hypot(*(1 / each for each in sigmas))
    part = 0.6 if calibration == "exact" else 0.5
    assert 0.999 * part * delta < reference.delta_gaussian(epsilon, sigma) <= part * delta * (1 + 1e-9)
    assert mechanism.budget().delta(epsilon) <= delta * (1 + 1e-12)


def test_the_first_round_is_as_published_for_the_second():
    mechanism = calibrate(1, 1.0, 1e-5, 100)
    sigma, threshold = mechanism.first.selection.sigma, mechanism.second.selection.threshold
    noisy = np.array([-10.0, 0.0, threshold, threshold + sigma, 2 * threshold + sigma])
    assert mechanism.bias(noisy) == pytest.approx([1, 1, 1, 1, 0.5])
    assert mechanism.hopeless(np.array([threshold - 3.01 * sigma, threshold - 2.99 * sigma])).tolist() == [
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("number", "users", "size"), [(0, 8, 1), (0, 20, 3), (0, 16, 4), (1, 8, 1), (1, 20, 4)]
)
def test_the_plan_tells_the_chance(number, users, size):
    mechanism = calibrate(number, 3.0, 1e-3, 8, d_max=3)
    table = mechanism.select(LocalEngine(), copies_of([list(range(size))] * users, 4000), Stream(bytes(32)))
    assert Plan("mad", mechanism).chance(users, size) == pytest.approx(table["released"].mean(), abs=0.02)


def test_more_users_than_the_rounding_pays_for_are_refused(monkeypatch):
    monkeypatch.setattr(mad, "MAX_USERS", 3)
    with pytest.raises(TooLarge, match="more than 3 users"):
        calibrate(0, 1.0, 1e-5, 2).select(LocalEngine(), sets_of([[0]] * 4), Stream(bytes(32)))


@pytest.mark.parametrize(
    "options",
    [
        {"d_max": 0},
        {"d_max": 2.5},
        {"beta": -1},
        {"b_min": 0},
        {"b_min": 1.1},
        {"b_max": 0.9},
        {"c_ub": math.nan},
        {"shares": (1.0,)},
    ],
)
def test_options_that_make_no_sense_are_refused(options):
    with pytest.raises(InvalidArgument, match=next(iter(options))):
        calibrate(1, 1.0, 1e-5, 10, **options)
