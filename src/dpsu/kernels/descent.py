"""Policies as compiled loops over users, who come one after the other.

A user's row is `items[indptr[user]:indptr[user + 1]]`. Proofs: docs/policies.md, docs/ordered-laplace.md.
"""

import math

import numpy as np

from dpsu.kernels.arrays import Codes, Floats, Ints
from dpsu.kernels.compiled import kernel


@kernel
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


@kernel
def fill_in_order(indptr: Ints, items: Codes, order: Ints, cutoff: int, budget: int, weights: Ints) -> None:
    """Users in `order` fill the items of their row one after the other, each up to the cutoff, while the budget lasts.

    All in integers. No sum is formed but that of one item's weight, which never exceeds the cutoff.
    """
    for user in order:
        left = budget
        for k in range(indptr[user], indptr[user + 1]):
            gap = cutoff - weights[items[k]]
            given = min(gap, left)
            weights[items[k]] += given
            left -= given
            if left == 0:
                break


@kernel
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


@kernel
def divided(whole: int, parts: int) -> int:
    """whole // parts for numbers below 2^52, exact in floats and several times faster than dividing integers.

    `whole` is a part of one budget here, so at most 2^30.
    """
    return int(np.float64(whole) / np.float64(parts))


@kernel
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
