"""Columns of values that are summed: bounds, fixed point, and what a user has for an item in total.

A value becomes a whole number of units as it is read, so sums are exact and the order of rows does not matter. The unit is a
power of two, 2^-20 to 2^-19 of the largest value that counts.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpsu.errors import InvalidArgument, NullValues, UnsupportedType

if TYPE_CHECKING:
    import polars as pl

UNITS = 20
"""The largest value of a user has 2^19 to 2^20 units."""

MOST_UNITS = 1 << 31
"""A single value counts for at most so many units, at least 2048 times the bounds: 2^31 rows then fit into 64 bits."""

SMALLEST, LARGEST = 1e-9, 1e15
MOST_COLUMNS = 16


@dataclass(frozen=True)
class Bounds:
    """The bounds of a user's total for one item."""

    low: float
    high: float

    @property
    def largest(self) -> float:
        """The largest absolute value within the bounds."""
        return max(abs(self.low), abs(self.high))

    @property
    def unit(self) -> float:
        """The unit of fixed point: a power of two."""
        return 2.0 ** (math.frexp(self.largest)[1] - UNITS)

    @property
    def in_units(self) -> tuple[int, int]:
        """The bounds in whole units, rounded towards the inside, so that no total exceeds them."""
        return math.ceil(self.low / self.unit), math.floor(self.high / self.unit)


def checked_bounds(sums: Mapping[str, Any]) -> dict[str, Bounds]:
    """The bounds of each column, checked before any data is read."""
    if not isinstance(sums, Mapping):
        raise InvalidArgument("sums must be bounds by column, such as {'amount': (0, 50)}.")
    if len(sums) > MOST_COLUMNS:
        raise InvalidArgument(f"at most {MOST_COLUMNS} columns can be summed, not {len(sums)}.")
    found = {}
    for column, bounds in sums.items():
        if not isinstance(column, str):
            raise InvalidArgument(f"sums must be by column, and {column!r} is not the name of one.")
        found[column] = _bounds(column, bounds)
    return found


def _bounds(column: str, bounds: Any) -> Bounds:
    pair = tuple(bounds) if isinstance(bounds, tuple | list) else ()
    numbers = len(pair) == 2 and all(map(_is_bound, pair))
    if not numbers or not pair[0] < pair[1]:
        raise InvalidArgument(
            f"the bounds of {column!r} must be two numbers (low, high) with low < high and at most {LARGEST:g}, "
            f"not {bounds!r}. They bound the total of one user for one item."
        )
    made = Bounds(float(pair[0]), float(pair[1]))
    if made.largest < SMALLEST or made.in_units[0] > made.in_units[1]:
        raise InvalidArgument(f"the bounds of {column!r} are too small or too close together: {bounds!r}.")
    return made


def _is_bound(value: Any) -> bool:
    """Whether this is a number in range; numpy's are welcome."""
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    return number and -LARGEST <= value <= LARGEST


def in_units(column: "pl.Series", bounds: Bounds, label: str) -> NDArray[np.int64]:
    """The values in whole units; nulls, NaN, infinities and text that is not a number are refused."""
    import polars as pl

    name = column.name
    if column.null_count():
        raise NullValues(
            f"column {name!r} of {label} has nulls, which cannot be summed; to leave such rows out, pass "
            "drop_nulls=True (--drop-nulls)"
        )
    if not (column.dtype.is_numeric() or column.dtype in (pl.String, pl.Null)):
        raise UnsupportedType(f"column {name!r} of {label} cannot be summed: it has no numbers")
    # Files of text have no types: digits in them are numbers.
    values = column.cast(pl.Float64, strict=False)
    if values.null_count() or not values.is_finite().all():
        raise UnsupportedType(
            f"column {name!r} of {label} has values that are no finite numbers; remove or replace them"
        )
    with np.errstate(over="ignore"):
        scaled = values.to_numpy() / bounds.unit
    return np.rint(np.clip(scaled, -MOST_UNITS, MOST_UNITS)).astype(np.int64)
