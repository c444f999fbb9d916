"""Compiled loops over a corpus of numbered words: its n-grams, whose they are, and how they are spelt."""

import numpy as np

from dpsu.kernels.arrays import Bools, Bytes, Codes, Ints, Words
from dpsu.kernels.compiled import kernel

SPACE_BYTE = np.uint8(0x20)
NONE = np.uint32(0xFFFFFFFF)
"""Marks places where no n-gram begins."""


@kernel
def pair_up(starts: Ints, words: Codes, codes: Codes, kept: Bools, size: int) -> tuple[Words, Ints]:
    """Keys of all n-grams of `size + 1` words whose first and last `size` words are kept, and where they begin."""
    keys = np.empty(words.size, np.uint64)
    at = np.empty(words.size, np.int64)
    found = 0
    for row in range(starts.size - 1):
        for i in range(starts[row], starts[row + 1] - size):
            first, second = codes[i], codes[i + 1]
            if first != NONE and second != NONE and kept[first] and kept[second]:
                keys[found] = np.uint64(first) << np.uint64(32) | np.uint64(words[i + size])
                at[found] = i
                found += 1
    return keys[:found].copy(), at[:found].copy()


@kernel
def pairs_of(row_users: Codes, starts: Ints, codes: Codes, base: int) -> tuple[Codes, Codes]:
    """The users and numbers (from `base` on) of all n-grams in the corpus."""
    users = np.empty(codes.size, np.uint32)
    items = np.empty(codes.size, np.uint32)
    found = 0
    for row in range(row_users.size):
        for i in range(starts[row], starts[row + 1]):
            if codes[i] != NONE:
                users[found] = row_users[row]
                items[found] = base + codes[i]
                found += 1
    return users[:found].copy(), items[:found].copy()


@kernel
def join_words(phrases: Codes, starts: Ints, data: Bytes, gap: int) -> tuple[Ints, Bytes]:
    """The words of every row with `gap` spaces between them: where each begins, and all bytes."""
    count, size = phrases.shape
    offsets = np.zeros(count + 1, np.int64)
    for row in range(count):
        length = gap * (size - 1)
        for k in range(size):
            length += starts[phrases[row, k] + 1] - starts[phrases[row, k]]
        offsets[row + 1] = offsets[row] + length
    joined = np.full(offsets[-1], SPACE_BYTE, np.uint8)
    for row in range(count):
        place = offsets[row]
        for k in range(size):
            for i in range(starts[phrases[row, k]], starts[phrases[row, k] + 1]):
                joined[place] = data[i]
                place += 1
            place += gap
    return offsets, joined
