"""What every check of a statement is made of, and how its numbers are read."""

import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from mpmath import iv

from dpsu.verification.intervals import Interval, at_most, exact

Fields = Mapping[str, Any]
"""A JSON object as data."""

ROUNDING = 2.0**-45
"""Relative, for numbers that follow from others and are rounded to a double."""

INFORMED = 1e-9
"""Relative, for numbers that only inform: they went through some more operations of floats."""

MOST_ITEMS, MOST_PASSES = 10**6, 1000
"""The largest values that the program takes."""


@dataclass(frozen=True)
class Check:
    """One thing that was checked, and what was found."""

    name: str
    ok: bool
    found: str


@dataclass(frozen=True)
class Stated:
    """One mechanism as a statement describes it, with the privacy that it must keep by itself."""

    algorithm: str
    calibration: str
    max_items: int
    parameters: Fields
    epsilon: Any
    delta: Any
    budget: Fields | None


@dataclass(frozen=True)
class Counts:
    """Counts beside a mechanism: their shift, and whether they are paid apart, with an epsilon and a delta of their own."""

    shift: Interval = field(default_factory=lambda: exact(0))
    apart: bool = False


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
    return within(value, 0, 1)


def within(value: Any, least: float, most: float) -> Interval:
    """A number in a range, its ends included."""
    if not (is_number(value) and least <= value <= most):
        raise ValueError(f"{value!r} is not a number from {least:g} to {most:g}")
    return exact(value)


def whole(value: Any, most: int = MOST_ITEMS) -> int:
    """A whole number from 1 to `most`."""
    if not is_whole(value, most):
        raise ValueError(f"{value!r} is not a whole number from 1 to {most}")
    return int(value)


def only(value: Any, names: Collection[str], where: str, optional: Collection[str] = ()) -> Fields:
    """A JSON object with all of these keys and no others but the optional ones."""
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
    """Whether two numbers that are not zero agree, relatively."""
    return at_most(abs(found / expected - 1), tolerance)


def sum_of(values: Collection[Interval]) -> Interval:
    """The sum as an interval."""
    return sum(values, iv.mpf(0))
