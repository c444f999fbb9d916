"""Ordered Laplace: users fill their items one after the other, all in one common order, small sets first.

ℓ1-descent spreads a user's budget over all open items, so that rare ones each get a fraction that is mostly wasted. Here
all users push the same items first, which then make it. Weights are exact integers of ℓ1-sensitivity 1, and the release
curve needs neither symmetry nor `max_items`. Proof: docs/ordered-laplace.md.
"""

import hashlib
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dpsu.algorithms.calibrate import curve_selection
from dpsu.algorithms.lists import canonical, digests_of, distinct_rows, frame_of, typed
from dpsu.algorithms.mechanism import Algorithm, CurveSelection, Floats, Mechanism, thinned
from dpsu.algorithms.policy import DEFAULT_ALPHA
from dpsu.algorithms.request import Request
from dpsu.engines.contract import Engine, Walk
from dpsu.errors import InvalidArgument
from dpsu.kernels.descent import fill_in_order
from dpsu.kernels.weights import ONE
from dpsu.randomness.stream import Stream
from dpsu.sources.discreet import discreet

ORDER = "order"
"""The option that takes a public order, and what the statement calls the list."""

MOST_UNITS = 2**62
"""Above the cutoffs of all parts together, in units of 2^-30: the largest total that an item can have."""


@dataclass(frozen=True)
class OrderedLaplace(Mechanism):
    """A walk over all users, who fill their items in one order, and one coin per item.

    `listed` are the items that come first, in their order; all others follow in the order of their keyed digests.
    """

    request: Request
    walk: Walk
    selection: CurveSelection
    listed: pl.DataFrame | None = None

    def select(self, engine: Engine, sets: Any, stream: Stream) -> Any:
        """Bound, walk, decide; a public order must have been `fitted` to the sets that were read."""
        assert self.listed is None or self.walk.first is not None
        rows = engine.bound(sets, self.request.max_items, stream)
        items = engine.walk(rows, engine.items(sets), self.walk, stream)
        return engine.update(items, self.selection.step(stream, self.walk.unit))

    def chance(self, holders: NDArray[np.int64], set_size: int) -> Floats:
        """For holders who share all their items: they fill as many as they can, and any of them may come first."""
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
        """The selection's, the walk's constants, and where the order of items comes from."""
        return {
            **self.selection.parameters(),
            "alpha": self.request.option("alpha", DEFAULT_ALPHA),
            "cutoff": self.walk.unit * self.walk.cutoff,
            "parts": self.walk.parts,
            "item_order": "keyed" if self.listed is None else "public",
        }

    def lists(self) -> dict[str, Any]:
        """The length and the digest of the public order, each item once and in its place."""
        if self.listed is None:
            return {}
        rows = distinct_rows(self.listed)
        return {ORDER: {"count": len(rows), "sha256": hashlib.sha256(canonical(rows)).hexdigest()}}

    def fitted(self, engine: Engine, sets: Any, stream: Stream) -> "OrderedLaplace":
        """The mechanism with the digests of its public order."""
        if self.listed is None:
            return self
        first = digests_of(typed(self.listed, engine.item_types(sets), ORDER), stream)
        return replace(self, walk=replace(self.walk, first=first))


def cutoff_of_part(cutoff: float, parts: int) -> float:
    """What the users of one part fill items up to, in budgets: at least one.

    An item's holders scatter over the parts, so that is a part of the cutoff and a standard deviation more.
    """
    each = cutoff / parts
    return max(min(cutoff, each + math.sqrt(each)), 1.0)


def _ordered_laplace(request: Request) -> Mechanism:
    alpha, parts = request.option("alpha", DEFAULT_ALPHA), request.option("parts", 1)
    # The first new item of a user may get the whole budget, so no symmetry is taken for granted.
    selection = curve_selection(request, new_weight="any")
    full = selection.parameters()["threshold"] + alpha / request.epsilon
    cutoff = math.ceil(cutoff_of_part(full, parts) * ONE)
    if cutoff * parts >= MOST_UNITS:
        raise InvalidArgument(
            f"the cutoff of ordered-laplace, {cutoff / ONE:.3g} budgets, times parts, {parts}, must be below 2^32, so that "
            "no total leaves 64 bits. Choose a larger epsilon, a smaller alpha or fewer parts."
        )
    walk = Walk(fill_in_order, cutoff, ONE, 1, np.int64, 1 / ONE, parts, small_first=True)
    return OrderedLaplace(request, walk, selection, _read_order(request.options.get(ORDER)))


@discreet
def _read_order(items: Any) -> pl.DataFrame | None:
    return frame_of(items, ORDER)


ALGORITHMS = (
    Algorithm(
        "ordered-laplace",
        "policy",
        "users fill their items one after the other in one common order, small sets first",
        _ordered_laplace,
        options={"alpha": DEFAULT_ALPHA, "parts": 1, ORDER: None},
        proof="docs/ordered-laplace.md",
    ),
)
