"""Time and memory of the periods of a series whose state has many items, against a plain release (docs/series.md).

    python -m experiments.series_cost [ITEMS]

Every step runs in a process of its own. Every item has one holder, so that all of them stay in the state.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

import dpsu

ITEMS = 10_000_000
PER_USER = 10
PERIODS = 12
NAMES = ("numbered", "random")
"""The names of items: "item 17", which compress well, or 32 random hexadecimal digits, which hardly do."""


def write(path: Path, items: int, first: int, names: str) -> None:
    """Rows of users with PER_USER items each, numbered from `first`."""
    numbers = np.arange(first, first + items)
    frame = pl.DataFrame({"user": numbers // PER_USER})
    if names == "numbered":
        frame = frame.with_columns(item=pl.format("item {}", pl.Series(numbers)))
    else:
        words = np.random.default_rng(first).bytes(16 * items).hex()
        frame = frame.with_columns(item=pl.Series([words[k : k + 32] for k in range(0, len(words), 32)]))
    frame.write_parquet(path)


def step(what: str, state: str, rows: str) -> None:
    """One step; prints its seconds, those of the processors, and the largest memory of this process, in GB."""
    columns = {"user": "user", "item": "item", "check_user": False}
    begin, worked = time.monotonic(), time.process_time()
    if what == "release":
        dpsu.release(rows, **columns, epsilon=1, delta=1e-12, algorithm="focused-gaussian")
    else:
        dpsu.Series.open(state).release(rows, **columns, period=int(what))
    seconds, worked = time.monotonic() - begin, time.process_time() - worked
    status = Path("/proc/self/status").read_text()
    peak = int(status.split("VmHWM:")[1].split()[0]) / 2**20
    print(f"{seconds:.1f} s ({worked:.1f} s of processors), {peak:.2f} GB", flush=True)


def measure(folder: Path, items: int, names: str) -> None:
    state, large, small = folder / "w.series", folder / "large.parquet", folder / "small.parquet"
    write(large, items, 0, names)
    write(small, items // 1000, items, names)
    dpsu.Series.create(state, epsilon=1, delta=1e-12, periods=PERIODS, max_items=PER_USER)
    steps = {
        "a plain release of all items": ("release", large),
        "the first period, which brings all items": ("1", large),
        "a small second period": ("2", small),
        "the third period, with all items again": ("3", large),
    }
    for title, (what, rows) in steps.items():
        asked = [sys.executable, "-m", "experiments.series_cost", what, str(state), str(rows)]
        found = subprocess.run(asked, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
        size = "" if what == "release" else f", state {state.stat().st_size / 1e6:.0f} MB"
        print(f"{names} names, {items:,} items: {title}: {found}{size}", flush=True)


def main() -> None:
    if len(sys.argv) == 4:
        step(*sys.argv[1:])
        return
    for names in NAMES:
        with tempfile.TemporaryDirectory() as folder:
            measure(Path(folder), int(sys.argv[1]) if len(sys.argv) > 1 else ITEMS, names)


if __name__ == "__main__":
    main()
