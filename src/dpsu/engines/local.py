"""The engine of one machine: compressed rows, compiled loops, a thread per core."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dpsu.engines import Columns, Rule, Step, Walk
from dpsu.errors import TooLarge
from dpsu.kernels import Codes, keep_open, mark_held
from dpsu.random_kernels import bounded, long_rows, sample_into
from dpsu.sets import ColumnNames, UserSets, read_sets, read_text
from dpsu.sets.text import TextRule
from dpsu.sets.user_sets import Digests
from dpsu.stream import Purpose, Stream

SLICE = 1 << 17
"""Pairs below which a second thread costs more than it saves."""

FEWEST_ITEMS, MOST_ITEMS = 1 << 12, 1 << 15
"""Items of a slice: with fewer a second thread costs more than it saves, more do not fit into a processor's cache."""

NO_VALUES = np.zeros(0, np.float64)

Bounds = NDArray[np.int64]


@dataclass(frozen=True, repr=False)
class Rows:
    """Bounded user sets: as `UserSets`, without the names."""

    indptr: NDArray[np.int64]
    items: Codes
    user_digests: NDArray[np.uint64]
    item_digests: NDArray[np.uint64]
    held: NDArray[np.bool_]


class LocalEngine:
    """Runs every verb in memory. `threads` defaults to the cores this process may use."""

    name = "local"
    parts = 1

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads or _cores()
        self._pool = ThreadPoolExecutor(self.threads)

    def __enter__(self) -> "LocalEngine":
        return self

    def __exit__(self, *error: object) -> None:
        """Threads are all that it keeps."""
        self._pool.shutdown()

    def read(
        self,
        source: Any,
        *,
        user: ColumnNames | None,
        item: ColumnNames | None,
        words: TextRule | None,
        stream: Stream,
        drop_nulls: bool,
        format: str | None,
    ) -> UserSets:
        """The sets of all users in files, frames, collections or text."""
        how: dict[str, Any] = {"user": user, "stream": stream, "drop_nulls": drop_nulls, "format": format}
        return read_text(source, words, **how) if words else read_sets(source, item=item, **how)

    def leave_out(self, sets: UserSets, closed: NDArray[np.bool_]) -> Rows:
        """The sets as if nobody held the items that are closed."""
        return Rows(*self._keep_open(sets, ~closed), sets.item_digests, ~closed)

    def require_users(self, sets: UserSets | Rows, most: int) -> None:
        """Stop if there are more users than a calibration has paid for."""
        if len(sets.user_digests) > most:
            raise TooLarge(
                f"there are more than {most} users, for which this algorithm's rounding is not accounted; use another one."
            )

    def items(self, sets: UserSets | Rows) -> Columns:
        """One row per item of the union, with its digest."""
        return {"digest": sets.item_digests}

    def bound(
        self,
        sets: UserSets | Rows,
        max_items: int,
        stream: Stream,
        *,
        round: int = 0,
        keep: Columns | None = None,
    ) -> Rows:
        """Cut every user's set to `max_items`, uniformly and without looking at anybody else."""
        indptr, items, users = sets.indptr, sets.items, sets.user_digests
        held = sets.held if isinstance(sets, Rows) else np.ones(len(sets.item_digests), np.bool_)
        if keep is not None:
            indptr, items, users = self._keep_open(sets, keep["open"])
            held = held & keep["open"]
        if np.diff(indptr).max(initial=0) > max_items:
            bounds, held = bounded(indptr, max_items), np.zeros(len(sets.item_digests), np.bool_)
            kept = np.empty(bounds[-1], items.dtype)

            def sample(first: int, last: int) -> None:
                own, into = indptr[first : last + 1], kept[bounds[first] : bounds[last]]
                long = long_rows(own, max_items)
                keys = stream.words(Purpose.BOUND, round, users[first:last].take(long, axis=0), count=2)
                sample_into(into, own, items, long, keys, sets.item_digests, max_items)
                mark_held(into, held)

            self._on_threads(sample, self._slices_of(indptr))
            indptr, items = bounds, kept
        return Rows(indptr, items, users, sets.item_digests, held)

    def weigh(self, rows: Rows, items: Columns, rule: Rule) -> Columns:
        """Sum what users give, each thread over its own users into its own totals."""
        values = items[rule.reads] if rule.reads else NO_VALUES

        def total_of(first: int, last: int) -> NDArray[np.int64]:
            totals = np.zeros(len(rows.held), np.int64)
            room = np.empty(rule.table.shape[-1])
            if rule.kernel(rows.indptr, rows.items, values, rule.table, totals, room, first, last):
                raise ArithmeticError("the weights of a user exceed one budget")
            return totals

        parts = self._on_threads(total_of, self._slices_of(rows.indptr))
        total = parts[0]
        for part in parts[1:]:
            total += part
        return {**items, "total": total, "held": rows.held}

    def walk(self, rows: Rows, items: Columns, walk: Walk, stream: Stream) -> Columns:
        """Follow a policy, user by user, in an order that depends on nothing but the key and each user's digest."""
        # Digests are keyed afresh for every release, so theirs is a random order of users, and rows lie in it already.
        order = np.argsort(rows.user_digests[:, 0], kind="stable")
        part = stream.words(Purpose.PART, 0, rows.user_digests)[order] % np.uint64(walk.parts)
        total = np.zeros(len(rows.held), walk.dtype)
        for number in range(walk.parts):
            users = order[part == number]
            weights = np.zeros(len(rows.held), walk.dtype)
            for _ in range(walk.passes):
                walk.kernel(rows.indptr, rows.items, users, walk.cutoff, walk.budget, weights)
            total += weights
        return {**items, "total": total, "held": rows.held}

    def update(self, items: Columns, step: Step) -> Columns:
        """Apply `step` to all items at once."""
        size = len(items["digest"])
        threads = max(1, min(self.threads, size // FEWEST_ITEMS))
        each = 1 + size // (threads * MOST_ITEMS)
        bounds = np.linspace(0, size, 1 + threads * each).astype(int)

        def on_slice(first: int, last: int) -> Columns:
            return step({name: column[first:last] for name, column in items.items()})

        parts = self._on_threads(on_slice, list(pairwise(bounds)))
        changed = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        return {**items, **changed}

    def names(self, sets: UserSets, items: Columns) -> pl.DataFrame:
        """Decode the released items, with the column `holders` if they were counted."""
        codes = np.flatnonzero(items["released"]).astype(np.uint32)
        beside = {"holders": items["holders"][codes]} if "holders" in items else None
        return sets.names.decode(codes, beside)

    def _keep_open(self, sets: UserSets | Rows, opened: NDArray[np.bool_]) -> tuple[Bounds, Codes, Digests]:
        """The rows of users who have open items, with those alone, and the users' digests."""

        def cut(first: int, last: int) -> tuple[Bounds, Codes, Digests]:
            bounds, kept, busy = keep_open(sets.indptr[first : last + 1], sets.items, opened)
            return bounds, kept, sets.user_digests[first:last].take(busy, axis=0)

        parts = self._on_threads(cut, self._slices_of(sets.indptr))
        bounds, kept, users = zip(*parts, strict=True)
        ends = np.cumsum([own[-1] for own in bounds])
        shifted = [own[1:] + end for own, end in zip(bounds[1:], ends, strict=False)]
        return np.concatenate([bounds[0], *shifted]), np.concatenate(kept), np.concatenate(users)

    def _slices_of(self, indptr: Bounds) -> list[tuple[int, int]]:
        """The users of each thread, such that all have about as many pairs."""
        pairs = int(indptr[-1])
        parts = max(1, min(self.threads, pairs // SLICE))
        bounds = np.searchsorted(indptr, np.linspace(0, pairs, parts + 1).astype(np.int64))
        bounds[-1] = len(indptr) - 1
        return [(int(first), int(last)) for first, last in pairwise(bounds)]

    def _on_threads(self, work: Callable[[int, int], Any], slices: list[tuple[int, int]]) -> list[Any]:
        if len(slices) == 1:
            return [work(*slices[0])]
        return list(self._pool.map(lambda bounds: work(*bounds), slices))


def _cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
