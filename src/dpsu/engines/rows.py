"""Rows of users that are divided: some of them, the rows of several places together, and the shards of items."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsu.engines.contract import Columns
from dpsu.engines.local import Rows
from dpsu.sets.user_sets import Digests, digest_order, places

SATURATION = 1 << 62
"""Limit of sums over places; all thresholds are far below it."""


def some_users(rows: Rows, users: NDArray[np.int64]) -> Rows:
    """The rows of these users."""
    sizes = np.diff(rows.indptr)[users]
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    at = np.repeat(rows.indptr[users] - indptr[:-1], sizes) + np.arange(indptr[-1])
    return replace(rows, indptr=indptr, items=rows.items[at], user_digests=rows.user_digests[users])


def merged(blocks: Iterable[Rows]) -> tuple[Rows, list[NDArray[np.uint32]]]:
    """The rows of all blocks with a common numbering of users and items, and the numbers of each block's items."""
    blocks = list(blocks)
    digests, numbers = union([block.item_digests for block in blocks])
    items = np.concatenate([number[block.items] for block, number in zip(blocks, numbers, strict=True)])
    sizes = np.concatenate([np.diff(block.indptr) for block in blocks])
    users = np.concatenate([block.user_digests for block in blocks])
    held = np.zeros(len(digests), np.bool_)
    held[items] = True
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    together = Rows(indptr, items, users, digests, held, max(block.longest for block in blocks))
    return some_users(together, digest_order(users)), numbers


def union(parts: list[Digests]) -> tuple[Digests, list[NDArray[np.uint32]]]:
    """The distinct digests in ascending order, and the positions of the digests of each part."""
    everything = np.concatenate(parts)
    order = digest_order(everything)
    ordered = everything[order]
    fresh = np.ones(len(ordered), np.bool_)
    fresh[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    numbers = (np.cumsum(fresh) - 1).astype(np.uint32)[places(order)]
    return ordered[fresh], np.split(numbers, np.cumsum([len(part) for part in parts])[:-1])


def merged_columns(
    announced: list[Columns],
) -> tuple[dict[str, NDArray[Any]], list[NDArray[np.uint32]]]:
    """The items that several places announce, each once with its columns, and the positions of each place's items."""
    digests, numbers = union([each["digest"] for each in announced])
    columns: dict[str, NDArray[Any]] = {"digest": digests}
    for name in announced[0].keys() - {"digest"}:
        columns[name] = np.empty(len(digests), announced[0][name].dtype)
        for at, each in zip(numbers, announced, strict=True):
            columns[name][at] = each[name]
    return columns, numbers


def shard_bounds(digests: Digests, shards: int) -> NDArray[np.int64]:
    """Where the items of each shard begin and end, for digests in ascending order."""
    shard = (digests[:, 0] >> np.uint64(32)) * np.uint64(shards) >> np.uint64(32)
    return np.searchsorted(shard, np.arange(shards + 1, dtype=np.uint64))
