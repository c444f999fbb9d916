"""The code of Spark's workers for the shards of the items of an exchange.

What a shard is found with, its items and which parts have them, stays in a table of its own. Only the columns that have
been added travel with the letters, as a letter of the shard to itself.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dpsu.engines.contract import SHOWN, Columns, Step
from dpsu.engines.rows import SATURATION, merged_columns
from dpsu.engines.spark.letters import SELF, Letter, as_table

GIVEN = ("total", "held")
"""The columns of items that new weights replace."""

Tell = Callable[[Letter], Iterable[Letter]]
"""What a shard sends when it has been computed."""


@dataclass(frozen=True, repr=False)
class Shard:
    """Some of the items: their columns, and for every part the positions of its items. `found` names the first columns."""

    columns: Columns
    links: dict[int, NDArray[np.uint32]]
    found: frozenset[str]


def found_shard(letters: list[Letter]) -> pa.Table:
    """A shard, built from the announcements of the parts."""
    letters = sorted(letters, key=lambda letter: letter.sender)
    columns, numbers = merged_columns([letter.content for letter in letters])
    links = {letter.sender: number for letter, number in zip(letters, numbers, strict=True)}
    return as_table([Letter(letters[0].place, SELF, Shard(columns, links, frozenset(columns)))])


def post(shard: Letter, *, reads: Sequence[str]) -> Iterator[Letter]:
    """A shard sends each part the columns of its items."""
    columns = shard.content.columns
    for part, at in shard.content.links.items():
        yield Letter(part, -shard.place, {name: columns[name][at] for name in reads})


def stay(shard: Letter, *, without: Sequence[str] = ()) -> Iterator[Letter]:
    """The columns that a shard was not found with, and those `without` which it goes on."""
    own, left = shard.content, {*shard.content.found, *without}
    yield shard._replace(content={name: own.columns[name] for name in own.columns if name not in left})


def wait(shard: Letter, *, reads: Sequence[str] = (), ends: Sequence[str] = ()) -> Iterator[Letter]:
    """A shard waits for weights, and sends the parts these columns of their items.

    Its columns travel twice in every round, so it keeps neither the weights of before nor what `ends` with weighing.
    """
    yield from stay(shard, without=[*GIVEN, *ends])
    if reads:
        yield from post(shard, reads=reads)


def post_released(shard: Letter) -> Iterator[Letter]:
    """A shard tells parts what is released, and the columns that are to be shown: each item is named by one part."""
    columns = shard.content.columns
    unnamed = columns["released"].copy()
    for part, at in shard.content.links.items():
        own = unnamed[at]
        shown = {name: columns[name][at[own]] for name in columns if name.startswith(SHOWN)}
        yield Letter(part, -shard.place, {"released": own, **shown})
        unnamed[at] = False


def compute(
    own: list[Letter],
    mail: Sequence[Letter] = (),
    *,
    dtype: type[np.generic] | None,
    steps: Sequence[Step],
    tell: Tell,
) -> pa.Table:
    """What a shard tells others when it has its columns, the weights of type `dtype` that parts sent, and these steps."""
    (letter,) = own
    shard: Shard = letter.content
    columns: Columns = shard.columns
    for kept in (each for each in mail if each.sender == SELF):
        columns = {**columns, **kept.content}
    if dtype is not None:
        columns = {**columns, **_weights(shard, [each for each in mail if each.sender != SELF], dtype)}
    for step in steps:
        changed = step(columns)
        assert not shard.found & changed.keys(), "what a shard was found with does not change"
        columns = {**columns, **changed}
    return as_table(tell(letter._replace(content=replace(shard, columns=columns))))


def _weights(shard: Shard, answers: list[Letter], dtype: type[np.generic]) -> Columns:
    """The weights that all parts gave to the items of a shard."""
    total = np.zeros(len(shard.columns["digest"]), dtype)
    held = np.zeros(len(total), np.bool_)
    # In the order of a policy's parts: sums of floats depend on the order, and every engine must use the same.
    for answer in sorted(answers, key=lambda answer: (answer.turn, answer.sender)):
        at = shard.links[answer.sender]
        total[at] += answer.content["total"]
        held[at] |= answer.content["held"]
        if dtype is np.int64:
            np.minimum(total, SATURATION, out=total)
    return {"total": total, "held": held}


def find(shard: Letter, *, step: Callable[[Any], NDArray[Any]]) -> Iterator[Letter]:
    """What the step finds in a shard."""
    yield shard._replace(content=step(shard.content.columns))
