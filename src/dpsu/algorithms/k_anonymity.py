"""The baseline that is not private: what at least k users hold, exactly.

It shows who made the difference whenever an item stands at k, so it runs only with consent. See docs/errata.md for the
paper's coverage table, corrected.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsu.algorithms.base import Algorithm, Floats, Mechanism
from dpsu.algorithms.request import Request
from dpsu.engines import Columns, Engine, Rule
from dpsu.kernels import count_holders
from dpsu.stream import Stream

DEFAULT_K = 20


@dataclass(frozen=True)
class KAnonymity(Mechanism):
    """Release what at least `k` users hold; sets are not cut."""

    request: Request
    k: int

    def select(self, engine: Engine, sets: Any, stream: Stream) -> Any:
        """Count the holders of every item and compare."""
        rows = engine.bound(sets, np.iinfo(np.int32).max, stream)
        items = engine.weigh(rows, engine.items(sets), Rule(count_holders, unit=1.0))
        return engine.update(items, partial(_at_least, k=self.k))

    def chance(self, holders: NDArray[np.int64], set_size: int) -> Floats:
        """Certainty on both sides of k: that is the leak."""
        return (holders >= self.k).astype(np.float64)

    def parameters(self) -> dict[str, Any]:
        """k."""
        return {"k": self.k}


def _at_least(columns: Columns, k: int) -> Columns:
    return {"released": columns["total"] >= k}


def _k_anonymity(request: Request) -> Mechanism:
    return KAnonymity(request, request.option("k", DEFAULT_K))


ALGORITHMS = (
    Algorithm(
        "k-anonymity",
        "baseline",
        "what at least k users hold, exactly; not private",
        _k_anonymity,
        private=False,
        options={"k": DEFAULT_K},
        proof="docs/errata.md",
    ),
)
