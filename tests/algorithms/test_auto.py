"""Auto: its twin, the sum over both branches, what one user moves in the private steps, the rule, hints and edges."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from user_sets import numbered, sets_of

import dpsu
from dpsu.algorithms import auto_rule as rule
from dpsu.algorithms.auto import (
    DELTA_L1,
    DELTA_NEW,
    DELTA_POPULAR,
    EPSILON_DEMAND,
    EPSILON_POPULAR,
    EPSILON_SIZES,
    MOST_EPSILON,
    ROUND,
    units_given,
)
from dpsu.algorithms.request import Request
from dpsu.engines.local import LocalEngine, tallied
from dpsu.errors import InvalidArgument
from dpsu.kernels.units import ONE
from dpsu.privacy.branches import composed_delta
from dpsu.randomness.noise import keep
from dpsu.randomness.stream import Stream
from dpsu.testing import seeded
from dpsu.verification.choice import Seen, choices, widths

STREAM = Stream(bytes(range(32)))

some_sets = st.lists(st.sets(st.integers(0, 5), min_size=1).map(sorted), min_size=1, max_size=12).map(
    numbered
)


def mechanism_for(epsilon=3.0, delta=1e-2, max_items="auto", **options):
    return dpsu.Auto(**options).calibrate(Request.asked(epsilon, delta, max_items))


# The twin: the steps with dictionaries, then the chosen branch as a release of its own.


def twin(mechanism, rows, sets, copies):
    """Which items come out, and what the steps see: `copies` users hold every row."""
    totals = dict.fromkeys(range(sets.n_items), 0)
    for own in rows:
        for item in own:
            totals[item] += copies * (ONE // len(own))
    units = np.array([totals[item] for item in range(sets.n_items)])
    curve = mechanism.sizing.curve
    popular = keep(units, sets.item_digests, stream=STREAM, curve=curve, unit=1 / ONE, round=ROUND)
    left = [[item for item in own if not popular[item]] for own in rows for _ in range(copies)]
    sizes = [
        sum(first <= len(own) < after for own in left)
        for first, after in itertools.pairwise((*rule.BINS, math.inf))
    ]
    scales = mechanism.sizing.scales
    width = rule.width_of(sizes, scales)
    return popular, left, rule.Seen(sizes, filled(left, width, mechanism.sizing.filled), width, scales)


def filled(left, width, most):
    """Whole budgets that fill items, each user with one budget, divided by max(size, width)."""
    given = {}
    for own in left:
        for item in own:
            given[item] = given.get(item, 0) + ONE // max(len(own), width)
    return sum(min(units, math.floor(most / width * ONE)) for units in given.values()) // ONE


@pytest.mark.parametrize("threads", [1, 3])
@settings(deadline=None, max_examples=25)
@given(rows=some_sets, copies=st.sampled_from([1, 40, 400]), seed=st.integers(0, 50))
def test_the_steps_are_the_oracles(threads, rows, copies, seed):
    users = [own for own in rows for _ in range(copies)]
    sets, mechanism = sets_of(users, seed), mechanism_for(epsilon=50.0)
    popular, left, seen = twin(mechanism, rows, sets, copies)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dpsu.engines.local.FEWEST_PAIRS", 2)
        patch.setattr("dpsu.algorithms.auto.noisy_sizes", lambda users, epsilon, stream: users)
        patch.setattr("dpsu.algorithms.auto.geometric", lambda stream, epsilon, place: 0)
        with LocalEngine(threads) as engine:
            items, told = mechanism.selected(engine, sets, STREAM)
            branch = mechanism.branches[mechanism.choice(seen)]
            closed = engine.leave_out(sets, sets.item_digests[popular])
            alone = branch.select(engine, closed, STREAM)["released"]
    assert told["popular"]["items"] == popular.sum()
    assert told["sizes"]["users"] == seen.users
    assert (told["demand"]["width"], told["demand"]["budgets"]) == (seen.width, seen.budgets)
    assert sum(seen.users) == sum(map(bool, left))
    assert items["released"].tolist() == (alone | popular).tolist()


# What one user moves in the private steps: one unit of ℓ1 in the totals, one bin of the histogram by one, the budgets of
# the demand by at most one.


@settings(deadline=None, max_examples=200)
@given(rows=some_sets, own=st.sets(st.integers(0, 5), min_size=1), popular=st.sets(st.integers(0, 5)))
def test_one_user_moves_one_bin_by_one(rows, own, popular):
    left = [[item for item in each if item not in popular] for each in (*rows, sorted(own))]
    without, with_user = (
        tallied(sets_of([each for each in users if each] or [[0]]), rule.BINS) for users in (left[:-1], left)
    )
    if any(left[:-1]):
        assert np.abs(with_user - without).sum() == min(1, len(left[-1]))


@settings(deadline=None, max_examples=200)
@given(
    rows=some_sets,
    own=st.sets(st.integers(0, 5), min_size=1),
    width=st.sampled_from([1, 2, 3, 8]),
    most=st.floats(0.01, 8),
)
def test_one_user_adds_at_most_one_budget_to_the_demand(rows, own, width, most):
    with LocalEngine(1) as engine:
        without, with_user = (
            units_given(engine, sets_of(users), STREAM, width, most) for users in (rows, [*rows, sorted(own)])
        )
    assert 0 <= with_user - without <= ONE
    assert without // ONE == filled(rows, width, most)


# The sum over both branches.

EDGES = [1e-3, 0.1, 1.0, 10.0, 100.0]


@pytest.mark.parametrize("epsilon", EDGES)
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.1])
def test_the_steps_and_the_worse_branch_keep_the_promise(epsilon, delta):
    sizing = mechanism_for(epsilon, delta).sizing
    shares = (DELTA_POPULAR, DELTA_L1, DELTA_NEW)
    assert all(0 < share < 1 for share in shares)
    steps = (sizing.epsilon_popular, sizing.epsilon_sizes, sizing.epsilon_demand)
    shares = (EPSILON_POPULAR, EPSILON_SIZES, EPSILON_DEMAND)
    assert steps == tuple(share * min(epsilon, MOST_EPSILON) for share in shares)
    spent = (sizing.focused.delta_new, sizing.delta_l1, steps, sizing.delta_popular)
    assert composed_delta(epsilon, sizing.focused.mu, *spent) <= delta
    assert composed_delta(epsilon, 1.01 * sizing.focused.mu, *spent) > delta
    assert sizing.epsilon_l1 + sum(steps) <= epsilon


@pytest.mark.parametrize("epsilon", [1e-6, 1e-5, 1e4])
@pytest.mark.parametrize("delta", [1e-15, 0.9])
def test_extreme_privacy_is_refused_or_verified(epsilon, delta):
    from statements import statement_of

    try:
        made = statement_of("auto", epsilon, delta, 300)
    except InvalidArgument:
        return
    found = dpsu.verify(made)
    assert found.ok, str(found)


# The rule: the verifier's own copy agrees, and few users mean Focused Gaussian.


@settings(max_examples=500)
@given(
    users=st.lists(st.integers(-2000, 10**6), min_size=11, max_size=11),
    budgets=st.integers(-1000, 10**7),
    scales=st.sampled_from([(1.0, 2.0), (100.0, 100.0), (2000.0, 3000.0)]),
    middle=st.sampled_from([1.0, 2.2, 2.48, 15.0, 300.0]),
    parts=st.sampled_from([1, 8]),
    counted=st.booleans(),
)
def test_the_verifier_knows_the_rule(users, budgets, scales, middle, parts, counted):
    width = rule.width_of(users, scales)
    assert width in widths(users, scales)
    seen = (users, budgets, width, scales)
    possible = choices(Seen(*seen), middle, parts, counted)
    assert rule.choose(rule.Seen(*seen), middle, parts, counted) in possible
    assert len(possible) <= 5


def seen_of(bin_of_all, demand=5.0, scale=10.0, users=10**5):
    """As if all users were in one bin and had this demand."""
    sizes, scales = [users * (place == bin_of_all) for place in range(len(rule.BINS))], (scale, scale)
    width = rule.width_of(sizes, scales)
    return rule.Seen(sizes, round(demand * users / width), width, scales)


def test_few_users_mean_focused_gaussian():
    few = rule.Seen([50] * 11, 100, 1, (100.0, 100.0))
    assert rule.choose(few, 15.0, 1) == rule.Branch(rule.FOCUSED, rule.UNKNOWN)


def test_small_sets_mean_the_l1_family():
    assert rule.choose(seen_of(0), 15.0, 1)[0] == rule.ORDERED
    assert rule.choose(seen_of(0), 2.3, 1)[0] == rule.POLICY


def test_the_demand_decides_for_larger_sets():
    assert rule.choose(seen_of(7, demand=1.0), 15.0, 1)[0] == rule.ORDERED
    assert rule.choose(seen_of(7, demand=5.0), 15.0, 1) == rule.Branch(rule.FOCUSED, 100)


@pytest.mark.parametrize("bin_of_all", [2, 5, 8])
@pytest.mark.parametrize("demand", [0.4, 1.9, 2.1, 9.0])
def test_with_equal_sets_the_gain_is_the_root_of_the_demand(bin_of_all, demand):
    assert rule.gain(seen_of(bin_of_all).clear, demand) == pytest.approx(max(1.0, math.sqrt(demand)))


def test_large_sets_among_small_ones_count_against_the_l1_family():
    """At the same demand: the budgets of users with small sets do not help those with large ones."""
    mixed = [80_000, *[0] * 6, 20_000, *[0] * 3]
    demand = 1.8
    assert rule.gain(seen_of(5).clear, demand) < math.sqrt(rule.DEMAND) < rule.gain(mixed, demand)


def test_a_low_demand_raises_the_cutoff():
    low, high = (rule.choose(seen_of(0, demand=demand), 15.0, 1).alpha for demand in (0.5, 1.5))
    assert (low, high) == (rule.ALPHA_IF_LOW, rule.ALPHA)


def test_noise_that_hides_the_demand_means_focused_gaussian():
    clear, loud = (seen_of(7, demand=1.95, scale=scale, users=20_000) for scale in (10.0, 200.0))
    assert loud.demand > clear.demand
    assert rule.choose(clear, 15.0, 1)[0] == rule.ORDERED
    assert rule.choose(loud, 15.0, 1)[0] == rule.FOCUSED


def test_the_width_covers_most_sets_if_noise_allows():
    clear, loud = seen_of(7), seen_of(7, scale=1000.0, users=4 * 10**4)
    assert clear.width == 100
    assert loud.width == 20


def test_parts_count_against_the_l1_family_where_an_item_needs_few_budgets():
    chosen = {
        (middle, parts): rule.choose(seen_of(2, demand=1.5), middle, parts)[0]
        for middle in (2.6, 300.0)
        for parts in (1, 8)
    }
    assert [case for case, name in chosen.items() if name == rule.FOCUSED] == [(2.6, 8)]


def test_counts_leave_only_small_sets_to_the_l1_family():
    threes = seen_of(2, demand=1.0)
    assert rule.choose(threes, 15.0, 1)[0] == rule.ORDERED
    assert rule.choose(threes, 15.0, 1, counted=True)[0] == rule.FOCUSED
    assert rule.choose(seen_of(0), 15.0, 1, counted=True)[0] == rule.ORDERED


def test_a_sample_settles_the_branch_of_the_whole():
    """A simulation with fewer users chooses as the whole shape would."""
    mechanism, sets = mechanism_for(epsilon=1.0), sets_of([[n] for n in range(200)])
    with LocalEngine(1) as engine:
        small, whole = (mechanism.settled(engine, sets, STREAM, factor) for factor in (1.0, 200.0))
    assert small is mechanism.branches[rule.Branch(rule.FOCUSED, rule.UNKNOWN)]
    assert whole is mechanism.branches[rule.Branch(rule.ORDERED, rule.MAX_ITEMS, rule.ALPHA_IF_LOW)]


# Hints and max_items.


def test_a_hint_chooses_for_free():
    hinted, plain = (
        dpsu.Auto(typical_items=3).calibrate(Request.asked(1, 1e-6, "auto")),
        dpsu.OrderedLaplace(alpha=rule.ALPHA).calibrate(Request(1, 1e-6, 300)),
    )
    ((_, branch),) = hinted.branches.items()
    assert branch.parameters() == plain.parameters()
    many = dpsu.Auto(typical_items=30).calibrate(Request.asked(1, 1e-6, "auto"))
    assert many.budget() == dpsu.FocusedGaussian().calibrate(Request(1, 1e-6, 300)).budget()


def test_only_auto_takes_a_hint():
    with pytest.raises(InvalidArgument, match="typical_items"):
        dpsu.release({1: ["a"]}, epsilon=1, delta=1e-6, algorithm="mad", typical_items=4)


@pytest.mark.parametrize("hint", [0, 0.5, -1, math.nan, math.inf, 1e7])
def test_hints_have_a_range(hint):
    with pytest.raises(InvalidArgument, match="typical_items"):
        dpsu.Auto(typical_items=hint)


def test_the_statement_rests_on_the_hint():
    users = {n: ["a", "b"] for n in range(2000)}
    with seeded(1):
        made = dpsu.release(users, epsilon=1, delta=1e-6, algorithm="auto", typical_items=2)
    assert any("2" in claim for claim in made.statement.rests_on)
    assert "sizes" not in made.statement.parameters


@pytest.mark.parametrize("max_items", [1, 7, 1000])
def test_an_explicit_max_items_is_the_only_cut(max_items):
    users = {n: [f"item {(n + k) % 40}" for k in range(1 + n % 12)] for n in range(5000)}
    with seeded(1):
        made = dpsu.release(users, epsilon=3, delta=1e-6, algorithm="auto", max_items=max_items)
    assert made.statement.parameters["chosen"]["max_items"] == made.statement.max_items == max_items
    assert len(made) == 40
