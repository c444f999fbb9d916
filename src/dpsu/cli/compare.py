"""`dpsu compare`."""

import json
from pathlib import Path
from typing import Annotated

import typer

import dpsu
from dpsu.cli.options import (
    AsJson,
    CalibrationName,
    CalibrationOption,
    MaxItems,
    OptionalDataOptions,
    PrivacyOptions,
    Unsafe,
    given,
)
from dpsu.cli.paths import require_apart
from dpsu.cli.terminal import say, stages

ONLY_PUBLIC = "every run spent a privacy of its own: these figures are fit for public or synthetic data only."


def compare(
    data: OptionalDataOptions,
    privacy: PrivacyOptions,
    algorithm: Annotated[
        list[str] | None, typer.Option(help="Algorithm to compare, see `dpsu algorithms`; repeat it.")
    ] = None,
    runs: Annotated[int, typer.Option(help="Number of releases per algorithm.")] = 3,
    max_items: MaxItems = 300,
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
            **given(algorithms=algorithm or None),
            runs=runs,
            max_items=max_items,
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

    from dpsu.report.text import comparison_table

    Console().print(comparison_table(frame))
    say(ONLY_PUBLIC)
