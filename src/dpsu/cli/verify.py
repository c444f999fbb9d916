"""`dpsu verify`: does the promise follow, and is this the released file?"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

import dpsu
from dpsu.cli.options import AsJson, StatementPath
from dpsu.cli.terminal import tell
from dpsu.errors import SourceError

REJECTED, ANOTHER_FILE, UNREADABLE = 1, 3, 4
"""Exit codes for what is not well."""


def verify(
    statement: StatementPath,
    released: Annotated[
        Path | None, typer.Option(help="The released file; its digest must be the one in the statement.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check that the promise of a statement holds. Tells also whether a file is the released one.

    Exits with 0 if so, 1 if the promise does not follow, 3 if the file is another one, 4 if something cannot be read.
    """
    try:
        found = dpsu.verify(statement, released)
    except SourceError as error:
        error.exit_code = UNREADABLE
        raise
    if as_json:
        print(json.dumps({"ok": found.ok, **asdict(found)}, indent=2))
    else:
        tell(found)
    if not found.ok:
        raise typer.Exit(REJECTED)
    raise typer.Exit(ANOTHER_FILE if found.file is False else 0)
