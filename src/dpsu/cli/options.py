"""Options of the commands: each is declared once, in groups that commands share.

A command takes a group as one parameter, and `spelled_out` turns it into one option per field.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, get_type_hints

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
    """Formats of input files."""

    parquet = "parquet"
    csv = "csv"
    tsv = "tsv"
    xlsx = "xlsx"
    jsonl = "jsonl"


class UserPerName(StrEnum):
    """What belongs to one user in plain text files."""

    line = "line"
    file = "file"


class EngineName(StrEnum):
    """Where a release runs."""

    local = "local"
    spark = "spark"


class SparkModeName(StrEnum):
    """How a release runs on Spark."""

    task = "task"
    barrier = "barrier"
    exchange = "exchange"


AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
CalibrationOption = Annotated[
    CalibrationName, typer.Option(help="The tightest proven calibration, or the paper's.")
]
MaxItems = Annotated[int, typer.Option(help="Number of items of one user that count at most.")]
MaxItemsOrAuto = Annotated[
    str,
    typer.Option(
        help="Number of items of one user that count at most; auto: chosen by the algorithm auto, else 300."
    ),
]
StatementPath = Annotated[Path, typer.Argument(help="The statement of a release, a JSON file.")]
Unsafe = Annotated[
    bool, typer.Option("--unsafe", help="Allow algorithms that are not private, for research.")
]


def spelled_out(command: Callable[..., None]) -> Callable[..., None]:
    """The command with one option per field of each of its groups, as typer reads them."""
    hints = get_type_hints(command, include_extras=True)
    hints.pop("return", None)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name in groups:
            parameters += inspect.signature(groups[name]).parameters.values()
        else:
            parameters.append(parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY))

    def run(**values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(**{each.name: values.pop(each.name) for each in fields(group)})
        command(**values)

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


@dataclass(frozen=True, kw_only=True)
class EngineOptions:
    """Where a release runs."""

    engine: Annotated[
        EngineName, typer.Option(help="This machine, or Spark: a local session or the one of spark-submit.")
    ] = EngineName.local
    spark_mode: Annotated[
        SparkModeName | None,
        typer.Option(help="Way on Spark: one task, a barrier stage or exchanges; default: by the rows."),
    ] = None

    def arguments(self) -> dict[str, Any]:
        """The arguments of the Python functions that run on an engine."""
        return {
            "engine": self.engine.value,
            "spark_mode": self.spark_mode.value if self.spark_mode else None,
        }


@dataclass(frozen=True, kw_only=True)
class TextOptions:
    """The data, where its items are made from text."""

    files: Annotated[
        list[str],
        typer.Argument(
            help="Files, globs or folders (Parquet, CSV, JSON lines, text); - for standard input."
        ),
    ]
    user: Annotated[
        list[str] | None, typer.Option(help="Column that names the user; repeat it for a composite key.")
    ] = None
    text: Annotated[str | None, typer.Option(help="Column of text whose words are the items.")] = None
    tokenizer: Annotated[
        str, typer.Option(help="Definition of a word: words, whitespace, chars, icu or a regular expression.")
    ] = "words"
    user_per: Annotated[
        UserPerName | None, typer.Option(help="For plain text files: each line, or each file, is one user.")
    ] = None
    format: Annotated[
        FormatName | None, typer.Option(help="Format of the files; default: by their ending.")
    ] = None
    encoding: Annotated[
        str | None,
        typer.Option(help="Encoding of CSV files, such as cp1252; default: byte order mark, else UTF-8."),
    ] = None
    separator: Annotated[
        str | None, typer.Option(help="Separator of CSV files; default: the one of the header line.")
    ] = None
    sheet: Annotated[str | None, typer.Option(help="Sheet of an Excel file.")] = None
    query: Annotated[
        str | None, typer.Option(help="Query for a database, whose address is given instead of files.")
    ] = None
    drop_nulls: Annotated[bool, typer.Option("--drop-nulls", help="Skip rows without a user or an item.")] = (
        False
    )

    def arguments(self) -> dict[str, Any]:
        """The arguments of the Python functions that describe data."""
        return {
            "source": self.files[0] if self.files and len(self.files) == 1 else self.files,
            "user": _columns(self.user),
            "text": self.text,
            "tokenizer": self.tokenizer,
            "user_per": self.user_per.value if self.user_per else None,
            "format": self.format.value if self.format else None,
            "drop_nulls": self.drop_nulls,
            **given(encoding=self.encoding, separator=self.separator, sheet=self.sheet, query=self.query),
        }


@dataclass(frozen=True, kw_only=True)
class DataOptions(TextOptions):
    """The data, with items in columns or made from text."""

    item: Annotated[
        list[str] | None, typer.Option(help="Column that names the item; repeat it for a composite key.")
    ] = None
    ngrams: Annotated[str, typer.Option(help="With --text: numbers of words, such as 2, 1-3 or 1,3.")] = "1"

    def arguments(self) -> dict[str, Any]:
        """The arguments of the Python functions that describe data."""
        return {**super().arguments(), "item": _columns(self.item), "ngrams": _sizes(self.ngrams)}


@dataclass(frozen=True, kw_only=True)
class OptionalDataOptions(DataOptions):
    """The data, or nothing for the bundled data."""

    files: Annotated[
        list[str] | None,
        typer.Argument(help="Files, as for `dpsu release`; default: the words of bundled arXiv titles."),
    ] = None  # type: ignore[assignment]

    def arguments(self) -> dict[str, Any]:
        """The arguments of the Python functions that describe data."""
        return super().arguments() if self.files else {**super().arguments(), "source": None}


@dataclass(frozen=True, kw_only=True)
class PrivacyOptions:
    """The privacy of the output; there is no default."""

    epsilon: Annotated[
        float | None, typer.Option(help="Privacy loss, such as 1; required, there is no default.")
    ] = None
    delta: Annotated[
        float | None, typer.Option(help=f"Choose {advice.DELTA}; required, there is no default.")
    ] = None

    def arguments(self) -> dict[str, Any]:
        """Epsilon and delta, or an explanation why there is no default."""
        missing = [f"--{name}" for name, value in vars(self).items() if value is None]
        if missing:
            raise InvalidArgument(NO_PRIVACY.format(missing=" and ".join(missing)))
        return dict(vars(self))


@dataclass(frozen=True, kw_only=True)
class SweptPrivacyOptions(PrivacyOptions):
    """The privacy of a comparison, with several values of epsilon."""

    epsilon: Annotated[
        list[float] | None, typer.Option(help="Privacy loss, such as 1, or several: --epsilon 0.5 1 3.")
    ] = None  # type: ignore[assignment]

    def arguments(self) -> dict[str, Any]:
        """Epsilons and delta, or an explanation why there is no default."""
        return PrivacyOptions(epsilon=self.epsilon or None, delta=self.delta).arguments()  # type: ignore[arg-type]


@dataclass(frozen=True, kw_only=True)
class AlgorithmOptions:
    """The algorithm and its options."""

    algorithm: Annotated[
        str | None,
        typer.Option(help="Name of the algorithm, see `dpsu algorithms`; default: auto."),
    ] = None
    alpha: Annotated[
        float | None,
        typer.Option(help="Policies: noise scales from the threshold to the cutoff; default: 3."),
    ] = None
    typical_items: Annotated[
        float | None,
        typer.Option(help="auto: typical number of items per user, known without looking at the data."),
    ] = None
    passes: Annotated[
        int | None, typer.Option(help="Policies: number of passes over the users; default: 1.")
    ] = None
    parts: Annotated[
        int | None,
        typer.Option(
            help="Policies: number of parts that the users are divided into; default: by the engine."
        ),
    ] = None
    order: Annotated[
        Path | None,
        typer.Option(
            help="ordered-laplace: file of public items to fill first, in this order; one per line."
        ),
    ] = None
    k: Annotated[
        int | None,
        typer.Option("--k", help="k-anonymity: number of users who must hold an item; default: 20."),
    ] = None

    def arguments(self) -> dict[str, Any]:
        """The algorithm as an object, if the caller named one or gave an option."""
        from dpsu.algorithms.catalogue import DEFAULT, build

        names = ("alpha", "typical_items", "passes", "parts", "order", "k")
        options = given(**{name: getattr(self, name) for name in names})
        if self.algorithm is None and not options:
            return {}
        return {"algorithm": build(self.algorithm or DEFAULT, **options)}


@dataclass(frozen=True, kw_only=True)
class CountOptions:
    """Counts beside the items."""

    counts: Annotated[bool, typer.Option("--counts", help="Add a noisy number of holders to each item.")] = (
        False
    )
    counts_share: Annotated[
        float | None,
        typer.Option(
            help="Share of the budget for counts; default: 0.15, beside --sum 0.1. Implies --counts."
        ),
    ] = None
    counts_max_items: Annotated[
        int | None,
        typer.Option(
            help="Released items for which a user counts in full; default: 5, with auto by the sizes. Implies --counts."
        ),
    ] = None
    counts_raw: Annotated[
        bool,
        typer.Option(
            "--counts-raw", help="Neither round counts nor lift negative ones to 0. Implies --counts."
        ),
    ] = False

    @property
    def counted(self) -> bool:
        """Whether there are counts beside the items."""
        return bool(CountOptions.arguments(self)["counts"])

    def arguments(self) -> dict[str, Any]:
        """The arguments of the Python functions."""
        from dpsu.algorithms.holders import Counts

        asked = given(
            share=self.counts_share, max_items=self.counts_max_items, raw=True if self.counts_raw else None
        )
        return {"counts": Counts(**asked) if asked else self.counts}


@dataclass(frozen=True, kw_only=True)
class ListOptions(CountOptions):
    """Lists of items, and counts."""

    public_items: Annotated[
        Path | None,
        typer.Option(help="File of items that are always in the output, at no cost; one per line."),
    ] = None
    exclude: Annotated[
        Path | None, typer.Option(help="File of items that are never in the output; one per line.")
    ] = None

    def arguments(self) -> dict[str, Any]:
        """The arguments of the Python functions."""
        return {**super().arguments(), "public_items": self.public_items, "exclude": self.exclude}


@dataclass(frozen=True, kw_only=True)
class CandidateOptions:
    """A public list of items that could come out."""

    candidates: Annotated[
        Path | None,
        typer.Option(help="File of public items that could come out, held or not; one per line."),
    ] = None
    false_share: Annotated[
        float | None,
        typer.Option(
            help="With --candidates: share of the released listed items that nobody holds, on average, at most."
        ),
    ] = None
    listed_only: Annotated[
        bool, typer.Option("--listed-only", help="With --candidates: release no other items.")
    ] = False

    def arguments(self) -> dict[str, Any]:
        """The arguments of the Python functions."""
        return {
            "candidates": self.candidates,
            "false_share": self.false_share,
            "discover": not self.listed_only,
        }


@dataclass(frozen=True, kw_only=True)
class RecordOptions:
    """What is recorded about a release, and what the curator is told."""

    ledger: Annotated[
        Path | None, typer.Option(help="Ledger that records what is spent and refuses to pass its cap.")
    ] = None
    title: Annotated[
        str | None, typer.Option(help="Title for statement, report and ledger; it is public.")
    ] = None
    note: Annotated[str | None, typer.Option(help="Note for statement and report; it is public.")] = None
    no_check_user: Annotated[
        bool, typer.Option("--no-check-user", help="Do not check that the user column looks like users.")
    ] = False

    def arguments(self) -> dict[str, Any]:
        """The arguments of the Python functions."""
        return {
            "ledger": self.ledger,
            "title": self.title,
            "note": self.note,
            "check_user": not self.no_check_user,
        }


def given(**options: Any) -> dict[str, Any]:
    """The options that the caller set."""
    return {name: value for name, value in options.items() if value is not None}


def max_items_of(text: str) -> Any:
    """A number, or "auto"."""
    if text == "auto":
        return text
    try:
        return int(text)
    except ValueError:
        raise InvalidArgument(f"--max-items takes a whole number or auto, not {text!r}.") from None


def _columns(names: list[str] | None) -> str | list[str] | None:
    """One column by its name, several as a list."""
    return names[0] if names and len(names) == 1 else names or None


def _sizes(text: str) -> int | list[int]:
    """The numbers that 2, 1-3 or 1,3 means."""
    from dpsu.sources.corpus import MOST_WORDS

    sizes: list[int] = []
    try:
        for part in text.split(","):
            first, _, last = part.partition("-")
            found = range(int(first), int(last or first) + 1)
            if not found or found[-1] > MOST_WORDS:
                raise ValueError
            sizes += found
    except ValueError:
        raise InvalidArgument(
            f"--ngrams takes sizes from 1 to {MOST_WORDS}, such as 2, 1-3 or 1,3, not {text!r}."
        ) from None
    return sizes[0] if len(sizes) == 1 else sizes
