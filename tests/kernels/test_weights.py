"""Kernels against the oracle, and what is proved of policies in integers (docs/policies.md, docs/ordered-laplace.md)."""

import math

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsu.kernels import descent, rows, weights
from dpsu.kernels.units import ONE

ITEMS = 7
NO_TABLE = np.zeros(0, np.int64)
NO_VALUES = np.zeros(0, np.float64)

some_sets = st.lists(st.sets(st.integers(0, ITEMS - 1)).map(sorted), min_size=1, max_size=8)
checked = settings(deadline=None, max_examples=100)


def rows_of(sets):
    indptr = np.cumsum([0, *map(len, sets)]).astype(np.int64)
    return indptr, np.array([item for own in sets for item in own], np.uint32)


def as_dict(totals, sets):
    held = {item for own in sets for item in own}
    assert not totals[[item for item in range(ITEMS) if item not in held]].any()
    return {item: totals[item].item() for item in held}


def weigh(rule, sets, *, values=NO_VALUES, table=NO_TABLE, split=0):
    """Totals under a rule, its users taken in two slices as two threads would."""
    indptr, items = rows_of(sets)
    totals = np.zeros(ITEMS, np.int64)
    room = np.empty(ITEMS)
    assert not rule(indptr[: split + 1], items, values, table, totals, room)
    assert not rule(indptr[split:], items, values, table, totals, room)
    return as_dict(totals, sets)


def walk(policy, sets, order, cutoff, budget, dtype):
    weights = np.zeros(ITEMS, dtype)
    policy(*rows_of(sets), np.array(order, np.int64), cutoff, budget, weights)
    return as_dict(weights, sets)


def sets_and_order(draw_sets=some_sets):
    return draw_sets.flatmap(lambda sets: st.tuples(st.just(sets), st.permutations(range(len(sets)))))


@checked
@given(some_sets, st.data())
def test_counts_and_even_weights_are_the_oracles(sets, data):
    split = data.draw(st.integers(0, len(sets)))
    sizes = range(1, ITEMS + 1)
    in_l1 = np.array([0, *(ONE // s for s in sizes)])
    in_l2 = np.array([0, *(math.isqrt(ONE * ONE // s) for s in sizes)])
    assert weigh(weights.count_holders, sets, split=split) == reference.count(sets)
    assert weigh(weights.weigh_evenly, sets, table=in_l1, split=split) == reference.weighted_l1(sets)
    assert weigh(weights.weigh_evenly, sets, table=in_l2, split=split) == reference.weighted_l2(sets)


def proportional(own, values, cap):
    return weigh(weights.weigh_proportionally, [own], values=np.array(values), table=np.full(ITEMS + 1, cap))


one_set = st.sets(st.integers(0, ITEMS - 1), min_size=1).map(sorted)
item_values = st.lists(st.floats(0, 1e300), min_size=ITEMS, max_size=ITEMS)
tame_values = st.lists(st.just(0.0) | st.floats(1e-100, 5), min_size=ITEMS, max_size=ITEMS)
"""None so small beside another that its square vanishes: to those the kernel may give less."""


@checked
@given(one_set, item_values)
def test_proportional_weights_are_the_oracles(own, values):
    expected = reference.proportional([own], values, [1.0] * (ITEMS + 1))
    found = proportional(own, values, 1.0)
    # The kernel rounds down a little further, to be safe from the rounding of its own sum of squares.
    assert all(0 <= expected[item] - found[item] <= 1 for item in own)
    assert sum(weight**2 for weight in found.values()) <= ONE * ONE


@checked
@given(one_set, tame_values, st.floats(0.1, 1))
def test_capped_weights_are_the_oracles(own, values, cap):
    expected = reference.proportional([own], values, [cap] * (ITEMS + 1))
    found = proportional(own, values, cap)
    # Squares are compared: where the cap leaves next to nothing, its root magnifies the rounding of the rest.
    assert all(abs(expected[item] ** 2 - found[item] ** 2) <= 1e-8 * ONE * ONE for item in own)
    assert sum(weight**2 for weight in found.values()) <= ONE * ONE
    assert max(found.values()) <= cap * ONE


@pytest.mark.parametrize("size", [1, 10, 300])
@pytest.mark.parametrize("values", [5e-324, 1e-162, 1.0, 1e300])
def test_proportional_weights_survive_tiny_and_huge_values(size, values):
    totals = np.zeros(size, np.int64)
    indptr, items = np.array([0, size]), np.arange(size, dtype=np.uint32)
    caps, room = np.ones(size + 1), np.empty(size)
    assert not weights.weigh_proportionally(indptr, items, np.full(size, values), caps, totals, room)
    assert (np.abs(totals - ONE / math.sqrt(size)) <= 2).all()


@checked
@given(sets_and_order(), st.integers(1, 12), st.integers(1, 40))
def test_integer_descent_goes_round_unit_by_unit(sets_in_order, budget, cutoff):
    expected = reference.follow(reference.l1_descent_by_units, *sets_in_order, cutoff, budget)
    assert reference.follow(reference.l1_descent, *sets_in_order, cutoff, budget) == expected
    assert walk(descent.l1_descent, *sets_in_order, cutoff, budget, np.int64) == expected


@checked
@given(sets_and_order(), st.sampled_from([ONE, ONE // 2, ONE // 3]), st.integers(ONE, 3 * ONE))
def test_integer_descent_is_the_oracles_at_full_size(sets_in_order, budget, cutoff):
    expected = reference.follow(reference.l1_descent, *sets_in_order, cutoff, budget)
    assert walk(descent.l1_descent, *sets_in_order, cutoff, budget, np.int64) == expected


@checked
@given(sets_and_order(), st.integers(1, 12), st.integers(1, 40))
def test_filling_in_order_goes_unit_by_unit(sets_in_order, budget, cutoff):
    expected = reference.follow(reference.fill_by_units, *sets_in_order, cutoff, budget)
    assert reference.follow(reference.fill_in_order, *sets_in_order, cutoff, budget) == expected
    assert walk(descent.fill_in_order, *sets_in_order, cutoff, budget, np.int64) == expected


@checked
@given(sets_and_order(), st.sampled_from([ONE, 2**61]), st.integers(ONE, 3 * ONE) | st.just(2**62))
def test_filling_in_order_is_the_oracles_at_full_size(sets_in_order, budget, cutoff):
    expected = reference.follow(reference.fill_in_order, *sets_in_order, cutoff, budget)
    assert walk(descent.fill_in_order, *sets_in_order, cutoff, budget, np.int64) == expected


@checked
@given(sets_and_order(), st.sampled_from([1.0, 0.5]), st.floats(1.1, 6))
@pytest.mark.parametrize("name", ["l2_descent", "l1_descent_in_l2"])
def test_float_policies_are_the_oracles(name, sets_in_order, budget, cutoff):
    expected = reference.follow(getattr(reference, name), *sets_in_order, cutoff, budget)
    found = walk(getattr(descent, name), *sets_in_order, cutoff, budget, np.float64)
    # Where a level meets a gap exactly the square root of a rounding error decides; hence no tighter.
    assert found == pytest.approx(expected, abs=1e-6)


IN_INTEGERS = [descent.l1_descent, descent.fill_in_order]
integers = pytest.mark.parametrize("policy", IN_INTEGERS, ids=lambda policy: policy.__name__)


def descend(policy, weights, own, cutoff, budget):
    after = np.array(weights, np.int64)
    indptr, items = rows_of([own])
    policy(indptr, items, np.zeros(1, np.int64), cutoff, budget, after)
    return after


@st.composite
def two_histograms(draw):
    """Two histograms, a set, a cutoff and a budget: small numbers, where remainders matter, or large ones."""
    cutoff = draw(st.one_of(st.integers(1, 30), st.integers(ONE, 30 * ONE)))
    budget = draw(st.integers(1, 2 * cutoff))
    weight = st.one_of(st.integers(0, cutoff), st.integers(max(0, cutoff - 3), cutoff))
    histogram = st.lists(weight, min_size=ITEMS, max_size=ITEMS).map(np.array)
    own = draw(st.sets(st.integers(0, ITEMS - 1), min_size=1).map(sorted))
    return draw(histogram), draw(histogram), own, cutoff, budget


@integers
@checked
@given(two_histograms())
def test_integer_policies_contract_exactly(policy, case):
    one, other, *rest = case
    apart = np.abs(descend(policy, one, *rest) - descend(policy, other, *rest)).sum()
    assert apart <= np.abs(one - other).sum()


@integers
@checked
@given(two_histograms())
def test_integer_policies_are_monotone_exactly(policy, case):
    one, other, *rest = case
    assert (descend(policy, np.minimum(one, other), *rest) <= descend(policy, one, *rest)).all()


@integers
@checked
@given(two_histograms())
def test_integer_policies_spend_exactly_the_budget_or_fill_up(policy, case):
    weights, _, own, cutoff, budget = case
    after = descend(policy, weights, own, cutoff, budget)
    assert (after - weights).sum() == min(budget, (cutoff - weights[own]).sum())
    assert (after >= weights).all()
    assert (after <= cutoff).all()


@checked
@given(two_histograms())
def test_integer_descent_is_symmetric_up_to_one_unit(case):
    weights, _, own, cutoff, budget = case
    level = np.full(ITEMS, weights[own[0]])
    increments = (descend(descent.l1_descent, level, own, cutoff, budget) - level)[own]
    assert increments.max() - increments.min() <= 1


@checked
@given(two_histograms())
def test_filling_in_order_opens_no_item_before_the_last_is_full(case):
    weights, _, own, cutoff, budget = case
    after = descend(descent.fill_in_order, weights, own, cutoff, budget)
    changed = [place for place, item in enumerate(own) if after[item] > weights[item]]
    assert all(after[item] == cutoff for item in own[: max(changed, default=0)])


@checked
@given(some_sets, st.lists(st.booleans(), min_size=ITEMS, max_size=ITEMS))
def test_rows_keep_their_open_items_in_order_and_empty_rows_go(sets, opened):
    indptr, items, busy = rows.keep_open(*rows_of(sets), np.array(opened))
    left = [[item for item in own if opened[item]] for own in sets]
    expected_indptr, expected_items = rows_of([own for own in left if own])
    assert indptr.tolist() == expected_indptr.tolist()
    assert items.tolist() == expected_items.tolist()
    assert busy.tolist() == [row for row, own in enumerate(left) if own]


@checked
@given(some_sets)
def test_longest_row(sets):
    assert descent.longest_row(rows_of(sets)[0]) == max(map(len, sets))
