"""One table for the terminal and the page, and how its numbers are written."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Table:
    """Headings and rows of text; the first column stands left, the others right."""

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]

    def markdown(self) -> str:
        """As Markdown, with columns of even width so that it reads well as it is."""
        lines = [self.headings, *self.rows]
        widths = [max(3, *(len(line[place]) for line in lines)) for place in range(len(self.headings))]
        rule = ["-" * width if place == 0 else "-" * (width - 1) + ":" for place, width in enumerate(widths)]
        texts = [
            [cell.ljust(width) if place == 0 else cell.rjust(width) for place, (cell, width) in row]
            for row in (enumerate(zip(line, widths, strict=True)) for line in lines)
        ]
        return "\n".join("| " + " | ".join(row) + " |" for row in [texts[0], rule, *texts[1:]])


def digits(value: float) -> str:
    """Three significant digits, with spaces between thousands."""
    if value == 0:
        return "0"
    places = max(0, 2 - _exponent(value))
    return f"{value:,.{places}f}".replace(",", " ")


def timed(facts: Mapping[str, Any]) -> tuple[str, str, str]:
    """Median, least and spread of repeated seconds."""
    return digits(facts["median"]), digits(facts["least"]), spread(facts)


def spread(facts: Mapping[str, Any]) -> str:
    """Half the distance between the least and the most, relative to the median."""
    if facts["repetitions"] == 1:
        return "once"
    return f"±{50 * (facts['most'] - facts['least']) / facts['median']:.0f} %"


def whole(value: int) -> str:
    """A whole number with spaces between thousands."""
    return f"{value:,}".replace(",", " ")


def size(bytes_held: float) -> str:
    """Bytes in the unit that reads best."""
    return f"{digits(bytes_held / 1e9)} GB" if bytes_held >= 1e9 else f"{digits(bytes_held / 1e6)} MB"


def _exponent(value: float) -> int:
    return int(f"{value:e}".split("e")[1])
