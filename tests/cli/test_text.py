"""Text on the command line, as a user runs it."""

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

COMMAND = [sys.executable, "-c", "from dpsu.cli import main; main()"]
PRIVACY = ["--epsilon", "8", "--delta", "1e-15"]
"""The command draws real noise. With `notes`, the probability of another result is below 1e-12: at most 500 users times a
delta_new of 4e-16 for their secrets; the items that all hold exceed the threshold by 44 sigma in the first six rounds."""


def dpsu(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, check=False, text=True)


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "notes.txt"
    path.write_text("".join(f"The cat sat, secret{n}\n" for n in range(500)))
    return path


def test_lines_of_a_text_file(notes: Path) -> None:
    run = dpsu("release", notes, "--user-per", "line", "--ngrams", "1-2", *PRIVACY, "-o", "-")
    assert run.stdout.split("\n") == ["cat", "cat sat", "sat", "the", "the cat", ""], run.stderr
    by_file = dpsu("release", notes, "--user-per", "file", *PRIVACY, "-o", "-", "--quiet")
    assert (by_file.returncode, by_file.stdout, by_file.stderr) == (0, "", "")


def test_a_column_of_text_with_a_tokenizer(notes: Path, tmp_path: Path) -> None:
    rows = notes.read_text().splitlines()
    pl.DataFrame({"author": range(500), "body": rows}).write_csv(tmp_path / "posts.csv")
    columns = ["--user", "author", "--text", "body", "--tokenizer", "[A-Z][a-z]+"]
    run = dpsu("release", tmp_path / "posts.csv", *columns, *PRIVACY, "-o", tmp_path / "out.txt")
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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["release", "--user-per", "line", "--ngrams", "one"], "--ngrams takes sizes"),
        (["release", "--user-per", "line", "--tokenizer", "word"], "Did you mean 'words'"),
        (["release", "--user", "a", "--text", "b", "--item", "c"], "exclude each other"),
        (["release", "--user-per", "line", "--user", "a"], "leave user="),
        (
            ["ngrams", "--user-per", "line", "--level-shares", "a"],
            "--level-shares takes one number per level",
        ),
    ],
)
def test_wrong_calls_are_one_clear_line(notes: Path, arguments: list[str], message: str) -> None:
    command, *options = arguments
    run = dpsu(command, notes, *options, *PRIVACY, "-o", "-")
    assert run.returncode == 2
    assert message in run.stderr
    assert run.stderr.count("\n") == 1
