"""Spark Connect: a server of this machine and a client that has DataFrames and nothing else.

A process is either a Connect client or a classic driver, so the client is one of its own.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
from spark_sessions import needs_exchange, require_spark

import dpsu
from dpsu.testing import seeded

CLIENT = """
import sys
import dpsu
from dpsu.errors import InvalidArgument
from dpsu.testing import seeded
from pyspark import SparkContext
from pyspark.sql import SparkSession
spark = (
    SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false").config("spark.driver.memory", "1g")
    .config("spark.sql.shuffle.partitions", "2").config("spark.dpsu.peers", "2").getOrCreate()
)
frame = spark.read.parquet(sys.argv[1])
assert type(frame).__module__.startswith("pyspark.sql.connect")
columns = {"user": "user", "item": "item"}
try:
    dpsu.release(frame, **columns, epsilon=3.0, delta=1e-5, spark_mode="exchange")
    raise SystemExit("checkpoints of a Connect session cannot be removed")
except InvalidArgument as error:
    assert "spark.dpsu.scratch" in str(error)
spark.sql(f"CREATE DATABASE scratch LOCATION '{sys.argv[3]}'")
spark.conf.set("spark.dpsu.scratch", "scratch")
for mode in ("task", "barrier", "exchange"):
    for algorithm in (dpsu.FocusedGaussian(rounds=3), dpsu.PolicyGaussian(parts=4)):
        with seeded(5):
            release = dpsu.release(
                frame, **columns, epsilon=3.0, delta=1e-5, max_items=8, algorithm=algorithm, spark_mode=mode
            )
        release.save(sys.argv[2] + mode + release.statement.algorithm + ".parquet")
assert not spark.catalog.listTables("scratch")
server = SparkContext._active_spark_context  # the server is in the JVM of this process
print(len(server._jsc.getPersistentRDDs()))
spark.stop()
"""


@needs_exchange
def test_connect_releases_what_this_machine_does(tmp_path: Path) -> None:
    require_spark()
    rng = np.random.default_rng(2)
    frame = pl.DataFrame({"user": rng.integers(0, 800, 10_000), "item": rng.zipf(1.3, 10_000) % 900})
    frame.write_parquet(tmp_path / "pairs.parquet")
    run = subprocess.run(
        [
            sys.executable,
            "-c",
            CLIENT,
            *(str(tmp_path / name) for name in ("pairs.parquet", "out-", "scratch")),
        ],
        capture_output=True,
        text=True,
        # The server that is started inherits the environment; with SPARK_TESTING it takes a free port.
        env={**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_TESTING": "1"},
    )
    assert run.returncode == 0, run.stderr[-3000:]
    assert int(run.stdout.split()[-1]) <= 2  # those of the two releases from a barrier stage
    assert not [left for left in (tmp_path / "scratch").rglob("*") if left.is_file()]

    for options in (
        {"algorithm": dpsu.FocusedGaussian(rounds=3)},
        {"algorithm": dpsu.PolicyGaussian(parts=4)},
    ):
        with seeded(5):
            local = dpsu.release(
                frame, user="user", item="item", epsilon=3.0, delta=1e-5, max_items=8, **options
            )
        name = local.statement.algorithm if local.statement else ""
        for mode in ("task", "barrier", "exchange"):
            assert pl.read_parquet(tmp_path / f"out-{mode}{name}.parquet")["item"].to_list() == local.items
        assert len(local) > 10
