"""What the tables say of the words' corpus itself: exact figures, so for public data only."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpsu.api.compare import ceiling
from dpsu.engines.local import LocalEngine
from dpsu.sets.user_sets import UserSets
from experiments.paper import exhibits
from experiments.paper.runs import DELTA


@dataclass(frozen=True)
class Facts:
    """Holders of every item, most first; the size of every set; and the most that any algorithm can release, by epsilon."""

    holders: NDArray[np.int64]
    set_sizes: NDArray[np.int64]
    ceilings: dict[float, float]

    def held_by(self, k: int) -> int:
        """How many items at least k users hold."""
        return int((self.holders >= k).sum())

    def share_up_to(self, size: int) -> float:
        """The percentage of users with at most so many items."""
        return 100 * float((self.set_sizes <= size).mean())


def facts_of(sets: UserSets) -> Facts:
    """Count."""
    holders = np.bincount(sets.items, minlength=sets.n_items)
    engine = LocalEngine()
    return Facts(
        np.sort(holders)[::-1].astype(np.int64),
        np.diff(sets.indptr),
        {epsilon: ceiling(engine, sets, epsilon, DELTA) for epsilon in exhibits.EPSILONS},
    )
