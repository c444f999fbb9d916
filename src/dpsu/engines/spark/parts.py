"""The code of Spark's workers: every part of the users is a small local engine, and parts and shards exchange letters.

Users are divided into parts, and the rows of a part are read, sampled and weighed by the local engine. Items are
divided into shards by their digests. A part sums the weights of its users before it sends anything, so an item that
everybody holds costs one number per part.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray
from polars import selectors

from dpsu.engines.contract import SHOWN, Columns, DigestTest, Rule, Walk
from dpsu.engines.local import NO_ITEMS, LocalEngine, Rows, rows_of, tallied
from dpsu.engines.part_sets import PartSets, admitted, arranged, own_slice
from dpsu.engines.rows import merged, shard_bounds, some_users
from dpsu.engines.spark.blocks import as_frame
from dpsu.engines.spark.letters import (
    NAMES,
    SELF,
    TEXTS,
    VALUES,
    Letter,
    Places,
    as_table,
    read,
)
from dpsu.kernels.measures import count_users_with, sum_values
from dpsu.randomness.stream import Purpose, Stream
from dpsu.sets.split import coins_of
from dpsu.sets.user_sets import Digests, UserSets
from dpsu.sources.ngrams import Corpus, longer_sets

MARKS = ("open", "released", "other")
"""The columns of letters to parts that are truth values; all others are numbers."""


@dataclass(frozen=True)
class Cut:
    """How rows are sampled the next time: first restricted to open items, then to `max_items`."""

    max_items: int
    stream: Stream
    round: int


def build_part(table: pa.Table, *, read_frame: Callable[[pl.DataFrame], UserSets]) -> pa.Table:
    """The sets of the users of one part, read as the local engine reads a frame, and the names of their items."""
    place, frame = _frame_of(table)
    return as_table(_letters_of(place, arranged(read_frame(frame))))


def build_texts(table: pa.Table, *, read_frame: Callable[[pl.DataFrame], Corpus]) -> pa.Table:
    """The texts of the users of one part as words."""
    place, frame = _frame_of(table)
    return as_table([Letter(place, TEXTS, read_frame(frame))])


def _frame_of(table: pa.Table) -> tuple[int, pl.DataFrame]:
    """The place of a part, and all its rows; times come in the zone of the session, and the driver has them in UTC."""
    own = pa.concat_tables(pa.ipc.open_stream(block.as_buffer()).read_all() for block in table.column("rows"))
    zoned = selectors.datetime(time_zone="*")
    return table.column("place")[0].as_py(), as_frame(own).with_columns(zoned.dt.convert_time_zone("UTC"))


def _letters_of(place: int, sets: PartSets) -> Iterator[Letter]:
    """The state of a part, the names of its items and where they are, and the values of its rows if it has any."""
    yield Letter(place, SELF, rows_of(sets.sets))
    yield Letter(place, NAMES, (sets.names, sets.order))
    if sets.sets.values:
        yield Letter(place, VALUES, sets.sets.values)


def announce(part: Letter, *, shards: Places) -> Iterator[Letter]:
    """A part sends the shards the list of its items; without items it sends one letter, so that it is answered."""
    found = LocalEngine(1).items([part.content])
    if not len(found["digest"]):
        yield Letter(shards[0], part.place, found)
    yield from _to_shards(part.place, part.content, shards, found)


def admit_part(
    letters: list[Letter],
    *,
    items: pl.DataFrame,
    digests: Digests,
    may_pass: DigestTest,
    weights: NDArray[np.float64] | None,
    parts: Places,
) -> pa.Table:
    """A part with a list of candidates; each part adds those of another slice that could come out."""
    place, content = letters[0].place, {letter.sender: letter.content for letter in letters}
    fresh = own_slice(digests, parts.index(place), len(parts))
    fresh[fresh] = LocalEngine(1).tested(may_pass, digests[fresh])
    rows, (names, order) = content[SELF], content[NAMES]
    values = content.get(VALUES, {})
    sets = UserSets(rows.indptr, rows.items, rows.user_digests, rows.item_digests, names, values=values)
    return as_table(
        _letters_of(place, admitted(PartSets(sets, names, order), items, digests, fresh, weights))
    )


def split(part: Letter, *, share: float, stream: Stream, chosen: bool) -> Iterator[Letter]:
    """The users of a part whose coin is `chosen`; what nobody among them holds stays in the numbering, and is not held."""
    rows = part.content
    own = some_users(rows, np.flatnonzero(coins_of(rows.user_digests, share, stream) == chosen))
    held = np.zeros_like(rows.held)
    held[own.items] = True
    yield part._replace(content=replace(own, held=held))


def begin_ngrams(part: Letter) -> Iterator[Letter]:
    """The words of a part's texts."""
    yield from _letters_of(part.place, arranged(longer_sets(part.content, None, NO_ITEMS)))


def longer_ngrams(own: list[Letter], mail: list[Letter]) -> pa.Table:
    """The n-grams of a part's texts with one word more than those that it names, made of released ones."""
    content = {letter.sender: letter.content for letter in own}
    names, order = content[NAMES]
    released = order[_read_mail(mail, "released")["released"]]
    return as_table(_letters_of(own[0].place, arranged(longer_sets(content[TEXTS], names, released))))


def cut(part: Letter, *, max_items: int, stream: Stream, round: int) -> Iterator[Letter]:
    """A part with every user's set sampled to `max_items`."""
    (smaller,) = LocalEngine(1).bound([part.content], max_items, stream, round=round)
    yield part._replace(content=smaller)


def weigh_alone(part: Letter, *, rule: Rule, shards: Places) -> Iterator[Letter]:
    """The weights of the users of a part, if they do not depend on the items' columns."""
    return _weighed(part.place, part.content, {}, rule, shards)


def weigh_informed(
    own: list[Letter], mail: list[Letter], *, rule: Rule, cut: Cut | None, shards: Places
) -> pa.Table:
    """The weights of the users of a part, after the shards have sent the columns of its items."""
    (part,) = own
    rows, columns = part.content, _read_mail(mail, *([rule.reads] if rule.reads else []), "open")
    if cut is not None:
        (rows,) = LocalEngine(1).bound([rows], cut.max_items, cut.stream, round=cut.round, keep=columns)
    return as_table(_weighed(part.place, rows, columns, rule, shards))


def _weighed(part: int, rows: Rows, columns: Columns, rule: Rule, shards: Places) -> Iterator[Letter]:
    given = LocalEngine(1).weigh([rows], columns, rule)
    return _to_shards(part, rows, shards, {name: given[name] for name in ("total", "held")})


def restrict(own: list[Letter], mail: list[Letter]) -> pa.Table:
    """A part restricted to open items, after the shards have sent which are."""
    (part,) = own
    (left,) = LocalEngine(1).restrict([part.content], _read_mail(mail, "open"))
    return as_table([part._replace(content=replace(left, table=None))])


def leave_out(part: Letter, *, digests: Digests) -> Iterator[Letter]:
    """A part without the items with these digests."""
    (left,) = LocalEngine(1).leave_out([part.content], digests)
    yield part._replace(content=left)


def tally_part(part: Letter, *, bins: Sequence[int]) -> Iterator[Letter]:
    """The users of a part by the size of their sets; one place adds them up."""
    yield Letter(0, part.place, tallied(part.content, bins))


def add_tallies(tallies: list[Letter], *, noise: Callable[[Any], Any]) -> pa.Table:
    """The noisy sum of all parts."""
    users = noise(np.sum([tally.content for tally in tallies], axis=0))
    return pa.table({"users": pa.array([users.tolist()], pa.list_(pa.int64()))})


def count_users(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The number of users of every part."""
    sizes = [len(part.content.user_digests) for part in read(batches)]
    yield pa.record_batch({"found": pa.array(sizes, pa.int64())})


def decode(own: list[Letter], mail: list[Letter], *, types: pa.Schema) -> pa.Table:
    """The released items that a part names."""
    return _decoded(own, mail).select(types.names).to_arrow().cast(types)


def decode_shown(own: list[Letter], mail: list[Letter]) -> pa.Table:
    """The same in a letter, with the columns that are to be shown."""
    return as_table([Letter(own[0].place, SELF, _decoded(own, mail))])


def _decoded(own: list[Letter], mail: list[Letter]) -> pl.DataFrame:
    (part,) = own
    names, order = part.content
    columns = _read_mail(mail, "released")
    beside = {name.removeprefix(SHOWN): columns[name] for name in columns if name.startswith(SHOWN)}
    decoded: pl.DataFrame = names.decode(order[columns["released"]].astype(np.uint32), beside)
    return decoded


def count_with_other(own: list[Letter], mail: list[Letter]) -> pa.Table:
    """The number of users of a part with an item whose column `other` is true."""
    (part,) = own
    users = count_users_with(part.content.indptr, part.content.items, _read_mail(mail, "other")["other"])
    return pa.table({"found": pa.array([users], pa.int64())})


def sum_released(
    own: list[Letter], mail: list[Letter], *, name: str, limits: tuple[int, int], cut: int, shards: Places
) -> pa.Table:
    """The sums of the values of a part's released items."""
    place, rows, totals, _ = _summed(own, mail, name, limits, cut)
    return as_table(_to_shards(place, rows, shards, {"total": totals, "held": rows.held}))


def sum_others(
    own: list[Letter], mail: list[Letter], *, name: str, limits: tuple[int, int], cut: int
) -> pa.Table:
    """The sum of the values of a part's other items."""
    *_, rest = _summed(own, mail, name, limits, cut)
    return pa.table({"found": pa.array([rest], pa.int64())})


def _summed(
    own: list[Letter], mail: list[Letter], name: str, limits: tuple[int, int], cut: int
) -> tuple[int, Rows, NDArray[np.int64], int]:
    content = {letter.sender: letter.content for letter in own}
    columns = _read_mail(mail, "released", "other")
    rows, marked = content[SELF], (columns["released"], columns["other"])
    totals = np.zeros(len(rows.item_digests), np.int64)
    values = content.get(VALUES, {}).get(name, totals[:0])  # no rows, no values
    rest = sum_values(rows.indptr, rows.items, *marked, values, *limits, cut, totals)
    return own[0].place, rows, totals, int(rest)


def split_for_walk(part: Letter, *, parts: Places, stream: Stream) -> Iterator[Letter]:
    """The rows of a part, divided among the `parts` of a policy by a keyed hash of the user."""
    rows = part.content
    word = stream.words(Purpose.PART, 0, rows.user_digests) % np.uint64(len(parts))
    for h, place in enumerate(parts):
        yield Letter(place, part.place, some_users(rows, np.flatnonzero(word == h)))


def walk_part(letters: list[Letter], *, walk: Walk, stream: Stream, shards: Places) -> pa.Table:
    """Run a policy on one of its parts: its users come from all parts with rows, and so do the results."""
    turn = letters[0].place
    letters = sorted(letters, key=lambda letter: letter.sender)
    rows, where = merged([letter.content for letter in letters])
    given = LocalEngine(1).walk([rows], {}, replace(walk, parts=1), stream)
    total, held = given["total"].copy(), given["held"].copy()
    answers: list[Letter] = []
    for letter, place in zip(letters, where, strict=True):
        own = {"total": total[place], "held": held[place]}
        answers += _to_shards(letter.sender, letter.content, shards, own, turn)
        total[place], held[place] = 0, False  # announced once: other parts have the item too
    return as_table(answers)


def _to_shards(part: int, rows: Rows, shards: Places, columns: Columns, turn: int = 0) -> Iterator[Letter]:
    """The columns of a part's items, divided into letters: digests are in ascending order, and so are shards."""
    bounds = shard_bounds(rows.item_digests, len(shards))
    for number in np.flatnonzero(np.diff(bounds)).tolist():
        own = slice(bounds[number], bounds[number + 1])
        yield Letter(shards[number], part, {name: column[own] for name, column in columns.items()}, turn)


def _read_mail(mail: list[Letter], *reads: str) -> dict[str, NDArray[Any]]:
    """The letters of all shards to one part, in the order of its items; none come to a part without items."""
    contents = [letter.content for letter in sorted(mail, key=lambda letter: letter.sender)]
    if not contents:
        return {name: np.zeros(0, np.bool_ if name in MARKS else np.float64) for name in reads}
    return {name: np.concatenate([content[name] for content in contents]) for name in contents[0]}
