"""The corpus of all sections: users and words by the law of the paper's data, written to files."""

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import polars as pl

import dpsu
from dpsu.randomness.stream import open_stream
from dpsu.sets.user_sets import UserSets
from dpsu.sources.pairs import read_sets

PART = 10**6
"""Pairs of one file of a corpus in parts."""

SMALLEST_MEAN = 31
"""Users of the law have more items than this on average."""


class Corpus:
    """The corpus of so many users with items as strings, in a Parquet file; made when it is first asked for."""

    def __init__(self, folder: Path, users: int) -> None:
        self._folder = folder
        self.users = users

    @cached_property
    def path(self) -> Path:
        path = self._folder / "corpus.parquet"
        _with_names(dpsu.datasets.reddit_like(self.users, seed=0)).write_parquet(path)
        return path

    @cached_property
    def pairs(self) -> int:
        return int(pl.scan_parquet(self.path).select(pl.len()).collect().item())

    @cached_property
    def sets(self) -> UserSets:
        return read_sets(self.path, user="user", item="item", stream=open_stream())

    def as_csv(self) -> Path:
        """The same pairs for programs that do not read Parquet."""
        path = self._folder / "corpus.csv"
        pl.scan_parquet(self.path).sink_csv(path)
        return path


def write_parts(folder: Path, sizes: Sequence[int], strings: bool) -> dict[int, list[Path]]:
    """One corpus in files, and for every size those that hold its first pairs.

    It is drawn at once, because parts drawn one by one would each have popular items of their own; but only a part at a
    time becomes strings.
    """
    most = max(sizes)
    frame = dpsu.datasets.reddit_like(most // SMALLEST_MEAN + 100, seed=1).head(most)
    assert frame.height == most
    folder.mkdir(parents=True, exist_ok=True)
    edges = sorted({0, *sizes, *range(0, most, PART)})
    ends: dict[Path, int] = {}
    for first, last in pairwise(edges):
        path = folder / f"part-{len(ends):04}.parquet"
        part = frame.slice(first, last - first)
        (_with_names(part) if strings else part).write_parquet(path)
        ends[path] = last
    return {size: [path for path, end in ends.items() if end <= size] for size in sizes}


def _with_names(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.select("user", item=pl.format("word{}", "item"))
