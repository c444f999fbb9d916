"""Focused Gaussian on Spark against one plain weighted groupBy-sum on the same cached data, and how both grow.

python -m benchmarks.spark [--copies 10] [--repetitions 3]
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

import dpsu

EPSILON, DELTA, MAX_ITEMS = 3.0, 4.5e-5, 100
SHARED = Path(__file__).parents[1].parent / "shared" / "data" / "reddit_like.parquet"


def open_session() -> Any:
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", "6g")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    return session


def cached(session: Any, copies: int) -> Any:
    """The corpus, `copies` times over with users of their own, cached with a weight for the plain sum."""
    from pyspark.sql.functions import col, lit

    if SHARED.exists():
        frame = session.read.parquet(str(SHARED))
    else:
        frame = session.createDataFrame(dpsu.datasets.reddit_like(223_388, seed=0).to_arrow())
    users = col("user").cast("long") * copies + col("copy")
    pairs = frame.crossJoin(session.range(copies).withColumnRenamed("id", "copy")).select(
        users.alias("user"), col("item").cast("long").alias("item"), lit(0.25).alias("weight")
    )
    pairs = pairs.repartition(8).persist()
    pairs.count()
    return pairs


def seconds(run: Callable[[], object], repetitions: int) -> float:
    """The fastest of several runs after one to warm up."""
    run()
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def measure(session: Any, copies: int, repetitions: int) -> tuple[float, float]:
    pairs = cached(session, copies)

    def plain() -> object:
        return pairs.groupBy("item").sum("weight").write.format("noop").mode("overwrite").save()

    def focused() -> object:
        release = dpsu.release(
            pairs, user="user", item="item", epsilon=EPSILON, delta=DELTA, max_items=MAX_ITEMS
        )
        return len(release)

    figures = seconds(plain, max(3, repetitions)), seconds(focused, repetitions)
    pairs.unpersist()
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.spark")
    parser.add_argument(
        "--copies", type=int, nargs="+", default=[1, 10], help="sizes, in copies of the corpus"
    )
    parser.add_argument("--repetitions", type=int, default=3)
    arguments = parser.parse_args()
    session = open_session()
    rows = []
    for copies in arguments.copies:
        plain, focused = measure(session, copies, arguments.repetitions)
        rows.append({"copies": copies, "groupBy s": plain, "focused s": focused, "ratio": focused / plain})
        print(pl.DataFrame(rows), flush=True)


if __name__ == "__main__":
    main()
