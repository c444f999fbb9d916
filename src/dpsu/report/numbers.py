"""Numbers as people read them."""

from typing import Any


def percent(chance: float) -> str:
    """A chance in percent; neither 0 nor 100 unless it is exactly that."""
    if 0 < chance < 0.001:
        return "<0.1 %"
    if 0.999 < chance < 1:
        return ">99.9 %"
    return f"{100 * chance:.1f} %"


def number(value: Any) -> str:
    """A float to six digits; anything else as it is."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
