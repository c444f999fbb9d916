"""The ledger: what all releases over one data set have spent together, and a cap that none may pass.

An append-only SQLite file. A release is recorded, on the disk, before it leaves; a release that would pass the cap is
refused. Many processes may write at once.
"""

import hashlib
import json
import math
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from dpsu.errors import InvalidArgument, LedgerError
from dpsu.privacy.budget import Budget
from dpsu.statement import Statement

FORM = 1
PATIENCE = 60.0
"""Seconds to wait for other writers."""

MARGIN = 1 + 1e-12
"""On sums, far above what their floats can err."""

TABLES = """
CREATE TABLE cap (form INTEGER NOT NULL, epsilon REAL NOT NULL, delta REAL NOT NULL);
CREATE TABLE releases (number INTEGER PRIMARY KEY, at TEXT NOT NULL, statement TEXT NOT NULL, chain TEXT NOT NULL);
CREATE TRIGGER cap_stays BEFORE UPDATE ON cap BEGIN SELECT RAISE(ABORT, 'the cap is fixed'); END;
CREATE TRIGGER cap_is_kept BEFORE DELETE ON cap BEGIN SELECT RAISE(ABORT, 'the cap is fixed'); END;
CREATE TRIGGER releases_stay BEFORE UPDATE ON releases BEGIN SELECT RAISE(ABORT, 'append only'); END;
CREATE TRIGGER releases_are_kept BEFORE DELETE ON releases BEGIN SELECT RAISE(ABORT, 'append only'); END;
"""


@dataclass(frozen=True)
class Entry:
    """One recorded release."""

    number: int
    at: str
    statement: Statement


class Ledger:
    """The releases over one data set, under a cap.

    `Ledger(path, epsilon=4, delta=1e-5)` makes a new file with that cap, or opens one that has it; `Ledger(path)` opens what
    is there. Pass it as `ledger=` to `release`.
    """

    def __init__(self, path: str | Path, *, epsilon: float | None = None, delta: float | None = None) -> None:
        self.path = Path(path)
        if (epsilon is None) != (delta is None):
            raise InvalidArgument(
                "a cap is a pair: give both epsilon and delta, or neither to open a ledger."
            )
        if epsilon is not None and delta is not None:
            self._create(epsilon, delta)
        elif not self.path.is_file():
            raise LedgerError(
                f"there is no ledger {self.path}: create it with a cap, Ledger(path, epsilon=..., delta=...) or "
                "`dpsu ledger create`; a misspelt path must not begin to count from nothing."
            )
        self.epsilon, self.delta = self._read_cap()
        if epsilon is not None and (epsilon, delta) != (self.epsilon, self.delta):
            raise LedgerError(
                f"the ledger {self.path} has the cap ({self.epsilon:g}, {self.delta:g}), not ({epsilon:g}, {delta:g}); "
                "a cap does not change."
            )

    def record(self, statement: Statement | None) -> int:
        """Write the release down, on the disk, and give its number; refuse it if it would pass the cap."""
        with self._writing() as connection:
            before = self._entries(connection)
            self._require_room([entry.statement for entry in before], statement)
            assert statement is not None
            text = statement.to_json()
            last = connection.execute("SELECT chain FROM releases ORDER BY number DESC LIMIT 1").fetchone()
            at = datetime.now(UTC).isoformat(timespec="seconds")
            chain = _link(last[0] if last else "", at, text)
            number = len(before) + 1
            connection.execute("INSERT INTO releases VALUES (?, ?, ?, ?)", (number, at, text, chain))
        return number

    def require_room(self, statement: Statement | None) -> None:
        """Refuse now, before the work, what `record` would refuse."""
        self._require_room([entry.statement for entry in self.entries()], statement)

    def entries(self) -> list[Entry]:
        """All releases, in the order in which they were recorded."""
        with self._open() as connection:
            return self._entries(connection)

    def spent(self) -> float:
        """The delta of all releases together at the cap's epsilon."""
        return total_delta([entry.statement for entry in self.entries()], self.epsilon)

    def epsilon_spent(self) -> float:
        """The smallest epsilon that all releases together have at the cap's delta; infinite if they have none."""
        return total_epsilon([entry.statement for entry in self.entries()], self.delta)

    def __repr__(self) -> str:
        return f"<Ledger {self.path}, cap epsilon {self.epsilon:g}, delta {self.delta:g}>"

    def _require_room(self, before: list[Statement], statement: Statement | None) -> None:
        if statement is None or statement.void:
            raise InvalidArgument(
                "a ledger takes releases that promise something: not algorithms without privacy, nor seeded runs."
            )
        if total_delta([*before, statement], self.epsilon) > self.delta:
            raise LedgerError(
                f"this release would pass the cap of {self.path}: epsilon {self.epsilon:g}, delta {self.delta:g}, of which "
                f"epsilon {total_epsilon(before, self.delta):.4g} is spent. Nothing was released; ask for less."
            )

    def _create(self, epsilon: float, delta: float) -> None:
        if not (0 < epsilon < math.inf and 0 < delta < 1):
            raise InvalidArgument(
                f"a cap needs a positive epsilon and a delta between 0 and 1, not ({epsilon!r}, {delta!r})."
            )
        with self._writing() as connection:
            if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'cap'").fetchone() is None:
                for command in TABLES.strip().split(";\n"):
                    connection.execute(command)
                connection.execute("INSERT INTO cap VALUES (?, ?, ?)", (FORM, epsilon, delta))

    def _read_cap(self) -> tuple[float, float]:
        with self._open() as connection:
            form, epsilon, delta = connection.execute("SELECT form, epsilon, delta FROM cap").fetchone()
        if form != FORM:
            raise LedgerError(f"the ledger {self.path} was written by a later dpsu.")
        return float(epsilon), float(delta)

    def _entries(self, connection: sqlite3.Connection) -> list[Entry]:
        entries: list[Entry] = []
        chain = ""
        for number, at, text, link in connection.execute("SELECT * FROM releases ORDER BY number"):
            chain = _link(chain, at, text)
            if chain != link or number != len(entries) + 1:
                raise LedgerError(f"the ledger {self.path} was altered: release {number} does not follow.")
            entries.append(Entry(number, at, Statement.from_json(text)))
        return entries

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None)) as connection:
                connection.execute("PRAGMA synchronous = EXTRA")
                yield connection
        except (sqlite3.Error, TypeError, json.JSONDecodeError) as error:
            raise LedgerError(f"cannot use {self.path} as a ledger: {error}.") from error

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction that excludes other writers; once it is left without an error, it is on the disk."""
        with self._open() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")


def open_ledger(ledger: Ledger | str | Path | None) -> Ledger | None:
    """The ledger that the caller means, by itself or by its path."""
    return ledger if ledger is None or isinstance(ledger, Ledger) else Ledger(ledger)


def total_delta(statements: list[Statement], epsilon: float) -> float:
    """The delta of all releases together at this epsilon.

    Gaussian releases compose as Gaussian DP and the others add their epsilons and deltas; or all add. The smaller counts.
    """
    gaussian = [Budget(**each.budget) for each in statements if each.budget]
    others = [each for each in statements if not each.budget]
    left = epsilon - math.fsum(each.epsilon for each in others) * MARGIN
    composed = math.fsum(each.delta for each in others) * MARGIN
    if gaussian and left >= 0:
        composed += gaussian[0].compose(*gaussian[1:]).delta(left) * MARGIN
    elif left < 0:
        composed = 1.0
    added = (
        math.fsum(each.delta for each in statements)
        if math.fsum(each.epsilon for each in statements) <= epsilon
        else 1.0
    )
    return min(composed, added, 1.0)


def total_epsilon(statements: list[Statement], delta: float) -> float:
    """The smallest epsilon at which all releases together have this delta, to nine digits; inf if there is none."""
    low, high = 0.0, max(1.0, math.fsum(each.epsilon for each in statements))
    if total_delta(statements, low) <= delta:
        return low
    while total_delta(statements, high) > delta:
        high *= 2
        if high > 1e9:
            return math.inf
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if total_delta(statements, middle) <= delta else (middle, high)
    return high


def _link(before: str, at: str, text: str) -> str:
    """Each entry seals those before it."""
    return hashlib.sha256(f"{before}\n{at}\n{text}".encode()).hexdigest()
