"""`dpsu compare`."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

import dpsu
from dpsu.cli.help import Command
from dpsu.cli.options import (
    AsJson,
    CalibrationName,
    CalibrationOption,
    CandidateOptions,
    OptionalDataOptions,
    SweptPrivacyOptions,
    Unsafe,
    given,
)
from dpsu.cli.paths import require_apart
from dpsu.cli.terminal import say, stages

ONLY_PUBLIC = "Every run spent privacy of its own: make such figures from public or synthetic data only."

SWEPT = ("--epsilon", "--max-items")


class SweepCommand(Command):
    """A command whose swept options take several numbers: --epsilon 0.5 1 3."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments with the option repeated before every further number."""
        return super().parse_args(ctx, _repeated(args))


def _repeated(arguments: Sequence[str]) -> list[str]:
    """The arguments with a swept option before each of its numbers, as typer reads them.

    >>> _repeated(["--epsilon", "0.5", "1", "pairs.csv"])
    ['--epsilon', '0.5', '--epsilon', '1', 'pairs.csv']
    """
    result: list[str] = []
    option, waiting = "", False
    for place, argument in enumerate(arguments):
        if argument == "--":
            return [*result, *arguments[place:]]
        name, _, value = argument.partition("=")
        if name in SWEPT:
            option, waiting = name, not value
        elif waiting:
            waiting = False
        elif option and _is_number(argument):
            result.append(option)
        else:
            option = ""
        result.append(argument)
    return result


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def compare(
    data: OptionalDataOptions,
    privacy: SweptPrivacyOptions,
    listed: CandidateOptions,
    algorithm: Annotated[
        list[str] | None, typer.Option(help="Algorithm to compare, see `dpsu algorithms`; repeat it.")
    ] = None,
    runs: Annotated[int, typer.Option(help="Number of releases per algorithm.")] = 3,
    max_items: Annotated[
        list[int] | None,
        typer.Option(
            help="Number of items of one user that count at most, or several: --max-items 5 10 50; default: chosen by "
            "auto, 300 for all others."
        ),
    ] = None,
    calibration: CalibrationOption = CalibrationName.exact,
    data_is_public: Annotated[
        bool,
        typer.Option("--data-is-public", help="The data is public or synthetic; without it nothing runs."),
    ] = False,
    unsafe: Unsafe = False,
    plot: Annotated[Path | None, typer.Option(help="File for a bar chart: .png, .svg or .pdf.")] = None,
    as_json: AsJson = False,
) -> None:
    """Compare algorithms on public data. Shows the items and the time of each, and the ceiling for all."""
    if plot is not None:
        from dpsu.report.charts import check_chart, compare_chart

        check_chart(plot)
        require_apart({"--plot": plot}, data.files or [])
    with stages(as_json) as progress:
        frame = dpsu.compare(
            **data.arguments(),
            **privacy.arguments(),
            **listed.arguments(),
            **given(algorithms=algorithm or None, max_items=max_items or None),
            runs=runs,
            calibration=calibration.value,
            data_is_public=data_is_public,
            unsafe=unsafe,
            progress=progress,
        )
    if plot is not None:
        compare_chart(frame, plot)
    if as_json:
        print(json.dumps(frame.to_dicts(), indent=2, ensure_ascii=False))
        return
    from rich.console import Console

    from dpsu.report.text import comparison_tables

    for part in comparison_tables(frame):
        Console(highlight=False).print(part)
    say(ONLY_PUBLIC)
