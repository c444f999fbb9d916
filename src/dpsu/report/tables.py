"""Tables and numbers of the report page; every cell that comes from a statement is escaped."""

from collections.abc import Sequence
from html import escape
from typing import Any

from dpsu.report.facts import in_words


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


def one_in(chance: float) -> str:
    """A small probability in words."""
    return f"one in {round(1 / chance):,}" if chance > 1e-12 else f"{max(chance, 1e-300):.0e}"
