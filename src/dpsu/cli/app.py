"""The command `dpsu`."""

import os
import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Annotated, Any, NoReturn

import typer

import dpsu
from dpsu.cli.algorithms import algorithms
from dpsu.cli.check_policy import check_policy
from dpsu.cli.compare import SweepCommand, compare
from dpsu.cli.demo import demo
from dpsu.cli.help import Command
from dpsu.cli.ledger import ledger_app
from dpsu.cli.ngrams import ngrams
from dpsu.cli.options import spelled_out
from dpsu.cli.plan import plan
from dpsu.cli.release import release
from dpsu.cli.report import report
from dpsu.cli.series import series_app
from dpsu.cli.statement import statement
from dpsu.cli.terminal import say
from dpsu.cli.tune import tune
from dpsu.cli.verify import verify
from dpsu.cli.wording import for_command
from dpsu.errors import DpsuError, InvalidArgument

INTERRUPTED = 130

RENAMED = {
    "tune": {"--way": "--method", "--share": "--tuning-share"},
    "ngrams": {"--shares": "--level-shares"},
    "compare": {"--public": "--data-is-public"},
}
"""Options of version 0.1 that have another name now, by command."""

COLUMNS = ("--user", "--item", "--text")
"""Options that name a column."""

app = typer.Typer(
    name="dpsu",
    help="Release the items that many users share, differentially private for every one of them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
COMMANDS: tuple[Callable[..., None], ...] = (
    release, ngrams, tune, plan, algorithms, check_policy, compare, verify, statement, report, demo,
)  # fmt: skip
for command in COMMANDS:
    kind = SweepCommand if command is compare else Command
    app.command(command.__name__.replace("_", "-"), cls=kind)(spelled_out(command))
app.add_typer(ledger_app)
app.add_typer(series_app)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(dpsu.__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None: ...


def main() -> None:
    """Run the command; every expected failure is one line and an exit code."""
    _fill_closed_streams()
    try:
        _refuse_renamed(sys.argv[1:])
        _refuse_missing_columns(sys.argv[1:])
        _run(sys.argv[1:])
    except DpsuError as error:
        _fail(error, error.exit_code)
    except SystemExit as end:
        # Typer turns Ctrl-C into this exit, without a message.
        if end.code != INTERRUPTED:
            raise
        _fail("interrupted; the output is either as it was before or whole", INTERRUPTED)
    except MemoryError:
        _fail("there is not enough memory; nothing was written", 1)
    except OSError as error:
        _fail(f"the machine refuses: {error.strerror or error}", 1)


def _fill_closed_streams() -> None:
    """Put the null device in the place of closed standard streams, which the next file would take; output is needed."""
    without_output = sys.stdout is None
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: PTH123, SIM115 (open as long as the process)
    if without_output:
        _fail("standard output is closed: lead it to a file, or to /dev/null", 1)


def _run(arguments: Sequence[str]) -> None:
    """Run the command that the first arguments name; typer would load pydantic to read the group's own options."""
    command: Any = typer.main.get_command(app)
    path, left = "dpsu", [*arguments]
    while left and left[0] in getattr(command, "commands", {}):
        command, path = command.commands[left[0]], f"{path} {left[0]}"
        del left[0]
    command.main(args=left, prog_name=path)


def _refuse_renamed(arguments: Sequence[str]) -> None:
    """Say the new name of an option of version 0.1."""
    command, *options = arguments or [""]
    for option in options:
        name = option.partition("=")[0]
        if name in RENAMED.get(command, {}):
            raise InvalidArgument(f"{name} is called {RENAMED[command][name]} now.")


def _refuse_missing_columns(arguments: Sequence[str]) -> None:
    """Say that a column is missing where the parser would take the next option for its name."""
    for option, value in pairwise(arguments):
        if option in COLUMNS and value.startswith("--"):
            raise InvalidArgument(f"{option} needs the name of a column, but {value} follows.")


def _fail(error: Any, code: int) -> NoReturn:
    name = type(error).__name__ if isinstance(error, DpsuError) else "dpsu"
    say(f"{name}: {for_command(str(error))}")
    sys.exit(code)
