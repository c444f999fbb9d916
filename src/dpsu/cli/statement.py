"""`dpsu statement`: a statement as text, or as an entry of a registry."""

from pathlib import Path
from typing import Annotated

import typer

from dpsu.cli.options import StatementPath
from dpsu.cli.paths import require_apart
from dpsu.cli.report import read_statement
from dpsu.cli.terminal import say, tell


def statement(
    statement: StatementPath,
    registry: Annotated[
        bool, typer.Option("--registry", help="As YAML for the registry of deployments of OpenDP.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File for it, not the screen.")
    ] = None,
) -> None:
    """Show a statement as text, or as an entry of a registry.

    dpsu statement promise.json --registry -o deployment.yaml
    """
    from dpsu.api.report import MALFORMED, require_verified
    from dpsu.errors import SourceError
    from dpsu.interop.registry import registry_entry
    from dpsu.outcome.write import require_folder, write_text

    if output is not None:
        require_folder(output)
        require_apart({"--output": output}, [statement])
    stated = read_statement(statement)
    try:
        require_verified(statement, stated)
    except SourceError as rejected:
        if registry:
            raise
        say(f"note: {rejected}")
    try:
        text = registry_entry(stated) if registry else f"{stated}\n"
    except MALFORMED as error:
        raise SourceError(f"{statement} is not a statement of dpsu.") from error
    if output is None and registry:
        print(text, end="")
    elif output is None:
        tell(text)
    else:
        write_text(text, output)
