"""The commands about promises: `dpsu verify`, `dpsu ledger` and `dpsu report`."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

import dpsu
from dpsu.errors import InvalidArgument, SourceError
from dpsu.statement import Statement

ledger_app = typer.Typer(
    name="ledger",
    help="What all releases over one data set have spent.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

StatementFile = Annotated[Path, typer.Argument(help="The JSON file that `dpsu release --statement` wrote.")]
LedgerFile = Annotated[Path, typer.Argument(help="The ledger.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def verify(
    statement: StatementFile,
    released: Annotated[
        Path | None, typer.Option(help="The released file; its digest must be the one in the statement.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Recompute from a statement alone that its promise follows; exit 1 if it does not."""
    found = dpsu.verify(statement, released)
    print(json.dumps({"ok": found.ok, **asdict(found)}, indent=2) if as_json else found)
    raise typer.Exit(0 if found.ok else 1)


def report(
    statement: StatementFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="The page, .html.")],
) -> None:
    """Write a page for people about a statement: what is promised, and what it means."""
    from dpsu.report.html import write_report

    try:
        stated = Statement.from_json(statement.read_text(encoding="utf-8"))
    except OSError as error:
        raise SourceError(f"cannot read {statement}: {error.strerror}.") from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise SourceError(f"{statement} is not a statement of dpsu.") from error
    write_report(stated, output)


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
def show(path: LedgerFile, as_json: AsJson = False) -> None:
    """List the releases and what they have spent together."""
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
