"""The ledger adds up tightly, refuses at its cap, cannot be rewritten, and takes many writers."""

import hashlib
import json
import math
import multiprocessing
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command import dpsu as command
from statements import statement_of

import dpsu
from dpsu.errors import InvalidArgument, LedgerError, SourceError
from dpsu.outcome.spending import total_delta
from dpsu.outcome.statement import SCHEMA_1, Statement

DATA = {n: ["a", "b"] for n in range(400)}


def promise(epsilon: float, delta: float, algorithm: str = "focused-gaussian") -> Statement:
    return statement_of(algorithm, epsilon, delta, max_items=10)


def test_a_release_is_recorded_and_the_cap_holds(tmp_path: Path) -> None:
    ledger = dpsu.Ledger.create(tmp_path / "spent.db", epsilon=2.0, delta=2e-6)
    first = dpsu.release(DATA, epsilon=1.5, delta=1e-6, max_items=2, ledger=ledger)
    assert [entry.statement for entry in ledger.entries()] == [first.statement]
    assert 0 < ledger.epsilon() <= 1.5
    stages: list[str] = []
    with pytest.raises(LedgerError, match="cap"):
        dpsu.release(
            DATA, epsilon=1.5, delta=1e-6, max_items=2, ledger=tmp_path / "spent.db", progress=stages.append
        )
    assert "reading" not in stages
    assert len(ledger.entries()) == 1
    dpsu.release(DATA, epsilon=0.3, delta=1e-7, max_items=2, ledger=str(tmp_path / "spent.db"))
    assert len(dpsu.Ledger.open(tmp_path / "spent.db").entries()) == 2


def test_levels_of_ngrams_are_recorded_as_one_release(tmp_path: Path) -> None:
    ledger = dpsu.Ledger.create(tmp_path / "spent.db", epsilon=2.0, delta=2e-6)
    texts = {n: ["to be or not to be"] for n in range(400)}
    release = dpsu.ngrams(texts, epsilon=1.5, delta=1e-6, longest=2, max_items=9, ledger=ledger)
    assert [entry.statement for entry in ledger.entries()] == [release.statement]
    with pytest.raises(LedgerError, match="cap"):
        dpsu.ngrams(texts, epsilon=1.5, delta=1e-6, longest=2, max_items=9, ledger=ledger)


def test_what_promises_nothing_is_not_recorded(tmp_path: Path) -> None:
    ledger = dpsu.Ledger.create(tmp_path / "spent.db", epsilon=2.0, delta=2e-6)
    with dpsu.testing.seeded(1), pytest.raises(InvalidArgument):
        dpsu.release(DATA, epsilon=1.0, delta=1e-6, ledger=ledger)
    with pytest.raises(InvalidArgument):
        dpsu.release(DATA, epsilon=1.0, delta=1e-6, algorithm="k-anonymity", unsafe=True, ledger=ledger)
    assert ledger.entries() == []


def test_a_ledger_is_opened_only_if_it_is_there_and_is_one(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match=r"mispelt\.db"):
        dpsu.Ledger.open(tmp_path / "mispelt.db")
    assert not (tmp_path / "mispelt.db").exists()
    dpsu.Ledger.create(tmp_path / "spent.db", epsilon=2.0, delta=2e-6)
    with pytest.raises(LedgerError, match=r"spent\.db"):
        dpsu.Ledger.create(tmp_path / "spent.db", epsilon=9.0, delta=2e-6)
    with pytest.raises(InvalidArgument, match=r"Ledger\.create"):
        dpsu.Ledger(tmp_path / "other.db", epsilon=9.0, delta=2e-6)
    (tmp_path / "text.db").write_text("not a database, and long enough to be none" * 50)
    with pytest.raises(LedgerError, match=r"text\.db"):
        dpsu.Ledger.open(tmp_path / "text.db")
    (tmp_path / "empty.db").touch()
    with pytest.raises(LedgerError, match=r"empty\.db"):
        dpsu.Ledger.open(tmp_path / "empty.db")
    with pytest.raises(LedgerError, match="no folder"):
        dpsu.Ledger.create(tmp_path / "none" / "spent.db", epsilon=2.0, delta=2e-6)


def test_a_creation_that_failed_can_be_repeated(tmp_path: Path) -> None:
    """A full disk leaves an empty file."""
    (tmp_path / "spent.db").touch()
    assert dpsu.Ledger.create(tmp_path / "spent.db", epsilon=2.0, delta=2e-6).entries() == []


@pytest.mark.parametrize("cap", [(0.0, 1e-6), (1.0, 0.0), (math.inf, 1e-6), (math.nan, 1e-6), (1.0, 1.0)])
def test_a_cap_must_be_one(tmp_path: Path, cap: tuple[float, float]) -> None:
    with pytest.raises(InvalidArgument, match="cap"):
        dpsu.Ledger.create(tmp_path / "spent.db", epsilon=cap[0], delta=cap[1])


TEXTS = {n: ["to be or not to be"] for n in range(400)}


def _spends(ledger: Path, progress: Callable[[str], None]) -> dict[str, Callable[[], Any]]:
    """Every verb that spends privacy, at an epsilon that the ledger has no room for."""
    how: dict[str, Any] = {"epsilon": 3.0, "delta": 1e-6, "ledger": ledger, "progress": progress}
    return {
        "release": lambda: dpsu.release(DATA, **how),
        "ngrams": lambda: dpsu.ngrams(TEXTS, max_items=5, **how),
        "tune": lambda: dpsu.tune(DATA, settings=[{"max_items": 2}, {"max_items": 5}], **how),
    }


@pytest.mark.parametrize("verb", ["release", "ngrams", "tune"])
def test_no_verb_reads_data_that_the_ledger_has_no_room_for(tmp_path: Path, verb: str) -> None:
    dpsu.Ledger.create(tmp_path / "spent.db", epsilon=1.0, delta=2e-6)
    stages: list[str] = []
    with pytest.raises(LedgerError, match="cap"):
        _spends(tmp_path / "spent.db", stages.append)[verb]()
    assert "reading" not in stages


@pytest.mark.parametrize("verb", ["release", "ngrams", "tune"])
@pytest.mark.parametrize("trouble", [ArithmeticError, KeyboardInterrupt, MemoryError])
def test_a_run_that_fails_while_selecting_counts(
    tmp_path: Path, verb: str, trouble: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether and how a mechanism fails may depend on the data."""
    ledger = dpsu.Ledger.create(tmp_path / "spent.db", epsilon=10.0, delta=2e-6)

    def fail(*args: Any, **how: Any) -> Any:
        raise trouble

    monkeypatch.setattr("dpsu.engines.local.LocalEngine.weigh", fail)
    with pytest.raises(trouble):
        _spends(tmp_path / "spent.db", lambda stage: None)[verb]()
    (entry,) = ledger.entries()
    assert (entry.epsilon, entry.statement) == (3.0, None)


def test_a_run_that_fails_while_reading_does_not_count(tmp_path: Path) -> None:
    ledger = dpsu.Ledger.create(tmp_path / "spent.db", epsilon=10.0, delta=2e-6)
    with pytest.raises(SourceError):
        dpsu.release(tmp_path / "absent.csv", user="u", item="i", epsilon=3.0, delta=1e-6, ledger=ledger)
    assert ledger.entries() == []


@pytest.mark.parametrize("verb", ["release", "ngrams", "tune"])
def test_a_run_that_releases_nothing_counts_before_it_says_so(tmp_path: Path, verb: str) -> None:
    """An empty release is a warning, and warnings may be errors."""
    ledger = dpsu.Ledger.create(tmp_path / "spent.db", epsilon=10.0, delta=2e-6)
    how: dict[str, Any] = {"epsilon": 3.0, "delta": 1e-6, "ledger": ledger}
    calls = {
        "release": lambda: dpsu.release({1: ["a"]}, **how),
        "ngrams": lambda: dpsu.ngrams({1: ["a"]}, **how),
        "tune": lambda: dpsu.tune({1: ["a"]}, settings=[{"max_items": 2}, {"max_items": 5}], **how),
    }
    # One user's only item comes out with a chance of 1e-6 at most; the key is fixed, so that it never does.
    with pytest.raises(dpsu.EmptyRelease):
        calls[verb]()
    (entry,) = ledger.entries()
    assert entry.statement is not None


def test_tuning_is_recorded_as_one_release(tmp_path: Path) -> None:
    ledger = dpsu.Ledger.create(tmp_path / "spent.db", epsilon=4.0, delta=2e-6)
    tuned = dpsu.tune(
        DATA, settings=[{"max_items": 2}, {"max_items": 5}], epsilon=3.0, delta=1e-6, ledger=ledger, title="t"
    )
    (entry,) = ledger.entries()
    assert (entry.statement, entry.purpose) == (tuned.release.statement, "t")
    assert ledger.left() == pytest.approx(1.0)


def test_a_saved_release_tells_the_ledger_where_it_is(tmp_path: Path) -> None:
    ledger = dpsu.Ledger.create(tmp_path / "spent.db", epsilon=4.0, delta=2e-6)
    dpsu.release(DATA, epsilon=3.0, delta=1e-6, ledger=ledger).save(tmp_path / "items.csv")
    assert [entry.output for entry in ledger.entries()] == ["items.csv"]


def test_what_others_spent_is_recorded(tmp_path: Path) -> None:
    ledger = dpsu.Ledger.create(tmp_path / "spent.db", epsilon=4.0, delta=2e-6)
    ledger.record_spending(1.5, 0.0, "another tool's histogram")
    ledger.record(promise(1.0, 1e-6, "policy-laplace"), purpose="from a partner")
    assert [entry.purpose for entry in ledger.entries()] == ["another tool's histogram", "from a partner"]
    assert ledger.epsilon() == pytest.approx(2.5)
    with pytest.raises(LedgerError, match="cap"):
        ledger.record_spending(1.6, 0.0, "too much")
    with pytest.raises(LedgerError, match="rejected"):
        ledger.record(replace(promise(1.0, 1e-6), delta=1e-7))
    for wrong in ((0.0, 1e-6), (1.0, 1.0), (math.nan, 0.0), (1.0, -1e-9), (True, 0.0)):
        with pytest.raises(InvalidArgument, match=r"epsilon|delta"):
            ledger.record_spending(*wrong, "p")
    with pytest.raises(InvalidArgument, match="purpose"):
        ledger.record_spending(1.0, 0.0, " ")


def test_a_lifted_cap_is_found_out(tmp_path: Path) -> None:
    path = tmp_path / "spent.db"
    dpsu.Ledger.create(path, epsilon=1.0, delta=1e-6)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("REPLACE INTO cap (rowid, form, epsilon, delta) VALUES (1, 2, 99, 0.5)")
        connection.commit()
    with pytest.raises(LedgerError, match="was altered"):
        dpsu.Ledger.open(path)


TABLES_OF_0_1 = """
CREATE TABLE cap (form INTEGER NOT NULL, epsilon REAL NOT NULL, delta REAL NOT NULL);
CREATE TABLE releases (number INTEGER PRIMARY KEY, at TEXT NOT NULL, statement TEXT NOT NULL, chain TEXT NOT NULL);
CREATE TRIGGER cap_stays BEFORE UPDATE ON cap BEGIN SELECT RAISE(ABORT, 'the cap is fixed'); END;
INSERT INTO cap VALUES (1, 4.0, 1e-5);
"""


def test_a_ledger_of_0_1_opens_and_its_cap_is_sealed_at_the_first_write(tmp_path: Path) -> None:
    path, at = tmp_path / "spent.db", "2026-01-01T00:00:00+00:00"
    text = replace(promise(1.0, 1e-6), schema=SCHEMA_1, version="0.1.0").to_json()
    chain = hashlib.sha256(f"\n{at}\n{text}".encode()).hexdigest()
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(TABLES_OF_0_1)
        connection.execute("INSERT INTO releases VALUES (1, ?, ?, ?)", (at, text, chain))
        connection.commit()
    ledger = dpsu.Ledger.open(path)
    assert (ledger.cap, len(ledger.entries())) == ((4.0, 1e-5), 1)
    ledger.record(promise(1.0, 1e-6))
    assert [entry.number for entry in dpsu.Ledger.open(path).entries()] == [1, 2]
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("REPLACE INTO cap (rowid, form, epsilon, delta) VALUES (1, 1, 99, 0.5)")
        connection.commit()
    with pytest.raises(LedgerError, match="was altered"):
        dpsu.Ledger.open(path)


def test_the_past_stays(tmp_path: Path) -> None:
    path = tmp_path / "spent.db"
    ledger = dpsu.Ledger.create(path, epsilon=5.0, delta=1e-5)
    for epsilon in (0.5, 1.0):
        ledger.record(promise(epsilon, 1e-7))
    connection = sqlite3.connect(path)
    for wish in ("DELETE FROM releases", "UPDATE releases SET statement = ''", "UPDATE cap SET epsilon = 99"):
        with pytest.raises(sqlite3.IntegrityError):
            connection.execute(wish)
    connection.rollback()
    connection.execute("DROP TRIGGER releases_are_kept")
    connection.execute("DELETE FROM releases WHERE number = 1")
    connection.commit()
    connection.close()
    with pytest.raises(LedgerError, match="was altered"):
        ledger.entries()


def _record_often(path: Path, times: int) -> None:
    ledger = dpsu.Ledger.open(path)
    statement = promise(0.3, 1e-8)
    for _ in range(times):
        try:
            ledger.record(statement)
        except LedgerError:
            return


def test_many_writers_lose_nothing_and_never_pass_the_cap(tmp_path: Path) -> None:
    path = tmp_path / "spent.db"
    ledger = dpsu.Ledger.create(path, epsilon=1.0, delta=1e-5)
    statement = promise(0.3, 1e-8)
    room = 1
    while total_delta([statement] * (room + 1), 1.0) <= 1e-5:
        room += 1
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_record_often, args=(path, room)) for _ in range(2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [entry.number for entry in ledger.entries()] == list(range(1, room + 1))
    assert ledger.delta() <= ledger.cap.delta


def test_the_command(tmp_path: Path) -> None:
    source, path = tmp_path / "rows.csv", tmp_path / "spent.db"
    source.write_text("u,i\n" + "".join(f"{n},a\n" for n in range(400)))
    assert command("ledger", "create", path, "--epsilon", "2", "--delta", "1e-5").returncode == 0
    release: list[Any] = [
        "release",
        source,
        "--user",
        "u",
        "--item",
        "i",
        "--delta",
        "1e-6",
        "--algorithm",
        "focused-gaussian",
        "--ledger",
        path,
        "-q",
    ]
    target = tmp_path / "out.csv"
    assert command(*release, "--epsilon", "1.8", "-o", target).returncode == 0
    before = target.read_bytes()
    refused = command(*release, "--epsilon", "1.8", "-o", target)
    assert refused.returncode == 1
    assert b"LedgerError" in refused.stderr
    assert target.read_bytes() == before
    shown = json.loads(command("ledger", "show", path, "--json").stdout)
    assert [entry["number"] for entry in shown["releases"]] == [1]
    assert shown["spent"]["epsilon"] <= 1.8
    assert "focused-gaussian" in command("ledger", "show", path).stdout.decode()
