"""`make bench`: speed as ratios in one run, on the corpus by the paper's law with items as strings."""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table

import dpsu
from benchmarks.measure import Timing, interleaved
from benchmarks.rivals import bare_count, polars_script
from dpsu.algorithms import calibrate, find
from dpsu.algorithms.request import Request
from dpsu.engines.local import LocalEngine
from dpsu.sets import read_sets
from dpsu.stream import open_stream

EPSILON, DELTA, MAX_ITEMS = 3.0, float(np.exp(-10)), 100
SHARED = Path(__file__).parents[1].parent / "shared" / "data" / "reddit_like.parquet"
CONTESTANTS = ("policy-gaussian", "policy-laplace", "weighted-gaussian", "focused-gaussian")


def corpus_with_names(folder: Path, users: int) -> Path:
    """The corpus with items as strings, in a file."""
    frame = (
        pl.read_parquet(SHARED)
        if SHARED.exists() and not users
        else dpsu.datasets.reddit_like(users or 223_388, seed=0)
    )
    path = folder / "strings.parquet"
    frame.select("user", item=pl.format("word{}", "item")).write_parquet(path)
    return path


def end_to_end(path: Path, repetitions: int) -> list[Timing]:
    def run(algorithm: str) -> object:
        return dpsu.release(
            path,
            user="user",
            item="item",
            epsilon=EPSILON,
            delta=DELTA,
            max_items=MAX_ITEMS,
            algorithm=algorithm,
        )

    rivals = {
        "polars script": lambda: polars_script(path, EPSILON, DELTA, MAX_ITEMS),
        "bare polars count": lambda: bare_count(path, EPSILON, DELTA),
    }
    ours = {name: (lambda name=name: run(name)) for name in CONTESTANTS}
    return interleaved({**rivals, **ours}, repetitions)


def on_codes(path: Path, repetitions: int) -> tuple[list[Timing], int]:
    """Selection alone, on one core and on all, after reading and bounding to codes."""
    sets = read_sets(path, user="user", item="item", stream=open_stream())
    contestants = {}
    for name in CONTESTANTS:
        mechanism = calibrate(find(name), Request(EPSILON, DELTA, MAX_ITEMS))
        for threads in (1, 2):
            engine = LocalEngine(threads)
            contestants[f"{name}, {threads} core{'s' * (threads > 1)}"] = lambda m=mechanism, e=engine: (
                m.select(e, sets, open_stream())
            )
    return interleaved(contestants, repetitions), len(sets.items)


def import_seconds() -> float:
    code = "import time; t = time.perf_counter(); import dpsu; print(time.perf_counter() - t)"
    return min(
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
        for _ in range(5)
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks")
    parser.add_argument(
        "--users", type=int, default=0, help="size of a generated corpus instead of the paper's"
    )
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--json", type=Path, help="write the figures here")
    arguments = parser.parse_args()
    console = Console()
    with tempfile.TemporaryDirectory() as folder:
        path = corpus_with_names(Path(folder), arguments.users)
        ends = end_to_end(path, arguments.repetitions)
        codes, pairs = on_codes(path, arguments.repetitions)
    script = ends[0].median
    table = Table(title="file to items, against the hand-written Polars script")
    for heading in ("", "seconds", "spread", "ratio"):
        table.add_column(heading, justify="right" if heading else "left")
    for timing in ends:
        table.add_row(
            timing.name,
            f"{timing.median:.3f}",
            f"±{100 * timing.spread:.0f} %",
            f"{timing.median / script:.2f}",
        )
    console.print(table)
    table = Table(title="bounding, weights, noise and decision on codes")
    for heading in ("", "seconds", "spread", "ns per pair"):
        table.add_column(heading, justify="right" if heading else "left")
    for timing in codes:
        table.add_row(
            timing.name,
            f"{timing.median:.3f}",
            f"±{100 * timing.spread:.0f} %",
            f"{1e9 * timing.median / pairs:.1f}",
        )
    console.print(table)
    seconds = import_seconds()
    console.print(f"import dpsu: {seconds:.3f} s")
    if arguments.json:
        figures = {t.name: t.seconds for t in [*ends, *codes]}
        arguments.json.write_text(
            json.dumps({"pairs": pairs, "import": seconds, "seconds": figures}, indent=2)
        )


if __name__ == "__main__":
    main()
