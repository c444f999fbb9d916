"""Plans, releases and catalogues as terminal text."""

from collections.abc import Sequence
from typing import Any

import polars as pl
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from dpsu.api.plan import Plan
from dpsu.outcome.ledger import Ledger
from dpsu.outcome.statement import Statement
from dpsu.report.facts import facts

WIDTH = 100
KINDS = {"single": "", "levels": "levels of ", "tuned": "chosen by private tuning: "}
SHOWN_LAST = ("date", "note")
BAR = 40


def render(*parts: Any, width: int = WIDTH) -> str:
    """Rich parts as plain text."""
    console = Console(width=width, no_color=True, highlight=False, emoji=False)
    with console.capture() as capture:
        for part in parts:
            console.print(part)
    return capture.get().rstrip("\n")


def plan_text(plan: Plan) -> str:
    """The plan as text: its numbers, and how many users must share an item."""
    return render(plan_headline(plan), plan_table(plan), plan_sentence(plan))


def plan_headline(plan: Plan) -> str:
    """Algorithm, privacy and numbers in one paragraph."""
    request = plan.mechanism.request
    numbers = ", ".join(
        f"{name} {_number(value)}" for name, value in plan.parameters.items() if not isinstance(value, list)
    )
    return (
        f"{plan.algorithm}, epsilon {request.epsilon:g}, delta {request.delta:g}, "
        f"at most {request.max_items} items per user, {request.calibration} calibration\n{numbers}"
    )


def plan_table(plan: Plan) -> Table:
    """The probability of release by the number of holders and the size of their sets."""
    frame = plan.table()
    table = Table(
        title="chance that an item is released",
        min_width=36,
        caption="by the number of users who hold it, and the number of items of each user",
    )
    for column in frame.columns:
        table.add_column(column, justify="right")
    for row in frame.iter_rows():
        table.add_row(f"{row[0]:,}", *(_percent(chance) for chance in row[1:]))
    return table


def plan_sentence(plan: Plan) -> str:
    """How many users must share an item for a release with probability 1/2."""
    needed = [f"{plan.users_needed(set_size=size):,} ({size} items each)" for size in plan.set_sizes()[:5]]
    return f"Released with probability 1/2 at {', '.join(needed)} users."


def chance_chart(plan: Plan, set_size: int) -> str:
    """A bar chart: how likely an item is released, by the number of users who share it."""
    low, high = plan.users_needed(0.02, set_size) or 1, plan.users_needed(0.98, set_size) or 1
    steps = max(1, (high - low) // 12)
    lines = [f"how likely an item is released, by the number of users who share it ({set_size} items each)"]
    for users in range(max(1, low - steps), high + steps + 1, steps):
        chance = plan.chance(users, set_size)
        lines.append(f"{users:>7,} users  {'█' * round(BAR * chance):<{BAR}} {_percent(chance):>6}")
    return "\n".join(lines)


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
    single = [
        f"{name} {_number(value)}"
        for name, value in statement.parameters.items()
        if isinstance(value, str | int | float)
    ]
    if single:
        lines.append(f"Parameters: {', '.join(single)}.")
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
    for column in ("name", "family", "private", "runs on", "what it does"):
        table.add_column(column)
    for entry in frame.iter_rows(named=True):
        name = f"{entry['name']} (default)" if entry["default"] else entry["name"]
        private = "yes" if entry["private"] else "NO"
        table.add_row(name, entry["family"], private, entry["engines"], entry["summary"])
    return table


def comparison_table(frame: pl.DataFrame) -> Table:
    """Algorithms side by side, the most items first."""
    ceiling = frame["ceiling"][0]
    table = Table(
        title="items released",
        caption=f"No private algorithm releases more than {ceiling:,.0f} items on average from this data.",
    )
    table.add_column("algorithm")
    for column in ("items", "spread", "of the ceiling", "seconds"):
        table.add_column(column, justify="right")
    for entry in frame.iter_rows(named=True):
        name = entry["algorithm"] if entry["private"] else f"{entry['algorithm']} (NOT private)"
        part = _percent(entry["items"] / ceiling) if ceiling else "-"
        table.add_row(
            name, f"{entry['items']:,.0f}", f"± {entry['spread']:,.0f}", part, f"{entry['seconds']:.2f}"
        )
    return table


def ledger_table(ledger: Ledger) -> Table:
    """The entries of a ledger, and what is left."""
    table = Table(
        title=Text(f"{_plain(ledger.path.name)}: epsilon {ledger.epsilon:g}, delta {ledger.delta:g} at most"),
        caption=ledger_balance(ledger),
    )
    for column in ("entry", "date", "purpose", "epsilon", "delta", "output"):
        words = column in ("purpose", "output")
        table.add_column(column, no_wrap=not words, overflow="fold", justify="left" if words else "right")
    for entry in ledger.entries():
        algorithm = entry.statement.algorithm if entry.statement else "not finished"
        table.add_row(
            str(entry.number),
            entry.at[:10],
            Text(_plain(entry.purpose or algorithm)),
            f"{entry.epsilon:g}",
            f"{entry.delta:g}",
            Text(_plain(entry.output or "")),
        )
    return table


def ledger_balance(ledger: Ledger) -> str:
    """What all entries together have spent, and what is left."""
    return (
        f"at delta {ledger.delta:g}: epsilon {ledger.epsilon_spent():.4g} of {ledger.epsilon:g} spent, "
        f"{ledger.epsilon_left():.4g} left"
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


def _percent(chance: float) -> str:
    if 0 < chance < 0.001:
        return "<0.1 %"
    if 0.999 < chance < 1:
        return ">99.9 %"
    return f"{100 * chance:.1f} %"


def _number(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
