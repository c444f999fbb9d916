"""What the caller asks for, checked before any data is touched."""

from dataclasses import dataclass
from typing import Literal

from dpsu.algorithms.ranges import DELTA, EPSILON, MAX_ITEMS
from dpsu.errors import InvalidArgument

Calibration = Literal["exact", "paper"]

MaxItems = int | Literal["auto"]
"""A number of items of one user that count at most. "auto" leaves it to `auto`, and is 300 for named algorithms."""

DEFAULT_MAX_ITEMS = 300


@dataclass(frozen=True)
class Request:
    """A privacy and a way to get there: public, and all that a calibration may depend on.

    If max_items is `free`, `auto` chooses it, and `max_items` is the largest that it may choose.
    """

    epsilon: float
    delta: float
    max_items: int = DEFAULT_MAX_ITEMS
    calibration: Calibration = "exact"
    free: bool = False

    @classmethod
    def asked(
        cls, epsilon: float, delta: float, max_items: MaxItems, calibration: Calibration = "exact"
    ) -> "Request":
        """The request of a caller, whose max_items may be "auto"."""
        if max_items == "auto":
            return cls(epsilon, delta, DEFAULT_MAX_ITEMS, calibration, free=True)
        return cls(epsilon, delta, max_items, calibration)

    def __post_init__(self) -> None:
        # Numpy's numbers are welcome, but a statement is plain data.
        checked = {
            "epsilon": EPSILON.check("epsilon", self.epsilon),
            "delta": DELTA.check("delta", self.delta),
            "max_items": MAX_ITEMS.check("max_items", self.max_items),
        }
        if self.calibration not in ("exact", "paper"):
            raise InvalidArgument(f"calibration must be 'exact' or 'paper', not {self.calibration!r}.")
        for name, plain in checked.items():
            object.__setattr__(self, name, plain)
