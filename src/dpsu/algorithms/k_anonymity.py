"""The baseline that is not private: what at least k users hold, exactly.

It shows who made the difference whenever an item stands at k, so it runs only with consent. See docs/errata.md for the
paper's coverage table, corrected.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsu.algorithms.algorithm import Algorithm, algorithm
from dpsu.algorithms.mechanism import Floats, Mechanism
from dpsu.algorithms.request import Request
from dpsu.engines.contract import Columns, Engine, Rule
from dpsu.randomness.stream import Stream

DEFAULT_K = 20


@dataclass(frozen=True)
class KAnonymityMechanism(Mechanism):
    """Release what at least `k` users hold; sets are not cut."""

    request: Request
    k: int

    def select(self, engine: Engine, sets: Any, stream: Stream) -> Any:
        """Count the holders of every item and compare."""
        rows = engine.bound(sets, np.iinfo(np.int32).max, stream)
        items = engine.weigh(rows, engine.items(sets), Rule("count_holders", unit=1.0))
        return engine.update(items, partial(_at_least, k=self.k))

    def chance(self, holders: NDArray[np.int64], set_size: int) -> Floats:
        """Certainty on both sides of k: that is the leak."""
        return (holders >= self.k).astype(np.float64)

    def parameters(self) -> dict[str, Any]:
        """k."""
        return {"k": self.k}


def _at_least(columns: Columns, k: int) -> Columns:
    return {"released": columns["total"] >= k}


@algorithm
class KAnonymity(Algorithm):
    """All items that at least `k` users hold, exactly. Not private: it needs `unsafe=True`.

    >>> import dpsu
    >>> dpsu.plan(epsilon=1, delta=1e-6, algorithm=dpsu.KAnonymity(k=20)).chance([19, 20]).tolist()
    [0.0, 1.0]
    """

    name = "k-anonymity"
    family = "baseline"
    summary = "what at least k users hold, exactly; not private"
    proof = "docs/errata.md"
    private = False

    k: int = DEFAULT_K

    def calibrate(self, request: Request) -> Mechanism:
        """Nothing to calibrate: there is no noise."""
        return KAnonymityMechanism(request, self.k)


ALGORITHMS = (KAnonymity,)
