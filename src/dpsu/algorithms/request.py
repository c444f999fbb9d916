"""What the caller asks for, checked before any data is touched."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from dpsu.algorithms.ranges import DELTA, EPSILON, MAX_ITEMS, OPTIONS
from dpsu.errors import InvalidArgument

Calibration = Literal["exact", "paper"]

DEFAULT_MAX_ITEMS = 300


@dataclass(frozen=True)
class Request:
    """A privacy and a way to get there: public, and all that a calibration may depend on."""

    epsilon: float
    delta: float
    max_items: int = DEFAULT_MAX_ITEMS
    calibration: Calibration = "exact"
    options: Mapping[str, Any] = field(default_factory=dict)

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

    def option(self, name: str, default: Any) -> Any:
        """The caller's value of an option, which must lie in its range, or the default."""
        return OPTIONS[name].check(name, self.options.get(name, default))
