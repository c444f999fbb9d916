"""Warnings and notes on the command line."""

import warnings
from pathlib import Path
from typing import Any

import pytest
from rows_command import COLUMNS, RELEASE, run

import dpsu
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
