"""A whole job within one Spark task, or within several that run it together: the code of the workers.

A task hands over pieces: rows (place, piece), of which the first is what it found, and the others are released items.
"""

import io
import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import polars as pl

from dpsu.algorithms.job import Chosen, Job, Tell, silent
from dpsu.algorithms.public_items import Listed
from dpsu.engines.contract import Engine
from dpsu.engines.local import LocalEngine
from dpsu.engines.spark.blocks import as_block, in_large_batches
from dpsu.engines.spark.letters import in_task
from dpsu.engines.spark.telling import Line
from dpsu.randomness.stream import Stream
from dpsu.sources.source import Source

if TYPE_CHECKING:
    import pyarrow as pa

PIECES = "place long, piece binary"
BLOCK = "rows binary"
PIECE_ROWS = 1 << 16


@dataclass(frozen=True, repr=False)
class Done:
    """What a task found besides the names: the parts of `Chosen`, what the job has learned, and whether it had rows."""

    chosen: Chosen
    learned: dict[str, Any]
    rows: bool = True


def run_whole(
    rows: Any,
    engine: Engine,
    meet: Callable[[], None] = lambda: None,
    *,
    job: Job,
    source: Source,
    lists: Listed,
    stream: Stream,
    tell: Tell = silent,
) -> tuple[Done, pl.DataFrame]:
    """Read and select with this engine, which `meet` connects to its peers after reading; stages are told.

    All randomness is that of `stream`, so a task that is run again finds the same.
    """
    before = dict(vars(job))
    sets = job.read(engine, replace(source, data=rows), lists, stream)
    meet()
    chosen = job.select(engine, sets, lists, stream, tell)
    learned = {name: value for name, value in vars(job).items() if before.get(name) is not value}
    seen = tuple(getattr(sets, "notes", ()))
    return Done(replace(chosen, names=None, seen=seen), learned), chosen.names


def as_stream(batches: Iterable["pa.RecordBatch"]) -> "pa.RecordBatchReader | None":
    """The rows that Spark sends, which are read while they arrive; None if there are none."""
    import pyarrow as pa

    arriving = iter(batches)
    first = next(arriving, None)
    return first and pa.RecordBatchReader.from_batches(first.schema, chain([first], arriving))


def packed(batches: Iterable["pa.RecordBatch"], *, nulls: int = 0) -> Iterator["pa.RecordBatch"]:
    """Rows in blocks: Spark moves a block as one row, and makes Arrow of rows on all executors and not in one task.

    Each block is followed by this number of nulls. Spark's batches have a number of rows, so nulls keep blocks apart: the
    task that unpacks them can read the first ones while Spark sends the others, and no batch gets too large.
    """
    import pyarrow as pa

    pack = in_task(as_block)
    for table in in_large_batches(batches):
        yield pa.record_batch({"rows": pa.array([pack(table), *[None] * nulls], pa.binary())})


def unpacked(batches: Iterable["pa.RecordBatch"]) -> Iterator["pa.RecordBatch"]:
    """The rows of blocks."""
    import pyarrow as pa

    for batch in batches:
        for block in batch.column(0).drop_null():
            yield from pa.ipc.open_stream(block.as_buffer())


def in_one_task(
    batches: Iterable["pa.RecordBatch"],
    *,
    work: Callable[..., tuple[Done, pl.DataFrame]],
    none: pl.DataFrame,
    threads: int,
    line: Line,
) -> Iterator["pa.RecordBatch"]:
    """The whole run on the blocks of rows of this task, as pieces."""

    def run() -> tuple[Done, pl.DataFrame]:
        rows = as_stream(unpacked(batches))
        with LocalEngine(threads) as engine, line() as tell:
            return work(none if rows is None else rows, engine, tell=tell)

    done, names = in_task(run)()
    yield from as_pieces(done, names, first=0, rest=1)


def as_pieces(found: Any, names: pl.DataFrame, *, first: int, rest: int) -> Iterator["pa.RecordBatch"]:
    """What a task found at the place `first`, and the released items at the places from `rest`."""
    yield _piece(first, pickle.dumps(found))
    for place, piece in enumerate(names.iter_slices(PIECE_ROWS) if names.height else [names], rest):
        written = io.BytesIO()
        piece.write_ipc_stream(written)
        yield _piece(place, written.getvalue())


def _piece(place: int, content: bytes) -> "pa.RecordBatch":
    import pyarrow as pa

    return pa.record_batch({"place": pa.array([place]), "piece": pa.array([content], pa.binary())})
