"""`dpsu series`: releases over time under one promise."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

import dpsu
from dpsu.cli.options import DataOptions, ListOptions, PrivacyOptions, RecordOptions, spelled_out
from dpsu.cli.outputs import OutputOptions
from dpsu.cli.terminal import notes, stages
from dpsu.errors import InvalidArgument

series_app = typer.Typer(
    name="series",
    help="Release new items period by period, with one promise for all periods together.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

StatePath = Annotated[Path, typer.Argument(help="The state of the series; as secret as the data.")]
Periods = Annotated[int, typer.Option(help="Number of periods, fixed from now on.")]
MaxItemsOption = Annotated[
    str, typer.Option(help="Number of items of one user that count in a period, or one per period: 100,50.")
]
SharesOption = Annotated[
    str, typer.Option(help="Shares of the budget: even, front, or one number per period: 0.5,0.3,0.2.")
]


@dataclass(frozen=True, kw_only=True)
class PeriodData(DataOptions):
    """The data of a period; none to write the output of a period that is done."""

    files: Annotated[
        list[str],
        typer.Argument(help="Files of this period; none to write the output of a done --period again."),
    ] = None  # type: ignore[assignment]


def create(
    path: StatePath,
    privacy: PrivacyOptions,
    periods: Periods,
    max_items: MaxItemsOption = "300",
    shares: SharesOption = "even",
    ledger: Annotated[
        Path | None, typer.Option(help="Ledger that counts the promise and refuses restored states.")
    ] = None,
) -> None:
    """Make a new series.

    dpsu series create words.series --epsilon 1 --delta 1e-6 --periods 12 --max-items 100
    """
    given = _terms(periods, max_items, shares)
    print(dpsu.Series.create(path, **privacy.arguments(), **given, ledger=ledger))


def release(
    path: StatePath,
    data: PeriodData,
    outputs: OutputOptions,
    record: RecordOptions,
    period: Annotated[
        int | None, typer.Option(help="Period to release, default: the next; or a done one to write again.")
    ] = None,
) -> None:
    """Release the new items of a period.

    dpsu series release words.series january.parquet --user author --item word -o new-in-january.parquet
    """
    series = dpsu.Series.open(path)
    outputs.check([*(data.files or []), path], record, ListOptions())
    if not data.files:
        if period is None:
            raise InvalidArgument(
                "give the files of the period, or the --period whose output to write again."
            )
        outputs.hand_over(series.released(period))
        return
    with stages(outputs.silent) as progress, notes(outputs.quiet):
        released = series.release(**data.arguments(), **record.arguments(), period=period, progress=progress)
    outputs.hand_over(released)


def show(path: StatePath) -> None:
    """Show the periods that are done, what is spent and left, and how many items are out; never totals."""
    print(dpsu.Series.open(path).show())


def plan(
    privacy: PrivacyOptions,
    periods: Periods,
    max_items: MaxItemsOption = "300",
    users: Annotated[
        str, typer.Option(help="Numbers of users who hold an item in every period.")
    ] = "10,30,100",
    set_size: Annotated[int, typer.Option(help="Number of items of each of them.")] = 10,
) -> None:
    """Show the chance that an item is out by the end of each period, with even and front-loaded shares."""
    from dpsu.api.series import plan_series

    holders = [int(each) for each in users.split(",")]
    for shares in ("even", "front"):
        found = plan_series(**privacy.arguments(), **_terms(periods, max_items, shares))
        print(f"shares {shares}:")
        for row in found.chances(holders, set_size).iter_rows():
            print(f"  period {row[0]:>3}  " + "  ".join(f"{chance:6.1%}" for chance in row[1:]))


def _terms(periods: int, max_items: str, shares: str) -> dict[str, Any]:
    """The numbers that these options mean."""
    try:
        cuts = [int(each) for each in max_items.split(",")]
        parts: Any = shares if shares.isalpha() else [float(each) for each in shares.split(",")]
    except ValueError:
        raise InvalidArgument("--max-items and --shares take numbers with commas between them.") from None
    return {"periods": periods, "max_items": cuts[0] if len(cuts) == 1 else cuts, "shares": parts}


for command in (create, release, show, plan):
    series_app.command(command.__name__)(spelled_out(command))
