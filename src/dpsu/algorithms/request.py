"""What the caller asks for, checked before any data is touched."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, Literal

from dpsu.errors import InvalidArgument

Calibration = Literal["exact", "paper"]

DEFAULT_MAX_ITEMS = 300

LARGEST_EPSILON = 10_000
"""Beyond any meaning, and within what floats can calibrate."""


@dataclass(frozen=True)
class Request:
    """A privacy and a way to get there: public, and all that a calibration may depend on."""

    epsilon: float
    delta: float
    max_items: int = DEFAULT_MAX_ITEMS
    calibration: Calibration = "exact"
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_number(
            "epsilon", self.epsilon, 0, math.inf, "a smaller epsilon means more privacy; 1 is a common choice"
        )
        _check_number(
            "delta", self.delta, 0, 1, "choose it well below one divided by the number of users, such as 1e-6"
        )
        if self.epsilon > LARGEST_EPSILON:
            raise InvalidArgument(
                f"epsilon must be at most {LARGEST_EPSILON}, not {self.epsilon!r}: far below it nothing is promised."
            )
        if not is_whole(self.max_items) or self.max_items < 1:
            raise InvalidArgument(f"max_items must be a whole number of at least 1, not {self.max_items!r}.")
        if self.max_items > 10**6:
            raise InvalidArgument(
                f"max_items must be at most 1000000, not {self.max_items}: the noise pays for every item."
            )
        if self.calibration not in ("exact", "paper"):
            raise InvalidArgument(f"calibration must be 'exact' or 'paper', not {self.calibration!r}.")
        # Numpy's numbers are welcome, but a statement is plain data.
        for name, plain in (("epsilon", float), ("delta", float), ("max_items", int)):
            object.__setattr__(self, name, plain(getattr(self, name)))


def is_whole(value: Any) -> bool:
    """Whether `value` is a whole number, Python's or numpy's; True and False are not."""
    return not isinstance(value, bool) and isinstance(value, Integral)


def _check_number(
    name: Literal["epsilon", "delta"], value: Any, low: float, high: float, advice: str
) -> None:
    real = not isinstance(value, bool) and isinstance(value, Real) and math.isfinite(value)
    if not real or not low < value < high:
        limits = f"between {low} and {high}" if math.isfinite(high) else f"above {low}"
        raise InvalidArgument(f"{name} must be a finite number {limits}, not {value!r}: {advice}.")
