"""An engine whose users and items are divided over peers: processes that run the same job together.

Every peer holds the sets of its own users in the arrays of the local engine, and a shard of all items, chosen by their
digests. Rows never move. In a round, the shards send each peer the columns of its items, each peer sums the weights of
its users, and the sums go to the shards. Weights are integers, so the order of sums does not matter, and the release is
that of the local engine. A method that exchanges anything must be called by all peers, as a mechanism does.
"""

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dpsu.engines.contract import SHOWN, Columns, DigestTest, OnRound, Rule, Step, Walk, untold
from dpsu.engines.local import NO_ITEMS, LocalEngine, Rows, tallied
from dpsu.engines.part_sets import PartSets, admitted, arranged, own_slice, part_of
from dpsu.engines.rows import SATURATION, merged, merged_columns, shard_bounds, some_users, union
from dpsu.errors import TooLarge
from dpsu.randomness.stream import Purpose, Stream
from dpsu.sets.user_sets import Digests
from dpsu.sources.ngrams import Corpus, longer_sets

if TYPE_CHECKING:
    from dpsu.algorithms.job import Job
    from dpsu.sources.source import Source


class Exchange(Protocol):
    """How peers talk: all of them exchange parcels at the same time. `rank` is the number of this one, from 0."""

    rank: int
    size: int

    def swap(self, parcels: Sequence[Columns]) -> list[Columns]:
        """Send the n-th parcel to the n-th peer, and return the parcels for this one, in the order of their senders.

        The arrays of a parcel have one length. Those of one swap have the same names and types for all peers.
        """


@dataclass(frozen=True, repr=False)
class Shard(Mapping[str, NDArray[Any]]):
    """The items of this peer's shard: their columns, and for every peer the positions of the items that it has."""

    columns: Columns
    links: list[NDArray[np.uint32]]

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)


class PeerEngine:
    """Runs every method together with the other peers."""

    name = "peers"

    def __init__(self, exchange: Exchange, threads: int = 1, parts: int = 8) -> None:
        self._exchange = exchange
        self._local = LocalEngine(threads)
        self.parts = parts
        self.on_round: OnRound = untold

    def __enter__(self) -> "PeerEngine":
        return self

    def __exit__(self, *error: object) -> None:
        self._local.__exit__(*error)

    def place(self, job: "Job") -> "Job":
        """The job itself."""
        return job

    def read(self, source: "Source", stream: Stream) -> PartSets:
        """The sets of this peer's users; `source.data` has all rows of each of them, and no other peer has any."""
        return arranged(self._local.read(source, stream))

    def read_corpus(self, source: "Source", stream: Stream) -> Corpus:
        """The text of this peer's users as words."""
        return self._local.read_corpus(source, stream)

    def ngrams(self, corpus: Corpus, before: tuple[PartSets, Shard] | None = None) -> PartSets:
        """The words or longer n-grams of this peer's users."""
        if before is None:
            return arranged(longer_sets(corpus, None, NO_ITEMS))
        sets, items = before
        released = np.flatnonzero(self._posted(items, "released")["released"])
        return arranged(longer_sets(corpus, sets.names, sets.order[released]))

    def split(self, sets: PartSets, share: float, stream: Stream) -> tuple[PartSets, PartSets]:
        """Divide the users of this peer by their coins."""
        part, others = self._local.split(sets.sets, share, stream)
        return part_of(sets, part), part_of(sets, others)

    def item_types(self, sets: PartSets) -> pl.Schema:
        """The columns of an item, and their types."""
        return sets.names.decode(np.zeros(0, np.uint32)).schema

    def leave_out(self, sets: PartSets, digests: Digests) -> list[Rows]:
        """The sets of this peer's users without the items with these digests."""
        return self._local.leave_out(sets.sets, digests)

    def admit(
        self,
        sets: PartSets,
        items: pl.DataFrame,
        digests: Digests,
        may_pass: DigestTest,
        weights: NDArray[np.float64] | None = None,
    ) -> PartSets:
        """The sets of this peer, with the listed items of its shard that could come out."""
        fresh = self._own(digests)
        fresh[fresh] = self._local.tested(may_pass, digests[fresh])
        return admitted(sets, items, digests, fresh, weights)

    def missing(self, items: Shard, digests: Digests) -> NDArray[np.bool_]:
        """The digests that belong to this peer's shard and are not in it."""
        return self._own(digests) & self._local.missing(items.columns, digests)

    def attach(self, items: Shard, step: Step) -> Shard:
        """Apply `step` to the shard in one call."""
        return replace(items, columns=self._local.attach(items.columns, step))

    def users(self, sets: PartSets) -> int:
        """The number of users of all peers."""
        return int(self._gathered(np.array([sets.sets.n_users])).sum())

    def require_users(self, sets: PartSets | list[Rows], most: int) -> None:
        """Raise an error at every peer if they have more users together than the calibration covers."""
        own = [sets.sets] if isinstance(sets, PartSets) else sets
        if self._gathered(np.array([len(part.user_digests) for part in own])).sum() > most:
            raise TooLarge(
                f"there are more than {most} users, which the rounding bound of this algorithm does not cover; "
                "use another algorithm."
            )

    def items(self, sets: PartSets | list[Rows]) -> Shard:
        """The shard of this peer, made of the items that all peers announce."""
        first = sets.sets if isinstance(sets, PartSets) else sets[0]
        if isinstance(first, Rows) and isinstance(first.table, Shard):
            return first.table
        announced = self._local.items(sets.sets if isinstance(sets, PartSets) else sets)
        news = self._exchange.swap(self._for_shards(first.item_digests, announced))
        return Shard(*merged_columns(news))

    def restrict(self, sets: PartSets | list[Rows], items: Shard) -> list[Rows]:
        """The sets restricted to open items, with their table of items."""
        opened = self._posted(items, "open")
        rows = self._local.restrict(sets.sets if isinstance(sets, PartSets) else sets, opened)
        return [replace(own, table=items) for own in rows]

    def tally(
        self,
        sets: PartSets | list[Rows],
        bins: Sequence[int],
        noise: Callable[[NDArray[np.int64]], NDArray[np.int64]],
    ) -> NDArray[np.int64]:
        """The noisy number of all users by the size of their sets: every peer draws the same noise."""
        own = [sets.sets] if isinstance(sets, PartSets) else sets
        users = np.sum([tallied(rows, bins) for rows in own], axis=0)
        return noise(self._gathered(users).reshape(-1, len(bins)).sum(axis=0))

    def bound(
        self,
        sets: PartSets | list[Rows],
        max_items: int,
        stream: Stream,
        *,
        round: int = 0,
        keep: Shard | None = None,
    ) -> list[Rows]:
        """Sample the sets of this peer's users, as the local engine does."""
        rows = sets.sets if isinstance(sets, PartSets) else sets
        opened = None if keep is None else self._posted(keep, "open")
        return self._local.bound(rows, max_items, stream, round=round, keep=opened)

    def weigh(self, rows: list[Rows], items: Shard, rule: Rule) -> Shard:
        """Sum the weights of this peer's users, and then of all peers."""
        values = self._posted(items, rule.reads) if rule.reads else {}
        given = self._local.weigh(rows, values, rule)
        sums = {name: given[name] for name in ("total", "held")}
        answers = self._exchange.swap(self._for_shards(rows[0].item_digests, sums))
        total, held = _nothing(items, np.int64)
        for at, answer in zip(items.links, answers, strict=True):
            total[at] += answer["total"]
            held[at] |= answer["held"]
            np.minimum(total, SATURATION, out=total)
        left = {name: column for name, column in items.columns.items() if name != rule.reads}
        return replace(items, columns={**left, "total": total, "held": held})

    def walk(self, rows: list[Rows], items: Shard, walk: Walk, stream: Stream) -> Shard:
        """Follow a policy in each of its parts, at one peer each; only here do rows move, those that are sampled.

        In every turn the peers take one part each. Sums of floats depend on the order, so they are added part by part.
        """
        part_of = [stream.words(Purpose.PART, 0, own.user_digests) % np.uint64(walk.parts) for own in rows]
        total, held = _nothing(items, walk.dtype)
        for first in range(0, walk.parts, self._exchange.size):
            turn = range(first, first + self._exchange.size)
            wanted = [
                merged(
                    [some_users(own, np.flatnonzero(p == h)) for own, p in zip(rows, part_of, strict=True)]
                )[0]
                for h in turn
            ]
            together, _ = merged(self._swapped(wanted))
            given = self._local.walk([together], {}, replace(walk, parts=1), stream)
            found = {
                "digest": together.item_digests,
                "total": given["total"],
                "held": given["held"],
            }
            for answer in self._exchange.swap(self._for_shards(together.item_digests, found)):
                _, (_, at) = union([items.columns["digest"], answer["digest"]])
                total[at] += answer["total"]
                held[at] |= answer["held"]
        return replace(items, columns={**items.columns, "total": total, "held": held})

    def sum_values(
        self, sets: PartSets, items: Shard, name: str, limits: tuple[int, int], cut: int
    ) -> tuple[Shard, int]:
        """The shard with the sums of its items over all peers, and the sum of the others."""
        seen = self._marked(sets, items, "released", "other")
        found, rest = self._local.sum_values(sets.sets, seen, name, limits, cut)
        total = np.zeros(len(items["digest"]), np.int64)
        sums = self._for_shards(sets.sets.item_digests, {"total": found["total"]})
        for at, answer in zip(items.links, self._exchange.swap(sums), strict=True):
            total[at] += answer["total"]
        summed = replace(items, columns={**items.columns, "total": total})
        return summed, int(self._gathered(np.array([rest])).sum())

    def users_with_other(self, sets: PartSets, items: Shard) -> int:
        """The number of users of all peers with another item."""
        own = self._local.users_with_other(sets.sets, self._marked(sets, items, "other"))
        return int(self._gathered(np.array([own])).sum())

    def update(self, items: Shard, step: Step) -> Shard:
        """Apply `step` to the shard."""
        return replace(items, columns=self._local.update(items.columns, step))

    def collect(self, items: Shard, step: Callable[[Columns], NDArray[Any]]) -> NDArray[Any]:
        """The values that `step` finds in the shards of all peers."""
        return self._gathered(self._local.collect(items.columns, step))

    def names(self, sets: PartSets, items: Shard) -> pl.DataFrame:
        """The released items that are named by this peer: each by the first peer that has it."""
        unnamed = items.columns["released"].copy()
        parcels, named = [], []
        for at in items.links:
            parcels.append({"released": unnamed[at]})
            named.append(at[unnamed[at]])
            unnamed[at] = False
        mine = np.concatenate([parcel["released"] for parcel in self._exchange.swap(parcels)])
        shown = {name: column for name, column in items.columns.items() if name.startswith(SHOWN)}
        beside = {}
        if shown:
            received = self._exchange.swap(
                [{name: column[at] for name, column in shown.items()} for at in named]
            )
            for name in shown:
                beside[name.removeprefix(SHOWN)] = np.concatenate([parcel[name] for parcel in received])
        return sets.names.decode(sets.order[mine].astype(np.uint32), beside)

    def frame(self, sets: PartSets, items: Shard) -> pl.DataFrame:
        """The same."""
        return self.names(sets, items)

    def everywhere(self, names: pl.DataFrame) -> pl.DataFrame:
        """The released names of all peers."""
        written = io.BytesIO()
        names.write_ipc_stream(written)
        sent = np.frombuffer(written.getvalue(), np.uint8)
        received = self._exchange.swap([{"byte": sent}] * self._exchange.size)
        return pl.concat([pl.read_ipc_stream(io.BytesIO(parcel["byte"].tobytes())) for parcel in received])

    def _own(self, digests: Digests) -> NDArray[np.bool_]:
        """Which digests belong to the shard of this peer."""
        return own_slice(digests, self._exchange.rank, self._exchange.size)

    def _for_shards(self, digests: Digests, columns: Columns) -> list[Columns]:
        """Columns of items in the order of their digests, divided among the shards."""
        bounds = shard_bounds(digests, self._exchange.size)
        return [
            {name: column[first:last] for name, column in columns.items()} for first, last in pairwise(bounds)
        ]

    def _marked(self, sets: PartSets, items: Shard, *names: str) -> Columns:
        """The items of this peer with these columns."""
        columns = {"digest": sets.sets.item_digests}
        for name in names:
            columns |= self._posted(items, name)
        return columns

    def _posted(self, items: Shard, name: str) -> Columns:
        """A column of the items, for the items of this peer."""
        parcels = [{name: items.columns[name][at]} for at in items.links]
        return {name: np.concatenate([parcel[name] for parcel in self._exchange.swap(parcels)])}

    def _gathered(self, values: NDArray[Any]) -> NDArray[Any]:
        """The values of all peers."""
        parcels = [{"value": values}] * self._exchange.size
        return np.concatenate([parcel["value"] for parcel in self._exchange.swap(parcels)])

    def _swapped(self, blocks: list[Rows]) -> list[Rows]:
        """Send each peer its block of rows, with the items that occur in it."""
        users, pairs, items = [], [], []
        for block in blocks:
            held, codes = np.unique(block.items, return_inverse=True)
            users.append({"digest": block.user_digests, "size": np.diff(block.indptr)})
            pairs.append({"code": codes.astype(np.uint32)})
            items.append({"digest": block.item_digests[held]})
        received = zip(*(self._exchange.swap(parcels) for parcels in (users, pairs, items)), strict=True)
        return [
            _block(own["digest"], own["size"], pair["code"], item["digest"]) for own, pair, item in received
        ]


def _block(users: Digests, sizes: NDArray[np.int64], codes: NDArray[np.uint32], items: Digests) -> Rows:
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    return Rows(indptr, codes, users, items, np.ones(len(items), np.bool_), int(sizes.max(initial=0)))


def _nothing(items: Shard, dtype: type[np.generic]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Totals and marks before anything is given."""
    size = len(items.columns["digest"])
    return np.zeros(size, dtype), np.zeros(size, np.bool_)
