"""`dpsu release`: items from files."""

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
    NoCheckUser,
    NoStatement,
    Note,
    Order,
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
    columns,
    given,
    privacy,
    sizes,
)
from dpsu.cli.outputs import Outputs
from dpsu.cli.terminal import notes, stages


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
    order: Order = None,
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
    options = given(alpha=alpha, passes=passes, parts=parts, order=order, k=k)
    outputs = Outputs.of(output, statement, no_statement, report)
    used = {"--ledger": ledger, "--public-items": public_items, "--exclude": exclude, "--order": order}
    outputs.check(files, used, counts=counts)
    with stages(quiet or as_json) as progress, notes(quiet):
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
