"""Files appear whole or not at all."""

import os
import secrets
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest

from dpsu.errors import InvalidArgument, OutputError
from dpsu.outcome.write import check_writable, replacing, require_page, write_frame

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


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl", ".ndjson", ".txt", ".xlsx"])
def test_bytes_and_durations_are_written_as_text(tmp_path: Path, ending: str) -> None:
    """Refusing them after a release would waste its privacy."""
    target = tmp_path / f"out{ending}"
    for column, text in ((pl.Series([b"\xff\x00"]), "ff00"), (pl.Series([timedelta(days=1)]), "P1D")):
        write_frame(pl.DataFrame({"item": column}), target)
        found = pl.read_excel(target) if ending == ".xlsx" else target.read_text(encoding="utf-8")
        assert text in str(found)
    write_frame(pl.DataFrame({"item": [b"\xff"]}), tmp_path / "out.parquet")
    assert pl.read_parquet(tmp_path / "out.parquet")["item"].to_list() == [b"\xff"]


def test_an_item_that_is_too_long_for_a_cell_is_not_lost(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"\.parquet"):
        write_frame(pl.DataFrame({"item": ["x" * 40_000]}), tmp_path / "out.xlsx")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(params=[0o022, 0o077, 0o002])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def test_new_files_get_the_mode_of_the_umask_which_is_left_alone(
    tmp_path: Path, umask: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The umask belongs to the whole process: other threads make files meanwhile."""
    touched: list[int] = []
    with monkeypatch.context() as watched:
        watched.setattr(os, "umask", touched.append)
        with replacing(tmp_path / "out.csv") as file:
            file.write(b"new")
            modes = {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert touched == []
    assert modes == {0o666 & ~umask}, "the file had another mode while it was written"
    assert (tmp_path / "out.csv").stat().st_mode & 0o777 == 0o666 & ~umask


def test_a_name_that_is_taken_is_not_written_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who guesses the temporary name cannot lead the output elsewhere."""
    elsewhere = tmp_path / "elsewhere"
    monkeypatch.setattr(secrets, "token_hex", lambda _: "guessed")
    (tmp_path / ".out.csv.guessed").symlink_to(elsewhere)
    with pytest.raises(OutputError, match="File exists"), replacing(tmp_path / "out.csv"):
        pass
    assert not elsewhere.exists()
    assert (tmp_path / ".out.csv.guessed").is_symlink()


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
        check_writable(tmp_path / "out.docx")
    with pytest.raises(OutputError, match="no folder"):
        check_writable(tmp_path / "nowhere" / "out.csv")
    (tmp_path / "taken.csv").mkdir()
    with pytest.raises(OutputError, match="folder"):
        check_writable(tmp_path / "taken.csv")
    two = pl.DataFrame({"a": [1], "b": [2]})
    with pytest.raises(InvalidArgument, match="one column"):
        write_frame(two, tmp_path / "out.txt")
    assert not (tmp_path / "out.txt").exists()


@pytest.mark.parametrize("name", ["page.pdf", "page", "page.html.txt"])
def test_a_page_is_not_written_under_another_ending(tmp_path: Path, name: str) -> None:
    require_page(tmp_path / "page.HTML")
    with pytest.raises(OutputError, match="html"):
        require_page(tmp_path / name)
