"""One item per user: the optimal selection of Desfontaines, Voss, Gipson and Mandayam (2022).

For data where every user has one item, as the caller knows. No algorithm releases an item of n such users with a higher
probability. Where users have more, all but one item of each is cut at random, and others release far more. Proof:
docs/optimal-single.md.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsu.algorithms.base import Algorithm, Floats, Mechanism, drawn, thinned
from dpsu.algorithms.request import Request
from dpsu.engines import Columns, Engine, Rule
from dpsu.errors import InvalidArgument
from dpsu.kernels import count_holders
from dpsu.noise import keep_counts
from dpsu.privacy.laplace import optimal_single
from dpsu.stream import Stream

SMALLEST_DELTA = 2.0**-52
"""From here on every step of the recursion is at least the distance of two doubles below 1."""


@dataclass(frozen=True)
class OptimalSingle(Mechanism):
    """Count the holders; release with a probability that the number sets."""

    request: Request
    probabilities: Floats

    def select(self, engine: Engine, sets: Any, stream: Stream) -> Any:
        """One item of every user, one count and one coin per item."""
        rows = engine.bound(sets, 1, stream)
        items = engine.weigh(rows, engine.items(sets), Rule(count_holders, unit=1.0))
        return engine.update(items, partial(_toss, probabilities=self.probabilities, stream=stream))

    def chance(self, holders: NDArray[np.int64], set_size: int) -> Floats:
        """Exact for any data: each holder keeps the item with probability 1/set_size."""
        last = len(self.probabilities) - 1
        return thinned(
            lambda n: self.probabilities[np.minimum(n, last).astype(np.int64)], holders, 1 / set_size
        )

    def parameters(self) -> dict[str, Any]:
        """The number of holders for even odds, and for certainty."""
        return {
            "noise": "optimal coin",
            "threshold": int(np.searchsorted(self.probabilities, 0.5)),
            "certain_from": len(self.probabilities) - 1,
        }


def _toss(columns: Columns, probabilities: Floats, stream: Stream) -> Columns:
    draw = partial(keep_counts, stream=stream, probabilities=probabilities)
    return {"released": drawn(draw, columns, columns["held"])}


def _optimal_single(request: Request) -> Mechanism:
    if request.max_items != 1:
        raise InvalidArgument(
            f"optimal-single is for users who have one item each, and max_items is {request.max_items}: pass max_items=1 "
            "(--max-items 1) if that is your data; every other algorithm takes sets."
        )
    if request.delta < SMALLEST_DELTA:
        raise InvalidArgument(
            f"optimal-single needs a delta of at least {SMALLEST_DELTA:g}, not {request.delta!r}: its chances are doubles, "
            "which would stop rising before they reach 1. Choose a larger delta, or weighted-laplace with max_items=1."
        )
    return OptimalSingle(request, optimal_single(request.epsilon, request.delta))


ALGORITHMS = (
    Algorithm(
        "optimal-single",
        "single",
        "for users with one item each (max_items 1): the optimal selection",
        _optimal_single,
        proof="docs/optimal-single.md",
    ),
)
