"""Tables and numbers of the report page; every cell that comes from a statement is escaped."""

import math
from collections.abc import Sequence
from html import escape
from typing import Any

from dpsu.report.facts import in_words

SLACK = 1e-6
"""Relative, so that a bound of one in 500,000.0 less a rounding error does not become one in 499,000."""

ROUNDING = 1e-12
"""Relative; what rounding up forgives the errors of floats."""


def numbers_table(caption: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of numbers."""
    top = "".join(f'<th class="number" scope="col">{name}</th>' for name in head)
    body = "".join(
        "<tr>" + "".join(f'<td class="number">{value}</td>' for value in row) + "</tr>" for row in rows
    )
    return f"<table><caption>{caption}</caption><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def fact_rows(rows: Sequence[tuple[str, Any]]) -> str:
    """Rows of a name and a value."""
    return "".join(
        f'<tr><th scope="row">{escape(str(name))}</th><td>{escape(in_words(value))}</td></tr>'
        for name, value in rows
    )


def bullets(entries: Sequence[str]) -> str:
    """A list."""
    return "<ul>" + "".join(f"<li>{escape(entry)}</li>" for entry in entries) + "</ul>"


def share(chance: float) -> str:
    """A probability or a share in percent."""
    if 0.9995 < chance < 1:
        return "over 99.9 %"
    return f"{100 * chance:.1f} %" if chance >= 0.001 or chance == 0 else "under 0.1 %"


def at_most(chance: float) -> str:
    """A bound on a probability or a share in percent, rounded up to a tenth of a percent."""
    if 0.999 < chance < 1:
        return "over 99.9 %"
    return share(math.ceil(1000 * chance * (1 - ROUNDING)) / 1000 if chance >= 0.001 else chance)


def one_in(chance: float) -> str:
    """A bound on a small probability in words, rounded up to three digits."""
    if chance <= 1e-12:
        return f"{max(chance, 1e-300):.0e}"
    whole = math.floor((1 + SLACK) / chance)
    unit = 10 ** max(0, len(str(whole)) - 3)
    return f"one in {whole // unit * unit:,}"
