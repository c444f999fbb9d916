"""The code of Spark's workers for the shards of the items of an exchange."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dpsu.engines.contract import SHOWN, Step
from dpsu.engines.rows import SATURATION, merged_columns
from dpsu.engines.spark.letters import SELF, Letter, as_table

GIVEN = ("total", "held")
"""The columns of items that new weights replace."""

Tell = Callable[[Letter], Iterable[Letter]]
"""What a shard sends when it has been computed."""


@dataclass(frozen=True, repr=False)
class Shard:
    """Some of the items: their columns, and for every part the positions of its items."""

    columns: dict[str, NDArray[Any]]
    links: dict[int, NDArray[np.uint32]]


def found_shard(letters: list[Letter]) -> pa.Table:
    """A shard, built from the announcements of the parts."""
    letters = sorted(letters, key=lambda letter: letter.sender)
    columns, numbers = merged_columns([letter.content for letter in letters])
    links = {letter.sender: number for letter, number in zip(letters, numbers, strict=True)}
    return as_table([Letter(letters[0].place, SELF, Shard(columns, links))])


def post(shard: Letter, *, reads: Sequence[str]) -> Iterator[Letter]:
    """A shard sends each part the columns of its items."""
    columns = shard.content.columns
    for part, at in shard.content.links.items():
        yield Letter(part, -shard.place, {name: columns[name][at] for name in reads})


def stay(shard: Letter) -> Iterator[Letter]:
    """A shard stays."""
    yield shard


def wait(shard: Letter, *, reads: Sequence[str] = ()) -> Iterator[Letter]:
    """A shard waits for weights, without those of before, and sends the parts these columns of their items.

    Shards travel twice in every round, so they carry nothing that will be replaced.
    """
    columns = {name: column for name, column in shard.content.columns.items() if name not in GIVEN}
    yield shard._replace(content=replace(shard.content, columns=columns))
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


def gather(letters: list[Letter], *, dtype: type[np.generic], steps: Sequence[Step], tell: Tell) -> pa.Table:
    """A shard with the weights that all parts gave to its items, after these steps; and what it then tells others."""
    (own,) = (letter for letter in letters if letter.sender == SELF)
    shard = own.content
    total = np.zeros(len(shard.columns["digest"]), dtype)
    held = np.zeros(len(total), np.bool_)
    # In the order of a policy's parts: sums of floats depend on the order, and every engine must use the same.
    answers = [letter for letter in letters if letter.sender != SELF]
    for answer in sorted(answers, key=lambda answer: (answer.turn, answer.sender)):
        at = shard.links[answer.sender]
        total[at] += answer.content["total"]
        held[at] |= answer.content["held"]
        if dtype is np.int64:
            np.minimum(total, SATURATION, out=total)
    made = replace(shard, columns={**shard.columns, "total": total, "held": held})
    return as_table(update(own._replace(content=made), steps=steps, tell=tell))


def update(shard: Letter, *, steps: Sequence[Step], tell: Tell) -> Iterable[Letter]:
    """What a shard tells others after these steps, each of which changes or adds columns."""
    columns = shard.content.columns
    for step in steps:
        columns = {**columns, **step(columns)}
    return tell(shard._replace(content=replace(shard.content, columns=columns)))


def find(shard: Letter, *, step: Callable[[Any], NDArray[Any]]) -> Iterator[Letter]:
    """What the step finds in a shard."""
    yield shard._replace(content=step(shard.content.columns))
