"""Compiled loops over UTF-8: which rows hold certain characters, and the words of every row."""

from typing import Any

import numpy as np

from dpsu.kernels.arrays import Bools, Bytes, Codes, Ints, Words
from dpsu.kernels.compiled import kernel

FREE, LOW_32 = np.uint64(2**64 - 1), np.uint64(0xFFFFFFFF)
ONE, HALF, FOLD = np.uint64(1), np.uint64(32), np.uint64(29)
PRIME = np.uint64(0x9E3779B97F4A7C15)
FIRST_SLOTS = 1 << 12

WORD_BYTES = 8
FIRST_BYTES = np.array([(1 << 8 * size) - 1 for size in range(WORD_BYTES + 1)], np.uint64)
"""Masks: entry n keeps the first n bytes of a word."""

OTHER, SPACE, MARK, START = 0, 1, 2, 3
"""Classes of characters: a word begins with START and goes on with START or MARK."""


@kernel
def _decode(data: Any, place: Any) -> Any:
    """The character whose UTF-8 begins at `place`, and where the next one begins."""
    first = np.int64(data[place])
    if first < 0x80:
        return first, place + 1
    if first < 0xE0:
        return (first & 0x1F) << 6 | (np.int64(data[place + 1]) & 0x3F), place + 2
    if first < 0xF0:
        middle = (np.int64(data[place + 1]) & 0x3F) << 6
        return (first & 0x0F) << 12 | middle | (np.int64(data[place + 2]) & 0x3F), place + 3
    high = (np.int64(data[place + 1]) & 0x3F) << 12 | (np.int64(data[place + 2]) & 0x3F) << 6
    return (first & 0x07) << 18 | high | (np.int64(data[place + 3]) & 0x3F), place + 4


@kernel
def _encode(character: Any, out: Any, place: Any) -> Any:
    """Write the character as UTF-8; where the next one goes."""
    if character < 0x80:
        out[place] = character
        return place + 1
    if character < 0x800:
        out[place] = 0xC0 | character >> 6
        out[place + 1] = 0x80 | character & 0x3F
        return place + 2
    if character < 0x10000:
        out[place] = 0xE0 | character >> 12
        out[place + 1] = 0x80 | character >> 6 & 0x3F
        out[place + 2] = 0x80 | character & 0x3F
        return place + 3
    out[place] = 0xF0 | character >> 18
    out[place + 1] = 0x80 | character >> 12 & 0x3F
    out[place + 2] = 0x80 | character >> 6 & 0x3F
    out[place + 3] = 0x80 | character & 0x3F
    return place + 4


@kernel
def _url_at(data: Any, place: Any, stop: Any, classes: Any) -> Any:
    """Whether http:// or https:// and something that is not white space begins here."""
    if stop - place < 8 or (data[place + 1] | 0x20) != 0x74 or (data[place + 2] | 0x20) != 0x74:
        return False
    if (data[place + 3] | 0x20) != 0x70:
        return False
    after = place + 4
    if (data[after] | 0x20) == 0x73:
        after += 1
    if stop - after < 4 or data[after] != 0x3A or data[after + 1] != 0x2F or data[after + 2] != 0x2F:
        return False
    character, _ = _decode(data, after + 3)
    return classes[character] != SPACE


@kernel
def rows_with(offsets: Ints, data: Bytes, marked: Bools) -> Bools:
    """Which rows hold a marked character; none of the marked ones but Σ and its kin is common."""
    found = np.zeros(offsets.size - 1, np.bool_)
    for row in range(offsets.size - 1):
        place, stop = offsets[row], offsets[row + 1]
        while place < stop:
            if data[place] < 0x80:
                place += 1
                continue
            character, place = _decode(data, place)
            if marked[character]:
                found[row] = True
                break
    return found


@kernel
def split_rows(
    offsets: Ints, data: Bytes, classes: Bytes, lower: Any, removes_urls: bool
) -> tuple[Bytes, Ints, Ints]:
    """The words of every row: their bytes one after the other, where each begins, and which are a row's.

    Row r has the words `rows[r]` to `rows[r + 1] - 1`, word w the bytes `out[starts[w]:starts[w + 1]]`.
    """
    size = offsets[-1] - offsets[0]
    # A lower-case letter takes at most three bytes where its capital takes two.
    out = np.empty(size + size // 2 + 4, np.uint8)
    starts = np.empty(size // 2 + offsets.size + 1, np.int64)
    rows = np.empty(offsets.size, np.int64)
    starts[0] = rows[0] = 0
    words, written = 0, 0
    for row in range(offsets.size - 1):
        place, stop = offsets[row], offsets[row + 1]
        begun = written
        while place < stop:
            if removes_urls and (data[place] | 0x20) == 0x68 and _url_at(data, place, stop, classes):
                kind = OTHER
                while place < stop:
                    character, after = _decode(data, place)
                    if classes[character] == SPACE:
                        break
                    place = after
            else:
                character, place = _decode(data, place)
                kind = classes[character]
            if kind == START or (kind == MARK and written > begun):
                written = _encode(lower[character], out, written)
            elif written > begun:
                words += 1
                starts[words] = begun = written
        if written > begun:
            words += 1
            starts[words] = written
        rows[row + 1] = words
    return out[:written].copy(), starts[: words + 1].copy(), rows


@kernel
def split_letters(starts: Ints, data: Bytes, classes: Bytes) -> tuple[Ints, Ints]:
    """Where each letter of the words begins, with the marks after it, and which letters are a word's.

    Word w has the letters `rows[w]` to `rows[w + 1] - 1`, letter k the bytes `data[letters[k]:letters[k + 1]]`.
    """
    letters = np.empty(data.size + 1, np.int64)
    rows = np.zeros(starts.size, np.int64)
    found = 0
    for word in range(starts.size - 1):
        place = starts[word]
        while place < starts[word + 1]:
            character, after = _decode(data, place)
            if classes[character] == START or place == starts[word]:
                letters[found] = place
                found += 1
            place = after
        rows[word + 1] = found
    letters[found] = starts[-1]
    return letters[: found + 1].copy(), rows


@kernel
def gather_words(starts: Ints, data: Bytes, chosen: Codes) -> tuple[Ints, Bytes]:
    """The bytes of the chosen words, and where each begins."""
    new_starts = np.zeros(chosen.size + 1, np.int64)
    for i in range(chosen.size):
        new_starts[i + 1] = new_starts[i] + starts[chosen[i] + 1] - starts[chosen[i]]
    gathered = np.empty(new_starts[-1], np.uint8)
    for i in range(chosen.size):
        gathered[new_starts[i] : new_starts[i + 1]] = data[starts[chosen[i]] : starts[chosen[i] + 1]]
    return new_starts, gathered


@kernel
def _grown(slots: Words) -> Words:
    """The entries in a table four times as large; the upper half of an entry is its hash."""
    larger = np.full(4 * slots.size, FREE, np.uint64)
    mask = np.uint64(larger.size - 1)
    for entry in slots:
        if entry != FREE:
            slot = (entry >> HALF) & mask
            while larger[slot] != FREE:
                slot = (slot + ONE) & mask
            larger[slot] = entry
    return larger


@kernel
def _equal(starts: Ints, eights: Any, word: int, other: int) -> bool:
    """Whether two words have the same bytes."""
    size = starts[word + 1] - starts[word]
    if starts[other + 1] - starts[other] != size:
        return False
    for k in range(0, size, WORD_BYTES):
        differing = eights[starts[word] + k] ^ eights[starts[other] + k]
        if differing & FIRST_BYTES[min(size - k, WORD_BYTES)]:
            return False
    return True


def number_words(starts: Ints, data: Bytes, seed: int) -> tuple[Codes, Codes]:
    """The code of each word, numbered in the order of first appearance, and the first word with each code."""
    padded = np.concatenate([data, np.zeros(WORD_BYTES, np.uint8)])
    # The eight bytes that begin at each byte.
    eights: Words = np.ndarray(data.size + 1, "<u8", padded, strides=(1,))
    return _number_words(starts, eights, np.uint64(seed))


@kernel
def _number_words(starts: Ints, eights: Any, seed: np.uint64) -> tuple[Codes, Codes]:
    """Words are equal if their bytes are: the hash only finds those to compare."""
    codes = np.empty(starts.size - 1, np.uint32)
    firsts = np.empty(starts.size - 1, np.uint32)
    slots = np.full(FIRST_SLOTS, FREE, np.uint64)
    known = 0
    for word in range(codes.size):
        if 2 * known > slots.size:
            slots = _grown(slots)
        mask = np.uint64(slots.size - 1)
        begin, end = starts[word], starts[word + 1]
        hashed = seed ^ np.uint64(end - begin)
        for place in range(begin, end, WORD_BYTES):
            hashed = (hashed ^ (eights[place] & FIRST_BYTES[min(end - place, WORD_BYTES)])) * PRIME
            hashed ^= hashed >> FOLD
        tag = hashed >> HALF
        slot = tag & mask
        code = np.int64(known)
        while slots[slot] != FREE:
            if slots[slot] >> HALF == tag:
                other = np.int64(slots[slot] & LOW_32)
                if _equal(starts, eights, word, firsts[other]):
                    code = other
                    break
            slot = (slot + ONE) & mask
        if code == known:
            slots[slot] = tag << HALF | np.uint64(known)
            firsts[known] = word
            known += 1
        codes[word] = code
    return codes, firsts[:known].copy()
