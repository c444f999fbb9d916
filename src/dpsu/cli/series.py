"""`dpsu series`: releases over time under one promise."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

import dpsu
from dpsu.cli.help import Command
from dpsu.cli.options import DataOptions, ListOptions, PrivacyOptions, RecordOptions, given, spelled_out
from dpsu.cli.outputs import OutputOptions
from dpsu.cli.terminal import notes, stages, tell
from dpsu.errors import InvalidArgument
from dpsu.report.numbers import percent

series_app = typer.Typer(
    name="series",
    help="Release new items every period, under one promise.",
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


@dataclass(frozen=True, kw_only=True)
class ShapeOptions:
    """The shape of the data of every period."""

    users: Annotated[int | None, typer.Option(help="Number of users in every period.")] = None
    items_per_user: Annotated[
        float | None, typer.Option(help="With --users: mean number of items of a user in a period.")
    ] = None
    zipf: Annotated[
        float | None, typer.Option(help="Exponent of Zipf's law, by which items are popular; default: 1.")
    ] = None
    items: Annotated[int | None, typer.Option(help="Number of items that exist.")] = None

    def shape(self) -> "dpsu.Shape | None":
        """The shape, if one is given."""
        others = given(zipf=self.zipf, items=self.items)
        if self.users is not None and self.items_per_user is not None:
            return dpsu.Shape(self.users, self.items_per_user, **others)
        if self.users is not None or self.items_per_user is not None or others:
            raise InvalidArgument("a shape needs --users and --items-per-user.")
        return None


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
    terms = _terms(periods, max_items, shares)
    made = dpsu.Series.create(path, **privacy.arguments(), **terms, ledger=ledger)
    tell(f"made the series {path}; keep it as secret as the data\n{made.show()}")


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
    outputs.check([*(data.files or []), path], record, ListOptions(), item=data.item)
    if not data.files:
        if period is None:
            raise InvalidArgument(
                "give the files of the period, or the --period whose output to write again."
            )
        outputs.hand_over(series.released(period, ledger=record.ledger))
        return
    with stages(outputs.silent) as progress, notes(outputs.quiet):
        released = series.release(**data.arguments(), **record.arguments(), period=period, progress=progress)
    outputs.hand_over(released)


def show(path: StatePath) -> None:
    """Show the periods that are done. Also what is spent and left, and how many items are out; never totals."""
    tell(dpsu.Series.open(path).show())


def plan(
    privacy: PrivacyOptions,
    shape: ShapeOptions,
    periods: Periods,
    max_items: MaxItemsOption = "300",
    shares: Annotated[
        list[str] | None, typer.Option(help="Shares to compare; repeat it. Default: even and front.")
    ] = None,
    holders: Annotated[
        str, typer.Option(help="Without a shape: numbers of users who hold an item in every period.")
    ] = "10,30,100",
    set_size: Annotated[int, typer.Option(help="Without a shape: number of items of each of them.")] = 10,
) -> None:
    """Compare choices of shares. Shows what each gives by the end of each period; no data is read.

    For a shape (--users, --items-per-user) the plan has the number of items known, by simulation; without one it has the
    chance that an item is out.

    dpsu series plan --epsilon 1 --delta 1e-6 --periods 12 --users 50000 --items-per-user 10 --shares even --shares front
    """
    choices = {each: _terms(periods, max_items, each) for each in shares or ("even", "front")}
    terms = {
        **next(iter(choices.values())),
        "shares": {name: each["shares"] for name, each in choices.items()},
    }
    made = dpsu.Series.plan(**privacy.arguments(), **terms)
    described = shape.shape()
    if described is not None:
        tell(f"items known by the end of each period, for {described} in every period")
        _print_table(["period", *choices], made.items(described).iter_rows(), "{:,.0f}".format)
        return
    found = made.chances(_whole_numbers("--holders", holders), set_size)
    for name in choices:
        tell(f"chance that an item is out by the end of each period, shares {name}")
        own = found.filter(found["shares"] == name).drop("shares")
        _print_table(own.columns, own.iter_rows(), percent)


def _print_table(names: list[str], values: Iterable[tuple[Any, ...]], form: Callable[[float], str]) -> None:
    """Print a table whose first column is the period."""
    width = [max(12, len(name) + 2) for name in names[1:]]
    print(f"{names[0]:>6}" + "".join(f"{name:>{w}}" for name, w in zip(names[1:], width, strict=True)))
    for period, *cells in values:
        print(f"{period:>6}" + "".join(f"{form(cell):>{w}}" for cell, w in zip(cells, width, strict=True)))


def _whole_numbers(name: str, text: str) -> list[int]:
    try:
        return [int(each) for each in text.split(",")]
    except ValueError:
        raise InvalidArgument(f"{name} takes whole numbers with commas between them.") from None


def _terms(periods: int, max_items: str, shares: str) -> dict[str, Any]:
    """The numbers that these options mean."""
    try:
        cuts = [int(each) for each in max_items.split(",")]
        parts: Any = shares if shares.isalpha() else [float(each) for each in shares.split(",")]
    except ValueError:
        raise InvalidArgument("--max-items and --shares take numbers with commas between them.") from None
    return {"periods": periods, "max_items": cuts[0] if len(cuts) == 1 else cuts, "shares": parts}


for command in (create, release, show, plan):
    series_app.command(command.__name__, cls=Command)(spelled_out(command))
