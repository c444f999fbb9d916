"""The one source of randomness of a release: a keyed stream, addressed by purpose, round and digest.

A word is a pure function of the key and its address, so that a retried task, another engine or a reordered
loop draws the same value. The key comes from the operating system, fresh for every release. AES-256 and HKDF
are those of the package `cryptography`; docs/noise.md has the argument.
"""

import os
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES256
from cryptography.hazmat.primitives.ciphers.modes import CBC, ECB
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand
from numpy.typing import NDArray

EXTENSION_BYTES = 64

PIECE = 1 << 20
"""Bytes of a long message that are encrypted at a time; whole blocks."""


class Purpose(IntEnum):
    """What a word is drawn for: the first part of its address."""

    DIGEST = 0  #: the key of all digests of users and items
    BOUND = 1  #: which of a user's items count
    NOISE = 3  #: the noise on an item's total
    KEEP = 4  #: the coin of an item with a keep probability
    PART = 5  #: which part of the users one belongs to
    TUNE = 6  #: whether a user is in the tuning part
    COUNT = 7  #: the noise on the number of an item's holders
    SIZE = 9  #: the noise on a number of users by the size of their sets
    ABSENT = 8  #: how many members of a known domain that nobody holds stay out until the next comes in


class Encryption:
    """AES-256 under one key, block by block: a pseudorandom permutation of 128-bit blocks.

    Without the processor's AES instructions it is slower, not wrong.
    """

    def __init__(self, key: bytes) -> None:
        self._cipher = AES256(key)
        self._encryptor = Cipher(self._cipher, ECB()).encryptor()

    def encrypt(self, blocks: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """The encrypted blocks, each a row of two words."""
        plain: Any = np.ascontiguousarray(blocks, dtype="<u8").reshape(-1)
        encrypted: Any = np.empty(plain.size + 2, "<u8")  # room for a block more, as the library asks
        self._encryptor.update_into(memoryview(plain).cast("B"), memoryview(encrypted).cast("B"))
        words: NDArray[np.uint64] = encrypted[:-2].reshape(-1, 2).astype(np.uint64, copy=False)
        return words

    def encrypt_chained(self, first: NDArray[np.uint64], rest: NDArray[np.uint8]) -> NDArray[np.uint64]:
        """The last block of CBC: `first` is already encrypted, `rest` is padded with zeros to whole blocks."""
        encryptor = Cipher(self._cipher, CBC(first.astype("<u8").tobytes())).encryptor()
        last = b""
        for place in range(0, rest.size, PIECE):
            piece = rest[place : place + PIECE].tobytes()
            last = encryptor.update(piece + bytes(-len(piece) % 16))[-16:]
        return np.frombuffer(last, "<u8").astype(np.uint64)


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

    def derived(self, size: int, *address: int | bytes) -> bytes:
        """Bytes that belong to this address alone: HKDF (RFC 5869) under the stream's key."""
        info = b"".join(part if isinstance(part, bytes) else part.to_bytes(8, "little") for part in address)
        return HKDFExpand(SHA256(), size, info).derive(self.key)

    def step(self, number: int) -> "Stream":
        """The stream of one of several mechanisms in a release, such as a level or a trial: no noise is used twice.

        It depends on this stream and the number alone, so a run that is repeated on another machine draws the same.
        """
        return Stream(self.derived(32, b"step", number), self.seeded)

    @property
    def digest_key(self) -> bytes:
        """The key under which this release digests its users and items."""
        return self.derived(32, Purpose.DIGEST, 0)

    def words(
        self, purpose: Purpose, round: int, digests: NDArray[np.uint64], count: int = 1
    ) -> NDArray[np.uint64]:
        """One uniform 64-bit word for every digest, or a row of two: AES-256 of the digest under a derived key."""
        words = Encryption(self.derived(32, purpose, round)).encrypt(digests)
        return np.ascontiguousarray(words[:, 0]) if count == 1 else words

    def extension(self, purpose: Purpose, round: int, digest: NDArray[np.uint64], depth: int) -> int:
        """512 further bits of the uniform that begins with the digest's word; `depth` counts them from 0."""
        address = np.ascontiguousarray(digest, dtype="<u8").tobytes()
        return int.from_bytes(self.derived(EXTENSION_BYTES, purpose, round, depth, address), "big")


#: Inside `dpsu.testing.seeded` this gives the next seeded key; elsewhere keys are the operating system's.
seeded_keys: ContextVar[Callable[[], bytes] | None] = ContextVar("seeded_keys", default=None)


def open_stream() -> Stream:
    """The stream of one release: fresh, unless inside `dpsu.testing.seeded`."""
    next_key = seeded_keys.get()
    return Stream.fresh() if next_key is None else Stream(next_key(), seeded=True)
