"""Compiled rules of MAD: arrays in, arrays out, in units of 2^-40.

Rerouting looks at the exact totals of others, so a rounded weight can jump by a unit for every user: hence units finer
than elsewhere. Totals stop at LIMIT, which keeps sums of many parts within 64 bits and changes no decision.
"""

import math

import numpy as np

from dpsu.kernels.arrays import Codes, Floats, Ints
from dpsu.kernels.compiled import kernel


@kernel
def weigh_rerouted(
    indptr: Ints,
    items: Codes,
    values: Floats,
    table: Floats,
    totals: Ints,
    shares: Floats,
) -> None:
    """A user with s items gives each `table[0, s]`, and `table[1, s]` times the sum of their values on top."""
    for user in range(indptr.size - 1):
        start, stop = indptr[user], indptr[user + 1]
        size = stop - start
        weight = np.int64(table[0, size])
        if table[1, size] > 0.0:
            excess = 0.0
            for k in range(start, stop):
                excess += values[items[k]]
            weight += np.int64(excess * table[1, size])
        for k in range(start, stop):
            totals[items[k]] = min(totals[items[k]] + weight, 1 << 54)


@kernel
def weigh_with_bias(
    indptr: Ints,
    items: Codes,
    values: Floats,
    table: Floats,
    totals: Ints,
    shares: Floats,
) -> None:
    """A user gives less to items whose bias (`values`) is below 1 and more to the others, within one ℓ2 budget.

    Rows of `table`, by the size of the set: what the user has given to each item before, the least, the even and the
    most that one item gets.
    """
    for user in range(indptr.size - 1):
        start, stop = indptr[user], indptr[user + 1]
        size = stop - start
        if size == 0:
            continue
        own = shares[:size]
        for k in range(start, stop):
            own[k - start] = values[items[k]]
        divide_with_bias(own, table[1, size], table[2, size], table[3, size])
        require_one_budget(own)
        before = np.int64(table[0, size])
        for k in range(start, stop):
            weight = np.int64(own[k - start] * (1 << 40)) - before
            totals[items[k]] = min(totals[items[k]] + weight, 1 << 54)


@kernel
def divide_with_bias(shares: Floats, least: float, even: float, most: float) -> None:
    """Turn the biases of one user's items into weights, in place.

    An item of bias b < 1 gets max(least, b even); the others divide what is left, up to `most` each. If that does not
    spend the budget, the biased items rise together, each up to `most`.
    """
    # The sum of n squares and a root err by less than (n + 8) 2^-53; rounding down covers the rest.
    budget = 1.0 - (shares.size + 8) * 2.0**-53
    spent, others = 0.0, 0
    for share in shares:
        if share < 1.0:
            spent += max(least, share * even) ** 2
        else:
            others += 1
    rest = min(most, math.sqrt(max(budget - spent, 0.0) / max(others, 1)))
    for j in range(shares.size):
        shares[j] = max(least, shares[j] * even) if shares[j] < 1.0 else rest
    raise_low(shares, budget, even, most)


@kernel
def raise_low(weights: Floats, budget: float, even: float, most: float) -> None:
    """Scale the weights below `even` by one factor, none beyond `most`, until the squares sum to the budget."""
    low = weights < even
    factor = 1.0
    while True:
        fixed, free = 0.0, 0.0
        for j in range(weights.size):
            if not low[j]:
                fixed += weights[j] ** 2
            elif weights[j] * factor >= most:
                fixed += most * most
            else:
                free += weights[j] ** 2
        if free == 0.0 or budget <= fixed:
            break
        higher = math.sqrt((budget - fixed) / free)
        if higher <= factor:
            break
        factor = higher
    for j in range(weights.size):
        if low[j]:
            weights[j] = min(weights[j] * factor, most)


@kernel
def require_one_budget(weights: Floats) -> None:
    """Stop if the squares of the weights, in whole units, sum to more than one budget; counted exactly in two halves."""
    half = (1 << 20) - 1
    high = middle = low = np.int64(0)
    for share in weights:
        weight = np.int64(share * (1 << 40))
        a, b = weight >> 20, weight & half
        high += a * a
        middle += 2 * a * b
        low += b * b
    if high + ((middle + (low >> 20)) >> 20) >= 1 << 40:
        raise ArithmeticError("the weights of a user exceed one budget")
