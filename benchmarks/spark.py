"""Focused Gaussian on Spark against one plain weighted groupBy-sum on the same cached data, and how both grow.

python -m benchmarks.spark [--copies 1 10] [--rounds 16 20] [--repetitions 3] [--json FILE]
"""

import argparse
import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl

import dpsu
from benchmarks.settings import DELTA, EPSILON, MAX_ITEMS

ROUNDS = (16, dpsu.FocusedGaussian().rounds)
"""What the goal is stated for, and the default."""

SUMS_TO_WARM_UP = 10
SHARED = Path(__file__).parents[1].parent / "shared" / "data" / "reddit_like.parquet"


def open_session() -> Any:
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", "6g")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
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


def seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def measure(
    session: Any, copies: int, all_rounds: list[int], repetitions: int, warm: bool
) -> list[dict[str, Any]]:
    """A row per number of rounds, with the fastest runs; all ratios are to the same plain sum."""
    pairs = cached(session, copies)

    def plain() -> object:
        return pairs.groupBy("item").sum("weight").write.format("noop").mode("overwrite").save()

    def focused(rounds: int) -> object:
        release = dpsu.release(
            pairs,
            user="user",
            item="item",
            epsilon=EPSILON,
            delta=DELTA,
            max_items=MAX_ITEMS,
            algorithm=dpsu.FocusedGaussian(rounds=rounds),
        )
        return len(release)

    # A plain sum gets several times faster while Java compiles it, and other work slows down what it meets:
    # so both are warmed up first, and then take turns.
    if not warm:
        focused(all_rounds[0])
    for _ in range(SUMS_TO_WARM_UP if not warm else 1):
        plain()
    sums: list[float] = []
    releases: dict[int, list[float]] = {rounds: [] for rounds in all_rounds}
    for _ in range(repetitions):
        for rounds, times in releases.items():
            sums += [seconds(plain) for _ in range(3)]
            times.append(seconds(partial(focused, rounds)))
    sums += [seconds(plain) for _ in range(3)]
    pairs.unpersist()
    return [
        {
            "copies": copies,
            "rounds": rounds,
            "groupby_seconds": min(sums),
            "groupby_median": median(sums),
            "focused_seconds": min(times),
            "focused_median": median(times),
            "ratio": min(times) / min(sums),
        }
        for rounds, times in releases.items()
    ]


def growth(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """By what factor times grow from the fewest copies to the others, for every number of rounds."""
    fewest = min(row["copies"] for row in rows)
    first = {row["rounds"]: row for row in rows if row["copies"] == fewest}
    return [
        {
            "copies": row["copies"] / fewest,
            "rounds": row["rounds"],
            "groupby": row["groupby_seconds"] / first[row["rounds"]]["groupby_seconds"],
            "focused": row["focused_seconds"] / first[row["rounds"]]["focused_seconds"],
        }
        for row in rows
        if row["copies"] != fewest
    ]


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.spark")
    parser.add_argument(
        "--copies", type=int, nargs="+", default=[1, 10], help="sizes, in copies of the corpus"
    )
    parser.add_argument("--rounds", type=int, nargs="+", default=list(ROUNDS))
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    arguments = parser.parse_args()
    session = open_session()
    rows: list[dict[str, Any]] = []
    for copies in arguments.copies:
        rows += measure(session, copies, arguments.rounds, arguments.repetitions, warm=bool(rows))
        print(pl.DataFrame(rows), flush=True)
    factors = growth(rows)
    if factors:
        print("times as long for times the copies:", pl.DataFrame(factors), sep="\n")
    if arguments.json:
        arguments.json.write_text(json.dumps({"runs": rows, "growth": factors}, indent=2) + "\n")


if __name__ == "__main__":
    main()
