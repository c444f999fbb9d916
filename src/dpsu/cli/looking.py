"""The commands that touch no private data: plans, catalogues, comparisons, the demonstration."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

import dpsu
from dpsu.cli.options import (
    AlgorithmName,
    Alpha,
    AsJson,
    CalibrationName,
    CalibrationOption,
    Delta,
    Epsilon,
    FormatName,
    K,
    MaxItems,
    Passes,
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
from dpsu.cli.terminal import errors, notes, stages
from dpsu.privacy import advice

ONLY_PUBLIC = "these figures are fit for public or synthetic data only."


def plan(
    epsilon: Epsilon = None,
    delta: Delta = None,
    max_items: MaxItems = 300,
    algorithm: AlgorithmName = None,
    calibration: CalibrationOption = CalibrationName.exact,
    alpha: Alpha = None,
    passes: Passes = None,
    k: K = None,
    as_json: AsJson = False,
) -> None:
    """Show noise, threshold and how many users must share an item, before any data is touched."""
    with notes(quiet=False):
        made = dpsu.plan(
            max_items=max_items,
            calibration=calibration.value,
            **privacy(epsilon, delta),
            **given(algorithm=algorithm, alpha=alpha, passes=passes, k=k),
        )
    print(made.to_json() if as_json else made)


def algorithms(as_json: AsJson = False) -> None:
    """List the algorithms: names, families, whether private, where they run."""
    from dpsu.report.text import catalogue_table

    frame = dpsu.algorithms()
    if as_json:
        print(json.dumps(frame.to_dicts(), indent=2, ensure_ascii=False))
    else:
        Console().print(catalogue_table(frame))


def check_policy(
    policy: Annotated[str, typer.Argument(help="module:name of a dpsu.Policy.")],
    seconds: Annotated[float, typer.Option(help="How long to search.")] = 20.0,
) -> None:
    """Search for neighbouring data that breaks a policy's sensitivity or symmetry; exit 1 if some is found."""
    from dpsu.policy_check import check_policy as search
    from dpsu.policy_check import load

    found = search(load(policy), seconds=seconds)
    print(found)
    raise typer.Exit(0 if found.ok else 1)


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


def demo(
    epsilon: Annotated[float, typer.Option(help="Privacy loss of the demonstration.")] = 3.0,
    delta: Annotated[float, typer.Option(help=f"The delta: {advice.DELTA}.")] = 1e-7,
) -> None:
    """Release the words of 25 000 authors' arXiv titles, which come with the package."""
    from dpsu.report.text import chance_chart, in_columns, statement_panel

    console = Console(highlight=False)
    frame = dpsu.datasets.words(dpsu.datasets.load("arxiv_titles_small"), user="author", text="text")
    with stages(quiet=False) as progress, notes(quiet=False):
        result = dpsu.release(
            frame, user="author", item="word", epsilon=epsilon, delta=delta, progress=progress
        )
        made = dpsu.plan(epsilon=epsilon, delta=delta)
    console.print(
        f"\nReleased {len(result):,} words that many of the authors share. A sample:\n",
        markup=False,
    )
    console.print(in_columns(result.items[:: max(1, len(result) // 60)], console.width), markup=False)
    console.print()
    console.print(statement_panel(result.statement, result.warning))
    console.print()
    console.print(chance_chart(made, set_size=10), markup=False)
