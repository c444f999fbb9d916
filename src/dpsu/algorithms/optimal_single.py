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

from dpsu.algorithms.algorithm import Algorithm, algorithm
from dpsu.algorithms.mechanism import Floats, Mechanism, drawn, thinned
from dpsu.algorithms.request import Request
from dpsu.engines.contract import Columns, Engine, Rule
from dpsu.errors import InvalidArgument
from dpsu.privacy.laplace import optimal_single
from dpsu.randomness.noise import keep_counts
from dpsu.randomness.stream import Stream

SMALLEST_DELTA = 2.0**-52
"""From here on every step of the recursion is at least the distance of two doubles below 1."""


@dataclass(frozen=True)
class OptimalSingleMechanism(Mechanism):
    """Count the holders; release with a probability that the number sets."""

    request: Request
    probabilities: Floats

    def select(self, engine: Engine, sets: Any, stream: Stream) -> Any:
        """One item of every user, one count and one coin per item."""
        rows = engine.bound(sets, 1, stream)
        items = engine.weigh(rows, engine.items(sets), Rule("count_holders", unit=1.0))
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


@algorithm
class OptimalSingle(Algorithm):
    """The optimal selection for users who have one item each; it needs `max_items=1`.

    >>> import dpsu
    >>> dpsu.plan(epsilon=1, delta=1e-6, max_items=1, algorithm=dpsu.OptimalSingle()).users_needed()
    14
    """

    name = "optimal-single"
    family = "single"
    summary = "for users with one item each (max_items 1): the optimal selection"
    proof = "docs/optimal-single.md"

    def calibrate(self, request: Request) -> Mechanism:
        """The chance of release for every number of holders."""
        if request.max_items != 1:
            raise InvalidArgument(
                f"optimal-single is for users who have one item each, and max_items is {request.max_items}: pass "
                "max_items=1 (--max-items 1) if that is your data; every other algorithm takes sets."
            )
        if request.delta < SMALLEST_DELTA:
            raise InvalidArgument(
                f"optimal-single needs a delta of at least {SMALLEST_DELTA:g}, not {request.delta!r}: its chances are "
                "doubles, which would stop rising before they reach 1. Choose a larger delta, or weighted-laplace with "
                "max_items=1."
            )
        return OptimalSingleMechanism(request, optimal_single(request.epsilon, request.delta))


ALGORITHMS = (OptimalSingle,)
