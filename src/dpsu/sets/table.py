"""Keys of one or two words become numbers in the order in which they first appear."""

import numpy as np
from numpy.typing import NDArray

from dpsu.compiled import kernel, read_only

Codes = NDArray[np.uint32]
Keys = NDArray[np.uint64]

MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
SHIFT_1, SHIFT_2, SHIFT_3 = np.uint64(30), np.uint64(27), np.uint64(31)
ONE = np.uint64(1)
EMPTY = np.uint32(0xFFFFFFFF)
FIRST_SLOTS, MANY_SLOTS = 1 << 12, 1 << 24
"""A table grows fourfold from the first to the second, then twofold: by then its memory counts."""


@kernel
def assign_codes(
    keys: Keys, start: int, known: int, codes: Codes, slots: Codes, held: Keys, seed: np.uint64, fresh: Codes
) -> tuple[int, int]:
    """Write the codes of the keys from row `start` on; new keys get the next codes, and `fresh` their rows.

    `slots` and `held` are a hash table of codes and their keys with open addressing, whose size is a power of two; half
    of it may be taken. Returns the row where a new key found no room, or the end, and how many keys are known by then.
    """
    mask, end = np.uint64(slots.size - 1), keys.shape[1] - 1
    before, most = known, slots.size // 2
    for row in range(start, keys.shape[0]):
        first, second = keys[row, 0], keys[row, end]
        x = first ^ seed
        x = ((x ^ (x >> SHIFT_1)) * MIX_1) ^ second
        x = (x ^ (x >> SHIFT_2)) * MIX_2
        slot = (x ^ (x >> SHIFT_3)) & mask
        code = slots[slot]
        while code != EMPTY and (held[slot, 0] != first or held[slot, end] != second):
            slot = (slot + ONE) & mask
            code = slots[slot]
        if code == EMPTY:
            if known > most:
                return row, known
            code = np.uint32(known)
            slots[slot] = code
            held[slot, 0] = first
            held[slot, end] = second
            fresh[known - before] = row
            known += 1
        codes[row] = code
    return keys.shape[0], known


class KeyTable:
    """Keys of `words` 64-bit words (one or two), numbered in the order in which they first appear."""

    def __init__(self, seed: int, words: int = 1) -> None:
        self._seed = np.uint64(seed)
        self._words = words
        self._known = 0
        self._keys: Keys
        self._make_room(FIRST_SLOTS)

    def __len__(self) -> int:
        return self._known

    @property
    def keys(self) -> Keys:
        """The distinct keys, in the order of their codes: a column for each of two words."""
        # Made once, when asked for: n-grams ask slice after slice.
        if len(self._keys) != self._known:
            taken, places = np.flatnonzero(self._slots != EMPTY), np.empty(self._known, np.int64)
            places[self._slots[taken]] = taken
            self._keys = self._held.take(places, axis=0)
        return self._keys[:, 0] if self._words == 1 else self._keys

    def encode(self, keys: Keys) -> Codes:
        """The codes of these keys, a row for each."""
        codes = np.empty(len(keys), dtype=np.uint32)
        self.number(keys, codes)
        return codes

    def number(self, keys: Keys, codes: Codes) -> Codes:
        """Write the codes of these keys, a row for each, and return the rows where new keys stand first."""
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
