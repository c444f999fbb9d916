"""What every check of a statement is made of."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dpsu.verification.intervals import Interval

Fields = Mapping[str, Any]
"""A statement as data."""

Family = Callable[[Fields, Any, Any, Interval], list["Check"]]
"""Checks a statement's numbers against epsilon, delta and the shift of its counts."""

ROUNDING = 2.0**-45
"""Relative, for numbers that a statement gives for information only and that are rounded to a double."""


@dataclass(frozen=True)
class Check:
    """One thing that was checked, and what was found."""

    name: str
    ok: bool
    found: str
