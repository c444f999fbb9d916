"""Text on the command line."""

import json
from pathlib import Path

import polars as pl
import pytest
from command import dpsu

PRIVACY = ["--epsilon", "8", "--delta", "1e-15"]


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "notes.txt"
    path.write_text("".join(f"The cat sat, secret{n}\n" for n in range(500)))
    return path


def test_lines_of_a_text_file(notes: Path) -> None:
    focused = ["--algorithm", "focused-gaussian"]
    run = dpsu("release", notes, "--user-per", "line", "--ngrams", "1-2", *PRIVACY, *focused, "-o", "-")
    assert run.stdout.decode().split("\n") == ["cat", "cat sat", "sat", "the", "the cat", ""], run.stderr
    by_file = dpsu("release", notes, "--user-per", "file", *PRIVACY, "-o", "-", "--quiet")
    assert (by_file.returncode, by_file.stdout, by_file.stderr) == (0, b"", b"")


def test_a_column_of_text_with_a_tokenizer(notes: Path, tmp_path: Path) -> None:
    rows = notes.read_text().splitlines()
    pl.DataFrame({"author": range(500), "body": rows}).write_csv(tmp_path / "posts.csv")
    columns = ["--user", "author", "--text", "body", "--tokenizer", "[A-Z][a-z]+"]
    how = [*PRIVACY, "--algorithm", "focused-gaussian", "-o", tmp_path / "out.txt"]
    run = dpsu("release", tmp_path / "posts.csv", *columns, *how)
    assert (tmp_path / "out.txt").read_text() == "The\n", run.stderr


def test_ngrams_in_levels(notes: Path, tmp_path: Path) -> None:
    levels = [
        "--longest",
        "2",
        "--level-shares",
        "0.7,0.3",
        "--method",
        "dpne",
        "--statement",
        tmp_path / "s.json",
    ]
    run = dpsu("ngrams", notes, "--user-per", "line", *levels, *PRIVACY, "-o", tmp_path / "out.parquet")
    assert run.returncode == 0, run.stderr
    assert {"cat", "the cat"} <= set(pl.read_parquet(tmp_path / "out.parquet")["ngram"])
    shares = [
        level["share"] for level in json.loads((tmp_path / "s.json").read_text())["parameters"]["levels"]
    ]
    assert shares == [0.7, 0.3]


def test_ngrams_with_a_false_share(notes: Path, tmp_path: Path) -> None:
    how = ["--longest", "2", "--false-share", "0.05", "--statement", tmp_path / "s.json"]
    run = dpsu("ngrams", notes, "--user-per", "line", *how, *PRIVACY, "-o", tmp_path / "out.txt")
    assert run.returncode == 0, run.stderr
    assert {"cat", "the cat"} <= {*(tmp_path / "out.txt").read_text().splitlines()}
    assert json.loads((tmp_path / "s.json").read_text())["parameters"]["false_share"] == 0.05
    assert dpsu("verify", tmp_path / "s.json").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["release", "--user-per", "line", "--ngrams", "one"], b"--ngrams"),
        (["release", "--user-per", "line", "--tokenizer", "word"], b"'words'"),
        (["release", "--user", "a", "--text", "b", "--item", "c"], b"item"),
        (["release", "--user-per", "line", "--user", "a"], b"--user"),
        (["ngrams", "--user-per", "line", "--level-shares", "a"], b"--level-shares"),
        (["ngrams", "--user-per", "line", "--false-share", "0.1", "--method", "dpne"], b"--false-share"),
    ],
)
def test_wrong_calls_are_one_clear_line(notes: Path, arguments: list[str], named: bytes) -> None:
    command, *options = arguments
    run = dpsu(command, notes, *options, *PRIVACY, "-o", "-")
    assert run.returncode == 2
    assert named in run.stderr
    assert run.stderr.count(b"\n") == 1
