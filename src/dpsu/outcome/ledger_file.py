"""The file of a ledger: an append-only SQLite database whose records seal those before them, the cap included."""

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from dpsu.errors import LedgerError
from dpsu.outcome.spending import Entry
from dpsu.outcome.statement import Statement
from dpsu.privacy.budget import Budget

FORM, FORM_1 = 2, 1
PATIENCE = 60.0
"""Seconds to wait for other writers."""

TABLES = """
CREATE TABLE cap (form INTEGER NOT NULL, epsilon REAL NOT NULL, delta REAL NOT NULL);
CREATE TABLE releases (number INTEGER PRIMARY KEY, at TEXT NOT NULL, statement TEXT NOT NULL, chain TEXT NOT NULL);
CREATE TRIGGER cap_stays BEFORE UPDATE ON cap BEGIN SELECT RAISE(ABORT, 'the cap is fixed'); END;
CREATE TRIGGER cap_is_kept BEFORE DELETE ON cap BEGIN SELECT RAISE(ABORT, 'the cap is fixed'); END;
CREATE TRIGGER releases_stay BEFORE UPDATE ON releases BEGIN SELECT RAISE(ABORT, 'append only'); END;
CREATE TRIGGER releases_are_kept BEFORE DELETE ON releases BEGIN SELECT RAISE(ABORT, 'append only'); END;
"""
"""The tables of 0.1. A row of `releases` holds a JSON record: the cap, a spending, its statement, or its output."""


class Cap(NamedTuple):
    """The epsilon and the delta that all releases of a ledger together may not pass."""

    epsilon: float
    delta: float


@dataclass
class Chain:
    """What the records of a file say: entries, the sealed cap if there is one, and the last link."""

    entries: list[Entry]
    cap: tuple[float, float] | None = None
    rows: int = 0
    last: str = ""


class LedgerFile:
    """Reads the chain of records and adds to it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def create(self, cap: Cap) -> None:
        """Write the tables and seal the cap."""
        with self._transaction() as connection:
            if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'cap'").fetchone() is not None:
                raise LedgerError(f"another process has just created {self.path}: open it.")
            for command in TABLES.strip().split(";\n"):
                connection.execute(command)
            connection.execute("INSERT INTO cap VALUES (?, ?, ?)", (FORM, cap.epsilon, cap.delta))
            _insert(connection, Chain([]), _cap_record(cap))

    def cap(self) -> Cap:
        """The cap, which must be the sealed one; a ledger of 0.1 seals it at its first write."""
        with self._connection() as connection:
            rows = connection.execute("SELECT form, epsilon, delta FROM cap").fetchall()
            sealed = self._chain(connection).cap
        if len(rows) != 1 or rows[0][0] not in (FORM_1, FORM):
            raise LedgerError(f"the ledger {self.path} was altered, or written by a later dpsu.")
        form, epsilon, delta = rows[0]
        if sealed != (epsilon, delta) and not (form == FORM_1 and sealed is None):
            raise LedgerError(f"the ledger {self.path} was altered: its cap is not the one that was sealed.")
        return Cap(float(epsilon), float(delta))

    def entries(self) -> list[Entry]:
        """All that was spent, in the order in which it was recorded."""
        with self._connection() as connection:
            return self._chain(connection).entries

    def append(self, cap: Cap, write: Callable[[list[Entry]], Mapping[str, Any] | None]) -> int:
        """Add the record that `write` makes of the entries so far, if any, and give their number.

        The file is locked meanwhile. Once this returns, the record is on the disk. The first record of a ledger of 0.1
        seals its cap.
        """
        with self._transaction() as connection:
            chain = self._chain(connection)
            record = write(chain.entries)
            if record is not None:
                for each in [record] if chain.cap is not None else [_cap_record(cap), record]:
                    _insert(connection, chain, each)
            return len(chain.entries)

    def _chain(self, connection: sqlite3.Connection) -> Chain:
        """Read the whole chain; a record that does not follow from those before it is an error."""
        found = Chain([])
        for number, at, text, link in connection.execute("SELECT * FROM releases ORDER BY number"):
            found.last = _link(found.last, at, text)
            found.rows += 1
            if found.last != link or number != found.rows:
                raise LedgerError(f"the ledger {self.path} was altered: record {number} does not follow.")
            _add(found, at, json.loads(text))
        return found

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None)) as connection:
                connection.execute("PRAGMA synchronous = EXTRA")
                yield connection
        except (sqlite3.Error, TypeError, KeyError, IndexError, json.JSONDecodeError) as error:
            raise LedgerError(f"cannot use {self.path} as a ledger: {error}.") from error

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """A transaction that excludes other writers; once it is left without an error, it is on the disk."""
        with self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")


def _add(found: Chain, at: str, record: dict[str, Any]) -> None:
    """What one record says. Records of 0.1 are statements alone."""
    number, kind = len(found.entries) + 1, record.get("record")
    if kind is None:
        stated = Statement.from_dict(record)
        found.entries.append(Entry(number, at, stated.epsilon, stated.delta, stated.budget, statement=stated))
    elif kind == "cap" and found.cap is None:
        found.cap = record["epsilon"], record["delta"]
    elif kind == "spending":
        budget = Budget(**record["budget"]) if record["budget"] else None
        of = {name: record[name] for name in ("period", "series") if name in record}
        found.entries.append(
            Entry(number, at, record["epsilon"], record["delta"], budget, record["purpose"], **of)
        )
    elif kind == "period":
        place = record["of"] - 1
        known = found.entries[place].periods
        found.entries[place] = replace(
            found.entries[place], periods=(*known, (record["period"], record["seal"]))
        )
    elif kind in ("statement", "output"):
        place = record["of"] - 1
        added = (
            {"statement": Statement.from_dict(record["statement"])}
            if kind == "statement"
            else {"output": record["name"]}
        )
        found.entries[place] = replace(found.entries[place], **added)
    else:
        raise KeyError(f"unknown record {kind!r}")


def _cap_record(cap: Cap) -> Mapping[str, Any]:
    return {"record": "cap", "epsilon": cap.epsilon, "delta": cap.delta}


def _insert(connection: sqlite3.Connection, chain: Chain, record: Mapping[str, Any]) -> None:
    """Write one record at the end of the chain."""
    text, at = json.dumps(record, ensure_ascii=False), datetime.now(UTC).isoformat(timespec="seconds")
    chain.last, chain.rows = _link(chain.last, at, text), chain.rows + 1
    connection.execute("INSERT INTO releases VALUES (?, ?, ?, ?)", (chain.rows, at, text, chain.last))


def _link(before: str, at: str, text: str) -> str:
    """Each record seals those before it."""
    return hashlib.sha256(f"{before}\n{at}\n{text}".encode()).hexdigest()
