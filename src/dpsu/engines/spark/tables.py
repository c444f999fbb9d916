"""What the Spark engine reads: frames of Spark and of pandas-on-Spark, names of tables, files and folders."""

import os
import re
import warnings
from typing import TYPE_CHECKING, Any

from dpsu.engines.spark.session import translated
from dpsu.errors import InvalidArgument, SourceError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

READERS = {"parquet": "parquet", "csv": "csv", "tsv": "csv", "jsonl": "json", "ndjson": "json"}
TABLE = re.compile(r"(`[^`]+`|\w+)(\.(`[^`]+`|\w+)){0,2}")


def is_spark_frame(source: Any) -> bool:
    """Whether this is a frame of Spark, classic or Connect, or of pandas-on-Spark, without importing Spark."""
    module = type(source).__module__
    return type(source).__name__ == "DataFrame" and module.startswith(("pyspark.sql", "pyspark.pandas"))


def as_spark_frame(source: Any) -> "DataFrame":
    """The frame as one of Spark; the index of a pandas-on-Spark frame is not among its columns."""
    if not type(source).__module__.startswith("pyspark.pandas"):
        return source
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the index is lost
        return source.to_spark()


def load(session: "SparkSession", source: Any, format: str | None) -> "tuple[DataFrame, bool, str]":
    """A table or files as a Spark frame, whether its column names come from a schema, and its label in errors.

    CSV and JSON lines have no types: their values are strings, and an empty field of CSV is null.
    """
    sources = source if isinstance(source, list | tuple) else [source]
    if not all(isinstance(each, str | os.PathLike) for each in sources):
        raise InvalidArgument(
            f"engine='spark' reads Spark frames, tables and files, not {type(source).__name__!r}; leave engine out, or "
            "pass spark.createDataFrame(…)"
        )
    paths = [os.fspath(path) for path in sources]
    if isinstance(source, str) and format is None and _is_table(session, source):
        with translated():
            return session.table(source), True, f"the table {source}"
    kind = format or _kind_of(session, paths[0])
    if kind not in READERS:
        raise InvalidArgument(
            f"{paths[0]!r} is no table of this session, and its ending says no known format; for files pass format= "
            f"(--format): {', '.join(READERS)}"
        )
    reader = session.read.format(READERS[kind])
    if READERS[kind] == "csv":
        # Every file must have the header of the first one: its columns would otherwise be taken by their position.
        reader = reader.option("header", True).option("enforceSchema", False)
        reader = reader.option("sep", "\t" if kind == "tsv" else ",")
    if READERS[kind] == "json":
        reader = reader.option("primitivesAsString", True)
    with translated():
        return reader.load(paths), kind == "parquet", "the Spark frame"


def _is_table(session: "SparkSession", name: str) -> bool:
    """Whether this is the name of a table. A name that ends like a file is one."""
    if not TABLE.fullmatch(name) or _ending(name) in READERS:
        return False
    with translated():
        return bool(session.catalog.tableExists(name))


def _kind_of(session: "SparkSession", path: str) -> str:
    """The format of a file by its ending, or that of the files in a folder."""
    if _ending(path) in READERS:
        return _ending(path)
    try:
        within = session.read.format("binaryFile").option("recursiveFileLookup", True).load(path)
        kinds = {_ending(row.path) for row in within.select("path").limit(1000).collect()}
    except Exception:
        return ""
    found = {READERS.get(kind) for kind in kinds}
    if len(found) > 1:
        raise SourceError(f"the folder {path!r} has files of several formats; pass format= (--format)")
    return min(kinds, default="")


def _ending(path: str) -> str:
    return re.sub(r"\.(gz|zst)$", "", path.lower()).rpartition(".")[2]
