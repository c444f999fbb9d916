"""Numbers as people read them."""

from typing import Any


def percent(chance: float) -> str:
    """A chance in percent; neither 0 nor 100 unless it is exactly that."""
    if 0 < chance < 0.001:
        return "<0.1 %"
    if 0.999 < chance < 1:
        return ">99.9 %"
    return f"{100 * chance:.1f} %"


def counted(many: float, what: str = "item", several: str | None = None) -> str:
    """A whole number of things: 1 item, 2,000 items; `several` is the plural if it has no s."""
    shown = f"{many:,.0f}"
    return f"{shown} {what if shown == '1' else several or what + 's'}"


def number(value: Any) -> str:
    """A float to six digits; anything else as it is."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
