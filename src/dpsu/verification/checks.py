"""What every check of a statement is made of, and how its numbers are read."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

from dpsu.verification.intervals import Interval, exact

Fields = Mapping[str, Any]
"""A statement as data."""

Family = Callable[[Fields, Any, Any, Interval], list["Check"]]
"""Checks a statement's numbers against epsilon, delta and the shift of its counts."""

ROUNDING = 2.0**-45
"""Relative, for numbers that a statement gives for information only and that are rounded to a double."""

MOST_ITEMS, MOST_PASSES = 10**6, 1000
"""What the program takes at most."""


@dataclass(frozen=True)
class Check:
    """One thing that was checked, and what was found."""

    name: str
    ok: bool
    found: str


def is_number(value: Any) -> TypeGuard[float]:
    """Whether this is a number in the range of doubles; truth values, infinities and NaN are not."""
    real = isinstance(value, int | float) and not isinstance(value, bool)
    return real and abs(value) <= sys.float_info.max


def is_whole(value: Any, most: int = MOST_ITEMS) -> bool:
    """Whether this is a whole number from 1 to `most`."""
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most


def number(value: Any) -> Interval:
    """A number of a statement as itself; what is none is refused."""
    if not is_number(value):
        raise ValueError(f"{value!r} is not a finite number")
    return exact(value)


def positive(value: Any) -> Interval:
    """A number above zero: noise of a negative scale would turn every bound around."""
    if not (is_number(value) and value > 0):
        raise ValueError(f"{value!r} is not a finite number above 0")
    return exact(value)


def chance(value: Any) -> Interval:
    """A number from 0 to 1: a negative chance would pay for another."""
    if not (is_number(value) and 0 <= value <= 1):
        raise ValueError(f"{value!r} is not a number from 0 to 1")
    return exact(value)


def whole(value: Any, most: int = MOST_ITEMS) -> int:
    """A whole number from 1 to `most`."""
    if not is_whole(value, most):
        raise ValueError(f"{value!r} is not a whole number from 1 to {most}")
    return int(value)
