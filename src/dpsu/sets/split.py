"""Split one database into two: each user goes to one part, and a part contains only the items of its users."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dpsu.randomness.stream import Purpose, Stream
from dpsu.sets.user_sets import Digests, Names, UserSets


class PartNames(Names):
    """The names of the items that a part of the users holds."""

    def __init__(self, names: Names, codes: NDArray[np.int64]) -> None:
        self._names = names
        self.codes = codes

    def __len__(self) -> int:
        return self.codes.size

    @property
    def columns(self) -> list[str]:
        """The columns of an item."""
        return self._names.columns

    def decode(
        self, codes: NDArray[np.integer], beside: Mapping[str, NDArray[Any]] | None = None
    ) -> pl.DataFrame:
        """The items with these codes, as in the whole database."""
        return self._names.decode(self.codes[codes], beside)


def coins_of(users: Digests, share: float, stream: Stream) -> NDArray[np.bool_]:
    """A keyed coin of each user, which is true with the chance `share`."""
    return stream.words(Purpose.TUNE, 0, users) < np.uint64(int(share * 2**64))


def split_users(sets: UserSets, chosen: NDArray[np.bool_]) -> tuple[UserSets, UserSets]:
    """The sets of the chosen users, and those of all others."""
    return _part(sets, chosen), _part(sets, ~chosen)


def _part(sets: UserSets, chosen: NDArray[np.bool_]) -> UserSets:
    # Items that nobody in this part holds must not get noise here, or the wrong part could release them.
    sizes = np.diff(sets.indptr)
    own = sets.items[np.repeat(chosen, sizes)]
    held = np.zeros(sets.n_items, np.bool_)
    held[own] = True
    codes = np.flatnonzero(held)
    renumbered = (np.cumsum(held) - 1).astype(np.uint32)
    indptr = np.concatenate([[0], np.cumsum(sizes[chosen])]).astype(np.int64)
    return UserSets(
        indptr,
        renumbered[own],
        sets.user_digests[chosen],
        sets.item_digests[codes],
        PartNames(sets.names, codes),
    )
