"""The commands that release: `dpsu release`, `dpsu ngrams` and `dpsu tune`."""

from itertools import product
from pathlib import Path
from typing import Annotated

import typer

import dpsu
from dpsu.cli.options import (
    AlgorithmName,
    Alpha,
    AsJson,
    CalibrationName,
    CalibrationOption,
    Delta,
    DropNulls,
    EngineName,
    Epsilon,
    Format,
    K,
    LedgerFile,
    MaxItems,
    MethodName,
    NoCheckUser,
    NoStatement,
    Note,
    Output,
    Parts,
    Passes,
    Quiet,
    ReportFile,
    StatementFile,
    Text,
    Title,
    TokenizerOption,
    User,
    UserPer,
    WayName,
    columns,
    given,
    privacy,
    shares_of,
    sizes,
)
from dpsu.cli.outputs import Outputs
from dpsu.cli.terminal import errors, notes, stages
from dpsu.errors import InvalidArgument
from dpsu.memory import memory_limit, parse_memory


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
    no_statement: NoStatement = False,
    report: ReportFile = None,
    title: Title = None,
    note: Note = None,
    no_check_user: NoCheckUser = False,
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

    dpsu release posts.parquet --user author --item word --epsilon 1 --delta 1e-7 -o words.parquet
    """
    options = given(alpha=alpha, passes=passes, parts=parts, k=k)
    outputs = Outputs.of(output, statement, no_statement, report)
    used = {"--ledger": ledger, "--public-items": public_items, "--exclude": exclude}
    outputs.check(files, used, counts=counts)
    limit = parse_memory(memory) if memory else None
    with stages(quiet or as_json) as progress, notes(quiet), memory_limit(limit):
        result = dpsu.release(
            files if len(files) > 1 else files[0],
            user=columns(user),
            item=columns(item),
            text=text,
            ngrams=sizes(ngrams),
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
            title=title,
            note=note,
            check_user=not no_check_user,
            unsafe=unsafe,
            engine=engine.value,
            progress=progress,
            **privacy(epsilon, delta),
            **given(algorithm=algorithm),
            **options,
        )
    outputs.hand_over(result, as_json=as_json, quiet=quiet)


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
    no_statement: NoStatement = False,
    report: ReportFile = None,
    title: Title = None,
    note: Note = None,
    no_check_user: NoCheckUser = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Release words and n-grams in levels: what is made of released parts.

    dpsu ngrams posts.parquet --user author --text body --longest 3 --epsilon 1 --delta 1e-7 -o ngrams.parquet
    """
    outputs = Outputs.of(output, statement, no_statement, report)
    outputs.check(files, {"--ledger": ledger})
    with stages(quiet or as_json) as progress, notes(quiet):
        result = dpsu.ngrams(
            files if len(files) > 1 else files[0],
            user=columns(user),
            text=text,
            longest=longest,
            shares=shares_of(shares),
            method=method.value,
            tokenizer=tokenizer,
            user_per=user_per.value if user_per else None,
            max_items=max_items,
            drop_nulls=drop_nulls,
            format=format.value if format else None,
            ledger=ledger,
            title=title,
            note=note,
            check_user=not no_check_user,
            progress=progress,
            **privacy(epsilon, delta),
        )
    outputs.hand_over(result, as_json=as_json, quiet=quiet)


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
    ledger: LedgerFile = None,
    statement: StatementFile = None,
    no_statement: NoStatement = False,
    report: ReportFile = None,
    title: Title = None,
    note: Note = None,
    no_check_user: NoCheckUser = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Choose among settings privately and release with the best; all combinations of those given are tried.

    dpsu tune posts.parquet --user author --item word --max-items 30 --max-items 300 --epsilon 1 --delta 1e-7 -o words.txt
    """
    outputs = Outputs.of(output, statement, no_statement, report)
    outputs.check(files, {"--ledger": ledger})
    values = given(algorithm=algorithm or None, max_items=max_items or None, alpha=alpha or None)
    if not values:
        raise InvalidArgument(
            "there is nothing to choose from: give several --max-items, --algorithm or --alpha."
        )
    with stages(quiet or as_json) as progress, notes(quiet):
        tuned = dpsu.tune(
            files if len(files) > 1 else files[0],
            settings=[dict(zip(values, chosen, strict=True)) for chosen in product(*values.values())],
            user=columns(user),
            item=columns(item),
            text=text,
            ngrams=sizes(ngrams),
            tokenizer=tokenizer,
            user_per=user_per.value if user_per else None,
            way=way.value,
            share=share,
            tries=tries,
            drop_nulls=drop_nulls,
            format=format.value if format else None,
            ledger=ledger,
            title=title,
            note=note,
            check_user=not no_check_user,
            progress=progress,
            **privacy(epsilon, delta),
        )
    if not (quiet or as_json):
        chosen = ", ".join(f"{name} {value}" for name, value in tuned.setting.items())
        errors.print(f"chosen: {chosen}", markup=False)
    outputs.hand_over(tuned.release, as_json=as_json, quiet=quiet)
