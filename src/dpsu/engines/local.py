"""The local engine: compressed rows, compiled loops, one thread per core."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dpsu.engines.contract import SHOWN, Columns, DigestTest, OnRound, Rule, Step, Walk, untold
from dpsu.errors import TooLarge
from dpsu.kernels.arrays import Codes
from dpsu.kernels.loops import find_loop
from dpsu.kernels.measures import count_users_with, sum_values
from dpsu.kernels.rows import keep_open
from dpsu.randomness.digests import sample_rows
from dpsu.randomness.stream import Purpose, Stream
from dpsu.sets.split import coins_of, split_users
from dpsu.sets.user_sets import Digests, UserSets, admit, among, ranks
from dpsu.sources.ngrams import Corpus, longer_sets
from dpsu.sources.pairs import read_sets
from dpsu.sources.text import read_corpus, read_text

if TYPE_CHECKING:
    from dpsu.algorithms.job import Job
    from dpsu.sources.source import Source

MOST_THREADS = 256
"""MAD's totals are limited to 2^54 in every thread; the sum over 2^9 threads could exceed 64 bits."""

FEWEST_PAIRS = 1 << 17
"""Minimum number of pairs per thread."""

BLOCK_PAIRS = 1 << 16
"""Number of pairs in a block; a free thread takes the next block."""

FEWEST_ITEMS, MOST_ITEMS = 1 << 12, 1 << 15
"""Items per slice: smaller slices make a second thread useless, larger ones do not fit into the cache."""

NO_VALUES = np.zeros(0, np.float64)
NO_ITEMS = np.zeros(0, np.int64)


@dataclass(frozen=True, repr=False)
class Rows:
    """The sets of some users: like `UserSets`, without the names. `indptr` may start anywhere in `items`.

    No row has more than `longest` items. `held` are the items that occur in any row of the engine;
    `table` is the table of items, if it has more columns than their digests.
    """

    indptr: NDArray[np.int64]
    items: Codes
    user_digests: Digests
    item_digests: Digests
    held: NDArray[np.bool_]
    longest: int
    table: Columns | None = None
    listed: NDArray[np.bool_] | None = None
    weights: NDArray[np.float64] | None = None


Sets = UserSets | list[Rows]
"""The sets that were read, or one block of rows per thread, in the order of the users' digests."""


class LocalEngine:
    """Runs every method in memory. `threads` defaults to the cores that this process may use."""

    name = "local"
    parts = 1

    def __init__(self, threads: int | None = None) -> None:
        self.threads = min(threads or _cores(), MOST_THREADS)
        self.on_round: OnRound = untold
        self._pool = ThreadPoolExecutor(self.threads)

    def __enter__(self) -> "LocalEngine":
        return self

    def __exit__(self, *error: object) -> None:
        """Stop the threads."""
        self._pool.shutdown()

    def place(self, job: "Job") -> "Job":
        """The job itself."""
        return job

    def read(self, source: "Source", stream: Stream) -> UserSets:
        """The sets of all users in files, frames, collections or text."""
        how = _reading(source, stream)
        if source.text is not None:
            return read_text(source.data, source.text, **how)
        return read_sets(source.data, item=source.item, sums=source.sums, **how)

    def read_corpus(self, source: "Source", stream: Stream) -> Corpus:
        """All text of the source as words."""
        assert source.text is not None
        return read_corpus(source.data, source.text, **_reading(source, stream))

    def ngrams(self, corpus: Corpus, before: tuple[UserSets, Columns] | None = None) -> UserSets:
        """The sets of words, or of longer n-grams."""
        if before is None:
            return longer_sets(corpus, None, NO_ITEMS)
        sets, items = before
        return longer_sets(corpus, sets.names, np.flatnonzero(items["released"]))

    def split(self, sets: UserSets, share: float, stream: Stream) -> tuple[UserSets, UserSets]:
        """Divide users by a keyed coin of each."""
        return split_users(sets, coins_of(sets.user_digests, share, stream))

    def item_types(self, sets: UserSets) -> pl.Schema:
        """The columns of an item, and their types."""
        return sets.names.decode(np.zeros(0, np.uint32)).schema

    def leave_out(self, sets: Sets, digests: Digests) -> list[Rows]:
        """The sets without the items with these digests."""
        opened = ~among(_parts_of(sets)[0].item_digests, digests)
        return self._on_threads(partial(_with_open, opened=opened), self._rows_of(sets))

    def missing(self, items: Columns, digests: Digests) -> NDArray[np.bool_]:
        """Which of these items are not in the table."""
        return ~among(digests, items["digest"])

    def attach(self, items: Columns, step: Step) -> Columns:
        """Apply `step` to all items in one call."""
        return {**items, **step(items)}

    def users(self, sets: Sets) -> int:
        """The number of users."""
        return sum(len(part.user_digests) for part in _parts_of(sets))

    def require_users(self, sets: Sets, most: int) -> None:
        """Raise an error if there are more users than the calibration covers."""
        if self.users(sets) > most:
            raise TooLarge(
                f"there are more than {most} users, which the rounding bound of this algorithm does not cover; "
                "use another algorithm."
            )

    def items(self, sets: Sets) -> Columns:
        """One row per item of the union, with its digest, and if there is a list, whether it is listed and its weight."""
        first = _parts_of(sets)[0]
        if isinstance(first, Rows) and first.table is not None:
            return first.table
        of_list = {"listed": first.listed, "weight": first.weights}
        found = {name: column for name, column in of_list.items() if column is not None}
        return {"digest": first.item_digests, **found}

    def restrict(self, sets: Sets, items: Columns) -> list[Rows]:
        """The sets restricted to open items, with their table of items."""
        rows = self._on_threads(partial(_with_open, opened=items["open"]), self._rows_of(sets))
        return [replace(own, table=items) for own in rows]

    def tally(
        self, sets: Sets, bins: Sequence[int], noise: Callable[[NDArray[np.int64]], NDArray[np.int64]]
    ) -> NDArray[np.int64]:
        """The noisy number of users by the size of their sets."""
        return noise(sum((tallied(own, bins) for own in _parts_of(sets)), np.zeros(len(bins), np.int64)))

    def admit(
        self,
        sets: UserSets,
        items: pl.DataFrame,
        digests: Digests,
        may_pass: DigestTest,
        weights: NDArray[np.float64] | None = None,
    ) -> UserSets:
        """The sets with these items in the union, held or not, but those that nobody holds and that cannot come out."""
        return admit(sets, items, digests, self.tested(may_pass, digests), weights)

    def tested(self, test: DigestTest, digests: Digests) -> NDArray[np.bool_]:
        """The answers of a test for these digests."""
        slices = [digests[first:last] for first, last in self._slices(len(digests))]
        return np.concatenate([test(digests[:0]), *self._on_threads(test, slices)])

    def bound(
        self, sets: Sets, max_items: int, stream: Stream, *, round: int = 0, keep: Columns | None = None
    ) -> list[Rows]:
        """Sample every user's set to `max_items`, uniformly and independently of other users."""
        rows = self._rows_of(sets)
        if keep is not None:
            rows = self._on_threads(partial(_with_open, opened=keep["open"]), rows)
        if max(own.longest for own in rows) > max_items:
            how: dict[str, Any] = {"max_items": max_items, "stream": stream, "round": round}
            rows = self._on_threads(partial(_cut, **how), rows)
        return rows

    def weigh(self, rows: list[Rows], items: Columns, rule: Rule) -> Columns:
        """Sum the weights of users, each thread into its own totals; sums are exact, so the order does not matter."""
        values = items[rule.reads] if rule.reads else NO_VALUES
        waiting = iter([block for own in rows for block in _blocks(own)])

        loop = find_loop(rule.loop)

        def total_of(thread: int) -> NDArray[np.int64]:
            totals = np.zeros(len(rows[0].held), np.int64)
            room = np.empty(rule.table.shape[-1])
            for indptr, codes in waiting:  # whoever is free: one core is often slower than the other
                if loop(indptr, codes, values, rule.table, totals, room):
                    raise ArithmeticError("the weights of a user exceed one budget")
            return totals

        total, *others = self._on_threads(total_of, list(range(len(rows))))
        for other in others:
            total += other
        left = {name: column for name, column in items.items() if name != rule.reads}
        return {**left, "total": total, "held": _held(rows)}

    def walk(self, rows: list[Rows], items: Columns, walk: Walk, stream: Stream) -> Columns:
        """Follow a policy, user by user, in an order that depends on nothing but the key and each user's own set."""
        held, loop = _held(rows), find_loop(walk.loop)
        if walk.first is not None:
            rank = ranks(rows[0].item_digests, walk.first)
            rows = self._on_threads(partial(_ranked, rank=rank), rows)
        total = np.zeros(len(held), walk.dtype)
        # Digests have a new key in every release, so their order is a random order of users, and rows are already in it.
        orders = [np.argsort(own.user_digests[:, 0], kind="stable") for own in rows]
        parts = [stream.words(Purpose.PART, 0, own.user_digests) % np.uint64(walk.parts) for own in rows]
        for number in range(walk.parts):
            users = [order[part[order] == number] for order, part in zip(orders, parts, strict=True)]
            weights = np.zeros(len(held), walk.dtype)
            turns = _by_size(rows, users) if walk.small_first else list(zip(rows, users, strict=True))
            for _ in range(walk.passes):
                for own, chosen in turns:
                    loop(own.indptr, own.items, chosen, walk.cutoff, walk.budget, weights)
            total += weights
        return {**items, "total": total, "held": held}

    def sum_values(
        self, sets: UserSets, items: Columns, name: str, limits: tuple[int, int], cut: int
    ) -> tuple[Columns, int]:
        """The items with the exact sums of those released, and the sum of the others."""
        totals = np.zeros(len(items["digest"]), np.int64)
        values = sets.values.get(name, totals[:0])  # no rows, no values
        marked = items["released"], items["other"]
        rest = sum_values(sets.indptr, sets.items, *marked, values, *limits, cut, totals)
        return {**items, "total": totals}, int(rest)

    def users_with_other(self, sets: UserSets, items: Columns) -> int:
        """The exact number of users with another item."""
        return int(count_users_with(sets.indptr, sets.items, items["other"]))

    def update(self, items: Columns, step: Step) -> Columns:
        """Apply `step` to all items at once."""
        size = len(items["digest"])
        changed: dict[str, NDArray[Any]] = {}

        def on_slice(bounds: tuple[int, int]) -> None:
            own = slice(*bounds)
            for name, column in step({name: column[own] for name, column in items.items()}).items():
                changed.setdefault(name, np.empty(size, column.dtype))[own] = column

        self._on_threads(on_slice, self._slices(size))
        return {**items, **changed}

    def collect(self, items: Columns, step: Callable[[Columns], NDArray[Any]]) -> NDArray[Any]:
        """The values that `step` finds in all items."""

        def on_slice(bounds: tuple[int, int]) -> NDArray[Any]:
            own = slice(*bounds)
            return step({name: column[own] for name, column in items.items()})

        return np.concatenate(self._on_threads(on_slice, self._slices(len(items["digest"]))))

    def _slices(self, size: int) -> list[tuple[int, int]]:
        """Bounds of slices of all items, as many for each thread."""
        threads = max(1, min(self.threads, size // FEWEST_ITEMS))
        each = 1 + size // (threads * MOST_ITEMS)
        return list(pairwise(np.linspace(0, size, 1 + threads * each).astype(int)))

    def names(self, sets: UserSets, items: Columns) -> pl.DataFrame:
        """Decode the released items, with the columns that are to be shown."""
        codes = np.flatnonzero(items["released"]).astype(np.uint32)
        shown = {name: column for name, column in items.items() if name.startswith(SHOWN)}
        beside = {name.removeprefix(SHOWN): column[codes] for name, column in shown.items()}
        return sets.names.decode(codes, beside)

    def frame(self, sets: UserSets, items: Columns) -> pl.DataFrame:
        """The same."""
        return self.names(sets, items)

    def everywhere(self, names: pl.DataFrame) -> pl.DataFrame:
        """The names themselves."""
        return names

    def _rows_of(self, sets: Sets) -> list[Rows]:
        """The users of each thread, with about the same number of pairs for all threads."""
        if isinstance(sets, list):
            return sets
        pairs = len(sets.items)
        threads = max(1, min(self.threads, pairs // FEWEST_PAIRS))
        first_words = sets.user_digests[:, 0]
        assert threads == 1 or (first_words[:-1] <= first_words[1:]).all()
        bounds = np.searchsorted(sets.indptr, np.linspace(0, pairs, threads + 1).astype(np.int64))
        bounds[-1] = len(sets.user_digests)
        whole = rows_of(sets)
        return [
            replace(whole, indptr=sets.indptr[first : last + 1], user_digests=sets.user_digests[first:last])
            for first, last in pairwise(bounds)
        ]

    def _on_threads(self, work: Callable[[Any], Any], parts: list[Any]) -> list[Any]:
        return list(self._pool.map(work, parts) if len(parts) > 1 else map(work, parts))


def _reading(source: "Source", stream: Stream) -> dict[str, Any]:
    return {
        "user": source.user,
        "stream": stream,
        "drop_nulls": source.drop_nulls,
        "format": source.format,
        "layout": source.layout,
    }


def _parts_of(sets: Sets) -> Sequence[UserSets | Rows]:
    """The sets that were read, or their parts, for access to digests without dividing anything."""
    return sets if isinstance(sets, list) else [sets]


def rows_of(sets: UserSets) -> Rows:
    """The rows of all users of these sets."""
    held = np.ones(len(sets.item_digests), np.bool_)
    if sets.absent:
        held[:] = False
        held[sets.items] = True
    longest = int(np.diff(sets.indptr).max(initial=0))
    return Rows(
        sets.indptr,
        sets.items,
        sets.user_digests,
        sets.item_digests,
        held,
        longest,
        listed=sets.listed,
        weights=sets.weights,
    )


def tallied(rows: UserSets | Rows, bins: Sequence[int]) -> NDArray[np.int64]:
    """The exact number of users in every bin of sizes."""
    place = np.searchsorted(np.array(bins), np.diff(rows.indptr), side="right")
    return np.bincount(place, minlength=len(bins) + 1)[1:].astype(np.int64)


def _with_open(rows: Rows, opened: NDArray[np.bool_]) -> Rows:
    """The rows of users who have open items, restricted to open items."""
    indptr, items, busy = keep_open(rows.indptr, rows.items, opened)
    users = rows.user_digests.take(busy, axis=0)
    return replace(rows, indptr=indptr, items=items, user_digests=users, held=rows.held & opened)


def _cut(rows: Rows, max_items: int, stream: Stream, round: int) -> Rows:
    """The rows, each with at most `max_items` items."""
    indptr, items = sample_rows(
        rows.indptr, rows.items, rows.user_digests, rows.item_digests, max_items, stream, round
    )
    held = np.zeros_like(rows.held)
    held[items] = True
    return replace(rows, indptr=indptr, items=items, held=held, longest=max_items)


def _ranked(rows: Rows, rank: NDArray[np.int64]) -> Rows:
    """The rows with the items of each sorted by rank; items of equal rank keep their order."""
    sizes = np.diff(rows.indptr)
    items = rows.items[rows.indptr[0] : rows.indptr[-1]]
    order = np.lexsort((rank[items], np.repeat(np.arange(len(sizes)), sizes)))
    return replace(rows, indptr=rows.indptr - rows.indptr[0], items=items[order])


def _by_size(rows: list[Rows], users: list[NDArray[np.int64]]) -> list[tuple[Rows, NDArray[np.int64]]]:
    """The users in groups of one set size, smallest first; within a group they keep their order."""
    turns = []
    for place, (own, chosen) in enumerate(zip(rows, users, strict=True)):
        sizes = np.diff(own.indptr)[chosen]
        order = np.argsort(sizes, kind="stable")
        starts = np.flatnonzero(np.diff(sizes[order], prepend=-1))
        turns += [
            (int(sizes[group[0]]), place, chosen[group])
            for group in np.split(order, starts[1:])
            if len(group)
        ]
    turns.sort(key=lambda turn: turn[:2])
    return [(rows[place], chosen) for _, place, chosen in turns]


def _blocks(rows: Rows) -> list[tuple[NDArray[np.int64], Codes]]:
    """The rows in blocks of about BLOCK_PAIRS pairs: slices of their bounds, and the items."""
    starts = np.arange(rows.indptr[0], rows.indptr[-1], BLOCK_PAIRS)
    cuts = np.unique(np.append(np.searchsorted(rows.indptr, starts), len(rows.indptr) - 1))
    return [(rows.indptr[first : last + 1], rows.items) for first, last in pairwise(cuts)]


def _held(rows: list[Rows]) -> NDArray[np.bool_]:
    """The items that occur in some row."""
    return np.asarray(np.any([own.held for own in rows], axis=0), np.bool_)


def _cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
