"""No output of a command overwrites an input, a file that the command uses, or another output; statements lie beside."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from dpsu.cli.app import app
from dpsu.cli.paths import require_apart
from dpsu.errors import InvalidArgument

PRIVACY = ["--epsilon", "8", "--delta", "1e-9"]
COLUMNS = ["--user", "u", "--item", "i"]
ROWS = "u,i\n" + "".join(f"p{n % 200},a\n" for n in range(400))


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    for name in ("rows.csv", "folder/part.csv"):
        (tmp_path / name).write_text(ROWS)
    (tmp_path / "list.txt").write_text("b\n")
    (tmp_path / "hard.csv").hardlink_to(tmp_path / "rows.csv")
    (tmp_path / "soft.csv").symlink_to("rows.csv")
    return tmp_path


RELEASE = ["release", *COLUMNS, *PRIVACY, "--algorithm", "focused-gaussian"]
INPUTS_AS_OUTPUTS = {
    "itself": ([*RELEASE, "rows.csv", "-o", "rows.csv"], "--output"),
    "another spelling": ([*RELEASE, "rows.csv", "-o", "./folder/../rows.csv"], "--output"),
    "an absolute path": ([*RELEASE, "rows.csv", "-o", "{here}/rows.csv"], "--output"),
    "a hard link": ([*RELEASE, "rows.csv", "-o", "hard.csv"], "--output"),
    "a link": ([*RELEASE, "rows.csv", "-o", "soft.csv"], "--output"),
    "the file behind a link": ([*RELEASE, "soft.csv", "-o", "rows.csv"], "--output"),
    "one of several": ([*RELEASE, "folder/part.csv", "rows.csv", "-o", "rows.csv"], "--output"),
    "a file of a glob": ([*RELEASE, "r*.csv", "-o", "rows.csv"], "--output"),
    "a file of a folder": ([*RELEASE, "folder", "-o", "folder/part.csv"], "--output"),
    "the statement": ([*RELEASE, "rows.csv", "-o", "new.csv", "--statement", "rows.csv"], "--statement"),
    "the report": ([*RELEASE, "rows.csv", "-o", "new.csv", "--report", "rows.csv"], "--report"),
    "n-grams": (
        ["ngrams", "--user", "u", "--text", "i", *PRIVACY, "rows.csv", "-o", "rows.csv"],
        "--output",
    ),
    "tuning": (["tune", "--max-items", "3", *COLUMNS, *PRIVACY, "rows.csv", "-o", "rows.csv"], "--output"),
    "a comparison's plot": (
        ["compare", "--data-is-public", *COLUMNS, *PRIVACY, "plots.svg", "--plot", "plots.svg"],
        "--plot",
    ),
    "a report's statement": (["report", "list.txt", "-o", "list.txt"], "--output"),
    "the public order": ([*RELEASE, "rows.csv", "--order", "list.txt", "-o", "list.txt"], "--order"),
    "the excluded items": ([*RELEASE, "rows.csv", "--exclude", "list.txt", "-o", "list.txt"], "--exclude"),
    "the public items": (
        [*RELEASE, "rows.csv", "--public-items", "list.txt", "-o", "list.txt"],
        "--public-items",
    ),
    "a list that is the data": (
        [*RELEASE, "rows.csv", "--public-items", "folder/../soft.csv", "-o", "new.csv"],
        "--public-items",
    ),
    "the ledger": (
        [*RELEASE, "rows.csv", "--ledger", "rows.csv", "-o", "x.csv", "--report", "rows.csv"],
        "--report",
    ),
    "the statement and the report": (
        [*RELEASE, "rows.csv", "-o", "x.csv", "--statement", "y", "--report", "y"],
        "--statement and --report",
    ),
    "the items and the statement": (
        [*RELEASE, "rows.csv", "-o", "x.csv", "--statement", "x.csv"],
        "--output and --statement",
    ),
    "two spellings of what is not there yet": (
        [*RELEASE, "rows.csv", "-o", "x.csv", "--report", "folder/../X.CSV"],
        "--output and --report",
    ),
    "a report over the statement that is written without being asked for": (
        [*RELEASE, "rows.csv", "-o", "x.csv", "--report", "x.csv.statement.json"],
        "--statement and --report",
    ),
}


@pytest.mark.parametrize("case", INPUTS_AS_OUTPUTS)
def test_nothing_is_overwritten(rows: Path, case: str) -> None:
    (rows / "plots.svg").write_text(ROWS)
    before = {path: path.read_bytes() for path in rows.rglob("*") if path.is_file()}
    arguments, named = INPUTS_AS_OUTPUTS[case]
    ended = run(*(argument.format(here=rows) for argument in arguments))
    assert isinstance(ended.exception, InvalidArgument)
    assert named in str(ended.exception)
    assert {path: path.read_bytes() for path in rows.rglob("*") if path.is_file()} == before


def test_a_ledger_is_not_overwritten(rows: Path) -> None:
    with pytest.raises(InvalidArgument, match="--ledger"):
        require_apart({"--statement": "spent.db"}, ["rows.csv"], {"--ledger": rows / "spent.db"})


def test_files_of_their_own_pass(rows: Path) -> None:
    require_apart(
        {"--output": "new.csv", "--report": None, "--statement": "old.json"}, ["rows.csv", "gone*.csv"]
    )
    require_apart({"--output": "list.txt"}, ["-", "folder", "s3://bucket/rows/*.parquet"], {"--ledger": None})


def test_standard_streams_are_files_too(rows: Path) -> None:
    code = "from dpsu.cli.paths import require_apart; require_apart({'--output': %r}, [%r])"
    for output, source in (("rows.csv", "-"), ("-", "soft.csv")):
        with (rows / "rows.csv").open("r+b") as file:
            streams = {"stdin": file} if source == "-" else {"stdout": file}
            ended = subprocess.run(
                [sys.executable, "-c", code % (output, source)],
                **streams,
                stderr=subprocess.PIPE,
                check=False,
            )
        assert b"InvalidArgument" in ended.stderr
    with Path(os.devnull).open("r+b") as nothing:
        quiet = subprocess.run(
            [sys.executable, "-c", code % ("-", "-")], stdin=nothing, stdout=nothing, check=False
        )
    assert quiet.returncode == 0


def test_the_statement_lies_beside_the_items_and_knows_them(rows: Path) -> None:
    ended = run(*RELEASE, "rows.csv", "-o", "words.csv", "--title", "Words [of] 2025", "--note", "for all")
    assert ended.exit_code == 0, ended.output
    stated = json.loads((rows / "words.csv.statement.json").read_text())
    assert stated["released_sha256"]
    assert (stated["title"], stated["note"]) == ("Words [of] 2025", "for all")
    assert "[of]" in ended.output
    before = {path.name for path in rows.iterdir()}
    assert run(*RELEASE, "rows.csv", "-o", "other.csv", "--no-statement", "-q").exit_code == 0
    assert run(*RELEASE, "rows.csv", "-o", "-", "-q").exit_code == 0
    unsafe = ["--algorithm", "k-anonymity", "--unsafe", "--k", "3"]
    assert run(*RELEASE, *unsafe, "rows.csv", "-o", "exact.csv", "-q").exit_code == 0
    assert {path.name for path in rows.iterdir()} - before == {"other.csv", "exact.csv"}
    both = run(*RELEASE, "rows.csv", "-o", "z.csv", "--statement", "z.json", "--no-statement")
    assert isinstance(both.exception, InvalidArgument)
