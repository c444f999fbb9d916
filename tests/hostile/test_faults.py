"""Hard data, and faults at any moment: the old output or the new one, a clear error, and a ledger that is never short.

`make test-hostile` kills two hundred times and takes the largest inputs.
"""

import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from command import COMMAND
from command import dpsu_process as command

import dpsu

LONG = os.environ.get("DPSU_HOSTILE") == "long"
KILLS = 200 if LONG else 4
PRIVACY = {"epsilon": 3.0, "delta": 1e-6}
ASKED: list[Any] = ["--user", "u", "--item", "i", "--epsilon", "0.01", "--delta", "1e-15", "--max-items", "2"]
OLD = "i\nold\n"

only_long = pytest.mark.skipif(not LONG, reason="needs much time or memory: make test-hostile")


def test_one_user_with_a_million_items() -> None:
    frame = pl.DataFrame({"u": np.zeros(1_000_000, np.int64), "i": np.arange(1_000_000)})
    with pytest.warns(dpsu.EmptyRelease):
        assert len(dpsu.release(frame, user="u", item="i", **PRIVACY)) == 0


def test_one_item_that_all_hold_and_users_who_are_all_alike() -> None:
    assert dpsu.release({n: ["x"] for n in range(50_000)}, **PRIVACY).items == ["x"]
    alike = pl.DataFrame({"u": np.repeat(np.arange(2000), 50), "i": np.tile(np.arange(50), 2000)})
    assert dpsu.release(alike, user="u", item="i", **PRIVACY).items == list(range(50))


@pytest.mark.parametrize("data", [{}, {"only": ["x"]}, {"only": []}])
def test_nobody_or_one_user(data: dict[str, list[str]]) -> None:
    with pytest.warns(dpsu.EmptyRelease):
        assert dpsu.release(data, **PRIVACY).items == []


def test_names_that_look_like_options_or_paths_are_names(tmp_path: Path) -> None:
    """Every item has 400 holders: 31 give it a chance of 1 - 1e-8, and with 400 `plan.chance` is 1 to 15 digits."""
    names = [
        "--output",
        "-q",
        "../../etc/passwd",
        "/dev/null",
        "$(id)",
        "*",
        "a\tb",
        'q"q',
        "\u202eabc",
        "%s{0}",
    ]
    source, target = tmp_path / "-rf --help.csv", tmp_path / "--json.csv"
    pl.DataFrame({"u": [*range(400)] * len(names), "i": [n for n in names for _ in range(400)]}).write_csv(
        source
    )
    run = command(
        "release", source, "--user", "u", "--item", "i", "--epsilon", "5", "--delta", "1e-6", "-o", target,
        "--algorithm", "focused-gaussian",
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert sorted(pl.read_csv(target)["i"]) == sorted(names)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 0.5])
def test_numbers_that_are_not_whole_cannot_name(value: float) -> None:
    with pytest.raises(dpsu.DpsuError):
        dpsu.release(pl.DataFrame({"u": [1, 2], "i": [value, 1.0]}), user="u", item="i", **PRIVACY)


def test_a_string_of_a_megabyte_and_more(tmp_path: Path) -> None:
    huge = "x" * (1_000_000_000 if LONG else 1_000_000)
    source = tmp_path / "rows.parquet"
    pl.DataFrame({"u": [1], "i": [huge]}).write_parquet(source)
    run = command("release", source, *ASKED, "-o", tmp_path / "out.csv", "-q")
    assert run.returncode in (0, 1), run.stderr
    assert b"Traceback" not in run.stderr
    assert len(run.stderr) < 1000


@only_long
def test_a_hundred_million_rows_of_one_item(tmp_path: Path) -> None:
    source = tmp_path / "rows.parquet"
    frame = pl.select(u=pl.int_range(100_000_000, dtype=pl.UInt32), i=pl.lit(7, pl.UInt8))
    frame.write_parquet(source)
    run = command(
        "release", source, "--user", "u", "--item", "i", "--epsilon", "1", "--delta", "1e-9", "-o", "-", "-q"
    )
    assert run.stdout == b"7\n", run.stderr


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data from which `ASKED` releases "shared" alone, except with a probability of 2e-12 per run.

    Each of 6000 private items is released with a probability of at most 2.3e-16: half of delta_new, times 1.15 for its 13
    holders. The total of "shared" exceeds the threshold by 18 sigma.
    """
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    rng = np.random.default_rng(3)
    users = np.arange(40_000)
    frame = pl.DataFrame(
        {
            "u": np.tile(users, 3),
            "i": [f"private {n}" for n in rng.integers(0, 6_000, 80_000)] + ["shared"] * 40_000,
        }
    )
    frame.write_parquet(path)
    return path


def start(*arguments: Any, **options: Any) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [*COMMAND, *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **options
    )


def leftovers(folder: Path) -> list[Path]:
    """Temporary files that hold more than released items."""
    return [path for path in folder.iterdir() if path.is_file() and b"private" in path.read_bytes()]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_killed_at_any_moment(rows: Path, tmp_path: Path, how: signal.Signals) -> None:
    """Each run that is not killed in time counts as a release that left, and so does each output that has changed."""
    ledger = tmp_path / "spent.db"
    assert command("ledger", "create", ledger, "--epsilon", "50", "--delta", "1e-3").returncode == 0
    target = tmp_path / "out.csv"
    arguments = ["release", rows, *ASKED, "--ledger", ledger, "-o", target, "-q"]
    begin = time.monotonic()
    assert command(*arguments).returncode == 0
    whole = time.monotonic() - begin
    assert target.read_text() == "i\nshared\n"
    left, chance = 1, random.Random(8)
    kills = KILLS if how == signal.SIGKILL else KILLS // 4 + 1
    for _ in range(kills):
        target.write_text(OLD)
        process = start(*arguments)
        # Late moments more often: early ones only interrupt imports.
        time.sleep(whole * (1 - chance.random() ** 2 * 0.9))
        process.send_signal(how)
        stderr = process.communicate()[1]
        found = target.read_text()
        assert found in (OLD, "i\nshared\n")
        left += found != OLD
        assert leftovers(tmp_path) == []
        if how == signal.SIGINT and process.returncode == 130:
            assert stderr.startswith(b"dpsu: interrupted")
            assert stderr.count(b"\n") == 1
    recorded = json.loads(command("ledger", "show", ledger, "--json").stdout)["releases"]
    assert left <= len(recorded) <= kills + 1


def small_files_only() -> None:
    """As a full disk would: writing beyond a few bytes fails."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1, 1))


@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx"])
def test_a_full_disk_leaves_the_old_output(rows: Path, tmp_path: Path, ending: str) -> None:
    target = tmp_path / f"out.{ending}"
    target.write_text(OLD)
    assert (
        command("release", rows, *ASKED, "-o", "-", "-q").returncode == 0
    )  # compiled code is in its cache now
    process = start("release", rows, *ASKED, "-o", target, "-q", preexec_fn=small_files_only)
    stderr = process.communicate()[1].decode()
    assert process.returncode == 1, stderr
    assert stderr.startswith("OutputError: cannot write")
    assert stderr.count("\n") == 1
    assert "None" not in stderr
    assert target.read_text() == OLD
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == [target.name]


def test_standard_output_that_is_full(rows: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        run = subprocess.run(
            [*COMMAND, "release", str(rows), *ASKED, "-o", "-", "-q"],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert run.returncode == 1
    assert run.stderr.count(b"\n") == 1, run.stderr


def test_too_little_memory_ends_with_one_line_and_no_output(rows: Path, tmp_path: Path) -> None:
    """A limit of the system's, as docs/limits.md shows it: enough to start, too little for the release."""
    target = tmp_path / "out.csv"
    arguments = ["release", str(rows), *ASKED, "-o", str(target)]
    run = subprocess.run([sys.executable, "-c", LIMITED, *arguments], capture_output=True, check=False)
    assert run.returncode == 1
    assert run.stderr.count(b"\n") == 1, run.stderr
    assert not target.exists()


LIMITED = """
import sys
import dpsu.cli
import dpsu.engines.local

def no_memory(*args, **how):
    raise MemoryError

dpsu.engines.local.LocalEngine.weigh = no_memory
sys.argv[0] = "dpsu"
dpsu.cli.main()
"""
