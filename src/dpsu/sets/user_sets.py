"""User sets: one set of item numbers per user, and the names of the items."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dpsu.errors import SourceError
from dpsu.sets.hash_table import Codes

Digests = NDArray[np.uint64]

# Polars imports numpy on first use, which fails if two threads do it at once; import it here, before any thread.
pl.Series(np.zeros(0))


class Names:
    """The names of the items; private, except for the items that are decoded for a release.

    Columns of `frame` may contain the bytes of text; other `types` than binary are converted from them.
    """

    def __init__(self, frame: pl.DataFrame, types: Mapping[str, pl.DataType]) -> None:
        self._frame = frame
        self._types = types

    def __repr__(self) -> str:
        return "Names(<private>)"

    def __len__(self) -> int:
        return self._frame.height

    @property
    def columns(self) -> list[str]:
        """The columns of an item."""
        return self._frame.columns

    def decode(
        self, codes: NDArray[np.integer], beside: Mapping[str, NDArray[Any]] | None = None
    ) -> pl.DataFrame:
        """The items with these codes, sorted, in the columns and types of the source (categoricals as strings).

        `beside` are additional columns, such as counts, with a value for each code.
        """
        further = [pl.Series(name, values) for name, values in (beside or {}).items()]
        typed = [_typed(column, self._types[column.name]) for column in self._frame[codes]]
        return detached(pl.DataFrame([*typed, *further]).sort(self.columns))


def _typed(column: pl.Series, dtype: pl.DataType) -> pl.Series:
    """The column in its original type."""
    if column.dtype == dtype:
        return column
    try:
        return column.cast(pl.String).cast(dtype)
    except pl.exceptions.PolarsError:
        pass  # raised below, so that the error has no reference to this one, which quotes the item
    raise SourceError(
        f"an item of the column {column.name!r} is not text: its bytes are not UTF-8. Read the column as binary."
    )


def detached(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows in memory of their own: strings may point into a buffer that also holds all the others, or tell by their
    buffer which rows came from where."""
    return pl.DataFrame(
        [
            pl.Series(column.name, column.to_list(), dtype=column.dtype)
            if column.dtype in (pl.String, pl.Binary)
            else column
            for column in frame
        ]
    )


@dataclass(frozen=True, repr=False)
class UserSets:
    """The sets of all users as a CSR matrix: `items[indptr[u]:indptr[u + 1]]` are the items of user u.

    Users are numbered in the order of their digests. The items of a row are in the order of their digests, without
    repeats. So the sets are the same for every order of the rows in the source, and on every engine. Items are numbered
    in the order of their first appearance in the rows, so that items with few holders are close together in memory for
    loops over rows.

    `notes` are for the curator (see `advice`); they depend on the data and are not pickled. `listed` marks the items of a
    list of candidates, if there is one; `absent` is the number of listed items that nobody holds, and `list_digests`
    are those of the whole list. `weights` are those of listed items, and 1 for others, if the list has weights. `values` has
    the totals of every pair, in the order of `items`, for the columns that are summed.
    """

    indptr: NDArray[np.int64]
    items: Codes
    user_digests: Digests
    item_digests: Digests
    names: Names
    notes: tuple[str, ...] = ()
    listed: NDArray[np.bool_] | None = None
    absent: int = 0
    list_digests: Digests | None = None
    weights: NDArray[np.float64] | None = None
    values: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)

    def __repr__(self) -> str:
        return "UserSets(<private>)"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "notes": ()}

    @property
    def n_users(self) -> int:
        """The number of users; private."""
        return len(self.user_digests)

    @property
    def n_items(self) -> int:
        """The number of distinct items; private."""
        return len(self.item_digests)


class AdmittedNames(Names):
    """The names of the items that were read, followed by those of listed items that nobody holds."""

    def __init__(self, read: Names, absent: pl.DataFrame) -> None:
        self._read = read
        self._absent = absent

    def __len__(self) -> int:
        return len(self._read) + self._absent.height

    @property
    def columns(self) -> list[str]:
        """The columns of an item."""
        return self._read.columns

    def decode(
        self, codes: NDArray[np.integer], beside: Mapping[str, NDArray[Any]] | None = None
    ) -> pl.DataFrame:
        """The items with these codes, sorted."""
        known = codes < len(self._read)
        further = beside or {}
        read = self._read.decode(codes[known], {name: values[known] for name, values in further.items()})
        absent = self._absent[codes[~known].astype(np.int64) - len(self._read)]
        added = [pl.Series(name, values[~known]) for name, values in further.items()]
        return detached(pl.concat([read, absent.with_columns(added)]).sort(self.columns))


def admit(
    sets: UserSets,
    items: pl.DataFrame,
    digests: Digests,
    may_pass: NDArray[np.bool_] | None = None,
    weights: NDArray[np.float64] | None = None,
) -> UserSets:
    """The sets with these items in the union, held or not; each is given once, in the types of the data.

    Items that nobody holds are left out where `may_pass` is false. `weights` are those of the items, if they have any.
    """
    known = sets.item_digests
    near = np.flatnonzero(_could_be_among(digests, known))
    held = near[among(digests[near], known)]
    listed = among(known, digests[held])
    fresh = np.ones(len(digests), np.bool_) if may_pass is None else may_pass.copy()
    fresh[held] = False
    absent = int(np.count_nonzero(fresh))
    if weights is not None:
        # The listed items of the data are those of `held`: they meet in the order of their digests.
        of_known, places = np.ones(len(known)), np.flatnonzero(listed)
        of_known[places[digest_order(known[places])]] = weights[held[digest_order(digests[held])]]
        weights = np.concatenate([of_known, weights[fresh]])
    return replace(
        sets,
        item_digests=np.concatenate([known, digests[fresh]]),
        names=AdmittedNames(sets.names, items.filter(pl.Series(fresh))),
        listed=np.concatenate([listed, np.ones(absent, np.bool_)]),
        absent=absent,
        list_digests=digests,
        weights=weights,
    )


def _could_be_among(digests: Digests, others: Digests) -> NDArray[np.bool_]:
    """False only for digests that are not among the others: by the first bits, so that few need a comparison."""
    bits = min(len(others).bit_length() + 5, 30)
    shift = np.uint64(64 - bits)
    taken = np.zeros(1 << bits, np.bool_)
    taken[others[:, 0] >> shift] = True
    return np.asarray(taken[digests[:, 0] >> shift], np.bool_)


def digest_order(digests: Digests) -> NDArray[np.int64]:
    """The sort order by first word, then second word."""
    # Replacing the last bits of every word by its index keeps its origin, and sorting words is several times as
    # fast as an argsort. The few words whose other bits are equal are sorted afterwards.
    last_bits = np.uint64((1 << len(digests).bit_length()) - 1)
    words = digests[:, 0] & ~last_bits | np.arange(len(digests), dtype=np.uint64)
    words.sort()
    order = (words & last_bits).astype(np.int64)
    tied = words[1:] ^ words[:-1] <= last_bits
    among = np.flatnonzero(np.append(tied, False) | np.append(False, tied))
    order[among] = order[among][np.lexsort(digests[order[among]].T[::-1])]
    return order


def among(digests: Digests, others: Digests) -> NDArray[np.bool_]:
    """Which of the digests are among the others."""
    both = np.concatenate([digests, others])
    order = digest_order(both)
    ordered = both[order]
    # Runs of equal digests: those with a member from the others.
    run = np.cumsum(np.append(False, (ordered[1:] != ordered[:-1]).any(axis=1))[: len(order)])
    from_others = np.zeros(len(order), np.bool_)
    from_others[run[order >= len(digests)]] = True
    found = np.empty(len(order), np.bool_)
    found[order] = from_others[run]
    return found[: len(digests)]


def ranks(digests: Digests, first: Digests) -> NDArray[np.int64]:
    """The position of each digest in `first`; digests that are not in it get its length."""
    place = {digest: rank for rank, digest in reversed(list(enumerate(map(tuple, first.tolist()))))}
    found = np.full(len(digests), len(first), np.int64)
    candidates = np.flatnonzero(np.isin(digests[:, 0], first[:, 0]))
    found[candidates] = [place.get(tuple(each), len(first)) for each in digests[candidates].tolist()]
    return found


def places(order: NDArray[np.int64]) -> Codes:
    """The position of each element in the order."""
    ranks = np.empty(order.size, dtype=np.uint32)
    ranks[order] = np.arange(order.size, dtype=np.uint32)
    return ranks
