"""The one road: engines are closed on every path, notes reach the curator alone, and weak privacy is named."""

import pickle
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import dpsu
from dpsu.engines.local import LocalEngine
from dpsu.errors import SourceError

USERS = 400
ROWS = pl.DataFrame({"row_id": range(USERS), "code": ["a"] * USERS})
DATA = {n: ["to be or not to be"] for n in range(USERS)}
PRIVACY: dict[str, Any] = {"epsilon": 3.0, "delta": 1e-6}

CALLS = {
    "release": lambda source, **how: dpsu.release(source, text=True, **PRIVACY, **how),
    "ngrams": lambda source, **how: dpsu.ngrams(source, **PRIVACY, **how),
    "tune": lambda source, **how: dpsu.tune(
        source, text=True, settings=[{"max_items": 2}, {"max_items": 5}], **PRIVACY, **how
    ),
    "compare": lambda source, **how: dpsu.compare(
        source, text=True, data_is_public=True, runs=1, algorithms=["weighted-gaussian"], **PRIVACY
    ),
}


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each engine that was entered has been left."""
    engines: list[bool] = []
    enter, leave = LocalEngine.__enter__, LocalEngine.__exit__

    def entered(self: LocalEngine) -> LocalEngine:
        self.number = len(engines)  # type: ignore[attr-defined]
        engines.append(False)
        return enter(self)

    def left(self: LocalEngine, *error: object) -> None:
        engines[self.number] = True  # type: ignore[attr-defined]
        leave(self, *error)

    monkeypatch.setattr(LocalEngine, "__enter__", entered)
    monkeypatch.setattr(LocalEngine, "__exit__", left)
    return engines


@pytest.mark.parametrize("verb", CALLS)
def test_engines_are_closed_after_a_success(verb: str, closed: list[bool]) -> None:
    CALLS[verb](DATA)
    assert closed == [True]


@pytest.mark.parametrize("verb", CALLS)
def test_engines_are_closed_after_a_failure_while_reading(
    verb: str, closed: list[bool], tmp_path: Path
) -> None:
    with pytest.raises(SourceError):
        CALLS[verb]({n: [b"bytes"] for n in range(3)})
    assert closed == [True]


@pytest.mark.parametrize("verb", CALLS)
@pytest.mark.parametrize("trouble", [ArithmeticError, KeyboardInterrupt])
def test_engines_are_closed_after_a_failure_while_selecting(
    verb: str, trouble: type[BaseException], closed: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: Any, **how: Any) -> Any:
        raise trouble

    monkeypatch.setattr(LocalEngine, "weigh", fail)
    with pytest.raises(trouble):
        CALLS[verb](DATA)
    assert closed == [True]


def test_a_wrong_user_column_is_told_to_the_curator_alone() -> None:
    with pytest.warns(dpsu.CuratorNote) as told:
        release = dpsu.release(ROWS, user="row_id", item="code", **PRIVACY)
    assert release.notes
    assert [str(note.message) for note in told] == list(release.notes)
    copy = pickle.loads(pickle.dumps(release))
    assert copy.notes == ()
    assert release.statement is not None
    for note in release.notes:
        assert note not in repr(release) + str(release.statement) + release.statement.to_json()


def test_notes_can_be_silenced() -> None:
    release = dpsu.release(ROWS, user="row_id", item="code", check_user=False, **PRIVACY)
    assert release.notes == ()


def test_one_item_per_user_is_an_ordinary_shape() -> None:
    rows = pl.DataFrame({"patient": [3 * n for n in range(USERS)], "code": ["a"] * USERS})
    assert dpsu.release(rows, user="patient", item="code", **PRIVACY).notes == ()


def test_lists_that_do_not_fit_are_refused_before_anything_is_spent(tmp_path: Path) -> None:
    ledger = dpsu.Ledger.create(tmp_path / "spent.db", epsilon=10.0, delta=1e-5)
    with pytest.raises(dpsu.DpsuError):
        dpsu.release(ROWS, user="row_id", item="code", public_items=[1.5], ledger=ledger, **PRIVACY)
    assert ledger.entries() == []


@pytest.mark.parametrize("title", ["two\nlines", "x" * 3000])
def test_titles_are_one_printable_line(title: str) -> None:
    with pytest.raises(dpsu.DpsuError, match="title"):
        dpsu.release(DATA, text=True, title=title, **PRIVACY)
