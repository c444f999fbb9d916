"""Warnings and notes on the command line."""

import os
import warnings
from pathlib import Path
from typing import Any

import pytest
from rows_command import COLUMNS, RELEASE, run

import dpsu
from dpsu.cli.terminal import tell
from dpsu.engines.local import LocalEngine

pytestmark = pytest.mark.usefixtures("rows")


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


def test_a_person_reads_whole_words_within_80_columns(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    released = dpsu.release({n: ["a"] for n in range(400)}, epsilon=1, delta=1e-6)
    assert released.statement is not None
    texts = [str(released.statement), str(dpsu.verify(released.statement))]
    monkeypatch.setattr("shutil.get_terminal_size", lambda: os.terminal_size((80, 24)))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    for text in texts:
        tell(text)
        shown = capsys.readouterr().out
        assert max(map(len, shown.splitlines())) <= 80
        assert shown.split() == text.split()
    monkeypatch.setattr("sys.stdout.isatty", lambda: False)
    tell(texts[0])
    assert capsys.readouterr().out == f"{texts[0]}\n"
