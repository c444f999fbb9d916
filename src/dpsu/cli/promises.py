"""The commands about promises: `dpsu verify`, `dpsu ledger` and `dpsu report`."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

import dpsu
from dpsu.cli.paths import require_apart
from dpsu.errors import InvalidArgument, LedgerError, SourceError
from dpsu.statement import Statement

REJECTED, ANOTHER_FILE, UNREADABLE = 1, 3, 4
"""How `dpsu verify` ends if not all is well."""

MALFORMED = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""Exceptions that malformed statements raise."""

ledger_app = typer.Typer(
    name="ledger",
    help="What all releases over one data set have spent.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

StatementFile = Annotated[Path, typer.Argument(help="The statement of a release, JSON.")]
LedgerFile = Annotated[Path, typer.Argument(help="The ledger.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def verify(
    statement: StatementFile,
    released: Annotated[
        Path | None, typer.Option(help="The released file; its digest must be the one in the statement.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Recompute from a statement alone that its promise follows, and tell whether a file is the released one.

    Exits with 0 if so, 1 if the promise does not follow, 3 if the file is another one, 4 if something cannot be read.
    """
    try:
        found = dpsu.verify(statement, released)
    except SourceError as error:
        error.exit_code = UNREADABLE
        raise
    print(json.dumps({"ok": found.ok, **asdict(found)}, indent=2) if as_json else found)
    if not found.ok:
        raise typer.Exit(REJECTED)
    raise typer.Exit(ANOTHER_FILE if found.file is False else 0)


def report(
    statement: StatementFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="The page, .html.")],
) -> None:
    """Write a page for people about a statement: what is promised, and what it means."""
    from dpsu.output import require_folder
    from dpsu.report.html import write_report

    require_folder(output)
    require_apart({"--output": output}, [statement])
    stated = _read(statement)
    try:
        write_report(stated, output)
    except MALFORMED as error:
        raise SourceError(f"{statement} is not a statement of dpsu.") from error


def _read(path: Path) -> Statement:
    try:
        return Statement.from_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SourceError(f"cannot read {path}: {error.strerror}.") from error
    except MALFORMED as error:
        raise SourceError(f"{path} is not a statement of dpsu.") from error


@ledger_app.command()
def create(
    path: LedgerFile,
    epsilon: Annotated[float, typer.Option(help="The cap of all releases together.")],
    delta: Annotated[float, typer.Option(help="The cap of all releases together.")],
) -> None:
    """Make a new ledger with a cap that no release may pass."""
    if path.exists():
        raise InvalidArgument(f"there is something at {path} already.")
    print(dpsu.Ledger(path, epsilon=epsilon, delta=delta))


@ledger_app.command()
def record(
    path: LedgerFile,
    statement: Annotated[
        Path | None, typer.Argument(help="A statement received from elsewhere, JSON; it must verify.")
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="What another tool spent.")] = None,
    delta: Annotated[float | None, typer.Option(help="What another tool spent; may be 0.")] = None,
    purpose: Annotated[str | None, typer.Option(help="What the privacy was spent for.")] = None,
) -> None:
    """Count what was spent elsewhere over the same users: a statement, or an epsilon and a delta.

    dpsu ledger record spent.db --epsilon 1 --delta 1e-7 --purpose "yearly histogram"
    """
    spent = epsilon is not None and delta is not None
    if spent == (statement is not None) or (epsilon is None) != (delta is None):
        raise InvalidArgument("give either a statement, or both --epsilon and --delta.")
    from dpsu.report.text import ledger_balance

    ledger = dpsu.Ledger(path)
    if epsilon is not None and delta is not None:
        number = ledger.record_spending(epsilon, delta, purpose or "")
    else:
        assert statement is not None
        # The file itself is verified: what is read from it has no digest and no keys that are unknown or come twice.
        if not dpsu.verify(statement).ok:
            raise LedgerError(
                f"{statement} is rejected, so nothing was recorded: `dpsu verify {statement}` says why."
            )
        number = ledger.record(_read(statement), purpose)
    print(f"recorded as entry {number}; {ledger_balance(ledger)}")


@ledger_app.command()
def show(path: LedgerFile, as_json: AsJson = False) -> None:
    """List what was spent: for what, when, into which file, and what is left."""
    from rich.console import Console

    from dpsu.report.text import ledger_table

    ledger = dpsu.Ledger(path)
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
            "output": entry.output,
            "statement": entry.statement.to_dict() if entry.statement else None,
        }
        for entry in ledger.entries()
    ]
    spent = {
        "epsilon": ledger.epsilon_spent(),
        "epsilon_left": ledger.epsilon_left(),
        "delta_at_cap": ledger.spent(),
    }
    cap = {"epsilon": ledger.epsilon, "delta": ledger.delta}
    print(json.dumps({"cap": cap, "spent": spent, "releases": entries}, indent=2))
