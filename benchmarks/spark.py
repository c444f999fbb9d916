"""Releases on a standalone Spark cluster of this machine: two workers of one core.

    python -m benchmarks.spark [sizes] [hard] [text] [loss] [--copies 1 10] [--modes task barrier exchange] [--json FILE]

`sizes`: Focused Gaussian in every mode against one plain weighted groupBy-sum on the same cached data. `hard`: users and
items that are difficult to divide, in executors of 1 GB. `text`: words and n-grams. `loss`: an executor dies in round 10.
"""

import argparse
import json
import logging
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl

import dpsu
from benchmarks.settings import DELTA, EPSILON, MAX_ITEMS
from benchmarks.standalone import cluster, processor_seconds, session
from dpsu.testing import seeded

MODES = ("task", "barrier", "exchange")
SUMS_TO_WARM_UP, RELEASES_TO_WARM_UP = 8, 3
"""Runs until the Java processes have compiled what they run: the first takes twice as long as the fourth."""
DATA = Path(__file__).parents[1].parent / "shared" / "data"
PRIVACY = {"epsilon": EPSILON, "delta": DELTA, "max_items": MAX_ITEMS}


def seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def measured(run: Callable[[], object]) -> tuple[float, float]:
    """Seconds, and processor seconds, which other programs on the machine change less."""
    before = processor_seconds()
    spent = seconds(run)
    return spent, processor_seconds() - before


def corpus(spark: Any) -> Any:
    if (DATA / "reddit_like.parquet").exists():
        return spark.read.parquet(str(DATA / "reddit_like.parquet"))
    made = dpsu.datasets.reddit_like(223_388, seed=0)
    return spark.createDataFrame(made.cast({"user": pl.Int64, "item": pl.Int64}).to_arrow())


def cached(spark: Any, copies: int) -> Any:
    """The corpus, `copies` times over with users of their own, cached with a weight for the plain sum."""
    from pyspark.sql.functions import col, lit

    users = col("user").cast("long") * copies + col("copy")
    copied = corpus(spark).crossJoin(spark.range(copies).withColumnRenamed("id", "copy"))
    pairs = copied.select(
        users.alias("user"), col("item").cast("long").alias("item"), lit(0.25).alias("weight")
    )
    pairs = pairs.repartition(8).persist()
    pairs.count()
    return pairs


def released(frame: Any, mode: str | None, **options: Any) -> int:
    how: dict[str, Any] = {
        "user": "user",
        "item": "item",
        "algorithm": "focused-gaussian",
        **PRIVACY,
        **options,
    }
    return len(dpsu.release(frame, spark_mode=mode, **how))  # type: ignore[arg-type]


def sizes(copies: int, modes: list[str], repetitions: int) -> list[dict[str, Any]]:
    """A row per mode: medians of warm runs, in turns with plain sums; in seconds, and in processor seconds."""
    with cluster() as address, session(address) as spark:
        pairs = cached(spark, copies)

        def plain() -> object:
            return pairs.groupBy("item").sum("weight").write.format("noop").mode("overwrite").save()

        for _ in range(1 + SUMS_TO_WARM_UP // copies):
            plain()
        rows = []
        for mode in modes:
            for _ in range(1 + RELEASES_TO_WARM_UP // copies):
                released(pairs, mode)
            sums, times = [], []
            for _ in range(repetitions):
                sums += [measured(plain) for _ in range(3 if copies == 1 else 1)]
                times.append(measured(lambda mode=mode: released(pairs, mode)))  # type: ignore[misc]
            row: dict[str, Any] = {"part": "sizes", "copies": copies, "mode": mode}
            for place, name in enumerate(("seconds", "processor")):
                own, simple = (median(each[place] for each in found) for found in (times, sums))
                row |= {name: own, f"{name} of a plain sum": simple, f"{name}, ratio": own / simple}
            rows.append({**row, "all": times})
            print(rows[-1], flush=True)
        return rows


def hard_frames(spark: Any, folder: Path) -> dict[str, Any]:
    """Data that is difficult to divide."""
    from pyspark.sql.functions import col, lit

    few = spark.range(1_000_000).select(col("id").alias("user"), (col("id") % 5_000).alias("item"))
    everybody = spark.range(1_000_000).select(col("id").alias("user"), lit(-1).cast("long").alias("item"))
    hoarder = spark.range(5_000_000).select(lit(-1).cast("long").alias("user"), col("id").alias("item"))
    corpus(spark).select(col("user").cast("long"), col("item").cast("long")).repartition(2_000).write.parquet(
        str(folder / "files")
    )
    return {
        "a million users with one item": few,
        "and an item that all hold": few.unionByName(everybody),
        "and a user with five million items": few.unionByName(hoarder),
        "2000 files": spark.read.parquet(str(folder / "files")),
    }


def hard(modes: list[str]) -> list[dict[str, Any]]:
    """Seconds by data and mode, in executors of 1 GB; or the error."""
    rows, folder = [], Path(tempfile.mkdtemp())
    try:
        with cluster(memory="1g") as address, session(address, memory="1g") as spark:
            for name, frame in hard_frames(spark, folder).items():
                found: dict[str, Any] = {"part": "hard", "data": name}
                for mode in modes:
                    try:
                        with seeded(5):
                            start = time.perf_counter()
                            number = released(frame, mode)
                        found[mode] = time.perf_counter() - start
                        found.setdefault("released", number)
                        assert found["released"] == number
                    except dpsu.DpsuError as error:
                        found[mode] = str(error)
                rows.append(found)
                print(found, flush=True)
    finally:
        shutil.rmtree(folder)
    return rows


def text(modes: list[str], repetitions: int) -> list[dict[str, Any]]:
    """Words against a plain distinct count of words, n-grams against the local engine."""
    file, rows = str(DATA / "arxiv_titles.parquet"), []
    frame = pl.read_parquet(file)
    with cluster() as address, session(address) as spark:
        texts = spark.read.parquet(file).repartition(8).persist()
        user, column = ("author", "text") if "author" in texts.columns else texts.columns[:2]
        texts.createOrReplaceTempView("texts")
        words = f"""
            SELECT word, count(DISTINCT {user}) FROM
            (SELECT {user}, explode(split(lower({column}), '[^a-z]+')) word FROM texts) GROUP BY word
        """

        def plain() -> object:
            return spark.sql(words).write.format("noop").mode("overwrite").save()

        for ngrams in (1, (1, 2, 3)):
            how: dict[str, Any] = {"item": None, "user": user, "text": column, "ngrams": ngrams}
            local = [seconds(lambda how=how: released(frame, None, **how)) for _ in range(1 + repetitions)]  # type: ignore[misc]
            for mode in modes:
                spent = [
                    seconds(lambda how=how, mode=mode: released(texts, mode, **how))
                    for _ in range(1 + repetitions)
                ]  # type: ignore[misc]
                sums = [seconds(plain) for _ in range(1 + repetitions)]
                row = {"part": "text", "ngrams": str(ngrams), "mode": mode, "seconds": median(spent[1:])}
                rows.append({**row, "plain": median(sums[1:]), "local": median(local[1:])})
                print(rows[-1], flush=True)
    return rows


def loss(modes: list[str]) -> list[dict[str, Any]]:
    """The items with and without the loss of an executor in round 10 of a task."""
    from dpsu.algorithms.focused import FocusedGaussian, FocusedMechanism

    marker = Path(tempfile.mkdtemp()) / "killed"
    driver = os.getpid()

    class Killing(FocusedMechanism):
        """Kills the Java process above the Python worker, once."""

        def rule(self, r: int) -> Any:
            if r == 10 and os.getpid() != driver and os.getppid() != driver and not marker.exists():
                marker.touch()
                stat = Path(f"/proc/{os.getppid()}/stat").read_text()
                os.kill(int(stat.rpartition(")")[2].split()[1]), signal.SIGKILL)
            return super().rule(r)

    rows, calibrate = [], FocusedGaussian.calibrate
    with cluster() as address, session(address) as spark:
        frame = corpus(spark)
        with seeded(5):
            wanted = dpsu.release(
                frame, user="user", item="item", algorithm="focused-gaussian", **PRIVACY
            ).items  # type: ignore[arg-type]
        for mode in modes:
            marker.unlink(missing_ok=True)
            FocusedGaussian.calibrate = lambda own, request: Killing(**vars(calibrate(own, request)))  # type: ignore[method-assign]
            try:
                with seeded(5):
                    start = time.perf_counter()
                    release = dpsu.release(
                        frame,
                        user="user",
                        item="item",
                        algorithm="focused-gaussian",
                        spark_mode=mode,
                        **PRIVACY,
                    )  # type: ignore[arg-type]
                    same = release.items == wanted
                spent = time.perf_counter() - start
            finally:
                FocusedGaussian.calibrate = calibrate  # type: ignore[method-assign]
            rows.append(
                {"part": "loss", "mode": mode, "killed": marker.exists(), "same": same, "seconds": spent}
            )
            print(rows[-1], flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.spark")
    parser.add_argument("parts", nargs="*", default=["sizes", "hard", "text", "loss"])
    parser.add_argument(
        "--copies", type=int, nargs="+", default=[1, 10], help="sizes, in copies of the corpus"
    )
    parser.add_argument("--modes", nargs="+", default=list(MODES))
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    arguments = parser.parse_args()
    logging.getLogger("dpsu.spark").addHandler(logging.StreamHandler())
    rows: list[dict[str, Any]] = []
    if "sizes" in arguments.parts:
        for copies in arguments.copies:
            rows += sizes(copies, arguments.modes, arguments.repetitions)
    if "hard" in arguments.parts:
        rows += hard(arguments.modes)
    if "text" in arguments.parts:
        rows += text(arguments.modes, arguments.repetitions)
    if "loss" in arguments.parts:
        rows += loss([mode for mode in arguments.modes if mode != "exchange"])
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
