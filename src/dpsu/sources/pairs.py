"""read_sets(): read any source into user sets."""

import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dpsu.errors import InvalidArgument, TooLarge
from dpsu.kernels.measures import add_values
from dpsu.randomness.stream import Stream
from dpsu.sets.csr import Batch, group_by_user
from dpsu.sets.hash_table import Codes
from dpsu.sets.keys import KeyEncoder, PairEncoder
from dpsu.sets.user_sets import Digests, UserSets, digest_order, places
from dpsu.sources.advice import SAMPLE_ROWS, notes_on
from dpsu.sources.columns import (
    ColumnNames,
    key_columns,
    require_apart,
    require_types,
    require_values,
)
from dpsu.sources.databases import DATABASE, require_no_address, scan_query
from dpsu.sources.discreet import discreet
from dpsu.sources.files import FRAME, reading, refuse_plain_text, scan_paths
from dpsu.sources.frames import ITEM, USER, scan_collection, scan_frame
from dpsu.sources.layout import PLAIN, Layout
from dpsu.sources.values import MOST_UNITS, Bounds, in_units

BATCH_ROWS = 1 << 19
ENCODERS = 2
"""Number of batches that are encoded at a time, each with its own dictionaries, which are merged at the end."""

MOST_PAIRS = 2**31 - 1


class UserColumns:
    """A sample of the user columns while batches are read, and the number of rows."""

    def __init__(self, columns: list[str]) -> None:
        self._columns = columns
        self._sample = pl.DataFrame()
        self.rows = 0

    def see(self, batch: pl.DataFrame) -> None:
        """Count the rows of a batch, and keep some rows of the first batch."""
        if not self.rows:
            self._sample = batch.select(self._columns).head(SAMPLE_ROWS)
        self.rows += batch.height

    def notes(self, users: KeyEncoder) -> tuple[str, ...]:
        """The notes for the curator about these columns."""
        one_row_each = len(users) == self.rows > 1
        return notes_on(self._sample, one_row_each=one_row_each, counts_up=one_row_each and users.counts_up())


@discreet
def read_sets(
    source: Any,
    *,
    user: ColumnNames | None = None,
    item: ColumnNames | None = None,
    stream: Stream,
    drop_nulls: bool = False,
    format: str | None = None,
    layout: Layout = PLAIN,
    sums: Mapping[str, Bounds] | None = None,
) -> UserSets:
    """The sets of all users in `source`; a pair that occurs twice counts once.

    `source` is a path, a glob or a list of them (Parquet, CSV, TSV, JSON lines; a folder; "-" with `format` for
    standard input), a frame with the Arrow stream interface, a mapping {user: items} or an iterable of (user, items).
    `user` and `item` name the columns, several for a composite key. Collections of Python values have no columns, and
    their items are returned as the column "item". CSV and TSV have no types: their values are read as strings, so that
    "007" stays "007", and an empty field is null. For the columns in `sums` every pair gets the total of its rows.
    """
    frame, label, user_columns, item_columns = scan_source(
        source, user, item, format, layout, [*(sums or {})]
    )
    schema = frame.collect_schema()
    require_types(pl.Schema({name: schema[name] for name in (*user_columns, *item_columns)}), label)
    if drop_nulls:
        frame = frame.drop_nulls()
    values = partial(_values, sums=sums, label=label) if sums else None
    encoders = [
        PairEncoder(schema, user_columns, item_columns, stream.digest_key, values) for _ in range(ENCODERS)
    ]
    seen = UserColumns(user_columns)
    _encode(read_batches(frame, label), encoders, label, seen, [*dict.fromkeys(user_columns + item_columns)])
    return _assemble(encoders, seen)


def _values(batch: pl.DataFrame, sums: Mapping[str, Bounds], label: str) -> dict[str, NDArray[np.int64]]:
    return {name: in_units(batch[name], bounds, label) for name, bounds in sums.items()}


def _encode(
    batches: Iterator[pl.DataFrame],
    encoders: list[PairEncoder],
    label: str,
    seen: UserColumns,
    columns: list[str],
) -> None:
    """Distribute the batches to the encoders; each goes to the first free encoder."""
    free: SimpleQueue[PairEncoder] = SimpleQueue()
    for encoder in encoders:
        free.put(encoder)

    def encode(batch: pl.DataFrame) -> None:
        encoder = free.get()
        try:
            encoder.encode(batch)
        finally:
            free.put(encoder)

    running: deque[Future[None]] = deque()
    with ThreadPoolExecutor(len(encoders)) as pool:
        for batch in batches:
            require_values(batch.select(columns), label)
            seen.see(batch)
            if seen.rows > MOST_PAIRS:
                raise TooLarge(f"{label} has more than 2^31 rows; the Spark engine takes data of that size")
            running.append(pool.submit(encode, batch))
            if len(running) > len(encoders):  # waiting batches use memory
                running.popleft().result()
        for last in running:
            last.result()


def scan_source(
    source: Any,
    user: ColumnNames | None,
    item: ColumnNames | None,
    format: str | None,
    layout: Layout = PLAIN,
    values: list[str] | None = None,
) -> tuple[pl.LazyFrame, str, list[str], list[str]]:
    """The needed columns of the source, its label in errors, and the columns of a user and of an item."""
    if layout.query is not None:
        layout.require_only_query(format)
        user_columns, item_columns, columns = _needed(user, item, values)
        return scan_query(source, layout.query, columns), DATABASE, user_columns, item_columns
    require_no_address(source)
    paths = _paths(source)
    if layout != PLAIN and not paths:
        raise InvalidArgument("encoding=, separator= and sheet= are for files; this source is none")
    if format is not None and not paths:
        raise InvalidArgument("format= is for files and standard input; this source is neither")
    is_frame = hasattr(source, "__arrow_c_stream__") or isinstance(source, pl.LazyFrame)
    if not paths and not is_frame:
        if user is not None or item is not None:
            raise InvalidArgument("collections of Python values have no columns: leave user= and item= out")
        if values:
            raise InvalidArgument(
                "collections of Python values have no columns to sum: give a frame or a file"
            )
        if not isinstance(source, Iterable):
            raise InvalidArgument(
                f"cannot read users and items from {type(source).__name__!r}: give a path, a frame that "
                "speaks Arrow, a mapping {user: items} or pairs (user, items)"
            )
        return scan_collection(source), "the source", [USER], [ITEM]
    if paths and user is None and format is None:
        refuse_plain_text(paths)
    user_columns, item_columns, columns = _needed(user, item, values)
    if paths:
        return *scan_paths(paths, columns, format, layout), user_columns, item_columns
    with reading(FRAME, None):
        frame = scan_frame(source, columns, FRAME, user_columns, item_columns)
        return frame, FRAME, user_columns, item_columns


def _needed(
    user: ColumnNames | None, item: ColumnNames | None, values: list[str] | None
) -> tuple[list[str], list[str], list[str]]:
    """The columns of a user and of an item, and all columns that are read."""
    user_columns, item_columns = key_columns(user, "user"), key_columns(item, "item")
    require_apart(user_columns, item_columns)
    both = {*user_columns, *item_columns} & {*(values or [])}
    if both:
        raise InvalidArgument(f"{', '.join(sorted(both))}: a column of the user or the item cannot be summed")
    return user_columns, item_columns, list(dict.fromkeys(user_columns + item_columns + (values or [])))


def _paths(source: Any) -> list[str]:
    """The paths of the source, or none if it is something else."""
    if isinstance(source, str | os.PathLike):
        return [os.fspath(source)]
    if isinstance(source, list | tuple) and all(isinstance(entry, str | os.PathLike) for entry in source):
        return [os.fspath(entry) for entry in source]
    return []


def read_batches(frame: pl.LazyFrame, label: str, rows: int = BATCH_ROWS) -> Iterator[pl.DataFrame]:
    """The frame in batches, in any order; its rows are never all in memory at once."""
    batches = frame.collect_batches(chunk_size=rows, maintain_order=False)
    while True:
        with reading(label, None):
            batch = next(batches, None)
        if batch is None:
            return
        yield batch


@dataclass(frozen=True)
class _Keys:
    """All users, or all items, in the order of their digests; `places` has the positions of each encoder's codes."""

    digests: Digests
    order: NDArray[np.int64]
    places: list[Codes]


def _unite(encoders: list[KeyEncoder]) -> _Keys:
    """Merge all keys into those of the first encoder, and drop the others to save memory."""
    first = encoders[0]
    codes = [first.absorb(encoders.pop(1)) for _ in encoders[1:]]
    digests = first.digests()
    order = digest_order(digests)
    ranks = places(order)
    return _Keys(digests, order, [ranks, *(ranks.take(own) for own in codes)])


def _assemble(encoders: list[PairEncoder], seen: UserColumns) -> UserSets:
    """Sort the pairs into rows, by the digests of their users and items; `encoders` is emptied to save memory."""
    pairs = [encoder.pairs for encoder in encoders]
    values = [read for encoder in encoders for read in encoder.values]
    user_names, item_names = [encoder.users for encoder in encoders], [encoder.items for encoder in encoders]
    encoders.clear()
    with ThreadPoolExecutor(2) as pool:
        users, items = pool.map(_unite, (user_names, item_names))
    notes = seen.notes(user_names[0])
    user_names.clear()
    batches = []
    for own_pairs, *own_places in zip(pairs, users.places, items.places, strict=True):
        batches += [Batch(*codes, *own_places) for codes in own_pairs]
        own_pairs.clear()
    kept = [*batches] if values else []
    indptr, row_items, found = group_by_user(batches, len(users.order), len(items.order))
    item_order = items.order[found]
    return UserSets(
        indptr,
        row_items,
        users.digests.take(users.order, axis=0),
        items.digests.take(item_order, axis=0),
        item_names[0].names(item_order),
        notes,
        values=_totals(kept, values, indptr, row_items, found),
    )


def _totals(
    batches: list[Batch],
    values: list[dict[str, NDArray[np.int64]]],
    indptr: NDArray[np.int64],
    items: Codes,
    places: NDArray[np.int64],
) -> dict[str, NDArray[np.int64]]:
    """The total of every pair for each column, added up over its rows and cut where sums could overflow."""
    totals = {name: np.zeros(len(items), np.int64) for name in (values[0] if values else {})}
    for batch, read in zip(batches, values, strict=True):
        for name, column in read.items():
            add_values(*batch, column, indptr, items, places, totals[name])
    return {name: total.clip(-MOST_UNITS, MOST_UNITS) for name, total in totals.items()}
