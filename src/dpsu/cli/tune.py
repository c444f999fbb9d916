"""`dpsu tune`: a setting chosen privately, and the release made with it."""

from itertools import product
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
    WayName,
    columns,
    given,
    privacy,
    sizes,
)
from dpsu.cli.outputs import Outputs
from dpsu.cli.terminal import errors, notes, stages
from dpsu.errors import InvalidArgument


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
