"""The one source of randomness of a release: a keyed stream, addressed by purpose, round and digest.

A word is a pure function of the key and its address, so that a retried task, another engine or a reordered
loop draws the same value. The key comes from the operating system, fresh for every release.
"""

import os
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsu.random_kernels import chacha_words

WORDS_PER_BLOCK = 8

#: The last part of a subkey's address is the number of words per draw (1, 2, 4, 8), or from here on the depth
#: of an extension, so that no two uses of a purpose share a block.
EXTENSIONS = 16


class Purpose(IntEnum):
    """What a word is drawn for: the first part of its address."""

    DIGEST = 0  #: the key of all digests of users and items
    BOUND = 1  #: which of a user's items count
    NOISE = 3  #: the noise on an item's total
    KEEP = 4  #: the coin of an item with a keep probability
    PART = 5  #: which part of the users one belongs to
    TUNE = 6  #: whether a user is in the tuning part
    COUNT = 7  #: the noise on the number of an item's holders
    ABSENT = 8  #: how many members of a known domain that nobody holds stay out until the next comes in


@dataclass(frozen=True, repr=False)
class Stream:
    """Randomness under one 256-bit key; whoever knows the key knows all the noise, so it is never shown."""

    key: bytes
    seeded: bool = False  #: the key comes from a test's seed, which voids the privacy statement

    @classmethod
    def fresh(cls) -> "Stream":
        """A stream under a new key of the operating system."""
        return cls(os.urandom(32))

    def __post_init__(self) -> None:
        if len(self.key) != 32:
            raise ValueError("a stream's key has 32 bytes")

    def __repr__(self) -> str:
        return f"Stream(key=<hidden>, seeded={self.seeded})"

    def subkey(self, purpose: int, index: int, branch: int = 1) -> NDArray[np.uint32]:
        """Eight key words: half of the block of this stream's key at the address (index, purpose, branch)."""
        key = np.frombuffer(self.key, dtype="<u4").astype(np.uint32)
        address = np.array([[index, purpose | branch << 32]], dtype=np.uint64)
        low_half = chacha_words(key, address, 0, 4)[0]
        return np.array(low_half.astype("<u8").view("<u4"), dtype=np.uint32)

    @property
    def digest_key(self) -> NDArray[np.uint64]:
        """The SipHash key under which this release digests its users and items."""
        return np.array(self.subkey(Purpose.DIGEST, 0).astype("<u4").view("<u8")[:2], dtype=np.uint64)

    def words(
        self, purpose: Purpose, round: int, digests: NDArray[np.uint64], count: int = 1
    ) -> NDArray[np.uint64]:
        """One uniform 64-bit word for every digest, or a row of `count` (1, 2, 4 or 8) words.

        Words drawn with another `count` are others, independent of these.
        """
        block, place = divmod(round, WORDS_PER_BLOCK // count)
        words = self._draw(self.subkey(purpose, block, count), digests, place * count, count)
        return words[:, 0] if count == 1 else words

    def extension(self, purpose: Purpose, round: int, digest: NDArray[np.uint64], depth: int) -> int:
        """512 further bits of the uniform that begins with the digest's word; `depth` counts them from 0."""
        subkey = self.subkey(purpose, round, EXTENSIONS + depth)
        words = self._draw(subkey, digest.reshape(1, 2), 0, WORDS_PER_BLOCK)[0]
        return int.from_bytes(words.astype(">u8").tobytes(), "big")

    def of_rounds(self) -> "StreamOfRounds":
        """The same stream, for one who draws for the same items round after round."""
        return StreamOfRounds(self.key, self.seeded)

    @staticmethod
    def _draw(
        subkey: NDArray[np.uint32], digests: NDArray[np.uint64], first: int, count: int
    ) -> NDArray[np.uint64]:
        return chacha_words(subkey, np.ascontiguousarray(digests), first, count)


#: So many arrays have their blocks kept; with the slices of a local engine that is 256 MB.
MOST_KEPT = 128


@dataclass(frozen=True, repr=False)
class StreamOfRounds(Stream):
    """The same words, faster where round after round draws for the same items: one block has words for eight rounds.

    Blocks are kept for views of a longer array, such as an engine's slices of its column of digests, which nobody writes to;
    arrays of their own come and go. An array is known by its place in memory, where it stays since it is kept too. A copy
    in another process is a plain stream.
    """

    _kept: dict[tuple[int, ...], tuple[int, NDArray[np.uint64], NDArray[np.uint64]]] = field(
        default_factory=dict, init=False, compare=False
    )

    def words(
        self, purpose: Purpose, round: int, digests: NDArray[np.uint64], count: int = 1
    ) -> NDArray[np.uint64]:
        """As a stream's."""
        address = purpose, len(digests), *digests.strides, digests.ctypes.data
        kept = self._kept.get(address)
        full = kept is None and len(self._kept) >= MOST_KEPT
        if count != 1 or digests.base is None or full:
            return super().words(purpose, round, digests, count)
        block, place = divmod(round, WORDS_PER_BLOCK)
        if kept is None or kept[0] != block:
            drawn = self._draw(self.subkey(purpose, block), digests, 0, WORDS_PER_BLOCK)
            kept = self._kept[address] = block, digests, drawn
        words: NDArray[np.uint64] = kept[2][:, place]
        return words

    def __reduce__(self) -> tuple[Any, ...]:
        return Stream, (self.key, self.seeded)


#: Inside `dpsu.testing.seeded` this gives the next seeded key; elsewhere keys are the operating system's.
seeded_keys: ContextVar[Callable[[], bytes] | None] = ContextVar("seeded_keys", default=None)


def open_stream() -> Stream:
    """The stream of one release: fresh, unless inside `dpsu.testing.seeded`."""
    next_key = seeded_keys.get()
    return Stream.fresh() if next_key is None else Stream(next_key(), seeded=True)
