"""User sets: one set of item numbers per user, and the names behind the numbers."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dpsu.compiled import kernel
from dpsu.sets.table import Codes

Digests = NDArray[np.uint64]

LOW_32 = np.uint64(0xFFFFFFFF)
HIGH = np.uint64(32)
UNSEEN = 0xFFFFFFFF


class Names:
    """What the items are called; private, like everything it has not been asked to decode for a release."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame

    def __repr__(self) -> str:
        return "Names(<private>)"

    def __len__(self) -> int:
        return self._frame.height

    @property
    def columns(self) -> list[str]:
        """The columns that name an item."""
        return self._frame.columns

    def decode(
        self, codes: NDArray[np.integer], beside: Mapping[str, NDArray[Any]] | None = None
    ) -> pl.DataFrame:
        """The items with these codes, sorted, in the columns and types of the source (categoricals as strings).

        `beside` are further columns, such as counts, with a value for each code.
        """
        further = [pl.Series(name, values) for name, values in (beside or {}).items()]
        chosen = self._frame[codes].with_columns(further).sort(self.columns)
        return pl.DataFrame([_detached(column) for column in chosen])


def _detached(column: pl.Series) -> pl.Series:
    """The values in memory of their own: strings may point into a buffer that holds all the others too."""
    if column.dtype in (pl.String, pl.Binary):
        return pl.Series(column.name, column.to_list(), dtype=column.dtype)
    return column


@dataclass(frozen=True, repr=False)
class UserSets:
    """The sets of all users as a CSR matrix: `items[indptr[u]:indptr[u + 1]]` are the items of user u.

    Users are numbered in the order of their digests, and so are the items of a row, which has no repeats: the
    sets are the same for every order of the rows in the source, and on every engine. Items are numbered as they
    first appear in the rows, so that loops over rows find those that few users hold next to each other in memory.
    """

    indptr: NDArray[np.int64]
    items: Codes
    user_digests: Digests
    item_digests: Digests
    names: Names

    def __repr__(self) -> str:
        return "UserSets(<private>)"

    @property
    def n_users(self) -> int:
        """How many users there are; private."""
        return len(self.user_digests)

    @property
    def n_items(self) -> int:
        """How many distinct items there are; private."""
        return len(self.item_digests)


def digest_order(digests: Digests) -> NDArray[np.int64]:
    """The order by first word, then second; the second is asked only if first words tie, hardly ever."""
    order = np.argsort(digests[:, 0])
    first = digests[order, 0]
    if (first[1:] == first[:-1]).any():
        order = np.lexsort((digests[:, 1], digests[:, 0]))
    return order.astype(np.int64, copy=False)


def places(order: NDArray[np.int64]) -> Codes:
    """Where each element stands in the order."""
    ranks = np.empty(order.size, dtype=np.uint32)
    ranks[order] = np.arange(order.size, dtype=np.uint32)
    return ranks


@kernel
def pack_pairs(
    users: Codes,
    items: Codes,
    user_places: Codes,
    item_places: Codes,
    packed: NDArray[np.uint64],
    front: int,
    back: int,
) -> tuple[int, int]:
    """Write each pair as one word that sorts by the user's place, then the item's.

    Words of users in the first half go to `front` and on, the others below `back`, so that the two parts can
    be sorted at the same time; where the free room now begins and ends is returned.
    """
    middle = user_places.size // 2
    for row in range(users.size):
        user, item = user_places[users[row]], item_places[items[row]]
        word = (user << HIGH) | item
        if user < middle:
            packed[front] = word
            front += 1
        else:
            back -= 1
            packed[back] = word
    return front, back


@kernel
def unpack_rows(
    packed: NDArray[np.uint64],
    indptr: NDArray[np.int64],
    items: Codes,
    numbers: Codes,
    order: NDArray[np.int64],
) -> tuple[int, int]:
    """The rows of sorted pairs, repeats left out; a user without a pair has an empty row.

    Items get new numbers, as they first appear: `numbers` has those, UNSEEN so far, and `order` says whose they are.
    Returns how many pairs there are, and how many items.
    """
    pairs, found, user = 0, 0, 0
    for i in range(packed.size):
        word = packed[i]
        if i > 0 and word == packed[i - 1]:
            continue
        while user < word >> HIGH:
            user += 1
            indptr[user] = pairs
        item = word & LOW_32
        if numbers[item] == UNSEEN:
            numbers[item] = found
            order[found] = item
            found += 1
        items[pairs] = numbers[item]
        pairs += 1
    while user < indptr.size - 1:
        user += 1
        indptr[user] = pairs
    return pairs, found


def group_by_user(
    pairs: list[tuple[Codes, Codes]], user_places: Codes, item_order: NDArray[np.int64]
) -> tuple[NDArray[np.int64], Codes, NDArray[np.int64]]:
    """The CSR arrays of batches of (user, item) codes, and the code of each item in the rows.

    Items stand in a row in the given order. `pairs` is emptied on the way to spare memory.
    """
    packed = np.empty(sum(users.size for users, _ in pairs), dtype=np.uint64)
    front, back = 0, packed.size
    item_places = places(item_order)
    while pairs:
        users, items = pairs.pop()
        front, back = pack_pairs(users, items, user_places, item_places, packed, front, back)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(np.ndarray.sort, (packed[:front], packed[front:])))
    indptr, row_items = np.zeros(user_places.size + 1, np.int64), np.empty(packed.size, np.uint32)
    numbers, order = np.full(item_order.size, UNSEEN, np.uint32), np.empty(item_order.size, np.int64)
    kept, found = unpack_rows(packed, indptr, row_items, numbers, order)
    order[found:] = np.flatnonzero(numbers == UNSEEN)
    return indptr, row_items[:kept].copy() if kept < packed.size else row_items, item_order[order]
