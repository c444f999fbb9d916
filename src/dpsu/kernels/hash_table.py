"""The compiled hash table of keys of one or two words."""

import numpy as np

from dpsu.kernels.arrays import Codes, Words
from dpsu.kernels.compiled import kernel

MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
SHIFT_1, SHIFT_2, SHIFT_3 = np.uint64(30), np.uint64(27), np.uint64(31)
ONE = np.uint64(1)
EMPTY = np.uint32(0xFFFFFFFF)


@kernel
def assign_codes(
    keys: Words,
    start: int,
    known: int,
    codes: Codes,
    slots: Codes,
    held: Words,
    seed: np.uint64,
    fresh: Codes,
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
