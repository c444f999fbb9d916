"""Files appear whole or not at all."""

import os
from pathlib import Path

import polars as pl
import pytest

from dpsu.errors import InvalidArgument, OutputError
from dpsu.output import check_writable, write_frame

FRAME = pl.DataFrame({"word": ["a b", 'quote"d', "ünï"]})


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".tsv", ".jsonl", ".ndjson", ".txt"])
def test_every_ending_round_trips(tmp_path: Path, ending: str) -> None:
    target = tmp_path / f"out{ending}"
    write_frame(FRAME, target)
    readers = {
        ".parquet": pl.read_parquet,
        ".csv": pl.read_csv,
        ".tsv": lambda path: pl.read_csv(path, separator="\t"),
        ".jsonl": pl.read_ndjson,
        ".ndjson": pl.read_ndjson,
        ".txt": lambda path: pl.DataFrame({"word": path.read_text(encoding="utf-8").splitlines()}),
    }
    assert readers[ending](target).equals(FRAME)
    assert [path.name for path in tmp_path.iterdir()] == [target.name]
    assert target.stat().st_mode & 0o777 == 0o666 & ~_current_umask()


def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "out.csv"
    target.write_text("old")

    def full_disk(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OutputError, match="No space left"):
        write_frame(FRAME, target)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_wrong_targets_are_refused_early(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match=r"\.parquet, \.csv"):
        check_writable(tmp_path / "out.xlsx")
    with pytest.raises(OutputError, match="no folder"):
        check_writable(tmp_path / "nowhere" / "out.csv")
    (tmp_path / "taken.csv").mkdir()
    with pytest.raises(OutputError, match="is a folder"):
        check_writable(tmp_path / "taken.csv")
    two = pl.DataFrame({"a": [1], "b": [2]})
    with pytest.raises(InvalidArgument, match="one column"):
        write_frame(two, tmp_path / "out.txt")
    assert not (tmp_path / "out.txt").exists()


def _current_umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
