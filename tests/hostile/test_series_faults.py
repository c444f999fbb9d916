"""A series that is killed at any moment is before or after a period, and a done period's output is in the state.

`make test-hostile` kills two hundred times.
"""

import os
import random
import resource
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from command import COMMAND
from command import dpsu_process as command

import dpsu
from dpsu.errors import OutputError

KILLS = 200 if os.environ.get("DPSU_HOSTILE") == "long" else 4


def test_killed_at_any_moment(tmp_path: Path) -> None:
    """ "shared" exceeds every threshold by more than 40 sigma, and each private item is one user's: at delta 1e-15 no
    run releases one, except with a probability below 1e-9 for all runs."""
    rows, ledger, path = tmp_path / "rows.parquet", tmp_path / "spent.db", tmp_path / "w.series"
    users = np.arange(20_000)
    names = [f"private {n}" for n in users]
    frame = pl.DataFrame({"u": np.tile(users, 2), "i": [*names, *["shared"] * len(users)]})
    frame.write_parquet(rows)
    book = dpsu.Ledger.create(ledger, epsilon=1, delta=1e-12)
    series = dpsu.Series.create(
        path, epsilon=0.5, delta=1e-15, periods=366, max_items=2, shares="even", ledger=book
    )
    target = tmp_path / "new.csv"
    arguments = ["series", "release", path, rows, "--user", "u", "--item", "i", "--no-check-user"]
    arguments += ["-o", target, "-q"]
    begin = time.monotonic()
    assert command(*arguments).returncode == 0
    whole, chance = time.monotonic() - begin, random.Random(8)
    for _ in range(KILLS):
        target.unlink(missing_ok=True)
        before = series.done
        process = subprocess.Popen([*COMMAND, *map(str, arguments)], stderr=subprocess.DEVNULL)
        # Late moments more often: early ones only interrupt imports.
        time.sleep(whole * (1 - chance.random() ** 2 * 0.9))
        process.send_signal(signal.SIGKILL)
        process.wait()
        done = series.done
        assert done in (before, [*before, len(before) + 1])
        if target.exists():
            assert len(done) == len(before) + 1
            assert target.read_text() == _text(series, done[-1], tmp_path)
        assert sorted(set(series.items)) == sorted(series.items)
    last = command(*arguments)
    assert last.returncode == 0, last.stderr
    assert [period for period, _ in book.entries()[0].periods] == series.done
    assert {each.name for each in tmp_path.iterdir()} <= {
        *("rows.parquet", "spent.db", "w.series", "new.csv", "new.csv.statement.json", "again.csv"),
        *(each.name for each in tmp_path.glob(".new.csv.*")),
    }
    assert "private" not in " ".join(map(str, series.items))


@pytest.mark.parametrize("size", [3000, 13])
def test_a_full_disk_is_an_error_that_leaves_the_state(size: int, tmp_path: Path) -> None:
    """Also if the first bytes of the new state fit, or none."""
    path, users = tmp_path / "w.series", {n: ["shared"] for n in range(500)}
    series = dpsu.Series.create(path, epsilon=1, delta=1e-6, periods=2, max_items=2)
    series.release(users)
    before, limits = path.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        with pytest.raises(OutputError):
            series.release({n: ["other"] for n in range(500)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def _text(series: dpsu.Series, period: int, folder: Path) -> str:
    """The output of a period, written again."""
    series.released(period).save(folder / "again.csv")
    return (folder / "again.csv").read_text()
