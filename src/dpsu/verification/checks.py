"""The building blocks of all checks: reading the numbers of a statement, and the result of a check."""

import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from mpmath import iv

from dpsu.verification.intervals import Interval, at_most, exact

Fields = Mapping[str, Any]
"""A JSON object as data."""

ROUNDING = 2.0**-45
"""Relative tolerance for numbers that follow from others and are rounded to a double."""

INFORMED = 1e-9
"""Relative tolerance for informative numbers, which are the result of several floating-point operations."""

MOST_ITEMS, MOST_PASSES = 10**6, 1000
"""The largest values that the program accepts."""


@dataclass(frozen=True)
class Check:
    """One check and its result."""

    name: str
    ok: bool
    found: str


@dataclass(frozen=True)
class Stated:
    """One mechanism as a statement describes it, with the privacy that it must have by itself."""

    algorithm: str
    calibration: str
    max_items: int
    parameters: Fields
    epsilon: Any
    delta: Any
    budget: Fields | None


@dataclass(frozen=True)
class Counts:
    """Counts next to a mechanism: their shift, and whether they have a separate epsilon and delta."""

    shift: Interval = field(default_factory=lambda: exact(0))
    apart: bool = False


def is_number(value: Any) -> TypeGuard[float]:
    """Whether this is a number in the range of doubles; booleans, infinities and NaN are not."""
    real = isinstance(value, int | float) and not isinstance(value, bool)
    return real and abs(value) <= sys.float_info.max


def is_whole(value: Any, most: int = MOST_ITEMS) -> bool:
    """Whether this is a whole number from 1 to `most`."""
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most


def number(value: Any) -> Interval:
    """A number of a statement as an exact interval; anything else is refused."""
    if not is_number(value):
        raise ValueError(f"{value!r} is not a finite number")
    return exact(value)


def positive(value: Any) -> Interval:
    """A number above zero: noise with a negative scale would reverse every bound."""
    if not (is_number(value) and value > 0):
        raise ValueError(f"{value!r} is not a finite number above 0")
    return exact(value)


def chance(value: Any) -> Interval:
    """A number from 0 to 1: a negative probability would offset another one."""
    return within(value, 0, 1)


def within(value: Any, least: float, most: float) -> Interval:
    """A number in a closed range."""
    if not (is_number(value) and least <= value <= most):
        raise ValueError(f"{value!r} is not a number from {least:g} to {most:g}")
    return exact(value)


def whole(value: Any, most: int = MOST_ITEMS) -> int:
    """A whole number from 1 to `most`."""
    if not is_whole(value, most):
        raise ValueError(f"{value!r} is not a whole number from 1 to {most}")
    return int(value)


def only(value: Any, names: Collection[str], where: str, optional: Collection[str] = ()) -> Fields:
    """A JSON object with all of these keys and no others except the optional ones."""
    if not isinstance(value, Mapping):
        raise ValueError(f"{where} is not an object")
    missing, unknown = {*names} - {*value}, {*value} - {*names} - {*optional}
    if missing or unknown:
        told = [f"lacks {name!r}" for name in sorted(missing)]
        told += [f"has the unknown key {name!r}" for name in sorted(unknown)]
        raise ValueError(f"{where} {', '.join(told)}")
    return value


def listed(value: Any, where: str, most: int, least: int = 1) -> list[Any]:
    """A JSON array with `least` to `most` entries."""
    if not (isinstance(value, list) and least <= len(value) <= most):
        raise ValueError(f"{where} is not a list of {least} to {most} entries")
    return value


def close(found: Interval, expected: Interval, tolerance: float = ROUNDING) -> bool:
    """Whether two nonzero numbers agree up to a relative tolerance."""
    return at_most(abs(found / expected - 1), tolerance)


def sum_of(values: Collection[Interval]) -> Interval:
    """The sum as an interval."""
    return sum(values, iv.mpf(0))
