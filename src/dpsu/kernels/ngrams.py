"""Compiled loops over a corpus of numbered words: its n-grams, whose they are, and how they are spelt."""

import numpy as np

from dpsu.kernels.arrays import Bools, Bytes, Codes, Ints, Words
from dpsu.kernels.compiled import kernel

SPACE_BYTE = np.uint8(0x20)
NONE = np.uint32(0xFFFFFFFF)
"""Marks places where no n-gram begins."""

HALF = np.uint64(32)
LOW_32, HIGH_32 = np.uint64(0xFFFFFFFF), np.uint64(0xFFFFFFFF00000000)
RECENT, RECENT_SHIFT = 1 << 15, np.uint64(64 - 15)
"""Pairs that are remembered to leave out repeats: they fit into the processor's cache."""

MIX = np.uint64(0x9E3779B97F4A7C15)
NO_PAIR = np.uint64(2**64 - 1)


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
def pairs_of(row_users: Codes, starts: Ints, codes: Codes) -> Words:
    """The pairs of a user and an n-gram, as words of two codes; most repeats that are close together are left out."""
    recent = np.full(RECENT, NO_PAIR, np.uint64)
    pairs = np.empty(codes.size, np.uint64)
    found = 0
    for row in range(row_users.size):
        user = np.uint64(row_users[row]) << HALF
        for i in range(starts[row], starts[row + 1]):
            if codes[i] != NONE:
                pair = user | np.uint64(codes[i])
                slot = pair * MIX >> RECENT_SHIFT
                if recent[slot] != pair:
                    recent[slot] = pair
                    pairs[found] = pair
                    found += 1
    return pairs[:found].copy()


@kernel
def renumber(pairs: Words, codes: Codes) -> None:
    """Give the n-grams of the pairs other codes."""
    for i in range(pairs.size):
        pairs[i] = (pairs[i] & HIGH_32) | np.uint64(codes[pairs[i] & LOW_32])


@kernel
def drop_repeats(ordered: Words) -> int:
    """Move the distinct words of a sorted array to its front; returns how many there are."""
    kept = 0
    for i in range(ordered.size):
        if i == 0 or ordered[i] != ordered[i - 1]:
            ordered[kept] = ordered[i]
            kept += 1
    return kept


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
