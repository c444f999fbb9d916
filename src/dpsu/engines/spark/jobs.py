"""A job on Spark: the choice of the way, and the two ways in which tasks run a whole job.

Small data is processed by the local engine within one task, larger data by peers in one barrier stage, and the rest by
the exchange engine. The driver checks columns, types, lists and nulls first, and the ledger has its entry before a task
reads anything.
"""

import io
import logging
import os
import pickle
import warnings
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from dpsu.algorithms.job import Chosen, Job, Tell
from dpsu.algorithms.public_items import Listed
from dpsu.engines.local import LocalEngine
from dpsu.engines.spark.barrier import Room, room_for_peers, run_in_barrier
from dpsu.engines.spark.frames import map_rows
from dpsu.engines.spark.keeping import require_keeper
from dpsu.engines.spark.session import (
    batches_of_rows,
    cores_of_executor,
    grouped_jobs,
    is_spark_3,
    rows_of_batch,
    setting,
    translated,
    whole_number,
    without_adapting,
)
from dpsu.engines.spark.telling import line_to
from dpsu.engines.spark.whole import BLOCK, PIECES, in_one_task, packed, run_whole
from dpsu.errors import CuratorNote, InvalidArgument, NullValues
from dpsu.outcome.release import Brought
from dpsu.randomness.stream import Stream
from dpsu.sources.columns import null_error
from dpsu.sources.source import Source

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from dpsu.algorithms.mechanism import Mechanism
    from dpsu.engines.choose import Mode
    from dpsu.engines.spark.engine import SparkEngine
    from dpsu.outcome.ledger import Ledger
    from dpsu.outcome.statement import Statement

LIMIT = "spark.dpsu.taskRows"
TASK_ROWS = 50_000_000
"""Default for LIMIT: the largest number of rows that one task holds."""

BLOCKS_AT_ONCE = 4
"""Blocks of rows that one task gets in a batch: it reads some while Spark sends others."""

ON_DRIVER = (
    "The ledger is a file on the driver, which goes away with the application: keep it on storage that stays."
)

log = logging.getLogger("dpsu.spark")


@dataclass(frozen=True, repr=False)
class Waiting:
    """Rows that tasks will read: the Spark frame, no rows of it as a Polars frame, and their number.

    With `peers` that number of tasks reads them in a barrier stage, otherwise one task does.
    """

    rows: "DataFrame"
    none: pl.DataFrame
    source: Source
    size: int
    peers: int = 0


class SparkJob(Job):
    """A job that is run on Spark, in the way that fits the data or in the one that is asked for."""

    def __init__(self, job: Job, mode: "Mode | None") -> None:
        self._job, self._mode = job, mode
        self.promise, self.stream = job.promise, job.stream
        self._group = f"dpsu-{os.urandom(4).hex()}"

    def read(self, engine: Any, source: Source, lists: Listed, stream: Stream) -> Any:
        """Check everything that can be checked before the ledger is asked, and choose the way."""
        spark: SparkEngine = engine
        self._on_cluster = setting(spark.session, "spark.submit.deployMode", "client") == "cluster"
        rows = spark.rows_of(source)
        none = spark.empty(rows)
        with LocalEngine(1) as local:
            self._job.read(local, _of(source, none), lists, stream)
        with grouped_jobs(spark.session, "dpsu: counting rows", self._group):
            size = _count_rows(rows, [*source.sums])
        mode, room = self._choose(spark, size)
        log.info("this release runs on Spark in the mode %r; its job group or tag is %s", mode, self._group)
        if mode == "exchange" and size:
            require_keeper(spark.session)
            spark.counted = size
            with grouped_jobs(spark.session, "dpsu: dividing users", self._group):
                return self._job.read(spark, source, lists, stream)
        return Waiting(rows, none, source, size, room.peers if mode == "barrier" else 0)

    def _choose(self, engine: "SparkEngine", rows: int) -> "tuple[Mode, Room]":
        """One task if the rows are few, else peers if there is room for them. Nothing of the choice is in the output."""
        limit = whole_number(engine.session, LIMIT, TASK_ROWS)
        if self._mode == "task" or (self._mode is None and rows <= limit):
            return "task", Room(0)
        if self._mode != "exchange":
            room = room_for_peers(engine.session)
            if self._mode == "barrier" and not room.peers:
                raise InvalidArgument(
                    f"spark_mode='barrier' is not possible here: {room.obstacle} (docs/cluster.md)."
                )
            if self._mode == "barrier":
                return "barrier", room
            if room.obstacle is None and rows > room.peers * limit:
                room = replace(
                    room, obstacle=f"there are more rows than {room.peers} tasks of {limit} hold ({LIMIT})"
                )
            if room.obstacle is None:
                return "barrier", room
            log.info("no barrier stage: %s", room.obstacle)
        if is_spark_3(engine.session):
            raise InvalidArgument(
                "releases on Spark 3.5 run in one Spark task or in a barrier stage; there are more rows than "
                f"{LIMIT} allows ({limit}), and no barrier stage is possible here: {room.obstacle}. Raise the limit if an "
                "executor has the memory, or see docs/cluster.md for barrier stages."
            )
        return "exchange", Room(0)

    def select(self, engine: Any, sets: Any, lists: Listed, stream: Stream, tell: Tell) -> Chosen:
        """Run the job: in one task, in several, or with the engine's own methods."""
        if not isinstance(sets, Waiting):
            with grouped_jobs(engine.session, "dpsu: rounds", self._group), without_adapting(engine.session):
                chosen = self._job.select(engine, sets, lists, stream, tell)
            if isinstance(chosen.names, pl.DataFrame):
                chosen = replace(chosen, names=Brought(chosen.names, engine.session, engine.parts))
            return chosen
        work = partial(run_whole, job=self._job, source=_of(sets.source, None), lists=lists, stream=stream)
        if sets.peers and sets.size:
            tell("weighing and deciding in a barrier stage")
            with (
                self._on_rows(sets, "dpsu: the release, in a barrier stage"),
                line_to(engine.session, tell) as line,
            ):
                done = run_in_barrier(engine, sets.rows, sets.none, sets.source, work, sets.peers, line)
            vars(self._job).update(done.learned)
            return done.chosen
        tell("weighing and deciding in one Spark task")
        if not sets.size:
            with LocalEngine(1) as local:
                done, names = work(sets.none, local, tell=tell)
        else:
            threads = cores_of_executor(engine.session)
            with (
                self._on_rows(sets, "dpsu: the release, in one task"),
                line_to(engine.session, tell) as line,
                translated(),
            ):
                task = partial(in_one_task, work=work, threads=threads, none=sets.none, line=line)
                pack = partial(packed, nulls=rows_of_batch(engine.session) // BLOCKS_AT_ONCE)
                blocks = map_rows(sets.rows, pack, BLOCK).repartition(1)
                pieces = blocks.mapInArrow(task, PIECES).collect()
            pieces.sort(key=lambda row: row.place)
            done = pickle.loads(pieces[0].piece)
            names = pl.concat([pl.read_ipc_stream(io.BytesIO(row.piece)) for row in pieces[1:]])
        vars(self._job).update(done.learned)
        return replace(done.chosen, names=Brought(names, engine.session, engine.parts))

    def _on_rows(self, sets: Waiting, description: str) -> ExitStack:
        """What holds while tasks read the rows; those of text may be long."""
        stack, session = ExitStack(), sets.rows.sparkSession
        stack.enter_context(grouped_jobs(session, description, self._group))
        if sets.source.text is None:
            stack.enter_context(batches_of_rows(session))
        return stack

    def mechanism(self) -> "Mechanism":
        """That of the job."""
        return self._job.mechanism()

    def commit(self, statement: "Statement | None", ledger: "Ledger | None", number: int) -> None:
        """As the job does."""
        if ledger is not None and self._on_cluster:
            warnings.warn(ON_DRIVER, CuratorNote, stacklevel=2)
        self._job.commit(statement, ledger, number)

    def when_empty(self) -> str:
        """The message of the job."""
        return self._job.when_empty()

    @property
    def unsafe(self) -> str | None:
        """As the job says."""
        return self._job.unsafe


def _of(source: Source, data: Any) -> Source:
    """The source with rows that Spark has read: nulls are dropped already."""
    return replace(source, data=data, format=None, drop_nulls=False)


def _count_rows(rows: "DataFrame", values: list[str]) -> int:
    """The number of rows, for the curator only; rows with nulls are refused."""
    from pyspark.sql import functions

    from dpsu.engines.spark.engine import LABEL
    from dpsu.engines.spark.session import named

    nullable = [field.name for field in rows.schema.fields if field.nullable]
    with translated():
        counts = map(functions.count, [functions.lit(1), *map(named, nullable)])
        ((size, *filled),) = rows.agg(*counts).collect()
    for name, found in zip(nullable, filled, strict=True):
        if found < size and name not in values:
            raise null_error(name, LABEL)
        if found < size:
            raise NullValues(
                f"column {name!r} of {LABEL} has nulls, which cannot be summed; drop_nulls=True drops such rows"
            )
    return int(size)
