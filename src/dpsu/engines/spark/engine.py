"""The Spark engine: DataFrames of parts and shards, on which workers run the local engine.

It uses only DataFrame operations, so that Spark Connect works. No data per user or unreleased item is sent to the driver.
Every round has two exchanges: shards send parts the columns of their items, parts send shards the weights of their users.
The shards themselves travel along, so that a round uses the table of the round before once, and several rounds are one
query. Then the table of items is checkpointed, so that plans do not grow. All tables except the release are dropped at
the end.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dpsu.engines.contract import Columns, DigestTest, OnRound, Rule, Step, Walk, untold
from dpsu.engines.spark import blocks, shards
from dpsu.engines.spark import parts as workers
from dpsu.engines.spark.frames import arrow_types, map_rows
from dpsu.engines.spark.handles import Item, Items, Sets, SparkRows, Texts, names_of, states_of
from dpsu.engines.spark.keeping import Scratch, keeper_for
from dpsu.engines.spark.letters import (
    SCHEMA,
    SELF,
    VALUES,
    Places,
    even_places,
    on_group,
    on_groups,
    on_letters,
    on_table,
)
from dpsu.engines.spark.letters import read as read_letters
from dpsu.engines.spark.session import (
    checkpoint,
    named,
    require_version,
    session_for,
    set_python,
    setting,
    task_slots,
    translated,
)
from dpsu.engines.spark.tables import as_spark_frame, is_spark_frame, load
from dpsu.errors import InvalidArgument, TooLarge
from dpsu.outcome.release import Brought
from dpsu.randomness.stream import Stream
from dpsu.sets.user_sets import Digests, among, detached
from dpsu.sources.columns import key_columns, require_apart, require_columns
from dpsu.sources.layout import PLAIN
from dpsu.sources.pairs import read_sets
from dpsu.sources.text import read_corpus, read_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from dpsu.algorithms.job import Job
    from dpsu.engines.choose import Mode
    from dpsu.sources.source import Source

BLOCKS = "place long, first long, rows binary"
FOUND = "found long"

LABEL = "the Spark frame"
ROWS_PER_PART, TEXT_PER_PART = 1 << 21, 1 << 24
"""What a part has at most: rows of items, or bytes of text."""
MOST_SHARDS = 512
PARTS_PER_TASK = 4
UNKNOWN_SLOTS = 8
"""Where a platform does not tell how many tasks can run at once, or none can yet."""

ROUNDS_PER_TABLE = 5
"""Rounds that are one query: more save jobs, fewer keep the plan and the files of its exchanges small."""


class SparkEngine:
    """Runs every method on Spark; a context manager that drops its tables on exit."""

    name = "spark"
    parts = 8
    """The number of parts of a policy: public, independent of the data and the cluster."""

    def __init__(self, source: Any, mode: "Mode | None" = None) -> None:
        self._mode = mode
        self._session = session_for(as_spark_frame(source) if is_spark_frame(source) else source)
        require_version(self._session, mode)
        self._keeper = keeper_for(self._session)
        partitions = setting(self._session, "spark.sql.shuffle.partitions", "")
        self._partitions = (
            int(partitions) if partitions.isdigit() else MOST_SHARDS
        )  # some platforms say "auto"
        self.counted: int | None = None
        """The number of rows of the source, if somebody has counted them."""
        self.on_round: OnRound = untold
        self._spread_over = 1
        self._parts: Places = []
        self._shards: Places = []

    def __enter__(self) -> "SparkEngine":
        self._restore_python = set_python(self._session)
        return self

    def __exit__(self, *error: object) -> None:
        self._restore_python()
        self._keeper.close()

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
        words, schema_names, label = source.text, True, LABEL
        if source.layout != PLAIN:
            raise InvalidArgument("encoding=, separator=, sheet= and query= are for the local engine.")
        if is_spark_frame(source.data):
            frame = as_spark_frame(source.data)
        else:
            frame, schema_names, label = load(self._session, source.data, source.format)
        if words is not None and words.column is None:
            raise InvalidArgument("on Spark, text needs a column: pass text=…")
        users = key_columns(source.user, "user")
        items = [words.column] if words and words.column else key_columns(source.item, "item")
        require_apart(users, items)
        columns = list(dict.fromkeys([*users, *items, *source.sums]))
        require_columns(columns, frame.columns, label, schema_names=schema_names)
        rows = frame.select(*map(named, columns))
        return rows.dropna() if source.drop_nulls else rows

    def empty(self, rows: "DataFrame") -> pl.DataFrame:
        """No rows with these columns, on the driver."""
        return blocks.as_frame(arrow_types(rows).empty_table())

    def read(self, source: "Source", stream: Stream) -> Sets:
        """The sets of all users in a Spark frame, divided into parts by a keyed hash of the user."""
        users, words = key_columns(source.user, "user"), source.text
        if words:
            read: Callable[..., Any] = partial(read_text, rule=words, user=users, stream=stream)
            item = Item.string(words.name)
        else:
            items = key_columns(source.item, "item")
            read = partial(read_sets, user=users, item=items, sums=source.sums, stream=stream)
            columns = self.rows_of(source).select(*map(named, items))
            item = Item(columns.schema, arrow_types(columns))
        parts = self._divided(source, stream, on_table(workers.build_part, read_frame=read))
        return Sets(parts, parts, item)

    def read_corpus(self, source: "Source", stream: Stream) -> Texts:
        """The texts of all users, divided into parts in the same way."""
        assert source.text is not None
        users = key_columns(source.user, "user")
        read = partial(read_corpus, rule=source.text, user=users, stream=stream)
        parts = self._divided(source, stream, on_table(workers.build_texts, read_frame=read))
        return Texts(parts, Item.string(source.text.name))

    def _divided(self, source: "Source", stream: Stream, build: Callable[[Any], Any]) -> "DataFrame":
        """What `build` makes of the rows of every part."""
        rows, users = self.rows_of(source), key_columns(source.user, "user")
        with translated():
            if source.text is not None and source.text.column is not None:
                size, per_part = _bytes_of(rows, source.text.column), TEXT_PER_PART
            else:
                size, per_part = rows.count() if self.counted is None else self.counted, ROWS_PER_PART
        # Small parts and tasks cost more than their work: no more of them than can run at once, unless they get large.
        found = task_slots(self._session)
        slots = (found and found[0]) or UNKNOWN_SLOTS
        n_parts = max(slots, -(-size // per_part))
        tasks = max(slots, -(-n_parts // PARTS_PER_TASK))
        self._spread_over = min(n_parts, MOST_SHARDS, self._partitions, tasks)
        self._parts, self._shards = self._places(n_parts), self._places(min(n_parts, MOST_SHARDS), -1)
        divide = partial(blocks.divide, user=users, parts=self._parts, stream=stream, label=LABEL)
        divided = map_rows(rows, divide, BLOCKS)
        return self._kept(self._grouped(divided).applyInArrow(build, SCHEMA))

    def ngrams(self, corpus: Texts, before: tuple[Sets, Items] | None = None) -> Sets:
        """The words or longer n-grams of every part."""
        if before is None:
            parts = self._kept(self._map(corpus.parts, workers.begin_ngrams))
        else:
            sets, items = before
            own = corpus.parts.unionByName(names_of(sets.names))
            parts = self._kept(self._informed(own, items, ["released"], workers.longer_ngrams, SCHEMA))
        return Sets(parts, parts, corpus.item)

    def split(self, sets: Sets, share: float, stream: Stream) -> tuple[Sets, Sets]:
        """Divide the users of every part by their coins."""
        how: dict[str, Any] = {"share": share, "stream": stream}
        halves = [
            self._kept(self._map(states_of(sets.parts), workers.split, **how, chosen=chosen))
            for chosen in (True, False)
        ]
        return replace(sets, parts=halves[0]), replace(sets, parts=halves[1])

    def item_types(self, sets: Sets) -> pl.Schema:
        """The columns that name an item, and their types."""
        return blocks.as_frame(sets.item.arrow.empty_table()).schema

    def leave_out(self, sets: Sets, digests: Digests) -> Sets:
        """The parts without the items with these digests; their names stay in the sets that were read."""
        left = self._map(states_of(sets.parts), workers.leave_out, digests=digests)
        return replace(sets, parts=self._kept(left))

    def admit(
        self,
        sets: Sets,
        items: pl.DataFrame,
        digests: Digests,
        may_pass: DigestTest,
        weights: NDArray[np.float64] | None = None,
    ) -> Sets:
        """The parts with the list, and with the names of its items."""
        how: dict[str, Any] = {"items": items, "digests": digests, "may_pass": may_pass, "weights": weights}
        add = on_group(workers.admit_part, **how, parts=self._parts)
        parts = self._kept(self._grouped(sets.parts).applyInArrow(add, SCHEMA))
        return replace(sets, parts=parts, names=parts, listed=True)

    def collect(self, items: Items, step: Callable[[Any], NDArray[Any]]) -> NDArray[Any]:
        """The values that `step` finds in all shards."""
        told = self._told(items, partial(shards.find, step=step))
        with translated():
            letters = sorted(read_letters(told.toArrow().to_batches()), key=lambda letter: letter.place)
        # A source without rows has no shards.
        return np.concatenate([letter.content for letter in letters] or [np.zeros(0)])

    def missing(self, items: Items, digests: Digests) -> NDArray[np.bool_]:
        """Which of these items are in no shard."""
        return ~among(digests, self.collect(items, partial(_those_of, digests=digests)))

    def attach(self, items: Items, step: Step) -> Items:
        """Apply `step` to every shard."""
        return self.update(items, step)

    def users(self, sets: Sets) -> int:
        """The number of users of all parts."""
        return _total(states_of(sets.parts).mapInArrow(workers.count_users, FOUND))

    def users_with_other(self, sets: Sets, items: Items) -> int:
        """The number of users of all parts with another item."""
        return _total(
            self._informed(states_of(sets.parts), items, ["other"], workers.count_with_other, FOUND)
        )

    def sum_values(
        self, sets: Sets, items: Items, name: str, limits: tuple[int, int], cut: int
    ) -> tuple[Items, int]:
        """The shards with the sums of their items over all parts, and the sum of the others."""
        parts, marks = sets.parts.where(f"sender IN ({SELF}, {VALUES})"), ["released", "other"]
        how: dict[str, Any] = {"name": name, "limits": limits, "cut": cut}
        rest = _total(self._informed(parts, items, marks, workers.sum_others, FOUND, **how))
        sums = self._informed(parts, items, marks, workers.sum_released, SCHEMA, **how, shards=self._shards)
        return replace(items, table=sums.unionByName(self._waiting(items)), given=np.int64), rest

    def require_users(self, sets: Sets, most: int) -> None:
        """Raise an error if there are more users than the calibration covers; Spark compares, and the count stays there."""
        sizes = states_of(sets.parts).mapInArrow(workers.count_users, FOUND)
        with translated():
            if not sizes.groupBy().sum("found").where(f"`sum(found)` > {most}").isEmpty():
                raise TooLarge(
                    f"there are more than {most} users, which the rounding bound of this algorithm does not cover; "
                    "use another algorithm."
                )

    def items(self, sets: Sets) -> Items:
        """The shards of the items of all parts."""
        if sets.table is not None:
            return sets.table
        news = self._map(states_of(sets.parts), workers.announce, shards=self._shards)
        return Items(self._kept(self._grouped(news).applyInArrow(on_group(shards.found_shard), SCHEMA)))

    def restrict(self, sets: Sets, items: Items) -> Sets:
        """The parts restricted to open items, with their table of items."""
        left = self._informed(states_of(sets.parts), items, ["open"], workers.restrict, SCHEMA)
        return replace(sets, parts=self._kept(left), table=items)

    def tally(self, sets: Sets, bins: Sequence[int], noise: Callable[[Any], Any]) -> NDArray[np.int64]:
        """The noisy number of users by the size of their sets; exact numbers stay on the workers."""
        told = self._map(states_of(sets.parts), workers.tally_part, bins=bins)
        add = on_group(workers.add_tallies, noise=noise)
        with translated():
            rows = told.groupBy("place").applyInArrow(add, "users array<long>").collect()
        # A source without rows has no parts, and its histogram has the same noise as any other.
        return np.array(rows[0]["users"] if rows else noise(np.zeros(len(bins), np.int64)), np.int64)

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
            step = workers.Cut(max_items, stream, round)
            if isinstance(sets, Sets):
                return SparkRows(states_of(sets.parts), step, sampled=False)
            assert sets.sampled, "sets that are not sampled yet would be sampled anew in every round"
            return SparkRows(sets.parts, step)
        cut = self._map(states_of(sets.parts), workers.cut, max_items=max_items, stream=stream, round=round)
        return SparkRows(self._kept(cut))

    def weigh(self, rows: SparkRows, items: Items, rule: Rule) -> Items:
        """Sum what users give: first within every part, then over the parts."""
        sent: dict[str, Any] = {"rule": rule, "shards": self._shards}
        looks = [rule.reads] if rule.reads else []
        reads = [*looks, *(["open"] if rows.cut else [])]
        if reads:
            told = self._grouped(self._shards_of(items, partial(shards.wait, reads=reads, ends=looks)))
            weigh = on_groups(workers.weigh_informed, cut=rows.cut, **sent)
            given = rows.parts.groupBy("place").cogroup(told).applyInArrow(weigh, SCHEMA)
        else:
            given = self._map(rows.parts, workers.weigh_alone, **sent).unionByName(self._waiting(items))
        return Items(items.found, given, np.int64, rounds=items.rounds + 1)

    def walk(self, rows: SparkRows, items: Items, walk: Walk, stream: Stream) -> Items:
        """Run a policy in each of its parts and sum the weights (docs/hybrid.md)."""
        turns = self._places(walk.parts)
        divided = self._map(rows.parts, workers.split_for_walk, parts=turns, stream=stream)
        sent: dict[str, Any] = {"walk": walk, "stream": stream, "shards": self._shards}
        follow = on_group(workers.walk_part, **sent)
        given = self._grouped(divided).applyInArrow(follow, SCHEMA)
        told = given.unionByName(self._waiting(items))
        return Items(items.found, told, walk.dtype, rounds=items.rounds + 1)

    def update(self, items: Items, step: Step) -> Items:
        """Apply `step` to every shard, together with what comes next; after some rounds, now."""
        updated = replace(items, steps=(*items.steps, step))
        if updated.rounds >= ROUNDS_PER_TABLE:
            self._settle(updated)
        return updated

    def names(self, sets: Sets, items: Items) -> "DataFrame | Brought":
        """The released items as a Spark frame without a reference to the source data.

        With scratch tables, which are dropped at the end, they go to the driver.
        """
        item = sets.item.with_listed() if sets.listed else sets.item
        told = self._decoded(sets, items, partial(workers.decode, types=item.arrow), item.spark)
        if isinstance(self._keeper, Scratch):
            with translated():
                frame = blocks.as_frame(told.toArrow())
            return Brought(detached(frame.sort(frame.columns)), self._session, self.parts)
        # As a release from one task is divided and sorted: neither says which part of the users an item comes from.
        columns = [*map(named, told.columns)]
        return checkpoint(told.repartition(self.parts, *columns).sortWithinPartitions(*columns))

    def frame(self, sets: Sets, items: Items) -> pl.DataFrame:
        """The released items on the driver, with the columns that are to be shown."""
        told = self._decoded(sets, items, workers.decode_shown, SCHEMA)
        with translated():
            letters = read_letters(told.toArrow().to_batches())
            found: pl.DataFrame = pl.concat([letter.content for letter in letters])
        return found

    def everywhere(self, names: pl.DataFrame) -> pl.DataFrame:
        """The names themselves: the driver runs the job."""
        return names

    def _decoded(self, sets: Sets, items: Items, decode: Callable[..., Any], schema: Any) -> "DataFrame":
        mail = self._told(items, shards.post_released)
        parts = names_of(sets.names).groupBy("place")
        decoded: DataFrame = parts.cogroup(self._grouped(mail)).applyInArrow(on_groups(decode), schema)
        return decoded

    def _informed(
        self,
        parts: "DataFrame",
        items: Items,
        reads: list[str],
        function: Callable[..., Any],
        schema: Any,
        **options: Any,
    ) -> "DataFrame":
        """What a function makes of every part, after the shards have sent it these columns of its items."""
        mail = self._grouped(self._told(items, partial(shards.post, reads=reads)))
        grouped = parts.groupBy("place").cogroup(mail)
        found: DataFrame = grouped.applyInArrow(on_groups(function, **options), schema)
        return found

    def _waiting(self, items: Items) -> "DataFrame":
        """The shards as they wait for weights."""
        return self._shards_of(items, shards.wait)

    def _shards_of(self, items: Items, tell: shards.Tell = shards.stay) -> "DataFrame":
        """What the shards tell when they are computed."""
        how: dict[str, Any] = {"dtype": items.given, "steps": items.steps, "tell": tell}
        own = items.found.groupBy("place")
        if items.table is None:
            return own.applyInArrow(on_group(shards.compute, **how), SCHEMA)
        mail = self._grouped(items.table)
        return own.cogroup(mail).applyInArrow(on_groups(shards.compute, **how), SCHEMA)

    def _settle(self, items: Items) -> None:
        """Compute the columns of the shards now, unless they are."""
        if items.given is not None or items.steps:
            items.table = self._keeper.renew(self._shards_of(items))
            items.given, items.steps, items.rounds = None, (), 0

    def _told(self, items: Items, tell: shards.Tell) -> "DataFrame":
        """What the shards tell, which are computed now if they are not."""
        self._settle(items)
        return self._shards_of(items, tell)

    def _map(self, table: "DataFrame", function: Callable[..., Any], **options: Any) -> "DataFrame":
        return table.mapInArrow(partial(on_letters, partial(function, **options)), SCHEMA)

    def _grouped(self, table: "DataFrame") -> Any:
        return self._spread(table, "place").groupBy("place")

    def _spread(self, table: "DataFrame", *by: str) -> "DataFrame":
        """As many Spark partitions as places, within the limit of the session, so that joined tables need not move again."""
        return table.repartition(self._spread_over, *by)

    def _kept(self, parts: "DataFrame") -> "DataFrame":
        """The parts, computed now, and sorted once, so that no round sorts them."""
        return self._keeper.keep(self._spread(parts, "place").sortWithinPartitions("place"))

    def _places(self, number: int, sign: int = 1) -> Places:
        return even_places(number, self._spread_over, sign)


def _bytes_of(rows: "DataFrame", column: str) -> int:
    """The length of all text of a column."""
    from pyspark.sql import functions

    ((size,),) = rows.agg(functions.sum(functions.octet_length(named(column)))).collect()
    return int(size or 0)


def _total(table: "DataFrame") -> int:
    """The sum of the numbers that parts have found."""
    with translated():
        return sum(row.found for row in table.collect())


def _those_of(columns: Columns, digests: Digests) -> Digests:
    """The digests of a shard that are among these."""
    own: Digests = columns["digest"]
    return own[among(own, digests)]
