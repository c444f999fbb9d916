"""`dpsu ledger`: what all releases over one data set have spent."""

import json
from pathlib import Path
from typing import Annotated

import typer

import dpsu
from dpsu.cli.help import Command
from dpsu.cli.options import AsJson
from dpsu.cli.report import read_statement
from dpsu.cli.terminal import tell
from dpsu.errors import InvalidArgument, LedgerError

ledger_app = typer.Typer(
    name="ledger",
    help="Record what all releases have spent.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

LedgerPath = Annotated[Path, typer.Argument(help="The ledger.")]


@ledger_app.command(cls=Command)
def create(
    path: LedgerPath,
    epsilon: Annotated[float, typer.Option(help="The cap of all releases together.")],
    delta: Annotated[float, typer.Option(help="The cap of all releases together.")],
) -> None:
    """Make a new ledger with a cap that no release may pass."""
    dpsu.Ledger.create(path, epsilon=epsilon, delta=delta)
    tell(f"made the ledger {path}: all releases together at most epsilon {epsilon:g}, delta {delta:g}")


@ledger_app.command(cls=Command)
def record(
    path: LedgerPath,
    statement: Annotated[
        Path | None, typer.Argument(help="A statement received from elsewhere, JSON; it must verify.")
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="What another tool spent.")] = None,
    delta: Annotated[float | None, typer.Option(help="What another tool spent; may be 0.")] = None,
    purpose: Annotated[str | None, typer.Option(help="What the privacy was spent for.")] = None,
) -> None:
    """Count what was spent elsewhere. Give a statement about the same users, or an epsilon and a delta.

    dpsu ledger record spent.db --epsilon 1 --delta 1e-7 --purpose "yearly histogram"
    """
    spent = epsilon is not None and delta is not None
    if spent == (statement is not None) or (epsilon is None) != (delta is None):
        raise InvalidArgument("give either a statement, or both --epsilon and --delta.")
    from dpsu.report.text import ledger_balance

    ledger = dpsu.Ledger.open(path)
    if epsilon is not None and delta is not None:
        number = ledger.record_spending(epsilon, delta, purpose or "")
    else:
        assert statement is not None
        # The file itself is verified: what is read from it has no digest and no keys that are unknown or come twice.
        if not dpsu.verify(statement).ok:
            raise LedgerError(
                f"{statement} is rejected, so nothing was recorded: `dpsu verify {statement}` says why."
            )
        number = ledger.record(read_statement(statement), purpose)
    tell(f"recorded as entry {number}; {ledger_balance(ledger)}")


@ledger_app.command(cls=Command)
def show(path: LedgerPath, as_json: AsJson = False) -> None:
    """List what was spent, and what is left. Each entry has its date, purpose and output."""
    from rich.console import Console

    from dpsu.report.text import ledger_table

    ledger = dpsu.Ledger.open(path)
    if not as_json:
        Console().print(ledger_table(ledger))
        return
    entries = [
        {
            "number": entry.number,
            "at": entry.at,
            "purpose": entry.purpose,
            "epsilon": entry.epsilon,
            "delta": entry.delta,
            "period": entry.period,
            "output": entry.output,
            "statement": entry.statement.to_dict() if entry.statement else None,
        }
        for entry in ledger.entries()
    ]
    spent = {
        "epsilon": ledger.epsilon(),
        "epsilon_by_period": ledger.epsilon_by_period(),
        "epsilon_left": ledger.left(),
        "delta_at_cap": ledger.delta(),
    }
    print(json.dumps({"cap": ledger.cap._asdict(), "spent": spent, "releases": entries}, indent=2))
