"""`dpsu compare`: algorithms side by side on public data."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

import dpsu
from dpsu.cli.options import (
    AsJson,
    CalibrationName,
    CalibrationOption,
    Delta,
    Epsilon,
    FormatName,
    MaxItems,
    Text,
    TokenizerOption,
    User,
    UserPer,
    columns,
    given,
    privacy,
    sizes,
)
from dpsu.cli.paths import require_apart
from dpsu.cli.terminal import errors, stages

ONLY_PUBLIC = "these figures are fit for public or synthetic data only."


def compare(
    files: Annotated[
        list[str],
        typer.Argument(help="Files, globs or folders (Parquet, CSV, JSON lines); - for standard input."),
    ],
    user: User = None,
    item: Annotated[
        list[str] | None, typer.Option(help="The column that names items; again for a composite key.")
    ] = None,
    text: Text = None,
    ngrams: Annotated[str, typer.Option(help="With --text: sizes of n-grams, such as 2, 1-3 or 1,3.")] = "1",
    tokenizer: TokenizerOption = "words",
    user_per: UserPer = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    algorithm: Annotated[
        list[str] | None, typer.Option(help="One to compare; again for each. See `dpsu algorithms`.")
    ] = None,
    runs: Annotated[int, typer.Option(help="Releases per algorithm.")] = 3,
    max_items: MaxItems = 300,
    calibration: CalibrationOption = CalibrationName.exact,
    format: Annotated[
        FormatName | None, typer.Option(help="What the files hold, if the ending does not tell.")
    ] = None,
    drop_nulls: Annotated[
        bool, typer.Option("--drop-nulls", help="Leave out rows without a user or an item.")
    ] = False,
    public: Annotated[
        bool, typer.Option("--public", help="The data is public or synthetic; without this nothing runs.")
    ] = False,
    unsafe: Annotated[
        bool, typer.Option("--unsafe", help="Admit algorithms that are not private; for research.")
    ] = False,
    plot: Annotated[Path | None, typer.Option(help="Draw a bar chart: .png, .svg or .pdf.")] = None,
    as_json: AsJson = False,
) -> None:
    """Run several algorithms on public data and show what each releases, its time, and the ceiling for all of them."""
    if plot is not None:
        from dpsu.report.charts import check_chart, compare_chart

        check_chart(plot)
        require_apart({"--plot": plot}, files)
    with stages(as_json) as progress:
        frame = dpsu.compare(
            files if len(files) > 1 else files[0],
            user=columns(user),
            item=columns(item),
            text=text,
            ngrams=sizes(ngrams),
            tokenizer=tokenizer,
            user_per=user_per.value if user_per else None,
            runs=runs,
            max_items=max_items,
            calibration=calibration.value,
            format=format.value if format else None,
            drop_nulls=drop_nulls,
            public=public,
            unsafe=unsafe,
            progress=progress,
            **privacy(epsilon, delta),
            **given(algorithms=algorithm or None),
        )
    if plot is not None:
        compare_chart(frame, plot)
    if as_json:
        print(json.dumps(frame.to_dicts(), indent=2, ensure_ascii=False))
        return
    from dpsu.report.text import comparison_table

    Console().print(comparison_table(frame))
    errors.print(f"every run spent a privacy of its own: {ONLY_PUBLIC}", markup=False, soft_wrap=True)
