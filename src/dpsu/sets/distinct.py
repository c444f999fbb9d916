"""Distinct pairs of numbers from many slices, in memory that follows the distinct pairs and not the slices."""

import numpy as np
from numpy.typing import NDArray

from dpsu.kernels.ngrams import drop_repeats

Pairs = NDArray[np.uint64]

MOST_UNMERGED = 1 << 26
"""Pairs below which repeats are left in: sorting them out takes longer than it helps."""

PIECE = 1 << 24
"""Pairs of a part after merging: parts are freed one by one when they have been used."""


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
        """Leave repeats out; each pair is in memory about once meanwhile."""
        merged, end = np.empty(self._size, np.uint64), self._size
        while self._parts:
            part = self._parts.pop()
            merged[end - part.size : end] = part
            end -= part.size
        merged.sort()
        merged.resize(drop_repeats(merged), refcheck=False)
        self._size = merged.size
        self._most = max(MOST_UNMERGED, 2 * self._size)
        while merged.size:
            first = (merged.size - 1) // PIECE * PIECE
            self._parts.append(merged[first:].copy())
            merged.resize(first, refcheck=False)

    def taken(self) -> list[Pairs]:
        """All pairs, in parts; none are left here."""
        parts, self._parts, self._size = self._parts, [], 0
        return parts
