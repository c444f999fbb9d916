"""Compiled loops that make and change rows: from pairs, by leaving items out, by cutting long ones.

A user's row is `items[indptr[user]:indptr[user + 1]]`, item numbers without repeats in the order of the items' digests.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsu.kernels.arrays import Bools, Codes, Ints, Words
from dpsu.kernels.compiled import kernel

ONE, NONE, ALL = np.uint64(1), np.uint64(0), np.uint64(2**64 - 1)
UNSEEN = 0xFFFFFFFF


@kernel
def pack_pairs(
    users: Codes,
    items: Codes,
    user_places: Codes,
    item_places: Codes,
    user_bits: np.uint64,
    item_bits: np.uint64,
    ends: Words,
    packed: NDArray[Any],
    count_only: bool,
) -> None:
    """Write each pair at the end of its bucket, as a word that sorts by the user's place in the bucket, then the item's."""
    low = (ONE << user_bits) - ONE
    for row in range(users.size):
        user = np.uint64(user_places[users[row]])
        bucket = user >> user_bits
        if not count_only:
            packed[ends[bucket]] = ((user & low) << item_bits) | np.uint64(item_places[items[row]])
        ends[bucket] += ONE


@kernel
def unpack_rows(
    packed: NDArray[Any],
    first_user: np.uint64,
    item_bits: np.uint64,
    so_far: Words,
    ends: Ints,
    items: Codes,
    numbers: Codes,
    order: Ints,
) -> None:
    """Add the rows of a bucket's sorted words, repeats left out, to the `items`, and their ends to those of users' rows.

    Items get new numbers as they first appear: `numbers` has those, UNSEEN so far, and `order` says whose they are. How many
    pairs and items there are is in `so_far`.
    """
    pairs, found = so_far[0], so_far[1]
    low = (ONE << item_bits) - ONE
    before = ~np.uint64(packed[0])
    for i in range(packed.size):
        word = np.uint64(packed[i])
        if word == before:
            continue
        before = word
        item = word & low
        if numbers[item] == UNSEEN:
            numbers[item] = found
            order[found] = item
            found += ONE
        items[pairs] = numbers[item]
        pairs += ONE
        ends[first_user + (word >> item_bits)] = pairs
    so_far[0], so_far[1] = pairs, found


def keep_open(indptr: Ints, items: Codes, opened: Bools) -> tuple[Ints, Codes, Ints]:
    """The rows without the items that are not open, and which rows have any left: the others are dropped.

    `indptr` may be a slice of a longer one: its offsets point into all of `items`, those returned start at 0.
    """
    bounds, busy = np.zeros_like(indptr), np.empty_like(indptr)
    kept = np.empty(indptr[-1] - indptr[0] + 1, items.dtype)
    rows = _keep_open(indptr, items, opened, bounds, kept, busy)
    return bounds[: rows + 1], kept[: bounds[rows]], busy[:rows]


@kernel
def _keep_open(indptr: Ints, items: Codes, opened: Bools, bounds: Ints, kept: Codes, busy: Ints) -> int:
    """Fill `kept`, which has one place more than can be needed; returns how many rows are left."""
    count, rows = 0, 0
    for row in range(indptr.size - 1):
        for k in range(indptr[row], indptr[row + 1]):
            # Every item is written, and only open items advance the position: a branch that is hard to predict costs more
            # than a wasted store.
            item = items[k]
            kept[count] = item
            count += opened[item]
        busy[rows] = row
        rows += count > bounds[rows]
        bounds[rows] = count
    return rows


@kernel
def choose_smallest(sizes: Ints, priorities: Words, count: int, chosen: Bools) -> None:
    """Mark the `count` smallest priorities of each row, the earlier ones where they tie; no row has fewer."""
    start = 0
    for row in range(sizes.size):
        own = priorities[start : start + sizes[row]]
        # Between bounds of the largest that is chosen: priorities are spread evenly, so that about log2(size) steps part the
        # smallest from the others. If they tie there, the bounds meet at them.
        low, last = NONE, ALL
        inside, below = own.size, 0
        while (low < last) & (inside != count):
            middle = low + ((last - low) >> ONE)
            inside = 0
            for k in range(own.size):
                inside += own[k] <= middle
            if inside < count:
                low = middle + ONE
                below = inside
            else:
                last = middle
        ties = count - below
        for k in range(own.size):
            tie = (own[k] == last) & (ties > 0)
            ties -= tie
            chosen[start + k] = tie | (own[k] < last)
        start += own.size
