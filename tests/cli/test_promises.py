"""Warnings, notes, verdicts and the ledger on the command line."""

import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from statements import statement_of
from typer.testing import CliRunner, Result

import dpsu
from dpsu.cli.app import app
from dpsu.engines.local import LocalEngine
from dpsu.errors import InvalidArgument, LedgerError, SourceError
from dpsu.report.text import ledger_table, statement_panel

COLUMNS = ["--user", "u", "--item", "i"]
RELEASE = ["release", "rows.csv", *COLUMNS, "--epsilon", "3", "--delta", "1e-7"]


def render(part: object, width: int = 100) -> str:
    """A rich part as plain text."""
    console = Console(width=width, no_color=True)
    with console.capture() as capture:
        console.print(part)
    return capture.get()


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(autouse=True)
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_text("u,i\n" + "".join(f"p{n % 200},a\n" for n in range(400)))
    return tmp_path


@pytest.mark.parametrize(
    ("epsilon", "delta", "word"), [("10.5", "1e-7", "epsilon 10.5"), ("1", "2e-4", "delta 0.0002")]
)
def test_weak_privacy_is_noted_by_release_and_plan(epsilon: str, delta: str, word: str) -> None:
    asked = {"epsilon": float(epsilon), "delta": float(delta)}
    data = {n: ["a"] for n in range(400)}
    for call in (lambda: dpsu.plan(**asked), lambda: dpsu.release(data, **asked)):
        with pytest.warns(dpsu.WeakPrivacy, match=word) as caught:
            call()
        assert [Path(warning.filename).name for warning in caught] == [Path(__file__).name]
    for command in (["plan"], ["release", "rows.csv", *COLUMNS, "-o", "-"]):
        noted = run(*command, "--epsilon", epsilon, "--delta", delta)
        assert noted.exit_code == 0
        assert f"note: {word}" in noted.stderr


def test_usual_privacy_is_not_noted() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dpsu.plan(epsilon=10, delta=1e-4)
    assert run("plan", "--epsilon", "1", "--delta", "1e-7").stderr == ""


def test_notes_for_the_curator_are_marked_and_go_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    reads = LocalEngine.read

    def reads_and_notes(engine: LocalEngine, *arguments: Any) -> Any:
        sets = reads(engine, *arguments)
        object.__setattr__(sets, "notes", ("look at [the] column",))
        return sets

    monkeypatch.setattr(LocalEngine, "read", reads_and_notes)
    told = run(*RELEASE, "-o", "out.csv", "--report", "report.html", "--json")
    assert told.stderr.count("for the curator only: look at [the] column") == 1
    written = [Path(name).read_text() for name in ("out.csv", "out.csv.statement.json", "report.html")]
    assert not any("look at" in text for text in [told.stdout, *written])
    assert run(*RELEASE, "-o", "out.csv", "--no-check-user", "-q").stderr == ""
    assert "curator" not in run(*RELEASE, "-o", "out.csv", "--no-check-user").stderr


@pytest.mark.parametrize(
    ("ok", "file", "code"), [(True, None, 0), (True, True, 0), (True, False, 3), (False, False, 1)]
)
def test_two_verdicts_two_codes(
    monkeypatch: pytest.MonkeyPatch, ok: bool, file: bool | None, code: int
) -> None:
    class Found:
        def __init__(self) -> None:
            self.ok, self.file = ok, file

    monkeypatch.setattr(dpsu, "verify", lambda *_: Found())
    assert run("verify", "statement.json").exit_code == code


def test_what_cannot_be_read_is_no_verdict() -> None:
    assert run(*RELEASE, "-o", "out.csv", "-q").exit_code == 0
    Path("broken.json").write_text("{")
    for arguments in (["none.json"], ["broken.json"], ["out.csv.statement.json", "--released", "none.csv"]):
        ended = run("verify", *arguments)
        assert isinstance(ended.exception, SourceError)
        assert ended.exception.exit_code == 4


def test_verify_knows_the_released_file() -> None:
    assert run(*RELEASE, "-o", "out.csv", "-q").exit_code == 0
    checked = ["verify", "out.csv.statement.json", "--released", "out.csv"]
    assert run(*checked).exit_code == 0
    Path("out.csv").write_text("i\nb\n")
    assert run(*checked).exit_code == 3
    stated = json.loads(Path("out.csv.statement.json").read_text())
    Path("out.csv.statement.json").write_text(json.dumps({**stated, "epsilon": 0.1}))
    assert run(*checked).exit_code == 1


def test_the_ledger_counts_what_was_spent_elsewhere() -> None:
    assert run("ledger", "create", "spent.db", "--epsilon", "4", "--delta", "1e-6").exit_code == 0
    statement_of("weighted-gaussian", 1.0, 1e-7).save("theirs.json")
    spent = ["--epsilon", "1", "--delta", "1e-7"]
    assert "entry 1" in run("ledger", "record", "spent.db", *spent, "--purpose", "histogram").output
    assert "entry 2" in run("ledger", "record", "spent.db", "theirs.json", "--purpose", "partners").output
    tuning = [
        "--max-items",
        "2",
        "--max-items",
        "3",
        "--epsilon",
        "1",
        "--delta",
        "1e-7",
        "--title",
        "tuned words",
    ]
    tuned = run(
        "tune", "rows.csv", *COLUMNS, *tuning, "-o", "words.csv", "--ledger", "spent.db", "--report", "r.html"
    )
    assert tuned.exit_code == 0, tuned.output
    shown = json.loads(run("ledger", "show", "spent.db", "--json").stdout)
    assert [entry["purpose"] for entry in shown["releases"]] == ["histogram", "partners", "tuned words"]
    assert shown["releases"][2]["output"] == "words.csv"
    assert 0 < shown["spent"]["epsilon_left"] < 2
    too_much = run("ledger", "record", "spent.db", "--epsilon", "9", "--delta", "0", "--purpose", "too much")
    assert isinstance(too_much.exception, LedgerError)
    table = run("ledger", "show", "spent.db").stdout
    assert all(word in table for word in ("histogram", "words.csv", "left"))


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--epsilon", "1", "--purpose", "x"],
        ["--delta", "1e-7", "--purpose", "x"],
        ["--epsilon", "1", "--delta", "1e-7"],
        ["theirs.json", "--epsilon", "1", "--delta", "1e-7", "--purpose", "x"],
        ["theirs.json", "--epsilon", "1", "--purpose", "x"],
    ],
)
def test_what_to_record_must_be_clear(arguments: list[str]) -> None:
    ledger = dpsu.Ledger.create("spent.db", epsilon=4, delta=1e-6)
    statement_of("weighted-gaussian", 1.0, 1e-7).save("theirs.json")
    assert isinstance(run("ledger", "record", "spent.db", *arguments).exception, InvalidArgument)
    assert ledger.entries() == []


def test_a_statement_that_was_changed_is_not_recorded() -> None:
    """The file is what is verified: its digest, too."""
    ledger = dpsu.Ledger.create("spent.db", epsilon=4, delta=1e-6)
    stated = statement_of("weighted-gaussian", 1.0, 1e-7).to_dict()
    Path("theirs.json").write_text(json.dumps({**stated, "digest": "0" * 64}))
    assert isinstance(run("ledger", "record", "spent.db", "theirs.json").exception, LedgerError)
    assert ledger.entries() == []


def test_a_ledger_fits_a_terminal_whatever_its_purposes_hold() -> None:
    ledger = dpsu.Ledger.create("spent.db", epsilon=4, delta=1e-6)
    ledger.record_spending(0.123456, 1.2345e-9, "a purpose [red]with[/] marks \x1b[31m and " + "words " * 20)
    number = ledger.reserve(statement_of("weighted-gaussian", 1.0, 1e-7))
    ledger.note_output(number, Path("a_very_long_name_of_an_output_file_that_goes_on.parquet"), "0" * 64)
    lines = render(ledger_table(ledger), width=80).splitlines()
    assert max(map(len, lines)) <= 80
    text = "\n".join(lines)
    assert "\x1b" not in text
    for whole in ("[red]", "0.123456", "1.2345e-09", "left"):
        assert whole in text


def test_names_are_shown_as_they_are() -> None:
    titled = replace(statement_of("weighted-gaussian"), title="[bold]words[/bold] \x1b[31m")
    shown = render(statement_panel(titled, None))
    assert "[bold]words[/bold]" in shown
    assert "\x1b" not in shown
