"""Compiled loops over user sets: arrays in, arrays out.

A user's row is `items[indptr[user]:indptr[user + 1]]`, item numbers in ascending order and without repeats. Rules for
weights add integers, so sums are exact and neither threads nor the order of users can change them.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsu.compiled import formula, kernel

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

FIXED_POINT = 30
ONE = 1 << FIXED_POINT
"""A weight of 1 in fixed point; one unit is 2^-30."""


@kernel
def weigh_evenly(
    indptr: Ints, items: Codes, values: Floats, table: Ints, totals: Ints, first: int, last: int
) -> None:
    """A user with s items gives `table[s]` to each of them."""
    for user in range(first, last):
        start, stop = indptr[user], indptr[user + 1]
        weight = table[stop - start]
        for k in range(start, stop):
            totals[items[k]] += weight


@kernel
def weigh_proportionally(
    indptr: Ints, items: Codes, values: Floats, table: Floats, totals: Ints, first: int, last: int
) -> None:
    """A user gives in proportion to the items' values, with an ℓ2 norm of at most 1 and `table[s]` to one item of s at most.

    What the cap cuts off goes to the user's other items.
    """
    shares = np.empty(table.size, np.float64)
    for user in range(first, last):
        start, stop = indptr[user], indptr[user + 1]
        size = stop - start
        top = 0.0
        for k in range(start, stop):
            value = values[items[k]]
            shares[k - start] = value
            if value > top:
                top = value
        if top <= 0.0:
            continue
        # Values are divided by the largest before they are squared: the square of 1e-162 is 0, and a user whose
        # squares vanish would overspend. Lifting by a power of two is exact and keeps 1/top finite.
        lift = 1.0 if top > 1e-150 else 2.0**600
        inverse = 1.0 / (top * lift)
        squares = 0.0
        for j in range(size):
            share = (shares[j] * lift) * inverse
            # Nothing for shares whose squares lose digits: below the cap they could be all that is left to divide.
            share = share if share > 2.0**-400 else 0.0
            shares[j] = share
            squares += share * share
        # The sum of n squares and the root err by less than (n + 8) 2^-53; rounding down covers the rest.
        budget = 1.0 - (size + 8) * 2.0**-53
        scale = budget / math.sqrt(squares)
        cap = table[size]
        if scale > cap:
            scale = fill_to_the_cap(shares[:size], cap, budget)
        left = np.int64(1 << 60)
        for k in range(start, stop):
            share = shares[k - start] * scale
            weight = np.int64((share if share < cap else cap) * (1 << 30))
            totals[items[k]] += weight
            left -= weight * weight
            if left < 0:  # at once: the sum of many such squares could wrap around
                raise ArithmeticError("the weights of a user exceed one budget")


@kernel
def fill_to_the_cap(shares: Floats, cap: float, budget: float) -> float:
    """The scale for which the squares of min(cap, scale * share) sum to budget^2, or as near as the cap lets them."""
    scale = 0.0
    capped_before = -1
    while True:
        capped, squares = 0, 0.0
        for share in shares:
            if share * scale >= cap and scale > 0.0:
                capped += 1
            else:
                squares += share * share
        left = budget * budget - capped * cap * cap
        if capped == capped_before or left <= 0.0 or squares <= 0.0:
            return scale
        capped_before = capped
        scale = budget * math.sqrt(left) / math.sqrt(squares)


@kernel
def bell(totals: Floats, centre: float, width: float, tail: float) -> Floats:
    """exp(-x^2 / 2) for x = (total - centre) / width below the centre, for tail * x above it.

    As a limit, (1 - y / 2^12)^(2^12): basic operations round alike on every machine and in every place of an array,
    which library exponentials need not, and an item's value must be a function of its own total alone.
    """
    values = np.empty_like(totals)
    for i in range(totals.size):
        x = (totals[i] - centre) / width
        x = x if x <= 0.0 else tail * x
        value = 1.0 - 0.5 * x * x / 4096.0
        value = value if value > 0.0 else 0.0
        for _ in range(12):
            value = value * value
        values[i] = value
    return values


@kernel
def count_holders(
    indptr: Ints, items: Codes, values: Floats, table: Ints, totals: Ints, first: int, last: int
) -> None:
    """Every user counts once for each of their items."""
    for k in range(indptr[first], indptr[last]):
        totals[items[k]] += 1


@kernel
def mark_held(items: Codes, held: Bools) -> None:
    """Mark the items that stand in some row."""
    for k in range(items.size):
        held[items[k]] = True


@formula
def keep_open(indptr: Ints, items: Codes, opened: Bools) -> tuple[Ints, Codes]:
    """The rows without the items that are not open."""
    bounds, kept = np.zeros_like(indptr), np.empty_like(items)
    _keep_open(indptr, items, opened, bounds, kept)
    return bounds, kept[: bounds[-1]].copy()


@kernel
def _keep_open(indptr: Ints, items: Codes, opened: Bools, bounds: Ints, kept: Codes) -> None:
    count = 0
    for user in range(indptr.size - 1):
        for k in range(indptr[user], indptr[user + 1]):
            item = items[k]
            kept[count] = item
            count += opened[item]
        bounds[user + 1] = count


@kernel
def l1_descent(indptr: Ints, items: Codes, order: Ints, cutoff: int, budget: int, weights: Ints) -> None:
    """Users in `order` raise their items towards the cutoff at one common pace until the budget is spent.

    All in integers: the units that a common level leaves over go to the first open items of the row, one each. Unit by
    unit that is a round-robin, so an item that stands higher never ends lower, and the map is exactly ℓ1-contractive.
    """
    gaps = np.empty(longest_row(indptr), np.int64)
    for user in order:
        start, stop = indptr[user], indptr[user + 1]
        distance = 0
        for k in range(start, stop):
            gap = cutoff - weights[items[k]]
            gaps[k - start] = gap
            distance += gap
        if distance <= budget:
            for k in range(start, stop):
                weights[items[k]] = cutoff
            continue
        level, rest = common_level(gaps[: stop - start], budget)
        for k in range(start, stop):
            if gaps[k - start] <= level:
                weights[items[k]] = cutoff
            else:
                weights[items[k]] += level + (1 if rest > 0 else 0)
                rest -= 1


@kernel
def common_level(gaps: Ints, budget: int) -> tuple[int, int]:
    """The largest level with sum(min(gap, level)) <= budget, and what is left; the gaps exceed the budget."""
    level = budget // gaps.size
    while True:
        spent, open_gaps = 0, 0
        for gap in gaps:
            if gap <= level:
                spent += gap
            else:
                open_gaps += 1
        higher = (budget - spent) // open_gaps
        if higher == level:
            return level, budget - spent - open_gaps * level
        level = higher


@kernel
def l2_descent(
    indptr: Ints, items: Codes, order: Ints, cutoff: float, budget: float, weights: Floats
) -> None:
    """Users in `order` move their items' weights towards the cutoff by at most the budget in ℓ2."""
    gaps = np.empty(longest_row(indptr), np.float64)
    for user in order:
        start, stop = indptr[user], indptr[user + 1]
        squares = 0.0
        for k in range(start, stop):
            gap = cutoff - weights[items[k]]
            gaps[k - start] = gap
            squares += gap * gap
        step = budget / max(math.sqrt(squares), budget)
        for k in range(start, stop):
            weights[items[k]] += step * gaps[k - start]


@kernel
def l1_descent_in_l2(
    indptr: Ints, items: Codes, order: Ints, cutoff: float, budget: float, weights: Floats
) -> None:
    """ℓ1-descent under an ℓ2 budget, as published: not contractive (docs/errata.md), so never private."""
    gaps = np.empty(longest_row(indptr), np.float64)
    for user in order:
        start, stop = indptr[user], indptr[user + 1]
        squares = 0.0
        for k in range(start, stop):
            gap = max(cutoff - weights[items[k]], 0.0)
            gaps[k - start] = gap
            squares += gap * gap
        if squares <= budget * budget:
            for k in range(start, stop):
                weights[items[k]] = cutoff
            continue
        level = common_level_in_l2(gaps[: stop - start], budget)
        for k in range(start, stop):
            weights[items[k]] += min(gaps[k - start], level)


@kernel
def common_level_in_l2(gaps: Floats, budget: float) -> float:
    """The level with sum(min(gap, level)^2) = budget^2; the gaps exceed the budget."""
    level = budget / math.sqrt(gaps.size)
    open_before = gaps.size
    while True:
        spent, open_gaps = 0.0, 0
        for gap in gaps:
            if gap <= level:
                spent += gap * gap
            else:
                open_gaps += 1
        if open_gaps == open_before or open_gaps == 0:
            return level
        open_before = open_gaps
        level = math.sqrt(max(budget * budget - spent, 0.0) / open_gaps)


@kernel
def longest_row(indptr: Ints) -> int:
    """The size of the largest set."""
    longest = 0
    for user in range(indptr.size - 1):
        longest = max(longest, indptr[user + 1] - indptr[user])
    return longest


Kernel = Any
"""A compiled rule for weights: (indptr, items, values, table, totals, first, last), adding to `totals`."""
