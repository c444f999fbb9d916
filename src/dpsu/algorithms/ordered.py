"""Ordered Laplace: users fill their items one after the other, all in one common order, small sets first.

ℓ1-descent spreads a user's budget over all open items, so each rare item gets a small fraction, and most of it is wasted.
Here all users give to the same items first, and these items reach the threshold. Weights are exact integers of
ℓ1-sensitivity 1, and the release curve needs neither symmetry nor `max_items`. Proof: docs/ordered-laplace.md.
"""

import hashlib
import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpsu.algorithms.algorithm import Algorithm, algorithm
from dpsu.algorithms.calibrate import curve_selection
from dpsu.algorithms.mechanism import CurveSelection, Floats, Mechanism, thinned
from dpsu.algorithms.policy import DEFAULT_ALPHA
from dpsu.algorithms.request import Request
from dpsu.engines.contract import Engine, Walk
from dpsu.errors import InvalidArgument
from dpsu.kernels.units import ONE
from dpsu.randomness.stream import Stream

if TYPE_CHECKING:
    import polars as pl

ORDER = "order"
"""The option that takes a public order, and the name of the list in a statement."""

MOST_UNITS = 2**62
"""Above the cutoffs of all parts together, in units of 2^-30: the largest total that an item can have."""


@dataclass(frozen=True)
class PublicOrder:
    """Public items in their order, read once; two are equal if their digests are.

    `count` and `sha256` are the length and the digest of the list, with each item once and in its place.
    """

    count: int
    sha256: str
    items: "pl.DataFrame" = field(compare=False, repr=False)

    def described(self) -> dict[str, Any]:
        """What the statement says of the list."""
        return {"count": self.count, "sha256": self.sha256}


def read_order(items: Any) -> PublicOrder:
    """The order that the caller gives as a list, a frame or the Path of a file; its errors contain no entry."""
    from dpsu.algorithms.lists import canonical, distinct_rows, frame_of
    from dpsu.sources.discreet import discreet

    @discreet
    def read() -> PublicOrder:
        frame = frame_of(items, ORDER)
        assert frame is not None
        rows = distinct_rows(frame)
        return PublicOrder(len(rows), hashlib.sha256(canonical(rows)).hexdigest(), frame)

    return read()


@dataclass(frozen=True)
class OrderedLaplaceMechanism(Mechanism):
    """A walk over all users, who fill their items in one order, and one coin per item.

    The items of `order` come first; all others follow in the order of their keyed digests.
    """

    request: Request
    alpha: float
    walk: Walk
    selection: CurveSelection
    order: PublicOrder | None = None

    def select(self, engine: Engine, sets: Any, stream: Stream) -> Any:
        """Bound, walk, decide; a public order must have been `fitted` to the sets that were read."""
        assert self.order is None or self.walk.first is not None
        rows = engine.bound(sets, self.request.max_items, stream)
        items = engine.walk(rows, engine.items(sets), self.walk, stream)
        return engine.update(items, self.selection.step(stream, self.walk.unit))

    def chance(self, holders: NDArray[np.int64], set_size: int) -> Floats:
        """For holders who share all their items: they fill as many as they can, and each item may come first."""
        kept = min(set_size, self.request.max_items)
        return thinned(lambda n: self._mean_chance(n, kept), holders, kept / set_size)

    def _mean_chance(self, users: Floats, items: int) -> Floats:
        cutoff = self.walk.unit * self.walk.cutoff * self.walk.parts
        full = np.minimum(np.floor(users / cutoff), items)
        rest = np.where(full < items, users - full * cutoff, 0.0)
        at_cutoff, at_rest, empty = self.selection.probability(
            np.stack([np.full_like(rest, cutoff), rest, np.zeros_like(rest)])
        )
        untouched = np.maximum(items - full - 1, 0)
        begun = items - full - untouched
        return np.asarray((full * at_cutoff + begun * at_rest + untouched * empty) / items, np.float64)

    def parameters(self) -> dict[str, Any]:
        """The selection's, the walk's constants, and the source of the order of items."""
        return {
            **self.selection.parameters(),
            "alpha": self.alpha,
            "cutoff": self.walk.unit * self.walk.cutoff,
            "parts": self.walk.parts,
            "item_order": "keyed" if self.order is None else "public",
        }

    def lists(self) -> dict[str, Any]:
        """The length and the digest of the public order."""
        return {} if self.order is None else {ORDER: self.order.described()}

    def fitted(self, engine: Engine, sets: Any, stream: Stream) -> "OrderedLaplaceMechanism":
        """The mechanism with the digests of its public order."""
        if self.order is None:
            return self
        from dpsu.algorithms.lists import digests_of, typed

        first = digests_of(typed(self.order.items, engine.item_types(sets), ORDER), stream)
        return replace(self, walk=replace(self.walk, first=first))


def cutoff_of_part(cutoff: float, parts: int) -> float:
    """The cutoff of one part, in budgets: at least one.

    The holders of an item scatter over the parts, so it is the part's share of the cutoff plus one standard deviation.
    """
    each = cutoff / parts
    return max(min(cutoff, each + math.sqrt(each)), 1.0)


@algorithm
class OrderedLaplace(Algorithm):
    """Users fill their items one after the other in one common order, small sets first; for few items per user.

    The cutoff is the threshold plus `alpha` noise scales. `parts` divides the users into parts that run side by side; None
    leaves it to the engine. `order` is a list, a frame or the Path of a file of public items: they are filled first, in
    this order. It must not be made from the data. Without it, the order of items is random.

    >>> import dpsu
    >>> dpsu.plan(epsilon=1, delta=1e-6, algorithm=dpsu.OrderedLaplace(alpha=2)).users_needed()
    14
    >>> visits = {n: ["E11", "I10", f"rare {n}"] for n in range(40)}
    >>> ordered = dpsu.OrderedLaplace(alpha=50, order=["I10", "E11"])
    >>> dpsu.release(visits, epsilon=3, delta=1e-6, algorithm=ordered).items
    ['E11', 'I10']
    """

    name = "ordered-laplace"
    family = "policy"
    summary = "users fill their items one after the other in one common order, small sets first"
    proof = "docs/ordered-laplace.md"

    alpha: float = DEFAULT_ALPHA
    parts: int | None = None
    order: Any = None

    def __post_init__(self) -> None:
        if self.order is not None and not isinstance(self.order, PublicOrder):
            object.__setattr__(self, ORDER, read_order(self.order))

    def for_engine(self, parts: int) -> "OrderedLaplace":
        """The algorithm in as many parts as the engine takes, unless the caller has chosen a number."""
        return self if self.parts is not None else replace(self, parts=parts)

    def options(self) -> dict[str, Any]:
        """The options that are plain data: all but the order."""
        return {name: value for name, value in super().options().items() if name != ORDER}

    def calibrate(self, request: Request) -> Mechanism:
        """The release curve, and a cutoff in exact integers."""
        parts = self.parts or 1
        # The first new item of a user may get the whole budget, so the calibration does not rely on symmetry.
        selection = curve_selection(request, new_weight="any")
        full = selection.parameters()["threshold"] + self.alpha / request.epsilon
        cutoff = math.ceil(cutoff_of_part(full, parts) * ONE)
        if cutoff * parts >= MOST_UNITS:
            raise InvalidArgument(
                f"the cutoff of ordered-laplace, {cutoff / ONE:.3g} budgets, times parts, {parts}, must be below 2^32, so "
                "that no total exceeds 64 bits. Choose a larger epsilon, a smaller alpha or fewer parts."
            )
        walk = Walk("fill_in_order", cutoff, ONE, 1, np.int64, 1 / ONE, parts, small_first=True)
        return OrderedLaplaceMechanism(request, self.alpha, walk, selection, self.order)


ALGORITHMS = (OrderedLaplace,)
