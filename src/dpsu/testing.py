"""Seeded randomness for tests and experiments on public data; it voids the privacy statement."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

from dpsu.randomness.stream import seeded_keys


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Make every release inside the `with` block reproducible, and its privacy statement void.

    The first release in the block draws from one key made of `seed`, the second from another, and so on.
    """
    numbers = count()

    def next_key() -> bytes:
        return hashlib.sha256(f"dpsu seeded stream {seed} {next(numbers)}".encode()).digest()

    token = seeded_keys.set(next_key)
    try:
        yield
    finally:
        seeded_keys.reset(token)
