"""A Spark session of this machine for the tests, or the reason why there is none."""

import shutil
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pytest

SPARK_3 = find_spec("pyspark") is not None and version("pyspark").startswith("3.")

needs_exchange = pytest.mark.skipif(SPARK_3, reason="the exchange needs Spark 4")

EXCHANGE = pytest.param("exchange", marks=needs_exchange)
"""The mode, for tests of several."""

CONFIG = {
    "spark.driver.memory": "2g",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.python.worker.reuse": "true",
}


def require_spark() -> None:
    """Skip where Spark cannot run."""
    if find_spec("pyspark") is None:
        pytest.skip("PySpark is not installed: `make test-spark` runs this test")
    if shutil.which("java") is None:
        pytest.skip("there is no Java on this machine, which Spark needs")


FILES, NUMBERS = TemporaryDirectory(prefix="dpsu-spark-"), count()


def on_spark(frame: pl.DataFrame) -> Any:
    """The frame on Spark, in two partitions. Every version reads files with the same types."""
    require_spark()
    folder, half = Path(FILES.name, str(next(NUMBERS))), frame.height // 2
    folder.mkdir()
    for name, part in (("a", frame.head(half)), ("b", frame.slice(half))):
        part.write_parquet(folder / f"{name}.parquet")
    return session().read.parquet(str(folder))


@cache
def session() -> Any:
    """The session of the test run; a failed task is tried again, as on a cluster."""
    require_spark()
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2,4]").appName("tests")
    for key, value in CONFIG.items():
        builder = builder.config(key, value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("ERROR")
    return made


def small_parts(monkeypatch: pytest.MonkeyPatch, rows: int, text: int) -> None:
    """Let the parts of an exchange have at most this number of rows, or of bytes of text."""
    if find_spec("pyspark") is not None:
        monkeypatch.setattr("dpsu.engines.spark.engine.ROWS_PER_PART", rows)
        monkeypatch.setattr("dpsu.engines.spark.engine.TEXT_PER_PART", text)
