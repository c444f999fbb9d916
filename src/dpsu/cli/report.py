"""`dpsu report`: an HTML page about a statement."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpsu.cli.options import StatementPath
from dpsu.cli.paths import require_apart
from dpsu.errors import SourceError

if TYPE_CHECKING:
    from dpsu.outcome.statement import Statement

MALFORMED = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""Exceptions that malformed statements raise."""


def report(
    statement: StatementPath,
    output: Annotated[Path, typer.Option("--output", "-o", help="The page, .html.")],
) -> None:
    """Write an HTML page about a statement."""
    from dpsu.outcome.write import require_folder
    from dpsu.report.html import write_report

    require_folder(output)
    require_apart({"--output": output}, [statement])
    stated = read_statement(statement)
    try:
        write_report(stated, output)
    except MALFORMED as error:
        raise SourceError(f"{statement} is not a statement of dpsu.") from error


def read_statement(path: Path) -> "Statement":
    """The statement in this file."""
    from dpsu.outcome.statement import Statement

    try:
        return Statement.from_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SourceError(f"cannot read {path}: {error.strerror}.") from error
    except MALFORMED as error:
        raise SourceError(f"{path} is not a statement of dpsu.") from error
