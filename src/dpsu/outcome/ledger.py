"""The ledger: what all releases over one data set have spent together, and a cap that none may pass.

An append-only SQLite file. A release is recorded, on the disk, before its mechanism looks at the data; a release that would
pass the cap is refused. Many processes may write at once. Every record seals those before it, the cap included: edits are
detected, but whoever can write the file can also write a new one (docs/statement.md).
"""

import hashlib
import json
import math
import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from dpsu.errors import InvalidArgument, LedgerError
from dpsu.outcome.statement import Statement
from dpsu.privacy.budget import Budget

FORM, FORM_1 = 2, 1
PATIENCE = 60.0
"""Seconds to wait for other writers."""

MARGIN = 1 + 1e-12
"""On sums, far above what their floats can err."""

LONGEST_PURPOSE = 2000

OF_PERIOD = re.compile(r"one user in period (.+), added or removed")
"""The unit of a promise about one period alone."""

TABLES = """
CREATE TABLE cap (form INTEGER NOT NULL, epsilon REAL NOT NULL, delta REAL NOT NULL);
CREATE TABLE releases (number INTEGER PRIMARY KEY, at TEXT NOT NULL, statement TEXT NOT NULL, chain TEXT NOT NULL);
CREATE TRIGGER cap_stays BEFORE UPDATE ON cap BEGIN SELECT RAISE(ABORT, 'the cap is fixed'); END;
CREATE TRIGGER cap_is_kept BEFORE DELETE ON cap BEGIN SELECT RAISE(ABORT, 'the cap is fixed'); END;
CREATE TRIGGER releases_stay BEFORE UPDATE ON releases BEGIN SELECT RAISE(ABORT, 'append only'); END;
CREATE TRIGGER releases_are_kept BEFORE DELETE ON releases BEGIN SELECT RAISE(ABORT, 'append only'); END;
"""
"""The tables of 0.1. A row of `releases` holds a JSON record: the cap, a spending, its statement, or its output."""


@dataclass(frozen=True)
class Entry:
    """One recorded spending.

    `statement` is None for another tool's spending and for a run that did not finish, which counts all the same. `output` is
    the name of the file that was saved. `period` is the period that the promise is about, if it is not about all. `series`
    is the series that the entry pays for, and `periods` its periods so far, each with the seal of the state after it.
    """

    number: int
    at: str
    epsilon: float
    delta: float
    budget: Budget | None
    purpose: str | None = None
    statement: Statement | None = None
    output: str | None = None
    period: str | None = None
    series: str | None = None
    periods: tuple[tuple[int, str], ...] = ()


Spending = Entry | Statement
"""What adds up: an epsilon and a delta, or a budget that composes as Gaussian DP."""


class Cap(NamedTuple):
    """The epsilon and the delta that all releases of a ledger together may not pass."""

    epsilon: float
    delta: float


@dataclass
class _Contents:
    """All that a ledger holds: entries, the sealed cap if there is one, and the last link of the chain."""

    entries: list[Entry]
    cap: tuple[float, float] | None = None
    rows: int = 0
    chain: str = ""


class Ledger:
    """The releases over one data set, under a cap: pass it as `ledger=` to every function that spends privacy.

    `Ledger.create` makes a new file, `Ledger.open` opens one. `cap` is the pair (epsilon, delta) that all releases
    together may not pass.

    >>> import dpsu, tempfile
    >>> ledger = dpsu.Ledger.create(tempfile.mkdtemp() + "/spent.db", epsilon=4, delta=1e-5)
    >>> baskets = {n: ["bread", "milk"] for n in range(1000)}
    >>> release = dpsu.release(baskets, epsilon=1, delta=1e-6, algorithm="focused-gaussian", ledger=ledger)
    >>> ledger.epsilon() < 1, ledger.left() > 3
    (True, True)
    """

    path: Path
    cap: Cap

    def __init__(self, *path: Any, **cap: Any) -> None:
        raise InvalidArgument(
            "write Ledger.create(path, epsilon=..., delta=...) for a new ledger, or Ledger.open(path) for one that is there."
        )

    @classmethod
    def create(cls, path: str | Path, *, epsilon: float, delta: float) -> "Ledger":
        """A new ledger with this cap; there must be nothing at `path`."""
        if not (_is_number(epsilon) and epsilon > 0 and _is_number(delta) and 0 < delta < 1):
            raise InvalidArgument(
                f"a cap needs a positive epsilon and a delta between 0 and 1, not ({epsilon!r}, {delta!r})."
            )
        if Path(path).exists():
            raise LedgerError(f"there is something at {path} already: open it with Ledger.open(path).")
        return cls._at(path, Cap(float(epsilon), float(delta)))

    @classmethod
    def open(cls, path: str | Path) -> "Ledger":
        """The ledger at `path`, which must be there: a misspelt path must not begin to count from nothing."""
        if not Path(path).is_file():
            raise LedgerError(
                f"there is no ledger {path}: create it with a cap, Ledger.create(path, epsilon=..., delta=...) or "
                "`dpsu ledger create`."
            )
        return cls._at(path, None)

    @classmethod
    def _at(cls, path: str | Path, cap: Cap | None) -> "Ledger":
        ledger = object.__new__(cls)
        ledger.path = Path(path)
        if cap is not None:
            ledger._write_tables(cap)
        ledger.cap = ledger._read_cap()
        return ledger

    def record(self, statement: Statement, purpose: str | None = None) -> int:
        """Record a statement received from elsewhere, and give its number; it must verify and fit under the cap."""
        from dpsu.verification.verify import verify

        found = verify(statement)
        if not found.ok:
            raise LedgerError(
                "the statement is rejected, so the ledger cannot rely on it: see `dpsu verify`."
            )
        number = self.reserve(statement, purpose)
        self.complete(number, statement)
        return number

    def note_period(self, number: int, period: int, seal: str) -> None:
        """Add a period of a series, with the seal of the state after it; refuse one that another copy has done."""
        with self._writing() as connection:
            before = self._contents(connection)
            known = before.entries[number - 1].periods
            if (period, seal) in known:
                return
            if known and period <= known[-1][0]:
                raise LedgerError(
                    f"the ledger {self.path} has period {period} of this series already, from another copy of its state."
                )
            self._append(
                connection, {"record": "period", "of": number, "period": period, "seal": seal}, before
            )

    def record_spending(self, epsilon: float, delta: float, purpose: str) -> int:
        """Record what another tool spent over the same users, and give its number."""
        if not (_is_number(epsilon) and epsilon > 0 and _is_number(delta) and 0 <= delta < 1):
            raise InvalidArgument(
                f"a spending needs an epsilon above 0 and a delta from 0 to below 1, not ({epsilon!r}, {delta!r})."
            )
        if not purpose or not purpose.strip():
            raise InvalidArgument("say what the privacy was spent for: purpose=... (--purpose).")
        return self._spend(Entry(0, "", float(epsilon), float(delta), None, purpose))

    def reserve(self, statement: Statement | None, purpose: str | None = None) -> int:
        """Record what a run is about to spend, before it looks at the data; refuse it if it would pass the cap."""
        promised = _require_promise(statement)
        counted = self.entry_of(promised)
        if counted is not None:
            return counted.number
        return self._spend(_entry_of(promised, purpose or promised.title))

    def entry_of(self, statement: Statement) -> Entry | None:
        """The entry that counts this statement already: a series is one promise, whichever of its periods came first."""
        series = _series_of(statement)
        for entry in self.entries() if series else ():
            if entry.series == series:
                if (entry.epsilon, entry.delta, entry.budget) != (
                    statement.epsilon,
                    statement.delta,
                    statement.budget,
                ):
                    raise LedgerError("the ledger has another promise under the name of this series.")
                return entry
        return None

    def complete(self, number: int, statement: Statement) -> None:
        """Add the statement of a run that was reserved under this number."""
        with self._writing() as connection:
            self._append(connection, {"record": "statement", "of": number, "statement": statement.to_dict()})

    def note_output(self, number: int, path: Path, sha256: str) -> None:
        """Add the name and the digest of the file that the release was saved to."""
        with self._writing() as connection:
            self._append(connection, {"record": "output", "of": number, "name": path.name, "sha256": sha256})

    def require_room(self, statement: Statement | None) -> None:
        """Refuse now, before the work, what `reserve` would refuse."""
        promised = _require_promise(statement)
        if self.entry_of(promised) is None:
            self._require_room(self.entries(), _entry_of(promised, None))

    def entries(self) -> list[Entry]:
        """All that was spent, in the order in which it was recorded."""
        with self._open() as connection:
            return self._contents(connection).entries

    def epsilon(self, delta: float | None = None) -> float:
        """The smallest epsilon of all entries together at this delta, or at the cap's; infinite if there is none.

        Promises about single periods add up period by period; the largest sum counts.
        """
        at = self.cap.delta if delta is None else delta
        return max(total_epsilon(spent, at) for spent in by_period(self.entries()).values())

    def delta(self, epsilon: float | None = None) -> float:
        """The delta of all entries together at this epsilon, or at the cap's; the largest of all periods."""
        at = self.cap.epsilon if epsilon is None else epsilon
        return max(total_delta(spent, at) for spent in by_period(self.entries()).values())

    def left(self) -> float:
        """The cap's epsilon minus the epsilon that is spent, both at the cap's delta."""
        return max(0.0, self.cap.epsilon - self.epsilon())

    def plot(self, path: str | Path | None = None) -> Any:
        """A figure of what is spent after each entry, under the cap (matplotlib, the extra `plot`)."""
        from dpsu.report.charts import ledger_chart

        return ledger_chart(self, path)

    def _repr_html_(self) -> str:
        from dpsu.report.notebook import ledger_html

        return ledger_html(self)

    def __repr__(self) -> str:
        return f"<Ledger {self.path}, cap epsilon {self.cap.epsilon:g}, delta {self.cap.delta:g}>"

    def _spend(self, entry: Entry) -> int:
        if entry.purpose is not None and len(entry.purpose) > LONGEST_PURPOSE:
            raise InvalidArgument(f"a purpose has at most {LONGEST_PURPOSE} characters.")
        record = {
            "record": "spending",
            "epsilon": entry.epsilon,
            "delta": entry.delta,
            "budget": vars(entry.budget) if entry.budget else None,
            "purpose": entry.purpose,
            **({"period": entry.period} if entry.period else {}),
            **({"series": entry.series} if entry.series else {}),
        }
        with self._writing() as connection:
            before = self._contents(connection)
            self._require_room(before.entries, entry)
            self._append(connection, record, before)
        return len(before.entries) + 1

    def _append(
        self, connection: sqlite3.Connection, record: dict[str, Any], before: _Contents | None = None
    ) -> None:
        """Add a record to the chain; the first one of a ledger of 0.1 seals its cap."""
        before = before or self._contents(connection)
        records = [record] if before.cap is not None else [_cap_record(self.cap), record]
        chain = before.chain
        for place, each in enumerate(records, before.rows + 1):
            chain = _insert(connection, place, each, chain)

    def _require_room(self, before: Sequence[Entry], spending: Entry) -> None:
        cap = self.cap
        together = by_period([*before, spending]).values()
        if max(total_delta(spent, cap.epsilon) for spent in together) > cap.delta:
            spent_so_far = max(total_epsilon(spent, cap.delta) for spent in by_period(before).values())
            raise LedgerError(
                f"this release would pass the cap of {self.path}: epsilon {cap.epsilon:g}, delta {cap.delta:g}, of which "
                f"epsilon {spent_so_far:.4g} is spent. Nothing was released; choose a smaller epsilon."
            )

    def _write_tables(self, cap: Cap) -> None:
        with self._writing() as connection:
            if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'cap'").fetchone() is not None:
                raise LedgerError(f"another process has just created {self.path}: open it.")
            for command in TABLES.strip().split(";\n"):
                connection.execute(command)
            connection.execute("INSERT INTO cap VALUES (?, ?, ?)", (FORM, cap.epsilon, cap.delta))
            _insert(connection, 1, _cap_record(cap), "")

    def _read_cap(self) -> Cap:
        with self._open() as connection:
            rows = connection.execute("SELECT form, epsilon, delta FROM cap").fetchall()
            sealed = self._contents(connection).cap
        if len(rows) != 1 or rows[0][0] not in (FORM_1, FORM):
            raise LedgerError(f"the ledger {self.path} was altered, or written by a later dpsu.")
        form, epsilon, delta = rows[0]
        if sealed != (epsilon, delta) and not (form == FORM_1 and sealed is None):
            raise LedgerError(f"the ledger {self.path} was altered: its cap is not the one that was sealed.")
        return Cap(float(epsilon), float(delta))

    def _contents(self, connection: sqlite3.Connection) -> _Contents:
        """Read the whole chain; a record that does not follow from those before it is an error."""
        found = _Contents([])
        for number, at, text, link in connection.execute("SELECT * FROM releases ORDER BY number"):
            found.chain = _link(found.chain, at, text)
            found.rows += 1
            if found.chain != link or number != found.rows:
                raise LedgerError(f"the ledger {self.path} was altered: record {number} does not follow.")
            _add(found, at, json.loads(text))
        return found

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None)) as connection:
                connection.execute("PRAGMA synchronous = EXTRA")
                yield connection
        except (sqlite3.Error, TypeError, KeyError, IndexError, json.JSONDecodeError) as error:
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


def _add(found: _Contents, at: str, record: dict[str, Any]) -> None:
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


def open_ledger(ledger: Ledger | str | Path | None) -> Ledger | None:
    """The ledger that the caller means, by itself or by its path."""
    return ledger if ledger is None or isinstance(ledger, Ledger) else Ledger.open(ledger)


def by_period(entries: Sequence[Entry]) -> dict[str | None, list[Entry]]:
    """The entries that add up for each period: its own, and those about all periods. None stands for any other period."""
    return {
        period: [entry for entry in entries if entry.period in (None, period)]
        for period in (None, *sorted({entry.period for entry in entries if entry.period}))
    }


def _entry_of(statement: Statement, purpose: str | None) -> Entry:
    found = OF_PERIOD.fullmatch(statement.unit)
    return Entry(
        0,
        "",
        statement.epsilon,
        statement.delta,
        statement.budget,
        purpose,
        period=found[1] if found else None,
        series=_series_of(statement),
    )


def _series_of(statement: Statement) -> str | None:
    return statement.parameters.get("series") if statement.kind == "series" else None


def total_delta(spent: Sequence[Spending], epsilon: float) -> float:
    """The delta of all spendings together at this epsilon.

    Gaussian releases compose as Gaussian DP and the others add their epsilons and deltas; or all add. The smaller counts.
    """
    gaussian = [each.budget for each in spent if each.budget]
    others = [each for each in spent if not each.budget]
    left = epsilon - math.fsum(each.epsilon for each in others) * MARGIN
    composed = math.fsum(each.delta for each in others) * MARGIN
    if gaussian and left >= 0:
        composed += gaussian[0].compose(*gaussian[1:]).delta(left) * MARGIN
    elif left < 0:
        composed = 1.0
    added = (
        math.fsum(each.delta for each in spent)
        if math.fsum(each.epsilon for each in spent) <= epsilon
        else 1.0
    )
    return min(composed, added, 1.0)


def total_epsilon(spent: Sequence[Spending], delta: float) -> float:
    """The smallest epsilon at which all spendings together have this delta, to nine digits; inf if there is none."""
    low, high = 0.0, max(1.0, math.fsum(each.epsilon for each in spent))
    if total_delta(spent, low) <= delta:
        return low
    while total_delta(spent, high) > delta:
        high *= 2
        if high > 1e9:
            return math.inf
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if total_delta(spent, middle) <= delta else (middle, high)
    return high


def _require_promise(statement: Statement | None) -> Statement:
    if statement is None or statement.void:
        raise InvalidArgument(
            "a ledger takes releases that promise something: not algorithms without privacy, nor seeded runs."
        )
    return statement


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _cap_record(cap: Cap) -> dict[str, Any]:
    return {"record": "cap", "epsilon": cap.epsilon, "delta": cap.delta}


def _insert(connection: sqlite3.Connection, place: int, record: dict[str, Any], chain: str) -> str:
    """Write one record and give the new end of the chain."""
    text, at = json.dumps(record, ensure_ascii=False), datetime.now(UTC).isoformat(timespec="seconds")
    chain = _link(chain, at, text)
    connection.execute("INSERT INTO releases VALUES (?, ?, ?, ?)", (place, at, text, chain))
    return chain


def _link(before: str, at: str, text: str) -> str:
    """Each record seals those before it."""
    return hashlib.sha256(f"{before}\n{at}\n{text}".encode()).hexdigest()
