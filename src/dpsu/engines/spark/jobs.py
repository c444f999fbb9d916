"""A job on Spark: how it is run there, and the run of a whole job within one task.

Small data is processed by the local engine within one Spark task, so every feature of the local engine works. The driver
checks columns, types, lists and nulls first, and the ledger has its entry before the task starts. Only the released
items come to the driver.
"""

import io
import logging
import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from dpsu.algorithms.job import Chosen, Job, SingleJob, Tell
from dpsu.algorithms.public_items import Listed
from dpsu.engines.local import LocalEngine
from dpsu.engines.spark.session import grouped_jobs, translated
from dpsu.errors import InvalidArgument, NullValues
from dpsu.outcome.release import Brought
from dpsu.randomness.stream import Stream
from dpsu.sources.columns import null_error
from dpsu.sources.discreet import discreet
from dpsu.sources.source import Source

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from dpsu.algorithms.mechanism import Mechanism
    from dpsu.engines.spark.engine import SparkEngine
    from dpsu.outcome.ledger import Ledger
    from dpsu.outcome.statement import Statement

Mode = Literal["task", "exchange"]
MODES: tuple[Mode, ...] = ("task", "exchange")

LIMIT = "spark.dpsu.taskRows"
TASK_ROWS = 50_000_000
"""Default for LIMIT: the largest number of rows for one task."""

PIECE_ROWS = 1 << 16

log = logging.getLogger("dpsu.spark")


@dataclass(frozen=True, repr=False)
class Waiting:
    """Rows that a task will read: the Spark frame, no rows of it as a Polars frame, and whether it is empty."""

    rows: "DataFrame"
    none: pl.DataFrame
    source: Source
    empty: bool


class SparkJob(Job):
    """A job that is run on Spark, in the way that fits the data or in the one that is asked for."""

    def __init__(self, job: Job, mode: Mode | None) -> None:
        self._job, self._mode = job, mode
        self.promise, self.stream = job.promise, job.stream

    def read(self, engine: Any, source: Source, lists: Listed, stream: Stream) -> Any:
        """Check everything that can be checked before the ledger is asked, and choose the way."""
        spark: SparkEngine = engine
        rows = spark.rows_of(source)
        none = spark.empty(rows)
        with LocalEngine(1) as local:
            self._job.read(local, _of(source, none), lists, stream)
        with grouped_jobs(spark.session, "dpsu: counting rows"):
            size = _count_rows(rows, [*source.sums])
        mode = self._choose(spark, size, lists, source)
        log.info("this release runs on Spark in the mode %r", mode)
        if mode == "exchange":
            return self._job.read(spark, source, lists, stream)
        return Waiting(rows, none, source, size == 0)

    def _choose(self, engine: "SparkEngine", rows: int, lists: Listed, source: Source) -> Mode:
        """One task if the rows are few. Their number decides, and nothing of the choice is in the output."""
        limit = int(engine.session.conf.get(LIMIT, str(TASK_ROWS)) or TASK_ROWS)
        single = isinstance(self._job, SingleJob) and self._job.counting is None
        plain = single and not lists and not source.sums and "candidates" not in self.promise.parameters
        if plain:
            return self._mode or ("task" if rows <= limit else "exchange")
        if self._mode == "exchange":
            raise InvalidArgument(
                "spark_mode='exchange' has no lists, candidates, counts, sums, n-grams in levels or tuning; leave it out."
            )
        if self._mode is None and rows > limit:
            raise InvalidArgument(
                f"lists, candidates, counts, sums, n-grams in levels and tuning run in one Spark task, and there are more "
                f"rows than {LIMIT} allows ({limit}); raise it if an executor has the memory (docs/cluster.md)."
            )
        return "task"

    def select(self, engine: Any, sets: Any, lists: Listed, stream: Stream, tell: Tell) -> Chosen:
        """Run the job: in one task, or with the engine's own methods."""
        if not isinstance(sets, Waiting):
            with grouped_jobs(engine.session, "dpsu: rounds"):
                return self._job.select(engine, sets, lists, stream, tell)
        tell("weighing and deciding in one Spark task")
        work = partial(run_whole, job=self._job, source=_of(sets.source, None), lists=lists, stream=stream)
        if sets.empty:
            result = work(sets.none, threads=1)
        else:
            threads = int(engine.session.conf.get("spark.task.cpus", "1") or 1)
            task = partial(in_task, work=partial(work, threads=threads), none=sets.none.to_arrow())
            with grouped_jobs(engine.session, "dpsu: the release, in one task"), translated():
                pieces = sets.rows.repartition(1).mapInArrow(task, "place long, piece binary").collect()
            pieces.sort(key=lambda row: row.place)
            result = (
                pickle.loads(pieces[0].piece),
                pl.concat([pl.read_ipc_stream(io.BytesIO(row.piece)) for row in pieces[1:]]),
            )
        done, names = result
        vars(self._job).update(done.learned)
        return replace(done.chosen, names=Brought(names, engine.session, engine.parts))

    def mechanism(self) -> "Mechanism":
        """That of the job."""
        return self._job.mechanism()

    def commit(self, statement: "Statement | None", ledger: "Ledger | None", number: int) -> None:
        """As the job does."""
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
    missing = [functions.count_if(functions.col(named(name)).isNull()) for name in nullable]
    with translated():
        size, *nulls = rows.agg(functions.count(functions.lit(1)), *missing).first()
    for name, found in zip(nullable, nulls, strict=True):
        if found and name not in values:
            raise null_error(name, LABEL)
        if found:
            raise NullValues(
                f"column {name!r} of {LABEL} has nulls, which cannot be summed; drop_nulls=True drops such rows"
            )
    return int(size)


# -- within the task


@dataclass(frozen=True, repr=False)
class Done:
    """What a task found besides the names: the parts of `Chosen`, and what the job has learned, such as a setting."""

    chosen: Chosen
    learned: dict[str, Any]


def in_task(
    batches: Iterable["pa.RecordBatch"],
    *,
    work: Callable[[pl.DataFrame], tuple[Done, pl.DataFrame]],
    none: "pa.Table",
) -> Iterator["pa.RecordBatch"]:
    """The whole run on the rows of this task: first what it found, then the names of the released items in pieces."""
    import pyarrow as pa

    rows = pa.Table.from_batches(list(batches))
    done, names = discreet(work, "a Spark task failed")(_frame(rows if rows.num_columns else none))
    yield pa.record_batch({"place": pa.array([0]), "piece": pa.array([pickle.dumps(done)], pa.binary())})
    for place, piece in enumerate(names.iter_slices(PIECE_ROWS) if names.height else [names], 1):
        written = io.BytesIO()
        piece.write_ipc_stream(written)
        yield pa.record_batch(
            {"place": pa.array([place]), "piece": pa.array([written.getvalue()], pa.binary())}
        )


def run_whole(
    rows: pl.DataFrame,
    *,
    job: Job,
    source: Source,
    lists: Listed,
    stream: Stream,
    threads: int,
) -> tuple[Done, pl.DataFrame]:
    """Read and select with the local engine. All randomness is that of `stream`, so a retried task finds the same."""
    before = dict(vars(job))
    with LocalEngine(threads) as engine:
        sets = job.read(engine, replace(source, data=rows), lists, stream)
        chosen = job.select(engine, sets, lists, stream, lambda stage: None)
    learned = {name: value for name, value in vars(job).items() if before.get(name) is not value}
    seen = tuple(getattr(sets, "notes", ()))
    return Done(replace(chosen, names=None, seen=seen), learned), chosen.names


def _frame(table: "pa.Table") -> pl.DataFrame:
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame
