"""The ledger: what all releases over one data set have spent together, and a cap that none may pass.

An append-only SQLite file. A release is recorded, on the disk, before its mechanism looks at the data; a release that would
pass the cap is refused. Many processes may write at once. Every record seals those before it, the cap included: edits are
detected, but whoever can write the file can also write a new one (docs/statement.md).
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dpsu.errors import InvalidArgument, LedgerError
from dpsu.outcome.ledger_file import Cap, LedgerFile
from dpsu.outcome.spending import Entry, by_period, entry_for, series_of, total_delta, total_epsilon
from dpsu.outcome.statement import Statement

LONGEST_PURPOSE = 2000


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
    _file: LedgerFile

    def __init__(self, *path: Any, **cap: Any) -> None:
        raise InvalidArgument(
            "write Ledger.create(path, epsilon=..., delta=...) for a new ledger, or Ledger.open(path) for one that is there."
        )

    @classmethod
    def create(cls, path: str | Path, *, epsilon: float, delta: float) -> "Ledger":
        """A new ledger with this cap; there must be nothing at `path`, or an empty file."""
        if not (_is_number(epsilon) and epsilon > 0 and _is_number(delta) and 0 < delta < 1):
            raise InvalidArgument(
                f"a cap needs a positive epsilon and a delta between 0 and 1, not ({epsilon!r}, {delta!r})."
            )
        place = Path(path)
        if not place.parent.is_dir():
            raise LedgerError(f"cannot create {path}: there is no folder {place.parent}.")
        # A creation that failed, as on a full disk, leaves an empty file.
        if place.exists() and not (place.is_file() and place.stat().st_size == 0):
            raise LedgerError(
                f"there is something at {path} already: choose another path, or use the ledger there."
            )
        return cls._at(path, Cap(float(epsilon), float(delta)))

    @classmethod
    def open(cls, path: str | Path) -> "Ledger":
        """The ledger at `path`, which must be there: a misspelt path must not begin to count from nothing."""
        if not Path(path).is_file():
            raise LedgerError(
                f"there is no ledger {path}: create it, with a cap, by `dpsu ledger create` or dpsu.Ledger.create."
            )
        return cls._at(path, None)

    @classmethod
    def _at(cls, path: str | Path, cap: Cap | None) -> "Ledger":
        ledger = object.__new__(cls)
        ledger.path = Path(path)
        ledger._file = LedgerFile(ledger.path)
        if cap is not None:
            ledger._file.create(cap)
        ledger.cap = ledger._file.cap()
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

    def note_period(self, number: int, period: int, seal: str, before: str | None) -> None:
        """Add a period of a series, with the seal of the state after it; refuse it if another copy has done one.

        `before` is the seal of the state that the period continues, which must be the latest that is known.
        """

        def write(entries: Sequence[Entry]) -> Mapping[str, Any] | None:
            known = entries[number - 1].periods
            if (period, seal) in known:
                return None
            if known and known[-1][1] != before:
                raise LedgerError(
                    f"the ledger {self.path} has a later period of this series, from another copy of its state."
                )
            return {"record": "period", "of": number, "period": period, "seal": seal}

        self._file.append(self.cap, write)

    def record_spending(self, epsilon: float, delta: float, purpose: str) -> int:
        """Record what another tool spent over the same users, and give its number."""
        if not (_is_number(epsilon) and epsilon > 0 and _is_number(delta) and 0 <= delta < 1):
            raise InvalidArgument(
                f"a spending needs an epsilon above 0 and a delta from 0 to below 1, not ({epsilon!r}, {delta!r})."
            )
        if not isinstance(purpose, str) or not purpose.strip():
            raise InvalidArgument("say what the privacy was spent for: purpose=… (--purpose).")
        return self._spend(Entry(0, "", float(epsilon), float(delta), None, purpose))

    def reserve(self, statement: Statement | None, purpose: str | None = None) -> int:
        """Record what a run is about to spend, before it looks at the data; refuse it if it would pass the cap."""
        promised = _require_promise(statement)
        counted = self.entry_of(promised)
        if counted is not None:
            return counted.number
        return self._spend(entry_for(promised, purpose or promised.title))

    def entry_of(self, statement: Statement) -> Entry | None:
        """The entry that counts this statement already: a series is one promise, whichever of its periods came first."""
        series = series_of(statement)
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
        record = {"record": "statement", "of": number, "statement": statement.to_dict()}
        self._file.append(self.cap, lambda _: record)

    def note_output(self, number: int, path: Path, sha256: str) -> None:
        """Add the name and the digest of the file that the release was saved to."""
        record = {"record": "output", "of": number, "name": path.name, "sha256": sha256}
        self._file.append(self.cap, lambda _: record)

    def require_room(self, statement: Statement | None) -> None:
        """Refuse now, before the work, what `reserve` would refuse."""
        promised = _require_promise(statement)
        if self.entry_of(promised) is None:
            self._require_room(self.entries(), entry_for(promised, None))

    def entries(self) -> list[Entry]:
        """All that was spent, in the order in which it was recorded."""
        return self._file.entries()

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

    def epsilon_by_period(self) -> dict[str, float]:
        """For every period that a release was about (`period=`): the epsilon of it and of all that is not about one."""
        spent = by_period(self.entries())
        return {
            period: total_epsilon(entries, self.cap.delta)
            for period, entries in spent.items()
            if period is not None
        }

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

        def write(before: Sequence[Entry]) -> Mapping[str, Any]:
            self._require_room(before, entry)
            return record

        return self._file.append(self.cap, write) + 1

    def _require_room(self, before: Sequence[Entry], spending: Entry) -> None:
        cap = self.cap
        together = by_period([*before, spending]).values()
        if max(total_delta(spent, cap.epsilon) for spent in together) > cap.delta:
            spent_so_far = max(total_epsilon(spent, cap.delta) for spent in by_period(before).values())
            raise LedgerError(
                f"this release would pass the cap of {self.path}: epsilon {cap.epsilon:g}, delta {cap.delta:g}, of which "
                f"epsilon {spent_so_far:.4g} is spent. Nothing was released; choose a smaller epsilon."
            )


def open_ledger(ledger: Ledger | str | Path | None) -> Ledger | None:
    """The ledger that the caller means, by itself or by its path."""
    if not isinstance(ledger, Ledger | str | Path | None):
        raise InvalidArgument(f"ledger must be a dpsu.Ledger or its path, not {type(ledger).__name__}.")
    return ledger if ledger is None or isinstance(ledger, Ledger) else Ledger.open(ledger)


def _require_promise(statement: Statement | None) -> Statement:
    if statement is None or statement.void:
        raise InvalidArgument(
            "a ledger takes releases that promise something: not algorithms without privacy, nor seeded runs."
        )
    return statement


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
