"""A whole job within one barrier stage: rows stay in the memory of its tasks, which run the job together as peers.

The rows are shuffled once, by user. Each task reads those of its users, and all tasks exchange sums directly
(`flight`). A task that is lost restarts the stage, and all randomness is that of the key, so the release is the same. The
released items are written by the tasks; what else a job finds, such as a noisy histogram, goes to the driver.
"""

import pickle
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from dpsu.algorithms.job import Chosen
from dpsu.engines.local import LocalEngine
from dpsu.engines.spark.frames import arrow_types, map_rows, spark_types
from dpsu.engines.spark.letters import in_task
from dpsu.engines.spark.session import (
    checkpoint,
    context_of,
    is_spark_3,
    named,
    setting,
    task_slots,
    translated,
    whole_number,
)
from dpsu.engines.spark.telling import Line, no_line
from dpsu.engines.spark.whole import Done, as_stream
from dpsu.sources.columns import key_columns

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from dpsu.engines.spark.engine import SparkEngine
    from dpsu.engines.spark.flight import Passport
    from dpsu.sources.source import Source

PEERS = "spark.dpsu.peers"
"""Setting: the number of tasks of the barrier stage; by default as many as can run at once."""

FOUND = "dpsu: found"
"""The column with what a task found beside the released items."""

GRACE = 20.0
"""Seconds that a task waits after it lost another, so that Spark reports the error of the first."""

SETTLING = 1.0
"""Seconds in which Spark notices that the tasks of the last job have ended."""

Work = Callable[..., tuple[Done, pl.DataFrame]]
"""`run_whole` with a job and its source: it takes rows, an engine, and how the engine meets its peers after reading."""


@dataclass(frozen=True)
class Room:
    """How many tasks can run at once, or why a barrier stage cannot run here."""

    peers: int
    obstacle: str | None = None


def room_for_peers(session: Any) -> Room:
    """The room for a barrier stage: without enough of it Spark would retry for ten minutes, or stop the whole context."""
    try:
        import pyarrow.flight  # noqa: F401
    except ImportError:
        return Room(0, "pyarrow has no Arrow Flight")
    if setting(session, "spark.dynamicAllocation.enabled", "false").lower() == "true":
        return Room(0, "spark.dynamicAllocation.enabled is on, with which Spark has no barrier stages")
    asked = whole_number(session, PEERS, 0)
    if context_of(session) is None and is_spark_3(session):
        return Room(0, "a Connect client of Spark 3.5 has no checkpoints, which keep the released items")
    found = task_slots(session)
    if found is None and asked:
        return Room(asked)
    if found is None:
        return Room(0, f"this session does not tell how many tasks can run at once: set {PEERS}")
    slots, free = found
    if not slots:
        return Room(0, "no executor is there")
    deadline = time.monotonic() + SETTLING
    while free < slots and time.monotonic() < deadline:
        time.sleep(0.02)
        slots, free = task_slots(session) or (slots, free)
    if 2 * free < slots:
        return Room(
            min(slots, asked or slots), f"other jobs take {slots - free} of {slots} slots, more than half"
        )
    return Room(min(free, asked or free))


def run_in_barrier(
    spark: "SparkEngine",
    rows: "DataFrame",
    none: pl.DataFrame,
    source: "Source",
    work: Work,
    peers: int,
    line: Line,
) -> Done:
    """Run the work on the rows with this number of peers, and hand over what they found; the first one tells stages."""
    from pyspark.sql.types import BinaryType, StructField, StructType

    from dpsu.engines.spark.flight import Passport

    threads = whole_number(spark.session, "spark.task.cpus", 1)
    with LocalEngine(1) as local:
        released = spark_types(work(none, local)[1])
    task = partial(
        _in_task,
        work=work,
        none=none,
        passport=Passport.fresh(),
        threads=threads,
        parts=spark.parts,
        types=arrow_types(spark.session.createDataFrame([], released)),
        line=line,
    )
    users, items = [*map(named, key_columns(source.user, "user"))], [*map(named, released.names)]
    schema = StructType([*released.fields, StructField(FOUND, BinaryType())])
    told = map_rows(rows.repartition(peers, *users), task, schema, barrier=True)
    # A barrier stage that gives the result itself would not be run again; and how rows are divided and sorted says nothing.
    kept = checkpoint(told.repartition(spark.parts, *items).sortWithinPartitions(*items))
    with translated():
        found: list[Done] = [
            pickle.loads(row[0]) for row in kept.where(f"`{FOUND}` IS NOT NULL").select(FOUND).collect()
        ]
    names = kept.where(f"`{FOUND}` IS NULL").select(*items)
    return replace(found[0], chosen=replace(_agreed(found), names=names))


def _agreed(found: Sequence[Done]) -> Chosen:
    """What all peers found. Notes for the curator are those of all peers that have rows."""
    notes = [done.chosen.notes for done in found]
    seen = [done.chosen.seen for done in found if done.rows] or [()]
    return replace(
        found[0].chosen,
        notes=tuple(note for note in notes[0] if all(note in own for own in notes)),
        seen=tuple(note for note in seen[0] if all(note in own for own in seen)),
    )


# -- within a task


def _in_task(
    batches: Iterable["pa.RecordBatch"],
    *,
    work: Work,
    none: pl.DataFrame,
    passport: "Passport",
    threads: int,
    parts: int,
    types: "pa.Schema",
    line: Line,
) -> Iterator["pa.RecordBatch"]:
    """The part of one peer: its released items, and a row with what else it found."""
    import pyarrow as pa
    from pyspark import BarrierTaskContext

    from dpsu.engines.peers import PeerEngine
    from dpsu.engines.spark.flight import FlightExchange, PeerLost

    context = BarrierTaskContext.get()
    rank, peers = context.partitionId(), context.getTaskInfos()
    host = peers[rank].address.rpartition(":")[0]

    def run() -> tuple[Done, pa.Table]:
        with (
            FlightExchange(host, passport, rank, len(peers)) as exchange,
            PeerEngine(exchange, threads, parts) as engine,
            ThreadPoolExecutor(1) as pool,
            (no_line if rank else line)() as tell,
        ):
            greetings = pool.submit(context.allGather, exchange.greeting)  # takes a second: read meanwhile
            rows = as_stream(batches)

            def meet() -> None:
                exchange.meet(greetings.result())

            try:
                done, names = work(none if rows is None else rows, engine, meet, tell=tell)
                return replace(done, rows=rows is not None), names.to_arrow().cast(types)
            except PeerLost:
                time.sleep(GRACE)
                raise

    done, released = in_task(run)()
    yield from released.append_column(FOUND, pa.nulls(len(released), pa.binary())).to_batches()
    nothing = [pa.nulls(1, each.type) for each in types]
    yield pa.record_batch([*nothing, pa.array([pickle.dumps(done)], pa.binary())], [*types.names, FOUND])
