"""The code of Spark's workers: every part of the users is a small local engine, and parts and shards exchange letters.

Users are divided into parts, and the rows of a part are read, sampled and weighed by the local engine. Items are
divided into shards by their digests. A part sums the weights of its users before it sends anything, so an item that
everybody holds costs one number per part. A letter is a row (place, sender, payload): parts have places from 0 up,
shards below 0.
"""

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from dpsu.engines.contract import Columns, Rule, Step, Walk
from dpsu.engines.local import LocalEngine, Rows, longest_of, tallied
from dpsu.engines.rows import SATURATION, merged, shard_bounds, some_users, union
from dpsu.randomness.stream import Purpose, Stream
from dpsu.sets.keys import KeyEncoder
from dpsu.sets.user_sets import UserSets, digest_order, places
from dpsu.sources.columns import require_types, require_values
from dpsu.sources.discreet import discreet

LETTERS = pa.schema([("place", pa.int64()), ("sender", pa.int64()), ("payload", pa.binary())])
PARTS = LETTERS.append(pa.field("names", pa.binary()))
SELF = -1
"""The sender of a place's own state."""

BATCH_ROWS, BATCH_BYTES = 1 << 17, 1 << 26
"""Rows, or bytes if rows are long, that are collected before they are divided: Spark's own batches are too small."""

Places = Sequence[int]
"""The places of parts, in ascending order, or of shards, in descending order (see `even_places`)."""

Letter = tuple[int, int, bytes]
Part = tuple[int, Rows]


@dataclass(frozen=True, repr=False)
class Shard:
    """Some of the items: their columns, and for every part the positions of its items."""

    columns: dict[str, NDArray[Any]]
    links: dict[int, NDArray[np.uint32]]


@dataclass(frozen=True)
class Cut:
    """How rows are sampled the next time: first restricted to open items, then to `max_items`."""

    max_items: int
    stream: Stream
    round: int


def in_task(function: Callable[..., Any]) -> Callable[..., Any]:
    """Errors of workers appear in logs: errors of libraries, which may quote data, are replaced by their type."""
    return discreet(function, "a Spark task failed")


def on_group(function: Callable[..., pa.Table], **options: Any) -> Callable[[Any], Any]:
    """The function with its options bound, for Spark to apply to every group: Spark counts arguments."""
    apply = in_task(partial(function, **options))
    return lambda table: apply(table)


def on_groups(function: Callable[..., pa.Table], **options: Any) -> Callable[[Any, Any], Any]:
    """The same for two grouped tables."""
    apply = in_task(partial(function, **options))
    return lambda own, mail: apply(own, mail)


def on_batches(
    function: Callable[[pa.RecordBatch], Iterable[pa.RecordBatch]], batches: Iterable[Any]
) -> Iterator[Any]:
    """Apply a function to every batch, with errors that contain no data."""
    apply = in_task(lambda batch: list(function(batch)))
    for batch in batches:
        yield from apply(batch)


# -- places


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


# -- reading: rows of the source into parts


def in_large_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Merge the rows of an iterator of Arrow batches into fewer, larger batches."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        rows, size = sum(each.num_rows for each in waiting), sum(each.nbytes for each in waiting)
        if rows >= BATCH_ROWS or size >= BATCH_BYTES:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting)


def divide(
    batches: Iterable[pa.RecordBatch],
    *,
    user: list[str],
    parts: Places,
    stream: Stream,
    label: str,
) -> Iterator[pa.RecordBatch]:
    """Letters to the parts with the rows of their users."""
    apply = in_task(partial(_divide, user=user, parts=parts, stream=stream, label=label))
    for table in in_large_batches(batches):
        yield apply(table)


def _divide(table: pa.Table, user: list[str], parts: Places, stream: Stream, label: str) -> pa.RecordBatch:
    frame = as_frame(table)
    require_types(frame.schema, label)
    require_values(frame, label)
    encoder = KeyEncoder(frame.schema, user, stream.digest_key)
    codes = encoder.encode(frame)
    part = (stream.words(Purpose.PART, 0, encoder.digests()) % np.uint64(len(parts)))[codes]
    order = np.argsort(part, kind="stable")
    bounds = np.searchsorted(part[order], np.arange(len(parts) + 1, dtype=np.uint64))
    rows = table.take(pa.array(order))
    return _letters(
        (parts[number], SELF, as_block(rows.slice(bounds[number], bounds[number + 1] - bounds[number])))
        for number in np.flatnonzero(np.diff(bounds)).tolist()
    )


def as_block(rows: pa.Table) -> bytes:
    """Rows as one Arrow stream: Spark sorts and moves a block as a single row, which is much faster than single rows."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return bytes(sink.getvalue())


def build_part(table: pa.Table, *, read: Callable[[pl.DataFrame], UserSets], item: list[str]) -> pa.Table:
    """The sets of the users of one part, read as the local engine reads a frame, and the names of their items.

    Items are numbered in the order of their digests, and so in the order of their shards.
    """
    own = pa.concat_tables(
        pa.ipc.open_stream(block.as_buffer()).read_all() for block in table.column("payload")
    )
    sets = read(as_frame(own))
    order = digest_order(sets.item_digests)
    held, longest = np.ones(sets.n_items, np.bool_), longest_of(sets.indptr)
    items, digests = places(order)[sets.items], sets.item_digests[order]
    rows = Rows(sets.indptr, items, sets.user_digests, digests, held, longest)
    wanted = set(item) <= set(own.column_names)
    types = pa.schema([own.schema.field(name) for name in item]) if wanted else _strings(item)
    place = table.column("place")[0].as_py()
    return pa.table([[place], [SELF], [_pack(rows)], [_pack((sets.names, order, types))]], schema=PARTS)


def _strings(columns: list[str]) -> pa.Schema:
    return pa.schema([(name, pa.string()) for name in columns])


def as_frame(table: pa.Table) -> pl.DataFrame:
    """The table as a Polars frame."""
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame


# -- parts


def announce(batch: pa.RecordBatch, *, shards: Places) -> Iterator[pa.RecordBatch]:
    """Every part sends the shards the list of its items."""
    for part, rows in _parts_in(batch):
        yield _letters(_to_shards(part, rows, shards, digest=rows.item_digests))


def cut(batch: pa.RecordBatch, *, max_items: int, stream: Stream, round: int) -> Iterator[pa.RecordBatch]:
    """The parts with every user's set sampled to `max_items`."""
    for part, rows in _parts_in(batch):
        (smaller,) = LocalEngine(1).bound([rows], max_items, stream, round=round)
        yield _letters([(part, SELF, _pack(smaller))])


def weigh_alone(batch: pa.RecordBatch, *, rule: Rule, shards: Places) -> Iterator[pa.RecordBatch]:
    """The weights of the users of every part, if they do not depend on the items' columns."""
    for part, rows in _parts_in(batch):
        yield _letters(_weighed(part, rows, {}, rule, shards))


def weigh_informed(own: pa.Table, mail: pa.Table, *, rule: Rule, cut: Cut | None, shards: Places) -> pa.Table:
    """The weights of the users of a part, after the shards have sent the columns of its items."""
    ((part, rows),) = _parts_in(own)
    columns = _read_mail(mail)
    if cut is not None:
        (rows,) = LocalEngine(1).bound([rows], cut.max_items, cut.stream, round=cut.round, keep=columns)
    return pa.Table.from_batches([_letters(_weighed(part, rows, columns, rule, shards))])


def _weighed(part: int, rows: Rows, columns: Columns, rule: Rule, shards: Places) -> Iterator[Letter]:
    given = LocalEngine(1).weigh([rows], columns, rule)
    return _to_shards(part, rows, shards, total=given["total"], held=given["held"])


def restrict(own: pa.Table, mail: pa.Table) -> pa.Table:
    """A part restricted to open items, after the shards have sent which are."""
    ((part, rows),) = _parts_in(own)
    (left,) = LocalEngine(1).restrict([rows], _read_mail(mail))
    return pa.Table.from_batches([_letters([(part, SELF, _pack(replace(left, table=None)))])])


def tally_part(batch: pa.RecordBatch, *, bins: Sequence[int]) -> Iterator[pa.RecordBatch]:
    """The users of every part by the size of their sets; one place adds them up."""
    for part, rows in _parts_in(batch):
        yield _letters([(0, part, _pack(tallied(rows, bins)))])


def add_tallies(table: pa.Table, *, noise: Callable[[Any], Any]) -> pa.Table:
    """The noisy sum of all parts."""
    users = noise(np.sum([users for _, _, users in _open(table)], axis=0))
    return pa.table({"users": pa.array([users.tolist()], pa.list_(pa.int64()))})


def count_users(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The number of users of every part."""
    yield pa.record_batch(
        {"users": pa.array([len(rows.user_digests) for _, rows in _parts_in(batch)], pa.int64())}
    )


def decode(own: pa.Table, mail: pa.Table) -> pa.Table:
    """The names of a part's items that are released."""
    names, order, types = pickle.loads(own.column("names")[0].as_py())
    released = order[_read_mail(mail)["released"]]
    return names.decode(released.astype(np.uint32)).to_arrow().cast(types)


def split_for_walk(batch: pa.RecordBatch, *, parts: Places, stream: Stream) -> Iterator[pa.RecordBatch]:
    """The rows of every part, divided among the `parts` of a policy by a keyed hash of the user."""
    for part, rows in _parts_in(batch):
        word = stream.words(Purpose.PART, 0, rows.user_digests) % np.uint64(len(parts))
        yield _letters(
            (place, part, _pack(some_users(rows, np.flatnonzero(word == h)))) for h, place in enumerate(parts)
        )


def walk_part(table: pa.Table, *, walk: Walk, stream: Stream, shards: Places) -> pa.Table:
    """Run a policy on one of its parts: its users come from all parts with rows, and so do the results."""
    turn = table.column("place")[0].as_py()
    senders, blocks = zip(*sorted(_parts_in(table, "sender"), key=lambda block: block[0]), strict=True)
    rows, where = merged(blocks)
    given = LocalEngine(1).walk([rows], {}, replace(walk, parts=1), stream)
    total, held = given["total"].copy(), given["held"].copy()
    answers: list[Letter] = []
    for sender, block, place in zip(senders, blocks, where, strict=True):
        answers += _to_shards(sender, block, shards, turn, total=total[place], held=held[place])
        total[place], held[place] = 0, False  # announced once: other parts have the item too
    return pa.Table.from_batches([_letters(answers)])


# -- shards


def found_shard(table: pa.Table) -> pa.Table:
    """A shard, built from the announcements of the parts."""
    letters = sorted(_open(table), key=lambda letter: letter[1])
    digests, numbers = union([content["digest"] for _, _, (_, content) in letters])
    links = {part: number for (_, part, _), number in zip(letters, numbers, strict=True)}
    return _state(letters[0][0], Shard({"digest": digests}, links))


def post(batch: pa.RecordBatch, *, reads: list[str]) -> Iterator[pa.RecordBatch]:
    """Every shard sends each part the columns of its items."""
    for place, _, shard in _open(batch):
        yield _letters(
            (part, -place, _pack({name: shard.columns[name][at] for name in reads}))
            for part, at in shard.links.items()
        )


def gather(table: pa.Table, *, dtype: type[np.generic], step: Step | None) -> pa.Table:
    """A shard with the weights that all parts gave to its items, and with the columns that the step changes or adds."""
    letters = list(_open(table))
    ((place, _, shard),) = (letter for letter in letters if letter[1] == SELF)
    total = np.zeros(len(shard.columns["digest"]), dtype)
    held = np.zeros(len(total), np.bool_)
    # In the order of a policy's parts: sums of floats depend on the order, and every engine must use the same.
    answers = [(content[0], part, content[1]) for _, part, content in letters if part != SELF]
    for _, part, given in sorted(answers, key=lambda answer: answer[:2]):
        at = shard.links[part]
        total[at] += given["total"]
        held[at] |= given["held"]
        if dtype is np.int64:
            np.minimum(total, SATURATION, out=total)
    columns = {**shard.columns, "total": total, "held": held}
    return _state(place, replace(shard, columns={**columns, **step(columns)} if step else columns))


def update(batch: pa.RecordBatch, *, step: Step) -> Iterator[pa.RecordBatch]:
    """The shards with the columns that the step changes or adds."""
    for place, _, shard in _open(batch):
        yield from _state(
            place, replace(shard, columns={**shard.columns, **step(shard.columns)})
        ).to_batches()


def find(batch: pa.RecordBatch, *, step: Callable[[Any], NDArray[Any]]) -> Iterator[pa.RecordBatch]:
    """What the step finds in every shard."""
    for place, sender, shard in _open(batch):
        yield _letters([(place, sender, _pack(step(shard.columns)))])


# -- letters


def _to_shards(
    part: int, rows: Rows, shards: Places, turn: int = 0, **columns: NDArray[Any]
) -> Iterator[Letter]:
    """The columns of a part's items, divided into letters: digests are in ascending order, and so are shards."""
    bounds = shard_bounds(rows.item_digests, len(shards))
    for number in np.flatnonzero(np.diff(bounds)).tolist():
        own = slice(bounds[number], bounds[number + 1])
        yield shards[number], part, _pack((turn, {name: column[own] for name, column in columns.items()}))


def _read_mail(mail: pa.Table) -> dict[str, NDArray[Any]]:
    """The letters of all shards to one part, in the order of its items."""
    letters = [content for _, _, content in sorted(_open(mail), key=lambda letter: letter[1])]
    names: Mapping[str, Any] = letters[0] if letters else {}
    return {name: np.concatenate([letter[name] for letter in letters]) for name in names}


def _parts_in(table: pa.Table | pa.RecordBatch, key: str = "place") -> Iterator[Part]:
    for number, payload in zip(table.column(key), table.column("payload"), strict=True):
        yield number.as_py(), pickle.loads(payload.as_py())


def _open(table: pa.Table | pa.RecordBatch) -> Iterator[tuple[int, int, Any]]:
    for place, sender, payload in zip(*(table.column(name) for name in LETTERS.names), strict=True):
        yield place.as_py(), sender.as_py(), pickle.loads(payload.as_py())


def _letters(letters: Iterable[Letter]) -> pa.RecordBatch:
    columns = list(zip(*letters, strict=True)) or [(), (), ()]
    return pa.record_batch(
        [pa.array(c, t.type) for c, t in zip(columns, LETTERS, strict=True)], schema=LETTERS
    )


def _state(place: int, shard: Shard) -> pa.Table:
    return pa.Table.from_batches([_letters([(place, SELF, _pack(shard))])])


def unpack(payload: bytes) -> Any:
    """The content of a letter."""
    return pickle.loads(payload)


def _pack(content: Any) -> bytes:
    return pickle.dumps(content, protocol=pickle.HIGHEST_PROTOCOL)
