"""Compiled loops over user sets: arrays in, arrays out.

A user's row is `items[indptr[user]:indptr[user + 1]]`, item numbers without repeats in the order of the items' digests.
Rules for weights add integers, so sums are exact and neither threads nor the order of users can change them. No sum leaves
64 bits: a weight has at most 2^30 units, the local engine and each part on Spark at most 2^31 pairs, and Spark's sums of
parts stop at 2^62. Rules get room for one row, `shares`.
"""

import math

import numpy as np

from dpsu.kernels.arrays import Codes, Floats, Ints
from dpsu.kernels.compiled import kernel


@kernel
def weigh_evenly(
    indptr: Ints,
    items: Codes,
    values: Floats,
    table: Ints,
    totals: Ints,
    shares: Floats,
) -> None:
    """A user with s items gives `table[s]` to each of them."""
    for user in range(indptr.size - 1):
        start, stop = indptr[user], indptr[user + 1]
        weight = table[stop - start]
        for k in range(start, stop):
            totals[items[k]] += weight


@kernel
def weigh_proportionally(
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
    for user in range(indptr.size - 1):
        # Unsigned, so that numba does not check every index for being negative.
        start = np.uint64(indptr[user])
        size = np.uint64(indptr[user + 1]) - start
        cap = table[size]
        # The sum of n squares and the root err by less than (n + 8) 2^-53; rounding weights down covers the rest.
        budget = 1.0 - (size + 8) * 2.0**-53
        top, squares = 0.0, 0.0
        for k in range(size):
            share = values[items[start + k]]
            shares[k] = share
            squares += share * share
            top = share if share > top else top
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
            capped_before = np.int64(0)
            while scale > cap:
                # The scale for which the squares of min(cap, scale * share) sum to budget^2, from below.
                capped, squares = np.int64(size), 0.0
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
            given = shares[k] * scale
            weight = np.int64((given if given < cap else cap) * 2.0**30)
            totals[items[start + k]] += weight
            left -= weight * weight
            if left < 0:  # at once: the sum of many such squares could wrap around
                return True
    return False


@kernel
def count_holders(
    indptr: Ints,
    items: Codes,
    values: Floats,
    table: Ints,
    totals: Ints,
    shares: Floats,
) -> None:
    """Every user counts once for each of their items."""
    for k in range(indptr[0], indptr[-1]):
        totals[items[k]] += 1
