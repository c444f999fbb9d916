"""Fixed keys for the releases in tests: a test draws the same noise in every run.

A key is made of the test's name. Unlike with `dpsu.testing.seeded`, the statement is not void, so it can be verified and
recorded. Commands that a test starts in another process draw real noise: such a test must state why its probability of
failure is at most 1e-9.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

from dpsu.randomness.stream import Stream

REAL = "keys of the operating system"

drawn_for, numbers = REAL, count()
from_system = Stream.fresh


@contextmanager
def keys_of(name: str) -> Iterator[None]:
    """Streams opened inside get the first, second, … key of `name`; for `REAL`, keys of the operating system."""
    global drawn_for, numbers
    before = drawn_for, numbers
    drawn_for, numbers = name, count()
    try:
        yield
    finally:
        drawn_for, numbers = before


def next_stream(kind: type[Stream]) -> Stream:
    """What `Stream.fresh` does in tests."""
    if drawn_for == REAL:
        return from_system()
    return kind(hashlib.sha256(f"{drawn_for} {next(numbers)}".encode()).digest())
