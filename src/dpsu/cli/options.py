"""What the commands share: their options, and how to read them."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from dpsu.errors import InvalidArgument
from dpsu.privacy import advice

NO_PRIVACY = (
    "{missing} must be given: there is no default privacy. A smaller epsilon promises more (1 is a common "
    f"choice). Delta should be {advice.DELTA}. `dpsu plan` shows what a choice means before any data is read."
)


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
Delta = Annotated[float | None, typer.Option(help=f"Choose {advice.DELTA}; required, there is no default.")]
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
Order = Annotated[
    Path | None, typer.Option(help="ordered-laplace: public items to fill first, in this order; one a line.")
]
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
StatementFile = Annotated[
    Path | None,
    typer.Option(
        help="Where the statement goes, what was promised as JSON; OUTPUT.statement.json if not given."
    ),
]
NoStatement = Annotated[bool, typer.Option("--no-statement", help="Write no statement.")]
Title = Annotated[
    str | None, typer.Option(help="A title for the statement, report and ledger; it is public.")
]
Note = Annotated[str | None, typer.Option(help="A note for the statement and report; it is public.")]
NoCheckUser = Annotated[
    bool,
    typer.Option("--no-check-user", help="Do not look whether the user column seems to name people."),
]
LedgerFile = Annotated[
    Path | None, typer.Option(help="Record what is spent in this ledger; refuse to pass its cap.")
]
ReportFile = Annotated[Path | None, typer.Option(help="Write a page about the promise for people, .html.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]


StatementPath = Annotated[Path, typer.Argument(help="The statement of a release, JSON.")]


def privacy(epsilon: float | None, delta: float | None) -> dict[str, Any]:
    """Epsilon and delta, or an explanation why there is no default."""
    missing = [name for name, value in (("--epsilon", epsilon), ("--delta", delta)) if value is None]
    if epsilon is None or delta is None:
        raise InvalidArgument(NO_PRIVACY.format(missing=" and ".join(missing)))
    return {"epsilon": epsilon, "delta": delta}


def columns(names: list[str] | None) -> str | list[str] | None:
    """One column by its name, several as a list."""
    return names[0] if names and len(names) == 1 else names or None


def sizes(text: str) -> int | list[int]:
    """The sizes that 2, 1-3 or 1,3 stands for."""
    sizes: list[int] = []
    try:
        for part in text.split(","):
            first, _, last = part.partition("-")
            sizes += range(int(first), int(last or first) + 1)
    except ValueError:
        raise InvalidArgument(f"--ngrams takes sizes such as 2, 1-3 or 1,3, not {text!r}.") from None
    return sizes[0] if len(sizes) == 1 else sizes


def shares_of(text: str | None) -> list[float] | None:
    """The numbers that 0.5,0.3,0.2 stands for."""
    try:
        return [float(part) for part in text.split(",")] if text else None
    except ValueError:
        raise InvalidArgument(
            f"--shares takes one number per level, such as 0.5,0.3,0.2, not {text!r}."
        ) from None


def given(**options: Any) -> dict[str, Any]:
    """The options that the caller set."""
    return {name: value for name, value in options.items() if value is not None}
