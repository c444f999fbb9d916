"""Pairs of codes become the rows of a CSR matrix.

Each pair is packed into one word, and sorting the words sorts users and items. Users are divided into buckets by
position, so that words of 32 bits are enough: they are sorted twice as fast as longer words, in half the memory.
Buckets are sorted on several threads.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpsu.kernels.rows import UNSEEN, pack_pairs, unpack_rows
from dpsu.sets.hash_table import Codes

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]

ONE = np.uint64(1)

FEWEST_BUCKETS, MOST_BUCKETS = 3, 12
"""Largest number of buckets, in bits. More buckets are slower to fill than longer words are to sort."""

LINE = 8
"""Words per cache line; two threads should not share one."""


class Batch(NamedTuple):
    """Pairs of codes, and the positions of the codes."""

    users: Codes
    items: Codes
    user_places: Codes
    item_places: Codes


DONE = Batch(*[np.empty(0, np.uint32)] * 4)


def group_by_user(batches: list[Batch], users: int, items: int) -> tuple[Ints, Codes, Ints]:
    """The CSR arrays for this number of users and items, and the position of each item in the rows.

    Rows, and items in a row, are ordered by position. `batches` is emptied to save memory.
    """
    item_bits, all_user_bits = (max(size - 1, 0).bit_length() for size in (items, users))
    long = item_bits + all_user_bits > 32 + MOST_BUCKETS
    bucket_bits = FEWEST_BUCKETS if long else max(FEWEST_BUCKETS, item_bits + all_user_bits - 32)
    user_bits = max(all_user_bits - bucket_bits, 0)
    bits = np.uint64(user_bits), np.uint64(item_bits)
    with ThreadPoolExecutor(2) as pool:
        buckets = _pack(batches, bits, 1 << bucket_bits, np.uint64 if long else np.uint32, pool)
        pairs = sum(map(len, buckets))
        return _unpack(pool.map(_sorted, buckets), user_bits, item_bits, pairs, users, items)


def _pack(
    batches: list[Batch],
    bits: tuple[np.uint64, np.uint64],
    buckets: int,
    dtype: Any,
    pool: ThreadPoolExecutor,
) -> list[NDArray[Any]]:
    """The words of all pairs, by bucket; batches are counted first, so that each has a place for its words."""
    ends = np.zeros((len(batches), buckets + LINE), np.uint64)[:, :buckets]
    nothing = np.empty(0, dtype)

    def count(number: int) -> None:
        batch = batches[number]
        pack_pairs(*batch, *bits, ends[number], nothing, True)

    list(pool.map(count, range(len(batches))))
    sizes = ends.sum(axis=0)
    totals = np.cumsum(sizes)
    ends[:] = totals - sizes + np.cumsum(ends, axis=0) - ends
    packed = np.empty(int(totals[-1]), dtype)

    def pack(number: int) -> None:
        batch, batches[number] = batches[number], DONE
        pack_pairs(*batch, *bits, ends[number], packed, False)

    list(pool.map(pack, range(len(batches))))
    batches.clear()
    return np.split(packed, totals[:-1].astype(np.int64))


def _sorted(packed: NDArray[Any]) -> NDArray[Any]:
    packed.sort()
    return packed


def _unpack(
    buckets: Iterator[NDArray[Any]], user_bits: int, item_bits: int, most: int, users: int, known: int
) -> tuple[Ints, Codes, Ints]:
    """The rows of all buckets, each written when it is sorted."""
    so_far = np.zeros(2, np.uint64)
    indptr, items = np.zeros(users + 1, np.int64), np.empty(most, np.uint32)
    numbers, order = np.full(known, UNSEEN, np.uint32), np.empty(known, np.int64)
    ends, bits = indptr[1:], np.uint64(item_bits)
    for number, packed in enumerate(buckets):
        if packed.size:
            first = np.uint64(number << user_bits)
            unpack_rows(packed, first, bits, so_far, ends, items, numbers, order)
    pairs, found = map(int, so_far)
    order[found:] = np.flatnonzero(numbers == UNSEEN)
    items.resize(pairs, refcheck=False)  # gives back what repeats would have needed, without a copy
    return np.maximum.accumulate(indptr), items, order
