"""Where the loops run. An algorithm is written once against the verbs of `Engine`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dpsu.kernels.weights import Kernel
from dpsu.randomness.stream import Stream
from dpsu.sets.user_sets import Digests

if TYPE_CHECKING:
    from dpsu.sources.source import Source

Columns = Mapping[str, NDArray[Any]]
"""Arrays of one length, a row per item."""

Step = Callable[[Columns], Columns]
"""A pure function from columns to the columns that it changes or adds."""

NO_TABLE = np.zeros(0, np.int64)


@dataclass(frozen=True)
class Rule:
    """How one user divides a budget over their items, as integers: a pure function of the set and the items' values.

    `kernel` is the compiled loop, `table` its public constants (weights by set size, say) and `reads` the column of
    the items that it looks at. The value of a total is `unit * total`.
    """

    kernel: Kernel
    unit: float
    table: NDArray[Any] = field(default_factory=lambda: NO_TABLE)
    reads: str | None = None


@dataclass(frozen=True)
class Walk:
    """A policy: users one after the other, each looking at the exact weights that those before have left.

    Users are divided into `parts` by a keyed hash, each part is walked alone, and the weights are added up. They come in
    a random order, or those with the smallest sets first and in random order among sets of one size (`small_first`). A
    user's items come in the order of their digests; those with the digests `first` come before them, in that order.
    """

    kernel: Kernel
    cutoff: float
    budget: float
    passes: int
    dtype: type[np.generic]
    unit: float
    parts: int = 1
    small_first: bool = False
    first: Digests | None = None


class Engine(Protocol):
    """The verbs. `sets`, `rows` and `items` are the engine's own handles; algorithms only pass them on.

    Items are a table with a row for every item of the union. After `weigh` or `walk` it has the columns `total` and
    `held` (some user's row has the item); a step that decides must leave alone what is not held. A column `open` says
    which items count in the next `bound`: one that is closed stays closed.

    An engine is a context: it drops what it keeps when it is left. `parts` is how many parts a policy divides the users
    into unless the caller says otherwise; a public constant.
    """

    name: str
    parts: int

    def __enter__(self) -> Any:
        """The engine itself."""

    def __exit__(self, *error: object) -> None:
        """Drop what is kept."""

    def read(self, source: "Source", stream: Stream) -> Any:
        """The sets of all users; the source's rule, if it has one, makes the items from text."""

    def read_corpus(self, source: "Source", stream: Stream) -> Any:
        """All text of the source as words, for n-grams in levels."""

    def item_types(self, sets: Any) -> pl.Schema:
        """The columns that name an item, and the types in which they come out."""

    def leave_out(self, sets: Any, digests: Digests) -> Any:
        """The sets as if nobody held the items with these digests."""

    def require_users(self, sets: Any, most: int) -> None:
        """Stop, for the curator's eyes only, if there are more users than a calibration has paid for."""

    def items(self, sets: Any) -> Any:
        """The table of items, with their digests in the column `digest`."""

    def bound(self, sets: Any, max_items: int, stream: Stream, *, round: int = 0, keep: Any = None) -> Any:
        """Every user's set, cut to `max_items` by uniform sampling among the items whose column `open` is true in `keep`.

        `sets` are those that were read, or rows that are cut to `max_items` already. An engine may cut as late as when the
        rows are weighed, looking at the `open` of the items that it then gets.
        """

    def weigh(self, rows: Any, items: Any, rule: Rule) -> Any:
        """The items with the column `total`: the sum of what users give under `rule`."""

    def walk(self, rows: Any, items: Any, walk: Walk, stream: Stream) -> Any:
        """The items with the column `total`: the weights after users in the walk's order followed the policy."""

    def update(self, items: Any, step: Step) -> Any:
        """The items with the columns that `step` changes or adds."""

    def names(self, sets: Any, items: Any) -> Any:
        """The items whose column `released` is true, in their original type: a sorted Polars frame, or one of Spark."""
