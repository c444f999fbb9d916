"""The engine contract. An algorithm is written once, with the methods of `Engine`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpsu.kernels.loops import Loop
from dpsu.randomness.stream import Stream

if TYPE_CHECKING:
    import polars as pl

    from dpsu.algorithms.job import Job
    from dpsu.sets.user_sets import Digests
    from dpsu.sources.source import Source

Columns = Mapping[str, NDArray[Any]]
"""Arrays of equal length, one entry per item."""

Step = Callable[[Columns], Columns]
"""A pure function from columns to the columns that it changes or adds."""

DigestTest = Callable[["Digests"], NDArray[np.bool_]]
"""A pure function of the digests of some items: one answer for each."""

OnRound = Callable[[int, int], None]
"""Called when a round begins, with its number from 1 and the number of all rounds."""

SHOWN = "shown: "
"""Columns of items whose names begin so are handed over beside the names of released items."""

NO_TABLE = np.zeros(0, np.int64)


@dataclass(frozen=True)
class Rule:
    """How one user distributes a budget over their items, as integers: a pure function of the set and the items' values.

    `loop` takes (indptr, items, values, table, totals, shares) and adds to `totals`. `table` has its public constants, such
    as weights by set size, and `reads` names the column of items that it looks at. The value of a total is `unit * total`.
    """

    loop: Loop
    unit: float
    table: NDArray[Any] = field(default_factory=lambda: NO_TABLE)
    reads: str | None = None


@dataclass(frozen=True)
class Walk:
    """A policy: users are processed one after the other, and each sees the exact weights given by earlier users.

    Users are divided into `parts` by a keyed hash, each part is processed separately, and the weights are summed. Users
    are in random order; with `small_first`, users with smaller sets come first, and the order is random among sets of one
    size. The items of a user are in the order of their digests; items with the digests `first` come before all others, in
    that order.
    """

    loop: Loop
    cutoff: float
    budget: float
    passes: int
    dtype: type[np.generic]
    unit: float
    parts: int = 1
    small_first: bool = False
    first: "Digests | None" = None


class Engine(Protocol):
    """The methods of an engine. `sets`, `rows` and `items` are opaque handles; algorithms only pass them on.

    Items are a table with a row for every item of the union. After `weigh` or `walk` it has the columns `total` and
    `held` (the row of some user contains the item). A step that decides must ignore items that are not held. The column
    `open` says which items count in the next `bound`; an item that is closed stays closed.

    An engine is a context manager: on exit it drops everything that it keeps. `parts` is the default number of parts of
    a policy; a public constant. `on_round` is who wants to know of rounds, see `told_rounds`.
    """

    name: str
    parts: int
    on_round: OnRound

    def __enter__(self) -> Any:
        """The engine itself."""

    def __exit__(self, *error: object) -> None:
        """Drop everything that is kept."""

    def place(self, job: "Job") -> "Job":
        """The job as this engine runs it: itself, or one that runs it elsewhere."""

    def read(self, source: "Source", stream: Stream) -> Any:
        """The sets of all users; if the source has a text rule, it makes the items."""

    def read_corpus(self, source: "Source", stream: Stream) -> Any:
        """All text of the source as words, for n-grams in levels."""

    def ngrams(self, corpus: Any, before: tuple[Any, Any] | None = None) -> Any:
        """The sets of the words of all users, or those of longer n-grams.

        `before` are the sets of n-grams and their table of items. The longer ones have one word more, and both their parts
        are items whose column `released` is true.
        """

    def split(self, sets: Any, share: float, stream: Stream) -> tuple[Any, Any]:
        """The sets of a random part of the users, and those of all others; `share` is the chance to be in the part."""

    def item_types(self, sets: Any) -> "pl.Schema":
        """The columns that name an item, and the types in which they come out."""

    def leave_out(self, sets: Any, digests: "Digests") -> Any:
        """The sets as if nobody held the items with these digests."""

    def admit(
        self,
        sets: Any,
        items: "pl.DataFrame",
        digests: "Digests",
        may_pass: DigestTest,
        weights: NDArray[np.float64] | None = None,
    ) -> Any:
        """The sets with these items in the union, held or not; the table of items has the column `listed`.

        With weights, it also has the column `weight`, which is 1 for other items.

        Items that nobody holds are left out if the test of their digests says that they cannot come out.
        """

    def missing(self, items: Any, digests: "Digests") -> NDArray[np.bool_]:
        """Which of these items nobody holds; if several processes run the job, only one of them says so of each."""

    def attach(self, items: Any, step: Step) -> Any:
        """As `update`, but the step is called for many items at once: for steps that look items up in a list."""

    def users(self, sets: Any) -> int:
        """The number of users; private."""

    def require_users(self, sets: Any, most: int) -> None:
        """Raise an error, for the curator only, if there are more users than the calibration covers."""

    def items(self, sets: Any) -> Any:
        """The table of items, with their digests in the column `digest`."""

    def restrict(self, sets: Any, items: Any) -> Any:
        """The sets as if nobody held items whose column `open` is false; their table of items is `items`."""

    def tally(self, sets: Any, bins: Sequence[int], noise: Callable[[Any], Any]) -> NDArray[np.int64]:
        """How many users have a set of at least bins[k] and below bins[k + 1] items, after `noise` was added."""

    def bound(self, sets: Any, max_items: int, stream: Stream, *, round: int = 0, keep: Any = None) -> Any:
        """Every user's set, sampled uniformly to `max_items` among the items whose column `open` is true in `keep`.

        `sets` are those that were read, or rows that have at most `max_items` items already. An engine may delay the
        sampling until the rows are weighed, with the `open` of the items that it gets then.
        """

    def weigh(self, rows: Any, items: Any, rule: Rule) -> Any:
        """The items with the column `total`: the sum of the weights of all users under `rule`.

        They no longer have the column that the rule reads, so that an engine need not move it any further.
        """

    def walk(self, rows: Any, items: Any, walk: Walk, stream: Stream) -> Any:
        """The items with the column `total`: the weights after all users, in the walk's order, followed the policy."""

    def sum_values(
        self, sets: Any, items: Any, name: str, limits: tuple[int, int], cut: int
    ) -> tuple[Any, int]:
        """The items with the column `total`: the sum of a column of values, in units, of each item whose column `released`
        is true; and the sum over all items whose column `other` is true. `sets` are those that were read."""

    def users_with_other(self, sets: Any, items: Any) -> int:
        """The number of users who hold an item whose column `other` is true; private. `sets` are those that were read."""

    def update(self, items: Any, step: Step) -> Any:
        """The items with the columns that `step` changes or adds."""

    def collect(self, items: Any, step: Callable[[Columns], NDArray[Any]]) -> NDArray[Any]:
        """The values that `step` finds in all items, in an order of the engine's that is the same in every call for a table.

        They are private, unless the promise covers them.
        """

    def names(self, sets: Any, items: Any) -> Any:
        """The items whose column `released` is true, in their original type: a sorted Polars frame, or a Spark frame."""

    def frame(self, sets: Any, items: Any) -> "pl.DataFrame":
        """The same as a Polars frame in the memory of this process, with the columns that are to be shown.

        If several processes run the job, each item is named by one of them.
        """

    def everywhere(self, names: "pl.DataFrame") -> "pl.DataFrame":
        """Released names as every process knows them that runs the job: those of all processes, in any order."""


def told_rounds(engine: Engine, rounds: int) -> Iterator[int]:
    """The rounds of a mechanism, from 0, each told when it begins. Their number must be public, or released by itself."""
    for r in range(rounds):
        engine.on_round(r + 1, rounds)
        yield r


def untold(number: int, rounds: int) -> None:
    """Tell nobody."""
