"""Commands over rows.csv, the file of the fixture `rows`, within this process."""

from pathlib import Path

from typer.testing import CliRunner, Result

from dpsu.cli.app import app

COLUMNS = ["--user", "u", "--item", "i"]
RELEASE = ["release", "rows.csv", *COLUMNS, "--epsilon", "3", "--delta", "1e-7"]


def run(*arguments: str | Path) -> Result:
    """The result of the command."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments])
