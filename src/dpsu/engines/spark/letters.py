"""Letters between parts and shards: rows that Spark moves to the place of their receiver.

Parts have places from 1 up, shards from -1 down. A large letter travels in pieces, since Spark copies a cell several
times and none may exceed 2 GB.
"""

import gc
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dpsu.sources.discreet import discreet

SCHEMA = "place long, sender long, turn long, piece long, pieces long, payload binary"
LETTERS = pa.schema(
    [
        *((name, pa.int64()) for name in ("place", "sender", "turn", "piece", "pieces")),
        ("payload", pa.binary()),
    ]
)
SELF, NAMES, VALUES, TEXTS = -1, -2, -3, -4
"""Senders of a place's own state, of the names of its items, of the values of its rows, and of its texts; shards are senders
by their absolute places."""

PIECE_BYTES, ALIGNMENT = 1 << 22, 64

MANY_OBJECTS = 10_000
"""Objects that a garbage collection may search: less than a hundredth of a second."""

Places = Sequence[int]
"""The places of parts, in ascending order, or of shards, in descending order (see `even_places`)."""


class Letter(NamedTuple):
    """A letter; `turn` tells several letters of a sender to one place apart."""

    place: int
    sender: int
    content: Any
    turn: int = 0


def written(letters: Iterable[Letter]) -> Iterator[pa.RecordBatch]:
    """The letters as batches of about PIECE_BYTES."""
    rows: list[tuple[Any, ...]] = []
    size = 0
    for place, sender, content, turn in letters:
        pieces = _pieces_of(content)
        for number, piece in enumerate(pieces):
            rows.append((place, sender, turn, number, len(pieces), piece))
            size += len(piece)
            if size >= PIECE_BYTES:
                yield _batch(rows)
                rows, size = [], 0
    yield _batch(rows)


def _pieces_of(content: Any) -> list[Any]:
    """The sizes of what follows; the content without its arrays; and its arrays, which are not copied for that."""
    arrays: list[pickle.PickleBuffer] = []
    rest = pickle.dumps(content, protocol=pickle.HIGHEST_PROTOCOL, buffer_callback=arrays.append)
    parts = [memoryview(rest), *(array.raw() for array in arrays)]
    sizes = np.array([len(part) for part in parts])
    return [sizes.tobytes(), *(part[at:][:PIECE_BYTES] for part in parts for at in _starts(len(part)))]


def _content_of(pieces: list[pa.Buffer]) -> Any:
    """The content of these pieces; its arrays begin at multiples of ALIGNMENT, as compiled loops expect."""
    sizes = np.frombuffer(pieces[0], np.int64)
    *begins, end = np.cumsum([0, *(sizes + -sizes % ALIGNMENT)]).tolist()
    room = np.empty(end, np.uint8).data
    spans = list(zip(begins, sizes.tolist(), strict=True))
    places = [begin + at for begin, size in spans for at in _starts(size)]
    for place, piece in zip(places, pieces[1:], strict=True):
        room[place : place + piece.size] = memoryview(piece).cast("B")
    rest, *arrays = (room[begin : begin + size] for begin, size in spans)
    return pickle.loads(rest, buffers=arrays)


def _starts(size: int) -> range:
    """Where the pieces of so many bytes begin."""
    return range(0, size, PIECE_BYTES)


def _batch(rows: list[tuple[Any, ...]]) -> pa.RecordBatch:
    columns = list(zip(*rows, strict=True)) or [()] * len(LETTERS)
    return pa.record_batch(
        [pa.array(column, field.type) for column, field in zip(columns, LETTERS, strict=True)], schema=LETTERS
    )


def as_table(letters: Iterable[Letter]) -> pa.Table:
    """The letters as a table."""
    return pa.Table.from_batches(written(letters), LETTERS)


def read(batches: Iterable[pa.RecordBatch]) -> Iterator[Letter]:
    """The letters in these batches, each as soon as all its pieces are there."""
    waiting: dict[tuple[int, int, int], dict[int, pa.Buffer]] = {}
    for batch in batches:
        keys = zip(*(batch.column(name).to_pylist() for name in LETTERS.names[:-1]), strict=True)
        for (place, sender, turn, piece, pieces), payload in zip(keys, batch.column("payload"), strict=True):
            got = waiting.setdefault((place, sender, turn), {})
            got[piece] = payload.as_buffer()
            if len(got) == pieces:
                del waiting[place, sender, turn]
                yield Letter(place, sender, _content_of([got[number] for number in range(pieces)]), turn)


def in_task(function: Callable[..., Any]) -> Callable[..., Any]:
    """Errors of workers appear in logs: errors of libraries, which may quote data, are replaced by their type."""
    run = discreet(function, "a Spark task failed")

    def in_worker(*arguments: Any) -> Any:
        spare_modules()
        return run(*arguments)

    return in_worker


def spare_modules() -> None:
    """Exempt modules from garbage collection, whenever many objects have come with them.

    Spark collects garbage after every task. Searching the modules takes a twentieth of a second, more than most tasks.
    """
    if len(gc.get_objects()) > MANY_OBJECTS:
        gc.collect()
        gc.freeze()


def on_table(function: Callable[..., pa.Table], **options: Any) -> Callable[[Any], Any]:
    """The function with its options bound, for Spark to apply to every group: Spark counts arguments."""
    apply = in_task(lambda table: function(table, **options))
    return lambda table: apply(table)


def on_group(function: Callable[..., pa.Table], **options: Any) -> Callable[[Any], Any]:
    """The same for the letters of every place."""
    return on_table(lambda table: function(list(read(table.to_batches())), **options))


def on_groups(function: Callable[..., pa.Table], **options: Any) -> Callable[[Any, Any], Any]:
    """The same for the letters of every place in two tables; a place that has mail alone keeps it."""

    def run(own: pa.Table, mail: pa.Table) -> pa.Table:
        if not own.num_rows:
            return mail
        return function(list(read(own.to_batches())), list(read(mail.to_batches())), **options)

    apply = in_task(run)
    return lambda own, mail: apply(own, mail)


def on_letters(function: Callable[[Letter], Iterable[Letter]], batches: Iterable[Any]) -> Iterator[Any]:
    """Apply a function to every letter, with errors that contain no data."""
    apply = in_task(lambda letter: list(function(letter)))
    open_next = in_task(lambda letters: next(letters, None))
    letters = read(batches)
    while (letter := open_next(letters)) is not None:
        yield from written(apply(letter))


def even_places(number: int, partitions: int, sign: int = 1) -> Places:
    """This number of places with ascending absolute values, which Spark's hash divides evenly among its partitions.

    With 0, 1, 2, … it would leave partitions empty: 8 places fall into 4 of 8 partitions.
    """
    found: list[int] = []
    first, size = 1, 4 * number * partitions
    while len(found) < number:
        numbers = sign * np.arange(first, first + size, dtype=np.int64)
        partition = _spark_hash(numbers).astype(np.int64) % partitions
        own = [np.flatnonzero(partition == each) for each in range(min(number, partitions))]
        at = 0
        while len(found) < number:
            choice = own[len(found) % partitions]
            next_one = np.searchsorted(choice, at)
            if next_one == len(choice):
                break
            at = int(choice[next_one]) + 1
            found.append(int(numbers[at - 1]))
        first += size
    return found


def _spark_hash(values: NDArray[np.int64]) -> NDArray[np.int32]:
    """What Spark partitions a column of longs by: Murmur3 with the seed 42."""
    words, hashed = values.view(np.uint64), np.full(len(values), 42, np.uint32)
    for shift in (0, 32):
        k = (words >> np.uint64(shift)).astype(np.uint32) * np.uint32(0xCC9E2D51)
        k = (k << np.uint32(15) | k >> np.uint32(17)) * np.uint32(0x1B873593)
        hashed ^= k
        hashed = (hashed << np.uint32(13) | hashed >> np.uint32(19)) * np.uint32(5) + np.uint32(0xE6546B64)
    hashed ^= np.uint32(8)  # bytes
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        hashed ^= hashed >> np.uint32(shift)
        hashed *= np.uint32(factor)
    return hashed.view(np.int32)
