"""Plans beside releases: python -m experiments.planning prints the table of docs/planning.md.

Synthetic data is drawn with seeds that the plans do not use. Real data is public: plans (like=) and releases use the same
file with different keys.
"""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import dpsu

SHARED = Path(__file__).parents[1].parent / "shared" / "data"
RUNS = 5
PRIVACY: dict[str, Any] = {"epsilon": 3.0, "delta": 1e-7}
ALGORITHMS = ("auto", "ordered-laplace", "focused-gaussian")
SHAPES = [
    dpsu.Shape(users=40_000, items_per_user=1),
    dpsu.Shape(users=40_000, items_per_user=4),
    dpsu.Shape(users=400_000, items_per_user=8, zipf=1.1),
    dpsu.Shape(users=100_000, items_per_user=30, sizes="heavy"),
]


def drawn(shape: dpsu.Shape, seed: int) -> pl.DataFrame:
    found = shape.draw(np.random.default_rng(seed), 1e12)
    return pl.DataFrame({"user": np.repeat(np.arange(len(found.sizes)), found.sizes), "item": found.items})


def row(name: str, outlook: Any, frames: list[pl.DataFrame], algorithm: str) -> str:
    sizes = [
        len(dpsu.release(frame, user="user", item="item", algorithm=algorithm, **PRIVACY)) for frame in frames
    ]
    mean = float(np.mean(sizes))
    return (
        f"| {name} | {algorithm} | {outlook.items:,.0f} ({outlook.low:,.0f} to {outlook.high:,.0f}) "
        f"| {mean:,.0f} ± {np.std(sizes, ddof=1):,.0f} | {100 * (outlook.items / mean - 1):+.1f} % |"
    )


def main() -> None:
    print("| data | algorithm | plan (band) | measured | difference |")
    print("|---|---|---:|---:|---:|")
    for shape in SHAPES:
        frames = [drawn(shape, 1000 + run) for run in range(RUNS)]
        for algorithm in ALGORITHMS:
            outlook = dpsu.plan(algorithm=algorithm, shape=shape, **PRIVACY).outlook
            print(row(str(shape), outlook, frames, algorithm), flush=True)
    titles = dpsu.datasets.words(dpsu.datasets.load("arxiv_titles_small"), user="author", text="text")
    real = {"arXiv titles (like)": titles.rename({"author": "user", "word": "item"})}
    if (SHARED / "debian_depends.parquet").exists():
        real["Debian (like)"] = pl.read_parquet(SHARED / "debian_depends.parquet")
    for name, frame in real.items():
        for algorithm in ALGORITHMS:
            how = {"like": frame, "user": "user", "item": "item", "data_is_public": True}
            outlook = dpsu.plan(algorithm=algorithm, **how, **PRIVACY).outlook
            print(row(name, outlook, [frame] * RUNS, algorithm), flush=True)


if __name__ == "__main__":
    main()
