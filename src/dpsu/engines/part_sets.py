"""The sets of some of the users, as peers and the parts of an exchange hold them: items in the order of their shards."""

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dpsu.engines.rows import shard_bounds
from dpsu.sets.split import PartNames
from dpsu.sets.user_sets import Digests, Names, UserSets, admit, digest_order, places


@dataclass(frozen=True, repr=False)
class PartSets:
    """The sets of one part of the users. Items are numbered in the order of their digests; `order` leads to their names.

    `notes` are those on the rows of this part.
    """

    sets: UserSets
    names: Names
    order: NDArray[np.int64]
    notes: tuple[str, ...] = ()


def arranged(sets: UserSets) -> PartSets:
    """The sets with items in the order of their digests."""
    order = digest_order(sets.item_digests)
    ordered = replace(sets, items=places(order)[sets.items], item_digests=sets.item_digests[order])
    return PartSets(ordered, sets.names, order, sets.notes)


def part_of(sets: PartSets, part: UserSets) -> PartSets:
    """The part with the names of the whole."""
    assert isinstance(part.names, PartNames)
    return PartSets(part, sets.names, sets.order[part.names.codes])


def admitted(
    sets: PartSets,
    items: pl.DataFrame,
    digests: Digests,
    fresh: NDArray[np.bool_],
    weights: NDArray[np.float64] | None,
) -> PartSets:
    """The sets with this list: its items are marked, and those that are `fresh` and not held here are added.

    If each part adds other ones, every item of the list that could come out is announced by a part, held by others or not.
    """
    found = admit(sets.sets, items, digests, fresh, weights)
    assert found.listed is not None
    order = digest_order(found.item_digests)
    ordered = replace(
        found,
        items=places(order)[found.items],
        item_digests=found.item_digests[order],
        listed=found.listed[order],
        list_digests=None,
        weights=None if found.weights is None else found.weights[order],
    )
    numbers = np.append(sets.order, np.arange(len(sets.order), len(order)))
    return replace(sets, sets=ordered, names=found.names, order=numbers[order])


def own_slice(digests: Digests, number: int, parts: int) -> NDArray[np.bool_]:
    """Which of these digests belong to the n-th of so many slices of all digests."""
    order = digest_order(digests)
    first, last = shard_bounds(digests[order], parts)[number:][:2]
    found = np.zeros(len(digests), np.bool_)
    found[order[first:last]] = True
    return found
