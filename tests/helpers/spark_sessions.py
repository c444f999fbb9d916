"""A Spark session of this machine for the tests, or the reason why there is none."""

import shutil
from functools import cache
from importlib.util import find_spec
from typing import Any

import pytest

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
