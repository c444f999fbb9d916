"""Plans, releases and catalogues as terminal text."""

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from dpsu.outcome.ledger import Ledger
from dpsu.outcome.statement import Statement
from dpsu.report.facts import choice_in_words, facts
from dpsu.report.measures import measured_of, measures_in_words
from dpsu.report.numbers import counted, number, percent

WIDTH = 100
LIMITS_PER_TABLE = 4
KINDS = {
    "single": "",
    "levels": "levels of ",
    "tuned": "chosen by private tuning: ",
    "series": "a series of ",
}
SHOWN_LAST = ("date", "note")


def statement_text(statement: Statement) -> str:
    """The statement as lines of text; parameters with a value for every round are only in the JSON."""
    promise = (
        f"VOID: {statement.void}."
        if statement.void
        else f"This output is ({statement.epsilon:g}, {statement.delta:g})-differentially private for {statement.unit}."
    )
    lines = [
        *([f"Title: {statement.title}"] if statement.title else []),
        promise,
        *(
            f"{name[0].upper()}{name[1:]}: {value}."
            for name, value in facts(statement)
            if name not in SHOWN_LAST
        ),
        f"Algorithm: {KINDS[statement.kind]}{statement.algorithm}, {statement.calibration} calibration, "
        f"max_items {statement.max_items}.",
    ]
    choice = choice_in_words(statement)
    if choice:
        lines.append(f"Chosen: {choice}.")
    single = [
        f"{name} {number(value)}"
        for name, value in statement.parameters.items()
        if isinstance(value, str | int | float)
    ]
    if single:
        lines.append(f"Parameters: {', '.join(single)}.")
    measured = measured_of(statement)
    if measured:
        lines.append(measures_in_words(measured, levels=statement.kind == "levels"))
    lines.append(f"Noise: {statement.noise_source}.")
    if statement.budget:
        lines.append(
            f"Composes as mu {statement.budget.mu:.6g} (Gaussian DP), delta_new {statement.budget.delta_new:.4g}."
        )
    lines += [f"The caller guarantees that {claim}." for claim in statement.rests_on]
    lines += [
        "Not covered: " + "; ".join(statement.not_covered) + ".",
        f"Proof: {statement.proof}. dpsu {statement.version}{f', {statement.date}' if statement.date else ''}.",
        *([f"Note: {statement.note}"] if statement.note else []),
    ]
    return "\n".join(lines)


def statement_panel(statement: Statement | None, warning: str | None) -> Panel:
    """The statement in a frame."""
    if statement is None:
        return Panel(Text(str(warning)), title="no promise", border_style="red")
    return Panel(
        Text(_plain(str(statement))),
        title="what is promised",
        border_style="red" if statement.void else "green",
    )


def catalogue_table(frame: pl.DataFrame) -> Table:
    """The algorithms."""
    table = Table()
    for column in ("name", "family", "private", "what it does"):
        table.add_column(column)
    for entry in frame.iter_rows(named=True):
        name = f"{entry['name']} (default)" if entry["default"] else entry["name"]
        private = "yes" if entry["private"] else "NO"
        table.add_row(name, entry["family"], private, entry["summary"])
    return table


def comparison_tables(frame: pl.DataFrame) -> Iterator[str | Table]:
    """Algorithms side by side, the most items first; a table per epsilon, in columns by max_items if there are several.

    Titles and notes are lines of their own: those of a table are not wider than it.
    """
    limits = sorted(frame["max_items"].unique())
    for part in frame.partition_by("epsilon", maintain_order=True):
        yield f"items released, epsilon {part['epsilon'][0]:g}{', by max_items' * (len(limits) > 1)}"
        if len(limits) == 1:
            yield _comparison(part)
        for first in range(0, len(limits), LIMITS_PER_TABLE) if len(limits) > 1 else ():
            yield _sweep(part, limits[first : first + LIMITS_PER_TABLE])
        ceiling = counted(part["ceiling"][0])
        yield f"No private algorithm releases more than {ceiling} on average from this data.\n"


def _comparison(frame: pl.DataFrame) -> Table:
    """Items, spread and seconds of every algorithm."""
    ceiling = frame["ceiling"][0]
    table = _by_algorithm()
    for column in ("items", "spread", "of the ceiling", "seconds"):
        table.add_column(column, justify="right")
    for entry in frame.iter_rows(named=True):
        part = percent(entry["items"] / ceiling) if ceiling else "-"
        table.add_row(
            _marked(entry),
            f"{entry['items']:,.0f}",
            f"± {entry['spread']:,.0f}" if entry["runs"] > 1 else "-",
            part,
            f"{entry['seconds']:.2f}",
        )
    return table


def _sweep(frame: pl.DataFrame, limits: Sequence[int]) -> Table:
    """Items of every algorithm, with a column for every max_items."""
    table = _by_algorithm()
    for limit in limits:
        table.add_column(f"{limit:,}", justify="right")
    found: dict[str, dict[int, float]] = {}
    for entry in frame.iter_rows(named=True):
        found.setdefault(_marked(entry), {})[entry["max_items"]] = entry["items"]
    for name, items in found.items():
        table.add_row(name, *(f"{items[limit]:,.0f}" if limit in items else "-" for limit in limits))
    return table


def _by_algorithm() -> Table:
    table = Table()
    table.add_column("algorithm", no_wrap=True)
    return table


def _marked(entry: dict[str, Any]) -> str:
    return entry["algorithm"] if entry["private"] else f"{entry['algorithm']} (NOT private)"


def ledger_table(ledger: Ledger) -> Table:
    """The entries of a ledger, and what is left."""
    table = Table(
        title=Text(
            f"{_plain(ledger.path.name)}: epsilon {ledger.cap.epsilon:g}, delta {ledger.cap.delta:g} at most"
        ),
        caption=ledger_balance(ledger),
    )
    entries = ledger.entries()
    about = ("period",) if any(entry.period for entry in entries) else ()
    for column in ("entry", "date", "purpose", *about, "epsilon", "delta", "output"):
        words = column in ("purpose", "period", "output")
        table.add_column(column, no_wrap=not words, overflow="fold", justify="left" if words else "right")
    for entry in entries:
        algorithm = entry.statement.algorithm if entry.statement else "not finished"
        table.add_row(
            str(entry.number),
            entry.at[:10],
            Text(_plain(entry.purpose or algorithm)),
            *(Text(_plain(entry.period or "all")) for _ in about),
            f"{entry.epsilon:g}",
            f"{entry.delta:g}",
            Text(_plain(entry.output or "")),
        )
    return table


def ledger_balance(ledger: Ledger) -> str:
    """What all entries together have spent, and what is left."""
    by_name = ledger.epsilon_by_period()
    most = f", in period {_plain(max(by_name, key=lambda name: by_name[name]))}" if by_name else ""
    return (
        f"at delta {ledger.cap.delta:g}: epsilon {ledger.epsilon():.4g} of {ledger.cap.epsilon:g} spent, "
        f"{ledger.left():.4g} left{most}"
    )


def in_columns(words: Sequence[Any], width: int) -> str:
    """Words in columns, as many as fit."""
    texts = [str(word) for word in words]
    cell = max((len(text) for text in texts), default=0) + 2
    per_line = max(1, min(width, WIDTH) // cell)
    rows = [texts[k : k + per_line] for k in range(0, len(texts), per_line)]
    return "\n".join("".join(f"{text:<{cell}}" for text in row).rstrip() for row in rows)


def _plain(text: str) -> str:
    """Text from other sources without terminal control characters."""
    return "".join(sign if sign.isprintable() or sign == "\n" else "�" for sign in text)
