"""Spark Connect: a server of this machine and a client that has DataFrames and nothing else.

A process is either a Connect client or a classic driver, so the client is one of its own.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
from spark_sessions import require_spark

import dpsu
from dpsu.testing import seeded

CLIENT = """
import sys
import dpsu
from dpsu.testing import seeded
from pyspark.sql import SparkSession
spark = (
    SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false").config("spark.driver.memory", "1g")
    .config("spark.sql.shuffle.partitions", "2").config("spark.dpsu.peers", "2").getOrCreate()
)
frame = spark.read.parquet(sys.argv[1])
assert type(frame).__module__.startswith("pyspark.sql.connect")
columns = {"user": "user", "item": "item"}
for mode in ("task", "barrier", "exchange"):
    for algorithm in (dpsu.FocusedGaussian(rounds=3), dpsu.PolicyGaussian(parts=4)):
        with seeded(5):
            release = dpsu.release(
                frame, **columns, epsilon=3.0, delta=1e-5, max_items=8, algorithm=algorithm, spark_mode=mode
            )
        release.save(sys.argv[2] + mode + release.statement.algorithm + ".parquet")
spark.stop()
"""


def test_connect_releases_what_this_machine_does(tmp_path: Path) -> None:
    require_spark()
    rng = np.random.default_rng(2)
    frame = pl.DataFrame({"user": rng.integers(0, 800, 10_000), "item": rng.zipf(1.3, 10_000) % 900})
    frame.write_parquet(tmp_path / "pairs.parquet")
    run = subprocess.run(
        [sys.executable, "-c", CLIENT, str(tmp_path / "pairs.parquet"), str(tmp_path / "out-")],
        capture_output=True,
        text=True,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},  # the server that is started inherits it
    )
    assert run.returncode == 0, run.stderr[-3000:]

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
