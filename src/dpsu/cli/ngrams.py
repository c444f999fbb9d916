"""`dpsu ngrams`: words and n-grams in levels."""

from typing import Annotated

import typer

import dpsu
from dpsu.cli.options import (
    AsJson,
    Delta,
    DropNulls,
    Epsilon,
    Format,
    LedgerFile,
    MaxItems,
    MethodName,
    NoCheckUser,
    NoStatement,
    Note,
    Output,
    Quiet,
    ReportFile,
    StatementFile,
    Text,
    Title,
    TokenizerOption,
    User,
    UserPer,
    columns,
    privacy,
    shares_of,
)
from dpsu.cli.outputs import Outputs
from dpsu.cli.terminal import notes, stages


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
