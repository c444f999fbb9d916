"""The command `dpsu`."""

import sys
from collections.abc import Callable
from typing import Annotated, Any, NoReturn

import typer

import dpsu
from dpsu.cli.algorithms import algorithms
from dpsu.cli.check_policy import check_policy
from dpsu.cli.compare import compare
from dpsu.cli.demo import demo
from dpsu.cli.ledger import ledger_app
from dpsu.cli.ngrams import ngrams
from dpsu.cli.plan import plan
from dpsu.cli.release import release
from dpsu.cli.report import report
from dpsu.cli.terminal import errors
from dpsu.cli.tune import tune
from dpsu.cli.verify import verify
from dpsu.errors import DpsuError

INTERRUPTED = 130

app = typer.Typer(
    name="dpsu",
    help="Release the items that many users share, differentially private for every one of them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
COMMANDS: tuple[Callable[..., None], ...] = (
    release, ngrams, tune, plan, algorithms, check_policy, compare, verify, report, demo,
)  # fmt: skip
for command in COMMANDS:
    app.command(command.__name__.replace("_", "-"))(command)
app.add_typer(ledger_app)


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
    try:
        app()
    except DpsuError as error:
        _fail(error, error.exit_code)
    except SystemExit as end:
        # Typer makes this of Ctrl-C, without a word.
        if end.code != INTERRUPTED:
            raise
        _fail("interrupted; the output is either as it was before or whole", INTERRUPTED)
    except MemoryError:
        _fail("there is not enough memory; nothing was written", 1)
    except OSError as error:
        _fail(f"the machine refuses: {error.strerror or error}", 1)


def _fail(error: Any, code: int) -> NoReturn:
    name = type(error).__name__ if isinstance(error, DpsuError) else "dpsu"
    errors.print(f"{name}: {error}", markup=False, soft_wrap=True)
    sys.exit(code)
