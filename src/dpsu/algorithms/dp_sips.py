"""DP-SIPS (Swanberg, Desfontaines, Haney 2023): Weighted Gaussian in rounds, each on what the others have not released.

The first rounds spend little and take what everybody holds off everyone's list, so that the last one, which has most of
the budget, spends it on rarer items. Every round draws at most max_items per user afresh. Proof: docs/dp-sips.md.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsu.algorithms.algorithm import Algorithm, algorithm
from dpsu.algorithms.calibrate import deal
from dpsu.algorithms.mechanism import Floats, GaussianSelection, Mechanism, thinned
from dpsu.algorithms.ranges import check_shares
from dpsu.algorithms.request import Request
from dpsu.algorithms.weighted import even_rule
from dpsu.engines.contract import Columns, Engine, told_rounds
from dpsu.privacy import gaussian
from dpsu.privacy.budget import Budget
from dpsu.randomness.stream import Stream

DEFAULT_SHARES = (0.05, 0.15, 0.8)


@dataclass(frozen=True)
class DpSipsMechanism(Mechanism):
    """The calibrated mechanism: a share of the budget, a noise and a threshold per round."""

    request: Request
    shares: tuple[float, ...]
    rounds: tuple[GaussianSelection, ...]
    spent: Budget

    def select(self, engine: Engine, sets: Any, stream: Stream) -> Any:
        """Round after round: draw from what is not yet released, weigh evenly, release, delete."""
        rule = even_rule(self.request.max_items, norm=2)
        items = engine.update(engine.items(sets), _begin)
        for r in told_rounds(engine, len(self.rounds)):
            selection = self.rounds[r]
            rows = engine.bound(sets, self.request.max_items, stream, round=r, keep=items)
            items = engine.weigh(rows, items, rule)
            items = engine.update(
                items, partial(_release, selection=selection, stream=stream, r=r, unit=rule.unit)
            )
        return items

    def chance(self, holders: NDArray[np.int64], set_size: int) -> Floats:
        """For holders who share all their items; the others of these are taken to thin out at their mean."""
        return np.array([self._chance(int(n), set_size) for n in holders])

    def _chance(self, n: int, set_size: int) -> float:
        missed = 1.0
        for selection in self.rounds:
            left = 1 + (set_size - 1) * missed
            kept = min(left, self.request.max_items)
            weight = 1 / math.sqrt(kept)

            def released(count: Floats, s: GaussianSelection = selection, w: float = weight) -> Floats:
                return np.where(count > 0, s.probability(count * w), 0.0)

            missed *= 1 - float(thinned(released, np.array([n]), kept / left)[0])
        return 1 - missed

    def parameters(self) -> dict[str, Any]:
        """Noise and threshold of every round, in units of one user's budget in that round."""
        return {
            "noise": "gaussian",
            "sigma": 1 / self.spent.mu,
            "shares": list(self.shares),
            "sigmas": [selection.sigma for selection in self.rounds],
            "thresholds": [selection.threshold for selection in self.rounds],
        }

    def budget(self) -> Budget:
        """All rounds composed."""
        return self.spent


def _begin(columns: Columns) -> Columns:
    size = len(columns["digest"])
    return {"released": np.zeros(size, np.bool_), "open": np.ones(size, np.bool_)}


def _release(columns: Columns, selection: GaussianSelection, stream: Stream, r: int, unit: float) -> Columns:
    """Fresh noise on what users gave in this round; `held` has only items that were open."""
    crossed = selection.crossed(columns, selection.noisy(columns, stream, unit, r))
    released = columns["released"] | crossed
    return {"released": released, "open": ~released}


@algorithm
class DpSips(Algorithm):
    """Weighted Gaussian in rounds, each on the items that are not yet released.

    `shares` divides the budget between the rounds and sums to 1.

    >>> import dpsu
    >>> dpsu.plan(epsilon=1, delta=1e-6, algorithm=dpsu.DpSips(shares=(0.2, 0.8))).users_needed()
    30
    """

    name = "dp-sips"
    family = "rounds"
    summary = "Weighted Gaussian in rounds, each on what is not yet released (Swanberg and others)"
    proof = "docs/dp-sips.md"

    shares: Sequence[float] = DEFAULT_SHARES

    def __post_init__(self) -> None:
        object.__setattr__(self, "shares", check_shares(self.shares, DEFAULT_SHARES))

    def calibrate(self, request: Request) -> Mechanism:
        """Noise and threshold of every round, from its part of the budget."""
        parts = deal(request, self.shares)
        rounds = []
        for part in parts:
            sigma = math.nextafter(1 / part.mu, math.inf)
            threshold = gaussian.threshold_split(sigma, part.delta_new, request.max_items)
            rounds.append(GaussianSelection(sigma, threshold))
        return DpSipsMechanism(request, tuple(self.shares), tuple(rounds), parts[0].compose(*parts[1:]))


ALGORITHMS = (DpSips,)
