"""Keys of one or two words become numbers in the order in which they first appear."""

import numpy as np
from numpy.typing import NDArray

from dpsu.compiled import kernel, prefetch, smaller

Codes = NDArray[np.uint32]
Keys = NDArray[np.uint64]

MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
SHIFT_1, SHIFT_2, SHIFT_3 = np.uint64(30), np.uint64(27), np.uint64(31)
ONE = np.uint64(1)
EMPTY = np.uint32(0xFFFFFFFF)
FIRST_SLOTS, MANY_SLOTS = 1 << 12, 1 << 24
"""A table grows fourfold from the first to the second, then twofold: by then its memory counts."""

BLOCK = 128
"""So many keys are looked up at a time."""


@kernel
def assign_codes(
    rows: np.uint64,
    keys: Keys,
    words: np.uint64,
    so_far: Keys,
    codes: Codes,
    slots: Codes,
    held: Keys,
    mask: np.uint64,
    seed: np.uint64,
    block: np.uint64,
    places: Keys,
    fresh: Codes,
) -> None:
    """Write the codes of the keys, each of so many words (one or two); new keys get the next codes, and `fresh` their rows.

    `slots` and `held` are a hash table of codes and their keys with open addressing; `mask` is its size less one, and half
    of it may be taken. `so_far` has the row to begin with and the number of known keys, and gets the row where a new key
    found no room, or the end, and how many keys are known by then. `places` is room for a block.
    """
    end, known = words - ONE, so_far[1]
    before = known
    for base in range(so_far[0], rows, block):
        stop = smaller(base + block, rows)
        # First where all keys of a block belong, then the block: the memory that it needs is on its way by then.
        for row in range(base, stop):
            x = keys[words * row] ^ seed
            x = ((x ^ (x >> SHIFT_1)) * MIX_1) ^ keys[words * row + end]
            x = (x ^ (x >> SHIFT_2)) * MIX_2
            slot = (x ^ (x >> SHIFT_3)) & mask
            places[row - base] = slot
            prefetch(slots, slot)
            prefetch(held, words * slot)
        for row in range(base, stop):
            first, second = keys[words * row], keys[words * row + end]
            slot = places[row - base]
            code = slots[slot]
            while code != EMPTY:
                if (held[words * slot] == first) & (held[words * slot + end] == second):
                    break
                slot = (slot + ONE) & mask
                code = slots[slot]
            if code == EMPTY:
                if known > mask >> ONE:
                    so_far[0], so_far[1] = row, known
                    return
                slots[slot] = known
                code = slots[slot]
                held[words * slot] = first
                held[words * slot + end] = second
                fresh[known - before] = row
                known += ONE
            codes[row] = code
    so_far[0], so_far[1] = rows, known


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
            self._keys = self._held.reshape(-1, self._words).take(places, axis=0)
        return self._keys[:, 0] if self._words == 1 else self._keys

    def encode(self, keys: Keys) -> Codes:
        """The codes of these keys, a row for each."""
        codes = np.empty(len(keys), dtype=np.uint32)
        self.number(keys, codes)
        return codes

    def number(self, keys: Keys, codes: Codes) -> Codes:
        """Write the codes of these keys, a row for each, and return the rows where new keys stand first."""
        row, keys, fresh = 0, keys.reshape(-1), []
        while row < codes.size:
            row, rows = self._assign(keys, row, codes)
            fresh.append(rows)
            if row < codes.size:
                self._grow()
        return np.concatenate([np.zeros(0, np.uint32), *fresh])

    def _assign(self, keys: Keys, row: int, codes: Codes) -> tuple[int, Codes]:
        words, mask = np.uint64(self._words), np.uint64(self._slots.size - 1)
        so_far = np.array([row, self._known], np.uint64)
        table = so_far, codes, self._slots, self._held, mask, self._seed
        places, fresh = np.empty(BLOCK, np.uint64), np.empty(codes.size - row, np.uint32)
        assign_codes(np.uint64(codes.size), keys, words, *table, np.uint64(places.size), places, fresh)
        stopped, known = map(int, so_far)
        new, self._known = known - self._known, known
        return stopped, fresh[:new]

    def _grow(self) -> None:
        known = self.keys.reshape(-1)
        self._make_room((4 if self._slots.size < MANY_SLOTS else 2) * self._slots.size)
        self._known = 0
        self._assign(known, 0, np.empty(known.size // self._words, np.uint32))

    def _make_room(self, slots: int) -> None:
        self._slots, self._held = np.full(slots, EMPTY), np.empty(self._words * slots, dtype=np.uint64)
        self._keys = np.empty((0, self._words), dtype=np.uint64)
