"""The command `dpsu`."""

import json
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from itertools import product
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console

import dpsu
from dpsu import cli_trust
from dpsu.errors import DpsuError, InvalidArgument
from dpsu.memory import memory_limit, parse_memory

app = typer.Typer(
    name="dpsu",
    help="Release the items that many users share, differentially private for every one of them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
errors = Console(stderr=True, highlight=False)

NO_PRIVACY = (
    "{missing} must be given: there is no default privacy. A smaller epsilon promises more (1 is a common "
    "choice); delta should lie well below one divided by the number of users (such as 1e-6). `dpsu plan` shows "
    "what a choice means before any data is read."
)


ONLY_PUBLIC = "these figures are fit for public or synthetic data only."


class CalibrationName(StrEnum):
    """How noise and threshold follow from epsilon and delta."""

    exact = "exact"
    paper = "paper"


class FormatName(StrEnum):
    """What a file holds, where its ending does not tell."""

    parquet = "parquet"
    csv = "csv"
    tsv = "tsv"
    jsonl = "jsonl"


class EngineName(StrEnum):
    """Where a release runs."""

    local = "local"
    spark = "spark"


class UserPerName(StrEnum):
    """Whose a plain text file is."""

    line = "line"
    file = "file"


class WayName(StrEnum):
    """How settings are tried."""

    part = "part"
    selection = "selection"


class MethodName(StrEnum):
    """How the levels of n-grams decide."""

    focused = "focused-gaussian"
    dpne = "dpne"


Epsilon = Annotated[float | None, typer.Option(help="Privacy loss; required, there is no default.")]
Delta = Annotated[
    float | None, typer.Option(help="Chance outside of epsilon; required, there is no default.")
]
MaxItems = Annotated[int, typer.Option(help="At most this many items of one user count.")]
AlgorithmName = Annotated[str | None, typer.Option("--algorithm", help="See `dpsu algorithms`.")]
CalibrationOption = Annotated[CalibrationName, typer.Option(help="The tightest proven one, or the paper's.")]
Alpha = Annotated[
    float | None, typer.Option(help="Policies: the cutoff is the threshold plus alpha noise scales.")
]
Passes = Annotated[
    int | None, typer.Option(help="Policies: go over the users this often, with divided budget.")
]
Parts = Annotated[int | None, typer.Option(help="Policies: divide the users into this many parts; public.")]
K = Annotated[int | None, typer.Option("--k", help="k-anonymity: users that must hold an item.")]
Output = Annotated[
    str,
    typer.Option(
        "--output", "-o", help="Where the items go: .parquet, .csv, .jsonl, .txt; - for standard output."
    ),
]
User = Annotated[
    list[str] | None, typer.Option(help="The column that names users; again for a composite key.")
]
Text = Annotated[str | None, typer.Option(help="The column of text whose words are the items.")]
TokenizerOption = Annotated[
    str, typer.Option(help="What a word is: words, whitespace or a regular expression.")
]
UserPer = Annotated[
    UserPerName | None, typer.Option(help="Read plain text files: every line, or every file, is one user's.")
]
Format = Annotated[FormatName | None, typer.Option(help="What the files hold, if the ending does not tell.")]
DropNulls = Annotated[bool, typer.Option("--drop-nulls", help="Leave out rows without a user or an item.")]
StatementFile = Annotated[Path | None, typer.Option(help="Write what was promised to this JSON file.")]
LedgerFile = Annotated[
    Path | None, typer.Option(help="Record what is spent in this ledger; refuse to pass its cap.")
]
ReportFile = Annotated[Path | None, typer.Option(help="Write a page about the promise for people, .html.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]


@app.command()
def release(
    files: Annotated[
        list[str],
        typer.Argument(help="Files, globs or folders (Parquet, CSV, JSON lines); - for standard input."),
    ],
    output: Output,
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
    max_items: MaxItems = 300,
    algorithm: AlgorithmName = None,
    calibration: CalibrationOption = CalibrationName.exact,
    alpha: Alpha = None,
    passes: Passes = None,
    parts: Parts = None,
    k: K = None,
    format: Format = None,
    drop_nulls: DropNulls = False,
    public_items: Annotated[
        Path | None, typer.Option(help="Items that are always in the output, at no cost; one a line.")
    ] = None,
    exclude: Annotated[
        Path | None, typer.Option(help="Items that are never in the output; one a line.")
    ] = None,
    counts: Annotated[
        bool, typer.Option("--counts", help="Give each item a noisy number of its holders.")
    ] = False,
    ledger: LedgerFile = None,
    memory: Annotated[str | None, typer.Option(help="Stop rather than use more memory: 500M, 8G.")] = None,
    statement: StatementFile = None,
    report: ReportFile = None,
    unsafe: Annotated[
        bool, typer.Option("--unsafe", help="Admit algorithms that are not private; for research.")
    ] = False,
    engine: Annotated[
        EngineName, typer.Option(help="This machine, or Spark: of this machine or as spark-submit says.")
    ] = EngineName.local,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Release items from files.

    dpsu release posts.parquet --user author --item word --epsilon 1 --delta 1e-6 -o words.parquet
    """
    options = _given(alpha=alpha, passes=passes, parts=parts, k=k)
    _check_outputs(output, statement, report, counts)
    limit = parse_memory(memory) if memory else None
    with _stages(quiet or as_json) as progress, _notes(quiet), memory_limit(limit):
        result = dpsu.release(
            files if len(files) > 1 else files[0],
            user=_columns(user),
            item=_columns(item),
            text=text,
            ngrams=_sizes(ngrams),
            tokenizer=tokenizer,
            user_per=user_per.value if user_per else None,
            max_items=max_items,
            calibration=calibration.value,
            drop_nulls=drop_nulls,
            format=format.value if format else None,
            public_items=public_items,
            exclude=exclude,
            counts=counts,
            ledger=ledger,
            unsafe=unsafe,
            engine=engine.value,
            progress=progress,
            **_privacy(epsilon, delta),
            **_given(algorithm=algorithm),
            **options,
        )
    _hand_over(result, output, statement, as_json, quiet, report)


@app.command()
def ngrams(
    files: Annotated[list[str], typer.Argument(help="Files, globs or folders, as for release.")],
    output: Output,
    user: User = None,
    text: Text = None,
    longest: Annotated[int, typer.Option(help="Words of the longest n-grams; there are as many levels.")] = 3,
    shares: Annotated[
        str | None,
        typer.Option(help="How levels share the budget, such as 0.5,0.3,0.2; evenly if not given."),
    ] = None,
    method: Annotated[
        MethodName, typer.Option(help="dpne also releases some n-grams that nobody wrote.")
    ] = MethodName.focused,
    tokenizer: TokenizerOption = "words",
    user_per: UserPer = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    max_items: MaxItems = 300,
    format: Format = None,
    drop_nulls: DropNulls = False,
    ledger: LedgerFile = None,
    statement: StatementFile = None,
    report: ReportFile = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Release words and n-grams in levels: what is made of released parts.

    dpsu ngrams posts.parquet --user author --text body --longest 3 --epsilon 1 --delta 1e-6 -o ngrams.parquet
    """
    _check_outputs(output, statement, report)
    with _stages(quiet or as_json) as progress, _notes(quiet):
        result = dpsu.ngrams(
            files if len(files) > 1 else files[0],
            user=_columns(user),
            text=text,
            longest=longest,
            shares=_shares(shares),
            method=method.value,
            tokenizer=tokenizer,
            user_per=user_per.value if user_per else None,
            max_items=max_items,
            drop_nulls=drop_nulls,
            format=format.value if format else None,
            ledger=ledger,
            progress=progress,
            **_privacy(epsilon, delta),
        )
    _hand_over(result, output, statement, as_json, quiet, report)


@app.command()
def tune(
    files: Annotated[list[str], typer.Argument(help="Files, globs or folders, as for release.")],
    output: Output,
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
    max_items: Annotated[list[int] | None, typer.Option(help="A bound to try; again for each.")] = None,
    algorithm: Annotated[list[str] | None, typer.Option(help="One to try; again for each.")] = None,
    alpha: Annotated[
        list[float] | None, typer.Option(help="Policies: an alpha to try; again for each.")
    ] = None,
    way: Annotated[
        WayName, typer.Option(help="Try on a part of the users, or all by private selection.")
    ] = WayName.part,
    share: Annotated[float, typer.Option(help="part: the share of users to try settings on.")] = 0.1,
    tries: Annotated[float, typer.Option(help="selection: the mean number of tries.")] = 4.0,
    format: Format = None,
    drop_nulls: DropNulls = False,
    statement: StatementFile = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Choose among settings privately and release with the best; all combinations of those given are tried.

    dpsu tune posts.parquet --user author --item word --max-items 30 --max-items 300 --epsilon 1 --delta 1e-6 -o words.txt
    """
    _check_outputs(output, statement)
    values = _given(algorithm=algorithm or None, max_items=max_items or None, alpha=alpha or None)
    if not values:
        raise InvalidArgument(
            "there is nothing to choose from: give several --max-items, --algorithm or --alpha."
        )
    with _stages(quiet or as_json) as progress, _notes(quiet):
        tuned = dpsu.tune(
            files if len(files) > 1 else files[0],
            settings=[dict(zip(values, chosen, strict=True)) for chosen in product(*values.values())],
            user=_columns(user),
            item=_columns(item),
            text=text,
            ngrams=_sizes(ngrams),
            tokenizer=tokenizer,
            user_per=user_per.value if user_per else None,
            way=way.value,
            share=share,
            tries=tries,
            drop_nulls=drop_nulls,
            format=format.value if format else None,
            progress=progress,
            **_privacy(epsilon, delta),
        )
    if not (quiet or as_json):
        chosen = ", ".join(f"{name} {value}" for name, value in tuned.setting.items())
        errors.print(f"chosen: {chosen}", markup=False)
    _hand_over(tuned.release, output, statement, as_json, quiet)


def _check_outputs(
    output: str, statement: Path | None, report: Path | None = None, counts: bool = False
) -> None:
    from dpsu import output as out

    out.check_writable(output)
    if counts and (output == "-" or Path(output).suffix.lower() == ".txt"):
        raise InvalidArgument(
            "plain text has no room for counts; write them to .parquet, .csv, .tsv or .jsonl."
        )
    for path in (statement, report):
        if path is not None:
            out.require_folder(path)


def _hand_over(
    result: Any, output: str, statement: Path | None, as_json: bool, quiet: bool, report: Path | None = None
) -> None:
    """Write the items and what was promised, and say so."""
    result.save(output)
    stated = result.statement
    if stated is not None:
        stated = stated if output == "-" else stated.about(output)
        if statement is not None:
            stated.save(statement)
        if report is not None:
            from dpsu.report.html import write_report

            write_report(stated, report, released=len(result))
    elif statement is not None or report is not None:
        errors.print("nothing is promised, so no statement or report was written", markup=False)
    if as_json:
        to_standard_output = output == "-"
        summary = {
            "released": len(result),
            "output": output,
            "statement": stated.to_dict() if stated else None,
            "warning": result.warning,
        }
        print(
            json.dumps(summary, indent=2, ensure_ascii=False),
            file=sys.stderr if to_standard_output else sys.stdout,
        )
    elif not quiet:
        from dpsu.report.text import statement_panel

        errors.print(
            f"released {len(result):,} items to {output if output != '-' else 'standard output'}",
            markup=False,
        )
        errors.print(statement_panel(stated, result.warning))


app.command()(cli_trust.verify)
app.command()(cli_trust.report)
app.add_typer(cli_trust.ledger_app)


@app.command()
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
    made = dpsu.plan(
        max_items=max_items,
        calibration=calibration.value,
        **_privacy(epsilon, delta),
        **_given(algorithm=algorithm, alpha=alpha, passes=passes, k=k),
    )
    print(made.to_json() if as_json else made)


@app.command()
def algorithms(as_json: AsJson = False) -> None:
    """List the algorithms: names, families, whether private, where they run."""
    from dpsu.report.text import catalogue_table

    frame = dpsu.algorithms()
    if as_json:
        print(json.dumps(frame.to_dicts(), indent=2, ensure_ascii=False))
    else:
        Console().print(catalogue_table(frame))


@app.command("check-policy")
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


@app.command()
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
    with _stages(as_json) as progress:
        frame = dpsu.compare(
            files if len(files) > 1 else files[0],
            user=_columns(user),
            item=_columns(item),
            text=text,
            ngrams=_sizes(ngrams),
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
            **_privacy(epsilon, delta),
            **_given(algorithms=algorithm or None),
        )
    if plot is not None:
        compare_chart(frame, plot)
    if as_json:
        print(json.dumps(frame.to_dicts(), indent=2, ensure_ascii=False))
        return
    from dpsu.report.text import comparison_table

    Console().print(comparison_table(frame))
    errors.print(f"every run spent a privacy of its own: {ONLY_PUBLIC}", markup=False, soft_wrap=True)


@app.command()
def demo(
    epsilon: Annotated[float, typer.Option(help="Privacy loss of the demonstration.")] = 3.0,
    delta: Annotated[float, typer.Option(help="Chance outside of epsilon.")] = 1e-5,
) -> None:
    """Release the words of 25 000 authors' arXiv titles, which come with the package."""
    from dpsu.report.text import chance_chart, in_columns, statement_panel

    console = Console(highlight=False)
    frame = dpsu.datasets.words(dpsu.datasets.load("arxiv_titles_small"), user="author", text="text")
    with _stages(quiet=False) as progress:
        result = dpsu.release(
            frame, user="author", item="word", epsilon=epsilon, delta=delta, progress=progress
        )
    console.print(
        f"\nReleased {len(result):,} words that many of the authors share. Every so often one of them:\n",
        markup=False,
    )
    console.print(in_columns(result.items[:: max(1, len(result) // 60)]), markup=False)
    console.print()
    console.print(statement_panel(result.statement, result.warning))
    console.print()
    console.print(chance_chart(dpsu.plan(epsilon=epsilon, delta=delta), set_size=10), markup=False)


def _privacy(epsilon: float | None, delta: float | None) -> dict[str, Any]:
    missing = [name for name, value in (("--epsilon", epsilon), ("--delta", delta)) if value is None]
    if epsilon is None or delta is None:
        raise InvalidArgument(NO_PRIVACY.format(missing=" and ".join(missing)))
    return {"epsilon": epsilon, "delta": delta}


def _columns(names: list[str] | None) -> str | list[str] | None:
    return names[0] if names and len(names) == 1 else names or None


def _sizes(text: str) -> int | list[int]:
    """The sizes that 2, 1-3 or 1,3 stands for."""
    sizes: list[int] = []
    try:
        for part in text.split(","):
            first, _, last = part.partition("-")
            sizes += range(int(first), int(last or first) + 1)
    except ValueError:
        raise InvalidArgument(f"--ngrams takes sizes such as 2, 1-3 or 1,3, not {text!r}.") from None
    return sizes[0] if len(sizes) == 1 else sizes


def _shares(text: str | None) -> list[float] | None:
    try:
        return [float(part) for part in text.split(",")] if text else None
    except ValueError:
        raise InvalidArgument(
            f"--shares takes one number per level, such as 0.5,0.3,0.2, not {text!r}."
        ) from None


def _given(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


@contextmanager
def _stages(quiet: bool) -> Iterator[Any]:
    """Shows which stage runs, on standard error; stages are public."""
    if quiet or not errors.is_terminal:
        yield None
        return
    with errors.status("starting") as status:
        yield lambda stage: status.update(stage)


@contextmanager
def _notes(quiet: bool) -> Iterator[None]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default", dpsu.EmptyRelease)
        yield
    for note in caught:
        if not quiet:
            errors.print(f"note: {note.message}", markup=False, soft_wrap=True)


def main() -> None:
    """Run the command; every expected failure is one line and an exit code."""
    try:
        app()
    except DpsuError as error:
        _fail(error, error.exit_code)
    except KeyboardInterrupt:
        _fail("interrupted; nothing was written", 130)
    except MemoryError:
        _fail("there is not enough memory; nothing was written", 1)
    except OSError as error:
        _fail(f"the machine refuses: {error.strerror or error}", 1)


def _fail(error: Any, code: int) -> NoReturn:
    name = type(error).__name__ if isinstance(error, DpsuError) else "dpsu"
    errors.print(f"{name}: {error}", markup=False, soft_wrap=True)
    sys.exit(code)
