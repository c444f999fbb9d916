"""Distinct pairs of numbers from many slices, in memory that follows the distinct pairs and not the slices."""

import numpy as np
from numpy.typing import NDArray

from dpsu.kernels.ngrams import drop_repeats

Pairs = NDArray[np.uint64]

MOST_UNMERGED = 1 << 26
"""Pairs below which repeats are left in: sorting them out takes longer than it helps."""


class DistinctPairs:
    """Pairs, each a word of two numbers. Whenever they may have doubled, repeats are left out."""

    def __init__(self) -> None:
        self._parts: list[Pairs] = []
        self._size = 0
        self._most = MOST_UNMERGED

    def __len__(self) -> int:
        """The number of pairs, with the repeats that are still among them."""
        return self._size

    def __repr__(self) -> str:
        return "DistinctPairs(<private>)"

    def add(self, pairs: Pairs) -> None:
        """Add some pairs."""
        self._parts.append(pairs)
        self._size += pairs.size
        if self._size > self._most:
            self.merge()

    def merge(self) -> None:
        """Leave repeats out."""
        merged = np.concatenate([np.zeros(0, np.uint64), *self._parts])
        self._parts.clear()
        merged.sort()
        merged.resize(drop_repeats(merged), refcheck=False)
        self._parts.append(merged)
        self._size = merged.size
        self._most = max(MOST_UNMERGED, 2 * self._size)

    def taken(self) -> list[Pairs]:
        """All pairs, in parts; none are left here."""
        parts, self._parts, self._size = self._parts, [], 0
        return parts
