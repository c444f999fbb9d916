"""User sets for tests, from plain lists."""

import numpy as np
import polars as pl

from dpsu.sets.user_sets import Names, UserSets


def sets_of(rows, seed=0):
    """Every user's ascending list of items, numbered from 0; digests are random, those of users in ascending order."""
    items = 1 + max((max(own) for own in rows), default=-1)
    digests = np.random.default_rng(seed).integers(0, 2**64, (len(rows) + items, 2), dtype=np.uint64)
    return UserSets(
        np.cumsum([0, *map(len, rows)]).astype(np.int64),
        np.array([item for own in rows for item in own], np.uint32),
        digests[items:][np.argsort(digests[items:, 0])],
        digests[:items],
        Names(pl.DataFrame({"item": range(items)}), {"item": pl.Int64()}),
    )


def numbered(sets):
    """The same sets with items numbered without gaps, as a source would give them."""
    numbers = {item: number for number, item in enumerate(sorted(set().union(*sets)))}
    return [sorted(numbers[item] for item in own) for own in sets]


def copies_of(rows, times, seed=0):
    """The same users `times` over, each time with users and items of their own: so many independent databases."""
    items = 1 + max(max(own) for own in rows)
    return sets_of([[item + items * k for item in own] for k in range(times) for own in rows], seed)
