"""A hash table that numbers keys of one or two words in the order of first appearance."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsu.kernels.compiled import read_only
from dpsu.kernels.hash_table import EMPTY, assign_codes

Codes = NDArray[np.uint32]
Keys = NDArray[np.uint64]

FIRST_SLOTS, MANY_SLOTS = 1 << 12, 1 << 24
"""Sizes at which a table grows fourfold, and above which it grows twofold to save memory."""


class KeyTable:
    """Keys of `words` 64-bit words (one or two), numbered in the order of first appearance."""

    def __init__(self, seed: int, words: int = 1) -> None:
        self._seed = np.uint64(seed)
        self._words = words
        self._known = 0
        self._keys: Keys
        self._make_room(FIRST_SLOTS)

    def __len__(self) -> int:
        return self._known

    def __reduce__(self) -> tuple[Any, ...]:
        """Tables travel as their keys: the slots take several times as much."""
        return _table_of, (int(self._seed), self._words, self.keys)

    @property
    def keys(self) -> Keys:
        """The distinct keys, in the order of their codes; two columns for keys of two words."""
        # Computed once on first use: n-grams read it slice by slice.
        if len(self._keys) != self._known:
            taken, places = np.flatnonzero(self._slots != EMPTY), np.empty(self._known, np.int64)
            places[self._slots[taken]] = taken
            self._keys = self._held.take(places, axis=0)
        return self._keys[:, 0] if self._words == 1 else self._keys

    def encode(self, keys: Keys) -> Codes:
        """The codes of these keys, one per row."""
        codes = np.empty(len(keys), dtype=np.uint32)
        self.number(keys, codes)
        return codes

    def number(self, keys: Keys, codes: Codes) -> Codes:
        """Write the codes of these keys, one per row, and return the rows with the first occurrence of new keys."""
        row, keys, fresh = 0, keys.reshape(-1, self._words), []
        while row < codes.size:
            row, rows = self._assign(keys, row, codes)
            fresh.append(rows)
            if row < codes.size:
                self._grow()
        return np.concatenate([np.zeros(0, np.uint32), *fresh])

    def _assign(self, keys: Keys, row: int, codes: Codes) -> tuple[int, Codes]:
        fresh, before = np.empty(codes.size - row, np.uint32), self._known
        table = codes, self._slots, self._held, self._seed
        stopped, self._known = assign_codes(read_only(keys), row, before, *table, fresh)
        return stopped, fresh[: self._known - before]

    def _grow(self) -> None:
        known = self.keys.reshape(-1, self._words)
        self._make_room((4 if self._slots.size < MANY_SLOTS else 2) * self._slots.size)
        self._known = 0
        self._assign(known, 0, np.empty(len(known), np.uint32))

    def _make_room(self, slots: int) -> None:
        self._slots, self._held = np.full(slots, EMPTY), np.empty((slots, self._words), dtype=np.uint64)
        self._keys = np.empty((0, self._words), dtype=np.uint64)


def _table_of(seed: int, words: int, keys: Keys) -> KeyTable:
    table = KeyTable(seed, words)
    table.encode(keys)
    return table
