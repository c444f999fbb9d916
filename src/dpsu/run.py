"""One run from a source to a release, shared by every function that spends privacy.

1 fix the promise, 2 ask the ledger for room, 3 read the source into user sets, 4 record the spending, 5 select,
6 complete the statement and commit what the job keeps (the state of a series), 7 hand over the names of the released
items. The engine is closed on every path.

Errors and notes while reading go to the curator; nothing is recorded for them. The ledger counts a run before the mechanism
looks at the data, so that every later exit is paid for: an output, a warning, an exception or an interrupt.
"""

import os
import re
import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dpsu.algorithms.job import Job, Promise
from dpsu.algorithms.public_items import Listed
from dpsu.engines.contract import Engine
from dpsu.errors import CuratorNote, EmptyRelease, InvalidArgument
from dpsu.outcome.ledger import Ledger, open_ledger
from dpsu.outcome.release import Release, present
from dpsu.outcome.statement import (
    NOT_ACROSS_PERIODS,
    NOT_COVERED,
    SEEDED,
    Statement,
    claims,
    today,
    unit_of,
)
from dpsu.privacy.advice import warn_of_weak_privacy
from dpsu.randomness.stream import Stream, open_stream
from dpsu.report.progress import Progress, telling
from dpsu.sources.advice import UNDIVIDED
from dpsu.sources.source import Source

LONGEST_NOTE = 2000

PERIOD = re.compile(r"[0-9A-Za-z][0-9A-Za-z ._:/+-]{0,63}(?<! )")
"""Two names that look alike would be two periods to a ledger."""


BY_EPSILON = (
    "In the ledger this release counts with its epsilon and delta, because auto looks at the data to choose an algorithm. "
    "Many releases add up to less with algorithm='focused-gaussian', or with typical_items=… if users have many items."
)


@dataclass(frozen=True)
class Terms:
    """Arguments that all public functions share."""

    ledger: Ledger | str | Path | None = None
    lists: Listed = field(default_factory=Listed)
    title: str | None = None
    note: str | None = None
    check_user: bool = True
    progress: Progress = None
    period: str | None = None

    def __post_init__(self) -> None:
        for name in ("title", "note"):
            _require_text(name, getattr(self, name))
        if self.period is not None and not (isinstance(self.period, str) and PERIOD.fullmatch(self.period)):
            raise InvalidArgument(
                "period must name a period of the data, such as '2026-01': a letter or digit, then at most 63 letters, "
                "digits, spaces or ._:/+-, and no space at the end"
            )


def run(job: Job, source: Source, engine: Engine, terms: Terms) -> Release:
    """Make one release."""
    warn_of_weak_privacy(job.promise.epsilon, job.promise.delta, stacklevel=4)
    ledger, stream = open_ledger(terms.ledger), job.stream or open_stream()
    salt = os.urandom(16)
    statement = None if job.unsafe else state(job.promise, source, terms, stream, salt)
    if ledger:
        ledger.require_room(statement)

    advice = (BY_EPSILON,) if ledger and _chooses_privately(job.promise) else ()
    placed = engine.place(job)
    with engine, telling(terms.progress) as tell:
        tell("reading")
        sets = placed.read(engine, source, terms.lists, stream)
        notes = _told((*advice, *terms.lists.notes, *_seen(getattr(sets, "notes", ()), source, terms)))
        number = ledger.reserve(statement) if ledger and statement else 0
        chosen = placed.select(engine, sets, terms.lists, stream, tell)
        notes += _told(_seen(chosen.seen, source, terms))

    if statement is not None:
        statement = replace(statement, **chosen.fields)
    placed.commit(statement, ledger, number)
    release = present(chosen.names, statement, job.unsafe)
    if ledger and statement:
        ledger.complete(number, statement)
        release.on_save = lambda path, digest: ledger.note_output(number, path, digest)
    release.notes, release.users, release.exclude_salt = (*notes, *chosen.notes), chosen.users, salt
    release.others = chosen.others
    for told in chosen.notes:
        warnings.warn(told, CuratorNote, stacklevel=4)
    if len(release) == 0:
        warnings.warn(job.when_empty(), EmptyRelease, stacklevel=4)
    return release


def _chooses_privately(promise: Promise) -> bool:
    """Whether `auto` looks at the data to choose, so that there is no budget to compose."""
    return promise.algorithm == "auto" and "sizes" in promise.parameters


def state(promise: Promise, source: Source, terms: Terms, stream: Stream, salt: bytes) -> Statement:
    """The statement of a run as far as it is known before data is read."""
    data, lists = source.described(), {**terms.lists.described(salt), **promise.lists}
    return Statement(
        kind=promise.kind,
        algorithm=promise.algorithm,
        calibration=promise.calibration,
        epsilon=promise.epsilon,
        delta=promise.delta,
        max_items=promise.max_items,
        parameters=promise.parameters,
        budget=promise.budget,
        proof=promise.proof,
        data=data,
        lists=lists,
        rests_on=claims(
            data,
            lists,
            promise.policies,
            promise.parameters.get("asked", {}).get("typical_items"),
            terms.period,
            bounded="sums" in promise.parameters.get("counts", {}),
        ),
        unit=unit_of(promise.kind, terms.period),
        not_covered=NOT_COVERED if terms.period is None else (*NOT_COVERED, NOT_ACROSS_PERIODS),
        void=SEEDED if stream.seeded else None,
        date=today(),
        title=terms.title,
        note=terms.note,
    )


def _seen(notes: tuple[str, ...], source: Source, terms: Terms) -> tuple[str, ...]:
    """The notes on the data; those on user columns only if they are wanted."""
    if terms.check_user and source.form == "columns":
        return notes
    return tuple(note for note in notes if note == UNDIVIDED)


def _told(notes: tuple[str, ...]) -> tuple[str, ...]:
    """Notes for the curator only: they depend on the data."""
    for note in notes:
        warnings.warn(note, CuratorNote, stacklevel=5)
    return notes


def _require_text(name: str, value: Any) -> None:
    if value is None:
        return
    if not isinstance(value, str) or len(value) > LONGEST_NOTE or not value.isprintable():
        raise InvalidArgument(f"{name} must be one line of at most {LONGEST_NOTE} printable characters.")
