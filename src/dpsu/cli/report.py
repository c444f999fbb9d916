"""`dpsu report`: an HTML page about a statement."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import dpsu
from dpsu.cli.options import StatementPath
from dpsu.cli.paths import require_apart

if TYPE_CHECKING:
    from dpsu.outcome.statement import Statement


def report(
    statement: StatementPath,
    output: Annotated[Path, typer.Option("--output", "-o", help="The page, .html.")],
) -> None:
    """Write an HTML page about a statement."""
    require_apart({"--output": output}, [statement])
    dpsu.report(statement, output)


def read_statement(path: Path) -> "Statement":
    """The statement in this file."""
    from dpsu.api.report import read_statement

    return read_statement(path)
