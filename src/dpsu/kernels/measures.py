"""Compiled loops over user sets with values: totals by pair, sums by item, and what is left for others.

No sum leaves 64 bits: there are at most 2^31 rows and pairs, a pair's total is cut to 2^31 units, and what a user adds to
one sum has at most 2^20 units.
"""

import math

import numpy as np

from dpsu.kernels.arrays import Bools, Codes, Floats, Ints
from dpsu.kernels.compiled import inlined, kernel

ONE = np.int64(1 << 30)


@inlined
def root_weight(cut: int, size: int) -> np.int64:
    """min(1, sqrt(cut/size)) in units of 2^-30, rounded down: `size` squares of it are at most `cut`."""
    if size <= cut:
        return ONE
    return np.int64(math.sqrt(cut / size) * (1.0 - 2.0**-50) * 2.0**30)


@inlined
def ball_weight(cut: int, size: int, squares: float, radius: float) -> np.int64:
    """The factor, at most 1, that brings `size` values into the ball of this squared radius; in 2^-30, rounded down.

    `squares` is the sum of the squared values, none of which exceeds sqrt(radius/cut). Its rounding errors are far below
    2^-50 per value.
    """
    most = squares * (1.0 + size * 2.0**-50)
    if size <= cut or most <= radius:
        return ONE
    return np.int64(math.sqrt(radius / most) * (1.0 - 2.0**-50) * 2.0**30)


@kernel
def weigh_by_root(
    indptr: Ints,
    items: Codes,
    values: Floats,
    table: Ints,
    totals: Ints,
    shares: Floats,
) -> None:
    """A user with s items gives min(1, sqrt(cut/s)) to each; the cut is `table[0]`."""
    for user in range(indptr.size - 1):
        start, stop = indptr[user], indptr[user + 1]
        weight = root_weight(table[0], stop - start)
        for k in range(start, stop):
            totals[items[k]] += weight


@kernel
def add_values(
    users: Codes,
    items: Codes,
    user_places: Codes,
    item_places: Codes,
    values: Ints,
    indptr: Ints,
    row_items: Codes,
    order: Ints,
    totals: Ints,
) -> None:
    """Add the value of every row to the total of its pair; `order` has the places of the items in rows."""
    for row in range(users.size):
        user, place = user_places[users[row]], item_places[items[row]]
        first, last = indptr[user], indptr[user + 1] - 1
        while first < last:
            middle = (first + last) // 2
            if order[row_items[middle]] < place:
                first = middle + 1
            else:
                last = middle
        totals[first] += values[row]


@kernel
def sum_values(
    indptr: Ints,
    items: Codes,
    released: Bools,
    other: Bools,
    values: Ints,
    low: int,
    high: int,
    cut: int,
    totals: Ints,
) -> np.int64:
    """Add users' totals, cut to the bounds, to the sums of released items; returns the sum over the other items.

    A user whose values have a larger ℓ2-norm than sqrt(cut) times the largest value within the bounds adds them scaled down
    to that norm, rounded towards 0. A user's total over all other items is cut to the bounds as one.
    """
    rest = np.int64(0)
    largest = float(max(abs(low), abs(high)))
    for user in range(indptr.size - 1):
        size, squares, others, left = 0, 0.0, 0, np.int64(0)
        for k in range(indptr[user], indptr[user + 1]):
            if released[items[k]]:
                size += 1
                squares += float(min(max(values[k], low), high)) ** 2
            if other[items[k]]:
                others += 1
                left += values[k]
        if others > 0:
            rest += np.int64(min(max(left, np.int64(low)), np.int64(high)))
        weight = ball_weight(cut, size, squares, cut * largest * largest)
        for k in range(indptr[user], indptr[user + 1]):
            if released[items[k]]:
                value = min(max(values[k], low), high)
                if value < 0:
                    totals[items[k]] -= (-value * weight) >> 30
                else:
                    totals[items[k]] += (value * weight) >> 30
    return rest


@kernel
def count_users_with(indptr: Ints, items: Codes, wanted: Bools) -> int:
    """How many users hold at least one of these items."""
    users = 0
    for user in range(indptr.size - 1):
        for k in range(indptr[user], indptr[user + 1]):
            if wanted[items[k]]:
                users += 1
                break
    return users
