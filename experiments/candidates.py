"""Releases with and without a public list: python -m experiments.candidates prints the tables of docs/candidates.md.

The data is public. The word list is Debian's package wamerican-huge, which `apt-get download` fetches into a temporary
folder. `python -m experiments.candidates lengths` adds more and more names that nobody holds to one list, and `long` times
a list of ten million items.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import dpsu

SHARED = Path(os.environ.get("DPSU_DATA", Path(__file__).parents[1].parent / "shared" / "data"))
RUNS = 5
FOCUSED: dict[str, Any] = {"algorithm": "focused-gaussian"}
"""Both with and without a list."""
PRIVACY = [(3.0, 1e-5), (1.0, 1e-6)]
SHARES = [0.01, 0.05]
WORDS = "wamerican-huge"
LONG = 10**7


def english_words() -> list[str]:
    """The distinct lower-case words of the list, without those that hold other characters than a to z and 0 to 9."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["apt-get", "download", WORDS], cwd=folder, check=True, capture_output=True)
        [package] = Path(folder).glob("*.deb")
        subprocess.run(["dpkg-deb", "-x", str(package), folder], check=True)
        [found] = Path(folder).glob("usr/share/dict/american-english-huge")
        lines = found.read_text(encoding="utf-8").splitlines()
    return sorted({word for line in lines if (word := line.lower()).isascii() and word.isalnum()})


def arxiv() -> tuple[pl.DataFrame, list[Any]]:
    frame = pl.read_parquet(SHARED / "arxiv_titles.parquet")
    pairs = dpsu.datasets.words(frame, user="author", text="text").rename({"author": "user", "word": "item"})
    return pairs, english_words()


def debian() -> tuple[pl.DataFrame, list[Any]]:
    """All packages, and as many names that do not exist."""
    frame = pl.read_parquet(SHARED / "debian_depends.parquet")
    packages = pl.concat([frame["user"], frame["item"]]).unique().sort().to_list()
    return frame, [*packages, *(f"{name}-none" for name in packages)]


def reddit_like() -> tuple[pl.DataFrame, list[Any]]:
    """All items, and as many numbers that nobody holds."""
    frame = pl.read_parquet(SHARED / "reddit_like.parquet")
    items = frame["item"].unique().sort().to_list()
    return frame, [*items, *range(items[-1] + 1, items[-1] + 1 + len(items))]


DATA: dict[str, Callable[[], tuple[pl.DataFrame, list[Any]]]] = {
    "arXiv titles": arxiv,
    "Debian": debian,
    "reddit_like": reddit_like,
}


def measured(
    frame: pl.DataFrame, held: pl.Series, runs: int = RUNS, **how: Any
) -> tuple[float, float, float]:
    """The mean number of items, its standard deviation, and the mean share of false items among the listed ones."""
    sizes, shares = [], []
    for _ in range(runs):
        out = dpsu.release(frame, user="user", item="item", check_user=False, **FOCUSED, **how).to_polars()
        sizes.append(out.height)
        if "listed" in out.columns:
            listed = out.filter("listed")["item"]
            shares.append(float((~listed.is_in(held.implode())).sum()) / max(1, len(listed)))
    return float(np.mean(sizes)), float(np.std(sizes, ddof=1)), float(np.mean(shares)) if shares else 0.0


def table() -> None:
    print("| data | list | held by nobody | epsilon, delta | without | q = 1 % | false | q = 5 % | false |")
    print("|---|---:|---:|---|---:|---:|---:|---:|---:|")
    for name, load in DATA.items():
        frame, listed = load()
        held = frame["item"].unique()
        absent = len(listed) - pl.Series(listed).is_in(held.implode()).sum()
        for epsilon, delta in PRIVACY:
            how: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "max_items": 100}
            size, spread, _ = measured(frame, held, **how)
            cells = [f"{size:,.0f} ± {spread:,.0f}"]
            for share in SHARES:
                more, spread, false = measured(frame, held, candidates=listed, false_share=share, **how)
                cells += [f"{more:,.0f} ± {spread:,.0f} ({more / size:.2f}×)", f"{100 * false:.2f} %"]
            line = f"| {name} | {len(listed):,} | {absent:,} | {epsilon:g}, {delta:g} | {' | '.join(cells)} |"
            print(line, flush=True)


def lengths() -> None:
    """Items released with Debian's packages and more and more names that do not exist."""
    frame = pl.read_parquet(SHARED / "debian_depends.parquet")
    packages = pl.concat([frame["user"], frame["item"]]).unique().sort()
    how: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "max_items": 100, "false_share": 0.01}
    print("| names that do not exist | items |\n|---:|---:|")
    for times in (0, 1, 3, 10, 30):
        names = pl.concat([packages, *(packages + f"-none{n}" for n in range(times))])
        size, _, _ = measured(
            frame, frame["item"].unique(), runs=3, candidates=pl.DataFrame({"item": names}), **how
        )
        print(f"| {times * len(packages):,} | {size:,.0f} |", flush=True)


def long_list() -> None:
    """Seconds and memory of a release with a list of ten million strings, beside the same release without it."""
    frame = pl.read_parquet(SHARED / "debian_depends.parquet")
    names = pl.DataFrame({"item": pl.select(pl.format("package-{}", pl.int_range(LONG))).to_series()})
    how = {"user": "user", "item": "item", "epsilon": 1.0, "delta": 1e-6, "check_user": False, **FOCUSED}
    dpsu.release(frame, candidates=["bash"], false_share=0.01, **how)  # compiles
    with tempfile.TemporaryDirectory() as folder:
        parquet, csv = Path(folder) / "list.parquet", Path(folder) / "list.csv"
        names.write_parquet(parquet)
        names.write_csv(csv)
        for kind, listed in {"none": None, "Series": names["item"], "Parquet": parquet, "CSV": csv}.items():
            more = {} if listed is None else {"candidates": listed, "false_share": 0.01}
            before, begin = _peak(), time.perf_counter()
            dpsu.release(frame, **more, **how)
            took, room = time.perf_counter() - begin, (_peak() - before) / LONG
            print(f"{kind}: {took:.1f} s, {room:.0f} bytes more per listed item", flush=True)


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    {"long": long_list, "lengths": lengths}.get(" ".join(sys.argv[1:]), table)()
