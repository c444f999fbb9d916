"""The Spark engine: DataFrames of parts and shards, on which workers run the local engine.

It uses only DataFrame operations, so that Spark Connect works, and no data per user or item is sent to the driver.
Every round is one job with two exchanges: shards send parts the columns of their items, parts send shards the weights
of their users. A table of items is checkpointed when it is updated, so that plans do not grow. All tables except the
release are dropped at the end.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dpsu.engines.contract import DigestTest, Rule, Step, Walk
from dpsu.engines.spark import parts as workers
from dpsu.engines.spark.session import (
    checkpoint,
    drop_checkpoint,
    is_spark_frame,
    named,
    scan_files,
    session_for,
    set_python,
    translated,
)
from dpsu.errors import InvalidArgument, TooLarge
from dpsu.randomness.stream import Stream
from dpsu.sets.user_sets import Digests
from dpsu.sources.columns import key_columns, require_apart, require_columns
from dpsu.sources.layout import PLAIN
from dpsu.sources.pairs import read_sets
from dpsu.sources.text import read_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from dpsu.algorithms.job import Job
    from dpsu.sources.source import Source

LETTERS = "place long, sender long, payload binary"
PARTS = LETTERS + ", names binary"

LABEL = "the Spark frame"
LOCAL_ONLY = "public_items and exclude are for the local engine."
NO_CANDIDATES = "candidates are for the local engine; pass source.toArrow()."
ROWS_PER_PART, TEXTS_PER_PART = 1 << 20, 1 << 16
MOST_SHARDS = 512


@dataclass(frozen=True, repr=False)
class Sets:
    """The parts of the users with all their rows, the types of an item's columns, and the table of items if there is one."""

    parts: "DataFrame"
    item: Any
    table: "Items | None" = None


@dataclass(frozen=True, repr=False)
class SparkRows:
    """Bounded sets: parts, and a sampling step that is applied whenever they are weighed."""

    parts: "DataFrame"
    cut: workers.Cut | None = None


@dataclass(frozen=True, repr=False)
class Items:
    """The shards of the items, and letters to them whose `given` weights still have to be added, if there are any.

    `checkpoint` is the table that they were computed from.
    """

    shards: "DataFrame"
    given: type[np.generic] | None = None
    checkpoint: "DataFrame | None" = None


class SparkEngine:
    """Runs every method on Spark; a context manager that drops its tables on exit."""

    name = "spark"
    parts = 8
    """The number of parts of a policy: public, independent of the data and the cluster."""

    def __init__(self, source: Any, mode: Any = None) -> None:
        from dpsu.engines.spark.jobs import MODES

        if mode not in (None, *MODES):
            raise InvalidArgument(f"there is no spark_mode {mode!r}; there are {', '.join(MODES)}.")
        self._mode = mode
        self._session = session_for(source)
        self._persisted: list[DataFrame] = []
        self._checkpoints: list[DataFrame] = []
        partitions = self._session.conf.get("spark.sql.shuffle.partitions") or ""
        self._partitions = (
            int(partitions) if partitions.isdigit() else MOST_SHARDS
        )  # some platforms say "auto"
        self._shards = 1

    def __enter__(self) -> "SparkEngine":
        self._restore_python = set_python(self._session)
        return self

    def __exit__(self, *error: object) -> None:
        self._restore_python()
        for table in self._persisted:
            table.unpersist()
        for table in self._checkpoints:
            drop_checkpoint(table)

    @property
    def session(self) -> Any:
        """The Spark session."""
        return self._session

    def place(self, job: "Job") -> "Job":
        """The job on Spark, in one task or with the methods of this engine."""
        from dpsu.engines.spark.jobs import SparkJob

        return SparkJob(job, self._mode)

    def rows_of(self, source: "Source") -> "DataFrame":
        """The needed columns of the source as a Spark frame."""
        words, frame, schema_names = source.text, source.data, True
        if source.layout != PLAIN:
            raise InvalidArgument("encoding=, separator=, sheet= and query= are for the local engine.")
        if not is_spark_frame(frame):
            frame, schema_names = scan_files(self._session, frame, source.format)
        if words is not None and words.column is None:
            raise InvalidArgument("on Spark, text needs a column: pass text=…")
        users = key_columns(source.user, "user")
        items = [words.column] if words and words.column else key_columns(source.item, "item")
        require_apart(users, items)
        columns = list(dict.fromkeys([*users, *items, *source.sums]))
        require_columns(columns, frame.columns, LABEL, schema_names=schema_names)
        rows = frame.select(*map(named, columns))
        return rows.dropna() if source.drop_nulls else rows

    def empty(self, rows: "DataFrame") -> pl.DataFrame:
        """No rows with these columns, on the driver."""
        return workers.as_frame(self._session.createDataFrame([], rows.schema).toArrow())

    def read(self, source: "Source", stream: Stream) -> Sets:
        """The sets of all users in a Spark frame, divided into parts by a keyed hash of the user."""
        rows, words = self.rows_of(source), source.text
        users = key_columns(source.user, "user")
        items = [words.column] if words and words.column else key_columns(source.item, "item")
        with translated():
            per_part = TEXTS_PER_PART if words else ROWS_PER_PART
            n_parts = self.parts * (1 + rows.count() // (self.parts * per_part))
        self._shards = min(n_parts, MOST_SHARDS)
        distinct = words is None
        divide = partial(
            workers.divide, user=users, parts=n_parts, stream=stream, distinct=distinct, label=LABEL
        )
        divided = rows.mapInArrow(divide, LETTERS)
        if words:
            read: Callable[..., Any] = partial(read_text, rule=words, user=users, stream=stream)
            names, schema = [words.name], f"{named(words.name)} string"
        else:
            read = partial(read_sets, user=users, item=items, stream=stream)
            names, schema = items, rows.select(*map(named, items)).schema
        build = workers.on_group(workers.build_part, read=read, item=names)
        parts = self._grouped(divided).applyInArrow(build, PARTS)
        return Sets(self._keep(self._spread(parts, "place")), schema)

    def read_corpus(self, source: "Source", stream: Stream) -> Any:
        """Not supported on Spark."""
        raise InvalidArgument("n-grams in levels run on the local engine; pass source.toArrow().")

    def item_types(self, sets: Sets) -> pl.Schema:
        """The columns that name an item, and their types."""
        return workers.as_frame(self._session.createDataFrame([], sets.item).toArrow()).schema

    def leave_out(self, sets: Sets, digests: Digests) -> NoReturn:
        """Not supported on Spark."""
        raise InvalidArgument(LOCAL_ONLY)

    def admit(
        self, sets: Sets, items: pl.DataFrame, digests: Digests, may_pass: DigestTest, weights: Any = None
    ) -> NoReturn:
        """Not supported on Spark."""
        raise InvalidArgument(NO_CANDIDATES)

    def collect(self, items: Items, step: Callable[[Any], NDArray[Any]]) -> NDArray[Any]:
        """The values that `step` finds in all shards."""
        told = self._map(self._added_up(items), workers.find, step=step)
        with translated():
            return np.concatenate([workers.unpack(row["payload"]) for row in told.collect()])

    def require_users(self, sets: Sets, most: int) -> None:
        """Raise an error if there are more users than the calibration covers; Spark compares, and the count stays there."""
        sizes = sets.parts.mapInArrow(partial(workers.on_batches, workers.count_users), "users long")
        with translated():
            if not sizes.groupBy().sum("users").where(f"`sum(users)` > {most}").isEmpty():
                raise TooLarge(
                    f"there are more than {most} users, which the rounding bound of this algorithm does not cover; "
                    "use another algorithm."
                )

    def items(self, sets: Sets) -> Items:
        """The shards of the items of all parts."""
        if sets.table is not None:
            return sets.table
        news = self._map(sets.parts, workers.announce, shards=self._shards)
        return Items(self._grouped(news).applyInArrow(workers.on_group(workers.found_shard), LETTERS))

    def restrict(self, sets: Sets, items: Items) -> Sets:
        """The parts restricted to open items, with their table of items."""
        mail = self._map(self._added_up(items), workers.post, reads=["open"])
        parts = _letters(sets.parts).groupBy("place")
        left = parts.cogroup(self._grouped(mail)).applyInArrow(workers.on_groups(workers.restrict), LETTERS)
        return Sets(self._keep(self._spread(left, "place")), sets.item, items)

    def tally(self, sets: Sets, bins: Sequence[int], noise: Callable[[Any], Any]) -> NDArray[np.int64]:
        """The noisy number of users by the size of their sets; exact numbers stay on the workers."""
        told = self._map(sets.parts, workers.tally_part, bins=bins)
        add = workers.on_group(workers.add_tallies, noise=noise)
        with translated():
            (row,) = told.groupBy("place").applyInArrow(add, "users array<long>").collect()
        return np.array(row["users"], np.int64)

    def bound(
        self,
        sets: Sets | SparkRows,
        max_items: int,
        stream: Stream,
        *,
        round: int = 0,
        keep: Items | None = None,
    ) -> SparkRows:
        """Sample every user's set; with `keep` only when the rows are weighed, so that no round writes them again."""
        if keep is not None:
            return SparkRows(sets.parts, workers.Cut(max_items, stream, round))
        cut = self._map(sets.parts, workers.cut, max_items=max_items, stream=stream, round=round)
        return SparkRows(self._keep(self._spread(cut, "place")))

    def weigh(self, rows: SparkRows, items: Items, rule: Rule) -> Items:
        """Sum what users give: first within every part, then over the parts."""
        sent: dict[str, Any] = {"rule": rule, "shards": self._shards}
        reads = [*([rule.reads] if rule.reads else []), *(["open"] if rows.cut else [])]
        shards = self._added_up(items)
        if reads:
            mail = self._map(shards, workers.post, reads=reads)
            weigh = workers.on_groups(workers.weigh_informed, cut=rows.cut, **sent)
            parts = _letters(rows.parts).groupBy("place")
            given = parts.cogroup(self._grouped(mail)).applyInArrow(weigh, LETTERS)
        else:
            given = self._map(rows.parts, workers.weigh_alone, **sent)
        return Items(given.unionByName(shards), np.int64, items.checkpoint)

    def walk(self, rows: SparkRows, items: Items, walk: Walk, stream: Stream) -> Items:
        """Run a policy in each of its parts and sum the weights (docs/hybrid.md)."""
        blocks = self._map(rows.parts, workers.split_for_walk, parts=walk.parts, stream=stream)
        sent: dict[str, Any] = {"walk": walk, "stream": stream, "shards": self._shards}
        follow = workers.on_group(workers.walk_part, **sent)
        given = self._grouped(blocks).applyInArrow(follow, LETTERS)
        return Items(given.unionByName(self._added_up(items)), walk.dtype, items.checkpoint)

    def update(self, items: Items, step: Step) -> Items:
        """Apply `step` to every shard; the new table replaces the previous one."""
        waiting = items.given is not None
        shards = checkpoint(
            self._added_up(items, step) if waiting else self._map(items.shards, workers.update, step=step)
        )
        self._checkpoints.append(shards)
        if items.checkpoint is not None:
            drop_checkpoint(items.checkpoint)
        return Items(shards, checkpoint=shards)

    def names(self, sets: Sets, items: Items) -> "DataFrame":
        """The released items as a Spark frame without a reference to the source data."""
        mail = self._map(self._added_up(items), workers.post, reads=["released"])
        parts = sets.parts.select("place", "names").groupBy("place")
        decode = workers.on_groups(workers.decode)
        told = parts.cogroup(self._grouped(mail)).applyInArrow(decode, sets.item)
        # As many partitions as a release from one task has: their number says nothing of the rows.
        return checkpoint(told.distinct().repartition(self.parts, *map(named, told.columns)))

    def _added_up(self, items: Items, step: Step | None = None) -> "DataFrame":
        """The shards after adding the weights that were sent to them."""
        if items.given is None:
            return items.shards
        gather = workers.on_group(workers.gather, dtype=items.given, step=step)
        return self._grouped(items.shards).applyInArrow(gather, LETTERS)

    def _map(self, table: "DataFrame", function: Callable[..., Any], **options: Any) -> "DataFrame":
        return _letters(table).mapInArrow(partial(workers.on_batches, partial(function, **options)), LETTERS)

    def _grouped(self, table: "DataFrame") -> Any:
        return self._spread(table, "place").groupBy("place")

    def _spread(self, table: "DataFrame", *by: str) -> "DataFrame":
        """As many Spark partitions as places, within the limit of the session, so that joined tables need not move again."""
        return table.repartition(min(self._shards, self._partitions), *by)

    def _keep(self, table: "DataFrame") -> "DataFrame":
        """Compute the table now and keep it until the end; if it is lost, Spark computes exactly the same table again."""
        self._persisted.append(table.persist())
        with translated():
            table.count()
        return table


def _letters(table: "DataFrame") -> "DataFrame":
    return table.select("place", "sender", "payload")
