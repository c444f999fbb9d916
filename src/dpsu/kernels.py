"""Compiled loops over user sets: arrays in, arrays out.

A user's row is `items[indptr[user]:indptr[user + 1]]`, item numbers without repeats in the order of the items' digests.
Rules for weights add integers, so sums are exact and neither threads nor the order of users can change them. No sum leaves
64 bits: a weight has at most 2^30 units, the local engine and each part on Spark at most 2^31 pairs, and Spark's sums of
parts stop at 2^62. Rules are told how many `users` there are, and get room for one row, `shares`.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsu.compiled import ZERO, array_kernel, formula, kernel, larger, prefetch, smaller

Ints = NDArray[np.int64]
Codes = NDArray[np.uint32]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

FIXED_POINT = 30
ONE = 1 << FIXED_POINT
"""A weight of 1 in fixed point; one unit is 2^-30."""

BLOCK = 1024
"""So many pairs are looked at together, and their rows after them."""

AHEAD = 32
"""So many pairs ahead, what a loop will need of an item is asked for: rare items lie far from the processor."""


@kernel
def weigh_evenly(
    users: int,
    indptr: Ints,
    items: Codes,
    values: Floats,
    table: Ints,
    totals: Ints,
    shares: Floats,
) -> None:
    """A user with s items gives `table[s]` to each of them."""
    for user in range(users):
        start, stop = indptr[user], indptr[user + 1]
        weight = table[stop - start]
        for k in range(start, stop):
            totals[items[k]] += weight


@kernel
def weigh_proportionally(
    users: int,
    indptr: Ints,
    items: Codes,
    values: Floats,
    table: Floats,
    totals: Ints,
    shares: Floats,
) -> bool:
    """A user gives in proportion to the items' values, with an ℓ2 norm of at most 1 and `table[s]` to one item of s at most.

    What the cap cuts off goes to the user's other items. True if a user's weights exceeded one budget, which must not be.
    """
    end = indptr[users] - 1
    for user in range(users):
        start = indptr[user]
        size = indptr[user + 1] - start
        cap = table[size]
        # The sum of n squares and the root err by less than (n + 8) 2^-53; rounding weights down covers the rest.
        budget = 1.0 - (size + 8) * 2.0**-53
        top, squares = 0.0, 0.0
        for k in range(size):
            ahead = items[smaller(start + k + AHEAD, end)]
            prefetch(values, ahead)
            prefetch(totals, ahead)
            share = values[items[start + k]]
            shares[k] = share
            squares += share * share
            top = larger(share, top)
        scale = budget / math.sqrt(squares)
        if not ((squares > 2.0**-600) & (squares < 2.0**600) & (top * scale <= cap)):
            if top == 0.0:
                continue
            # The square of 1e-162 is 0, and a user whose squares vanish would overspend: values are divided by the largest.
            # Lifting by a power of two is exact and keeps the inverse finite. Shares whose squares still lose digits get
            # nothing: below a cap on all others they could be all that is left to divide.
            lift = 1.0 if top > 1e-150 else 2.0**600
            inverse = 1.0 / (top * lift)
            squares = 0.0
            for k in range(size):
                share = (shares[k] * lift) * inverse
                share = share if share > 2.0**-400 else 0.0
                shares[k] = share
                squares += share * share
            scale = budget / math.sqrt(squares)
            capped_before = ZERO
            while scale > cap:
                # The scale for which the squares of min(cap, scale * share) sum to budget^2, from below.
                capped, squares = size, 0.0
                for k in range(size):
                    is_below = shares[k] * scale < cap
                    capped -= is_below
                    squares += is_below * (shares[k] * shares[k])
                left_over = budget * budget - capped * cap * cap
                if (capped == capped_before) | (left_over <= 0.0) | (squares <= 0.0):
                    break
                capped_before = capped
                scale = budget * math.sqrt(left_over / squares)
        left = np.int64(1 << 60)
        for k in range(size):
            weight = np.int64(smaller(shares[k] * scale, cap) * 2.0**30)
            totals[items[start + k]] += weight
            left -= weight * weight
            if left < 0:  # at once: the sum of many such squares could wrap around
                return True
    return False


@kernel
def bell(size: int, totals: Floats, centre: float, width: float, tail: float, values: Floats) -> None:
    """Fill `values` with exp(-x^2 / 2) for x = (total - centre) / width below the centre, for tail * x above it.

    As a limit, (1 - y / 2^12)^(2^12): basic operations round alike on every machine and in every place of an array,
    which library exponentials need not, and an item's value must be a function of its own total alone.
    """
    for k in range(size):
        x = (totals[k] - centre) / width
        x *= 1.0 if x <= 0.0 else tail
        value = larger(1.0 - 0.5 * x * x / 4096.0, 0.0)
        for _ in range(12):
            value *= value
        values[k] = value


@kernel
def count_holders(
    users: int,
    indptr: Ints,
    items: Codes,
    values: Floats,
    table: Ints,
    totals: Ints,
    shares: Floats,
) -> None:
    """Every user counts once for each of their items."""
    for k in range(indptr[0], indptr[users]):
        totals[items[k]] += 1


@formula
def keep_open(indptr: Ints, items: Codes, opened: Bools) -> tuple[Ints, Codes, Ints]:
    """The rows without the items that are not open, and which rows have any left: the others are dropped.

    `indptr` may be a slice of a longer one: its offsets point into all of `items`, those returned start at 0.
    """
    bounds, busy = np.zeros_like(indptr), np.empty_like(indptr)
    kept, before = np.empty(indptr[-1] - indptr[0] + 1, items.dtype), np.empty(BLOCK + 1, np.int64)
    rows = _keep_open(indptr.size - 1, indptr, items, opened, bounds, kept, busy, before.size - 1, before)
    return bounds[: rows + 1], kept[: bounds[rows]], busy[:rows]


@kernel
def _keep_open(
    users: int,
    indptr: Ints,
    items: Codes,
    opened: Bools,
    bounds: Ints,
    kept: Codes,
    busy: Ints,
    block: int,
    before: Ints,
) -> Any:
    """Fill `kept`, which has one place more than can be needed, and count with `before`: open items before each of a block.

    Every item is written, and counted if it is open; so it is with the ends of rows in `bounds` and with their numbers in
    `busy`. Rows that end in a block come after its items, since most are short: a loop for each would often end unforeseen.
    """
    end = indptr[users]
    count, row, rows, bound = ZERO, ZERO, ZERO, ZERO
    for begin in range(indptr[0], end, block):
        size = smaller(begin + block, end) - begin
        for k in range(size):
            item = items[begin + k]
            kept[count] = item
            before[k] = count
            count += opened[item]
        before[size] = count
        while row < users:
            place = indptr[row + 1] - begin
            if place > size:
                break
            busy[rows] = row
            rows += before[place] > bound
            bound = before[place]
            bounds[rows] = bound
            row += 1
    return rows


@array_kernel
def l1_descent(indptr: Ints, items: Codes, order: Ints, cutoff: int, budget: int, weights: Ints) -> None:
    """Users in `order` raise their items towards the cutoff at one common pace until the budget is spent.

    All in integers: the units that a common level leaves over go to the first open items of the row, one each. Unit by
    unit that is a round-robin, so an item that stands higher never ends lower, and the map is exactly ℓ1-contractive.
    """
    scratch = np.empty(longest_row(indptr), np.int64)
    for user in order:
        row = items[indptr[user] : indptr[user + 1]]
        gaps = scratch[: row.size]
        distance = 0
        for k in range(row.size):
            gap = cutoff - weights[row[k]]
            gaps[k] = gap
            distance += min(gap, budget + 1)  # whole gaps could sum to more than 64 bits hold
        level, rest = cutoff, 0
        if distance > budget:
            level, rest = common_level(gaps, budget)
        for k in range(row.size):
            gap = gaps[k]
            is_open = gap > level
            raised = (level if is_open else gap) + (is_open & (rest > 0))
            weights[row[k]] = cutoff - gap + raised
            rest -= is_open


@formula
def common_level(gaps: Ints, budget: int) -> tuple[int, int]:
    """The largest level with sum(min(gap, level)) <= budget, and what is left; the gaps exceed the budget."""
    level = divided(budget, gaps.size)
    while True:
        spent, open_gaps = 0, 0
        for gap in gaps:
            is_open = gap > level
            spent += 0 if is_open else gap
            open_gaps += is_open
        higher = divided(budget - spent, open_gaps)
        if higher == level:
            return level, budget - spent - open_gaps * level
        level = higher


@formula
def divided(whole: int, parts: int) -> int:
    """whole // parts for numbers below 2^52, exact in floats and several times faster than dividing integers.

    `whole` is a part of one budget here, so at most 2^30.
    """
    return int(np.float64(whole) / np.float64(parts))


@array_kernel
def l2_descent(
    indptr: Ints, items: Codes, order: Ints, cutoff: float, budget: float, weights: Floats
) -> None:
    """Users in `order` move their items' weights towards the cutoff by at most the budget in ℓ2."""
    for user in order:
        row = items[indptr[user] : indptr[user + 1]]
        squares = 0.0
        for item in row:
            squares += (cutoff - weights[item]) ** 2
        distance = math.sqrt(squares)
        step = budget / (distance if distance > budget else budget)
        for item in row:
            weight = weights[item]
            weights[item] = weight + step * (cutoff - weight)


@array_kernel
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


@formula
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


@formula
def longest_row(indptr: Ints) -> int:
    """The size of the largest set."""
    longest = 0
    for user in range(indptr.size - 1):
        longest = max(longest, indptr[user + 1] - indptr[user])
    return longest


Kernel = Any
"""A compiled rule for weights: (users, indptr, items, values, table, totals, shares), adding to `totals`."""
