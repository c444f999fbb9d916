"""A release: the released items and their statement."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import polars as pl
from polars import selectors

from dpsu.errors import InvalidArgument
from dpsu.outcome.columns import HOLDERS, LISTED, columns_beside, sum_of
from dpsu.outcome.statement import Statement
from dpsu.outcome.vocabulary import Style, write_vocabulary
from dpsu.outcome.write import write_frame
from dpsu.report.numbers import counted

if TYPE_CHECKING:
    from dpsu.api.report import Page


class Release(ABC):
    """Released items, sorted, with their statement.

    `statement` is None after an algorithm that is not private, and `warning` then says so. With counts the frames and
    files have the columns `holders` and `half_width`, and three more per column that is summed; with candidates also
    `listed`. `others` is what is said of all items that were not released.
    `notes` are for the curator of the data alone: they depend on the data, and no
    output, repr or pickle has them. `exclude_salt` opens the salted digest of the list `exclude` in the statement.

    >>> import dpsu
    >>> release = dpsu.release({n: ["bread", "milk"] for n in range(1000)}, epsilon=1, delta=1e-6)
    >>> release
    <Release of 2 items, epsilon 1, delta 1e-06>
    >>> "milk" in release, release.items
    (True, ['bread', 'milk'])
    """

    def __init__(self, statement: Statement | None, warning: str | None = None) -> None:
        self.statement = statement
        self.warning = warning
        self.notes: tuple[str, ...] = ()
        self.users: int | None = None
        self.others: dict[str, float] | None = None
        self.exclude_salt: bytes | None = None
        self.on_save: Callable[[Path, str], None] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "notes": (), "exclude_salt": None, "on_save": None}

    @property
    @abstractmethod
    def _frame(self) -> pl.DataFrame:
        """The released items as a sorted frame."""

    @cached_property
    def items(self) -> list[Any]:
        """The items in their original type; tuples if an item has several columns."""
        beside = self._beside + [LISTED] * self._has_list
        names = self._frame.drop(beside)
        return names.to_series().to_list() if names.width == 1 else names.rows()

    @cached_property
    def counts(self) -> dict[Any, int] | None:
        """The noisy number of holders of every item, None unless counts were asked for."""
        return dict(zip(self.items, self._frame[HOLDERS], strict=True)) if self._beside else None

    @cached_property
    def sums(self) -> dict[str, dict[Any, float]]:
        """The noisy sums by column, each by item."""
        found = [name for name in self._beside if name.endswith(sum_of(""))]
        return {
            name.removesuffix(sum_of("")): dict(zip(self.items, self._frame[name], strict=True))
            for name in found
        }

    @property
    def _beside(self) -> list[str]:
        """The columns of counts and sums."""
        return [] if self.statement is None else columns_beside(self.statement.parameters)

    @property
    def _has_list(self) -> bool:
        return self.statement is not None and "candidates" in self.statement.parameters

    @cached_property
    def _members(self) -> frozenset[Any]:
        return frozenset(self.items)

    def __len__(self) -> int:
        return self._frame.height

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)

    def __contains__(self, item: object) -> bool:
        return item in self._members

    def __repr__(self) -> str:
        promise = (
            f"epsilon {self.statement.epsilon:g}, delta {self.statement.delta:g}"
            if self.statement
            else "not private"
        )
        return f"<Release of {counted(len(self))}, {promise}>"

    def _repr_html_(self) -> str:
        from dpsu.report.notebook import release_html

        return release_html(self)

    def head(self, count: int = 10) -> pl.DataFrame:
        """The first items by name, or with counts those with the most holders; a cluster hands over these alone."""
        if HOLDERS in self._beside:
            return self._frame.sort(HOLDERS, descending=True, maintain_order=True).head(count)
        return self._frame.head(count)

    def report(self, path: str | Path | None = None) -> "Page":
        """A page about the promise and the number of items, saved to `path` if one is given (`dpsu.report`)."""
        from dpsu.api.report import report

        return report(self, path)

    def to_polars(self) -> pl.DataFrame:
        """The items as a Polars frame with their original columns."""
        return self._frame

    def to_pandas(self) -> Any:
        """The items as a pandas frame; needs pandas."""
        return self._frame.to_pandas()

    def to_arrow(self) -> Any:
        """The items as an Arrow table; needs pyarrow."""
        return self._frame.to_arrow()

    def to_tokenizer(
        self, *, rule: Literal["words", "whitespace"] | None = None, unknown: str = "[UNK]"
    ) -> Any:
        """A Hugging Face tokenizer that knows the released words, and `unknown` for all others; needs tokenizers.

        `rule` is the tokenizer rule: by default that of the release, or "whitespace" for items that were not text. The
        tokenizer's `save` method writes tokenizer.json.
        """
        try:
            from dpsu.interop.tokenizers import word_level
        except ImportError as error:
            raise InvalidArgument(
                "to_tokenizer needs the package tokenizers: pip install 'dpsu[tokenizers]'."
            ) from error

        return word_level(self.items, rule=rule or self._own_rule(), unknown=unknown)

    def _own_rule(self) -> Any:
        """The rule of the release's tokenizer; a pattern or a function has no counterpart."""
        data = self.statement.data if self.statement is not None else None
        tokenizer = (data or {}).get("tokenizer")
        name = "whitespace" if tokenizer is None else tokenizer["name"]
        if name not in ("words", "whitespace"):
            raise InvalidArgument(
                f"the rule {name!r} of this release has no counterpart in a tokenizer of Hugging Face: pass rule='words' or "
                "rule='whitespace', if one of them splits your text in the same way."
            )
        return name

    def save(self, path: str | Path, *, excel: bool = False, style: Style | None = None) -> None:
        """Write the items as Parquet, CSV, JSON lines, Excel or plain text, by the ending of `path`.

        With `excel`, a .csv file is in UTF-16 with tabs, which Excel opens in every country. With `style`, the words are
        written as a vocabulary for other programs: "hugging-face" (tokenizer.json), "spacy" (.jsonl) or "fasttext" (.txt).

        The file is either written completely or not at all. Its digest is added to the statement, so that `dpsu verify
        --released` can check whether a file is the released one. A ledger records the file name.
        """
        if style is not None:
            write_vocabulary(self.items, self.counts, path, style, self.to_tokenizer)
        else:
            write_frame(self._frame, path, excel=excel, numbers=self._beside)
        if self.statement is None or str(path) == "-":
            return
        self.statement = self.statement.about(path)
        if self.on_save is not None and self.statement.released_sha256 is not None:
            self.on_save(Path(path), self.statement.released_sha256)


class LocalRelease(Release):
    """A release in the memory of this process."""

    def __init__(self, names: pl.DataFrame, statement: Statement | None, warning: str | None = None) -> None:
        super().__init__(statement, warning)
        self._names = names

    @property
    def _frame(self) -> pl.DataFrame:
        return self._names


@dataclass(frozen=True, repr=False)
class Brought:
    """Released items that a Spark task has sent to the driver, and the session to take them back to."""

    frame: pl.DataFrame
    session: Any
    partitions: int = 1


class SparkRelease(Release):
    """A release of the Spark engine: a large one stays on the cluster until its items are requested."""

    def __init__(self, names: Any, statement: Statement | None, warning: str | None = None) -> None:
        super().__init__(statement, warning)
        self._names = names

    def __getstate__(self) -> dict[str, Any]:
        """A session cannot be pickled: the items go, and the copy has them on its machine alone."""
        return {**super().__getstate__(), "_names": Brought(self._frame, None), "_spark": None}

    @cached_property
    def _spark(self) -> Any:
        if not isinstance(self._names, Brought):
            return self._names
        names = self._names
        if names.session is None:
            raise InvalidArgument("this release was copied from another process and has no Spark session.")
        from dpsu.engines.spark.frames import to_cluster

        made = to_cluster(names.session, names.frame)
        columns = [f"`{name.replace('`', '``')}`" for name in made.columns]
        return made.repartition(names.partitions, *columns).sortWithinPartitions(*columns)

    @cached_property
    def _frame(self) -> pl.DataFrame:
        if isinstance(self._names, Brought):
            # Tasks have times in the zone of the session. Spark hands over its own in UTC.
            return self._names.frame.with_columns(
                selectors.datetime(time_zone="*").dt.convert_time_zone("UTC")
            )
        from dpsu.engines.spark.frames import to_driver

        frame = to_driver(self._spark)
        return frame.sort(frame.columns)

    @cached_property
    def _size(self) -> int:
        return self._frame.height if isinstance(self._names, Brought) else int(self._spark.count())

    def __len__(self) -> int:
        return self._size

    def head(self, count: int = 10) -> pl.DataFrame:
        """The first items by name, or with counts those with the most holders; no others leave the cluster."""
        if "_frame" in vars(self) or isinstance(self._names, Brought):
            return super().head(count)
        counted = [HOLDERS] * (HOLDERS in self._beside)
        columns = [*counted, *(name for name in self._spark.columns if name not in counted)]
        ordered = self._spark.sort(*columns, ascending=[name not in counted for name in columns])
        from dpsu.engines.spark.frames import to_driver

        return to_driver(ordered.limit(count))

    def to_spark(self) -> Any:
        """The items as a Spark frame, not sorted, without a reference to the source data."""
        return self._spark

    @property
    def write(self) -> Any:
        """The Spark writer: `release.write.parquet(path)`, `release.write.saveAsTable(name)`."""
        return self._spark.write


def present(names: Any, statement: Statement | None, warning: str | None) -> Release:
    """The release with these items: a Polars frame or a Spark frame."""
    kind = LocalRelease if isinstance(names, pl.DataFrame) else SparkRelease
    return kind(names, statement, warning)
