"""Keyed digests of names, and sampling by keyed priorities; AES-256 is that of the package `cryptography`."""

import numpy as np
from numpy.typing import NDArray

from dpsu.kernels.rows import choose_smallest
from dpsu.randomness.stream import Encryption, Purpose, Stream

Words = NDArray[np.uint64]
Ints = NDArray[np.int64]
Codes = NDArray[np.uint32]

WORD_BYTES = 8
"""Half a block. The first block of a string holds its length and this many of its bytes."""

LOW_BYTES = np.array([(1 << 8 * size) - 1 for size in range(WORD_BYTES + 1)], np.uint64)
"""Masks: entry n keeps the first n bytes of a word."""

SLICE = 1 << 16
"""Number of strings or pairs that are encrypted at a time, so that they stay in the processor's cache."""

LONG = 1 << 12
"""Longer strings are encrypted one by one, not block by block together: one string must not take minutes."""


def digest_bytes(offsets: Ints, data: NDArray[np.uint8], key: bytes) -> Words:
    """The 128-bit digest of each of the strings `data[offsets[i]:offsets[i + 1]]`, as two words.

    CBC-MAC with AES-256. The first block holds the length of the string, so that no string's blocks begin another's: for
    such messages CBC-MAC is a pseudorandom function (docs/noise.md).
    """
    digests, encryption = np.zeros((offsets.size - 1, 2), np.uint64), Encryption(key)
    for first in range(0, offsets.size - 1, SLICE):
        own = offsets[first : first + SLICE + 1]
        _digest_slice(own - own[0], data[own[0] : own[-1]], encryption, digests[first : first + SLICE])
    return digests


def _digest_slice(offsets: Ints, data: NDArray[np.uint8], encryption: Encryption, digests: Words) -> None:
    starts, lengths = offsets[:-1], np.diff(offsets)
    # The word that begins at each byte, also at those that a string's last block has beyond the end.
    padded = np.concatenate([data, np.zeros(2 * WORD_BYTES, np.uint8)])
    words: Words = np.ndarray(data.size + WORD_BYTES, "<u8", padded, strides=(1,))

    def words_at(places: Ints, left: Ints) -> Words:
        """The strings' words at these places, without the bytes that are not theirs."""
        return words[places] & LOW_BYTES[np.clip(left, 0, WORD_BYTES)]

    first = words_at(starts, lengths)
    digests[:] = encryption.encrypt(np.stack([lengths.view(np.uint64), first], axis=1))
    for row in np.flatnonzero(lengths > LONG):
        rest = data[offsets[row] + WORD_BYTES : offsets[row + 1]]
        digests[row] = encryption.encrypt_chained(digests[row], rest)
    done = WORD_BYTES
    while (rows := np.flatnonzero((lengths > done) & (lengths <= LONG))).size:
        places, left = starts[rows] + done, lengths[rows] - done
        blocks = digests[rows]
        blocks[:, 0] ^= words_at(places, left)
        blocks[:, 1] ^= words_at(places + WORD_BYTES, left - WORD_BYTES)
        digests[rows] = encryption.encrypt(blocks)
        done += 2 * WORD_BYTES


def digest_words(rows: Words, key: bytes) -> Words:
    """The 128-bit digest of each row of 64-bit words, read as little-endian bytes."""
    offsets = np.arange(rows.shape[0] + 1, dtype=np.int64) * (8 * rows.shape[1])
    return digest_bytes(offsets, np.ascontiguousarray(rows, dtype="<u8").reshape(-1).view(np.uint8), key)


def digest_integers(values: NDArray[np.int64], key: bytes) -> Words:
    """The 128-bit digest of each integer's eight little-endian bytes."""
    words = np.ascontiguousarray(values, dtype=np.int64).view(np.uint64)
    return digest_words(words.reshape(-1, 1), key)


def digest_concatenated(columns: list[Words], key: bytes) -> Words:
    """The digest of a composite key: of the digests of its columns, one after the other."""
    return digest_words(np.hstack(columns), key)


def sample_rows(
    indptr: Ints,
    items: Codes,
    user_digests: Words,
    item_digests: Words,
    max_items: int,
    stream: Stream,
    round: int,
) -> tuple[Ints, Codes]:
    """Cut rows with more than `max_items` items to that many, uniformly without replacement; a row keeps its order.

    Those items are kept whose priority is smallest, the earlier ones in the row where priorities tie. The priority of a
    user's item is the stream's word for the exclusive or of both digests. `indptr` may be a slice of a longer one: its
    offsets point into all of `items`, those returned start at 0.
    """
    sizes = np.diff(indptr)
    new_indptr = np.concatenate([[0], np.cumsum(np.minimum(sizes, max_items))])
    kept = np.empty(new_indptr[-1], dtype=items.dtype)
    pairs = np.cumsum(np.where(sizes > max_items, sizes, 0))
    done = 0
    while done < sizes.size:
        # Rows whose long ones have about SLICE pairs, or a single row.
        before = pairs[done - 1] if done else 0
        stop = max(done + 1, int(np.searchsorted(pairs, before + SLICE, side="right")))
        own, long, own_sizes = (
            items[indptr[done] : indptr[stop]],
            sizes[done:stop] > max_items,
            sizes[done:stop],
        )
        drawn = np.repeat(long, own_sizes)
        users = np.repeat(user_digests[done:stop][long], own_sizes[long], axis=0)
        priorities = stream.words(Purpose.BOUND, round, item_digests[own[drawn]] ^ users)
        chosen = np.empty(priorities.size, np.bool_)
        choose_smallest(own_sizes[long], priorities, max_items, chosen)
        stays = ~drawn
        stays[drawn] = chosen
        kept[new_indptr[done] : new_indptr[stop]] = own[stays]
        done = stop
    return new_indptr, kept
