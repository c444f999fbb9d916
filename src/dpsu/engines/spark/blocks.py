"""Rows of the source in blocks: Spark moves a block as a single row, which is much faster than single rows."""

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import pairwise

import numpy as np
import polars as pl
import pyarrow as pa

from dpsu.engines.spark.letters import PIECE_BYTES, Places, in_task
from dpsu.randomness.stream import Purpose, Stream
from dpsu.sets.keys import KeyEncoder
from dpsu.sources.columns import require_types, require_values

BATCH_ROWS, BATCH_BYTES = 1 << 17, 1 << 26
"""Rows, or bytes if rows are long, that are collected before they are divided: Spark's own batches are too small."""

BLOCKS = pa.schema([("place", pa.int64()), ("first", pa.int64()), ("rows", pa.binary())])
"""Blocks of rows on their way to a part."""


def in_large_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Merge the rows of an iterator of Arrow batches into fewer, larger batches."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        rows, size = sum(each.num_rows for each in waiting), sum(each.nbytes for each in waiting)
        if rows >= BATCH_ROWS or size >= BATCH_BYTES:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting)


def divide(
    batches: Iterable[pa.RecordBatch],
    *,
    user: list[str],
    parts: Places,
    stream: Stream,
    label: str,
) -> Iterator[pa.RecordBatch]:
    """Blocks with the rows of the users of every part."""
    apply = in_task(partial(_divide, user=user, parts=parts, stream=stream, label=label))
    for table in in_large_batches(batches):
        yield apply(table)


def _divide(table: pa.Table, user: list[str], parts: Places, stream: Stream, label: str) -> pa.RecordBatch:
    frame = as_frame(table)
    require_types(frame.schema, label)
    require_values(frame, label)
    encoder = KeyEncoder(frame.schema, user, stream.digest_key)
    codes = encoder.encode(frame)
    part_of_user = stream.words(Purpose.PART, 0, encoder.digests()) % np.uint64(len(parts))
    part = part_of_user.astype(np.min_scalar_type(len(parts)))[codes]  # small numbers are sorted much faster
    order = np.argsort(part, kind="stable")
    rows = table.take(pa.array(order))
    most = max(1, rows.num_rows * PIECE_BYTES // max(1, rows.nbytes))
    bounds = np.searchsorted(part[order], np.arange(len(parts) + 1))
    blocks = [
        (parts[number], first, as_block(rows.slice(first, min(most, last - first))))
        for number, (begin, last) in enumerate(pairwise(bounds.tolist()))
        for first in range(begin, max(last, begin + 1), most)  # a part without users exists, too
    ]
    columns = zip(*blocks, strict=True)
    return pa.record_batch(
        [pa.array(own, kind.type) for own, kind in zip(columns, BLOCKS, strict=True)], schema=BLOCKS
    )


def as_block(rows: pa.Table) -> bytes:
    """Rows as one Arrow stream: Spark sorts and moves a block as a single row, which is much faster than single rows."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
        writer.write_table(rows.combine_chunks())
    return bytes(sink.getvalue())


def as_frame(table: pa.Table) -> pl.DataFrame:
    """The table as a Polars frame."""
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame
