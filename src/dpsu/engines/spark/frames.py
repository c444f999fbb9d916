"""Frames of this process and of Spark, one made from the other by blocks of Arrow that the workers pack and unpack.

In this way it is the same with Spark 3.5, which has neither `DataFrame.toArrow` nor `createDataFrame` of Arrow.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa

from dpsu.engines.spark.blocks import as_block, as_frame
from dpsu.engines.spark.session import set_python, translated
from dpsu.engines.spark.whole import BLOCK, PIECE_ROWS, packed, unpacked

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


def arrow_types(table: "DataFrame") -> pa.Schema:
    """The types of the columns in Arrow, without a task."""
    if hasattr(table, "toArrow"):
        # Without a limit of zero, Spark would run tasks to find that there are no rows.
        return table.limit(0).toArrow().schema
    from pyspark.sql.pandas.types import to_arrow_schema  # in Spark 3.5 nothing else tells them

    return to_arrow_schema(table.schema)


def spark_types(frame: pl.DataFrame) -> "StructType":
    """The types of the columns in Spark."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(frame.clear().to_arrow().schema, prefer_timestamp_ntz=True)


def map_rows(table: "DataFrame", function: Callable[..., Any], schema: Any, **how: Any) -> "DataFrame":
    """`mapInArrow` of columns with any names: Spark itself misreads dots and backticks."""
    places = [f"c{place}" for place in range(len(table.columns))]
    return table.toDF(*places).mapInArrow(
        partial(_with_names, names=table.columns, function=function), schema, **how
    )


def _with_names(
    batches: Iterable[pa.RecordBatch], *, names: list[str], function: Callable[..., Any]
) -> Iterator[pa.RecordBatch]:
    yield from function(batch.rename_columns(names) for batch in batches)


def to_driver(table: "DataFrame") -> pl.DataFrame:
    """The rows in the memory of this process."""
    types = arrow_types(table)
    with _own_python(table.sparkSession), translated():
        blocks = map_rows(table, packed, BLOCK).collect()
    batches = [batch for row in blocks for batch in pa.ipc.open_stream(row.rows)]
    return as_frame(pa.Table.from_batches(batches).cast(types) if batches else types.empty_table())


def to_cluster(session: "SparkSession", frame: pl.DataFrame) -> "DataFrame":
    """The rows as a Spark frame."""
    schema = spark_types(frame)
    types = arrow_types(session.createDataFrame([], schema))
    blocks = [(as_block(piece.to_arrow().cast(types)),) for piece in frame.iter_slices(PIECE_ROWS)]
    with _own_python(session):
        return session.createDataFrame(blocks, BLOCK).mapInArrow(unpacked, schema)


@contextmanager
def _own_python(session: "SparkSession") -> Iterator[None]:
    restore = set_python(session)
    try:
        yield
    finally:
        restore()
