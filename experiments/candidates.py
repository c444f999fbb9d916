"""Releases with and without a public list: python -m experiments.candidates prints the tables of docs/candidates.md.

The data is public. The word list is Debian's package wamerican-huge, which `apt-get download` fetches into a temporary
folder. `python -m experiments.candidates lengths` adds more and more names that nobody holds to one list, and `long` times
a list of ten million items. `weights` gives the items weights from the frequencies of other users.
"""

import os
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


def table(*names: str) -> None:
    """A row for each privacy and data set: all of them, or those of these names."""
    print("| data | list | held by nobody | epsilon, delta | without | q = 1 % | false | q = 5 % | false |")
    print("|---|---:|---:|---|---:|---:|---:|---:|---:|")
    for name in names or DATA:
        frame, listed = DATA[name]()
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


def weights(*names: str) -> None:
    """Items released with and without weights. The items of half of the users stand for data that everybody knows.

    The weight of an item that n of them hold is log(1 + n) + 0.2; a tenth of these users shows what fewer data gives.
    """
    print(
        "| data | epsilon, delta | false share | no weights | false | weights | false | of a tenth | false |"
    )
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|")
    for name in names or DATA:
        frame, listed = DATA[name]()
        users = frame["user"].unique().sort()
        known = pl.Series(np.random.default_rng(0).choice(users.to_numpy(), len(users) // 2, replace=False))
        ours = frame.filter(~pl.col("user").is_in(known.implode()))
        lists = [pl.DataFrame({"item": listed}), _with_weights(listed, frame, known)]
        lists.append(_with_weights(listed, frame, known[: len(known) // 10]))
        for epsilon, delta in PRIVACY:
            for share in SHARES:
                how: dict[str, Any] = {
                    "epsilon": epsilon,
                    "delta": delta,
                    "max_items": 100,
                    "false_share": share,
                }
                found = [
                    measured(ours, ours["item"].unique(), runs=3, candidates=each, **how) for each in lists
                ]
                first = found[0][0]
                cells = [
                    f"{size:,.0f} ({size / first:.2f}×) | {100 * false:.2f} %" for size, _, false in found
                ]
                print(f"| {name} | {epsilon:g}, {delta:g} | {share:.0%} | {' | '.join(cells)} |", flush=True)


def _with_weights(listed: list[Any], frame: pl.DataFrame, users: pl.Series) -> pl.DataFrame:
    """The list, with weights from what these users hold."""
    held = frame.filter(pl.col("user").is_in(users.implode())).group_by("item").len("n")
    items = pl.DataFrame({"item": pl.Series(listed, dtype=frame.schema["item"])})
    counted = items.join(held, on="item", how="left", maintain_order="left").fill_null(0)
    return counted.select("item", weight=(1 + pl.col("n")).log() + 0.2)


def long_list() -> None:
    """Seconds and memory of a release with a list of ten million strings, beside the same release without it.

    Each release has a process of its own, so that its peak of memory is its own.
    """
    names = pl.DataFrame({"item": pl.select(pl.format("package-{}", pl.int_range(LONG))).to_series()})
    with tempfile.TemporaryDirectory() as folder:
        lists = {"none": None, "Parquet": Path(folder) / "list.parquet", "CSV": Path(folder) / "list.csv"}
        names.write_parquet(lists["Parquet"])
        names.write_csv(lists["CSV"])
        base = 0.0
        for kind, path in lists.items():
            command = [
                sys.executable,
                "-m",
                "experiments.candidates",
                "once",
                *([] if path is None else [path]),
            ]
            took, peak = map(float, subprocess.run(command, check=True, capture_output=True).stdout.split())
            base = base or peak
            print(f"{kind}: {took:.1f} s, {(peak - base) / LONG:.0f} bytes more per listed item", flush=True)


def once(path: str | None = None) -> None:
    """Print the seconds of one release and the peak of memory of this process."""
    frame = pl.read_parquet(SHARED / "debian_depends.parquet")
    how: dict[str, Any] = {
        "user": "user",
        "item": "item",
        "epsilon": 1.0,
        "delta": 1e-6,
        "check_user": False,
        **FOCUSED,
    }
    dpsu.release(frame, candidates=["bash"], false_share=0.01, **how)  # compiles
    more = {} if path is None else {"candidates": Path(path), "false_share": 0.01}
    begin = time.perf_counter()
    dpsu.release(frame, **more, **how)
    print(time.perf_counter() - begin, _peak())


def _peak() -> int:
    """The peak of this process since it began, in bytes; `getrusage` would begin with that of its parent."""
    [peak] = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(peak.split()[1]) * 1024


if __name__ == "__main__":
    what, *rest = sys.argv[1:] or ["table"]
    {"long": long_list, "lengths": lengths, "weights": weights, "once": once, "table": table}[what](*rest)
