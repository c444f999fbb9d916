"""Plans: what a release will do, before any data is read."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpsu.algorithms.algorithm import Algorithm
from dpsu.algorithms.catalogue import DEFAULT, find, hinted
from dpsu.algorithms.holders import CountingTerms
from dpsu.algorithms.job import SingleJob
from dpsu.algorithms.mechanism import Mechanism
from dpsu.algorithms.request import Calibration, MaxItems, Request
from dpsu.hints import known_arguments
from dpsu.privacy.advice import warn_of_weak_privacy

if TYPE_CHECKING:
    import polars as pl

SET_SIZES = (1, 3, 10, 30, 100, 300)
LIMIT = 2**40


@dataclass(frozen=True, repr=False)
class Plan:
    """Noise, thresholds, and how many users must share an item, for one algorithm and one (epsilon, delta).

    A plan depends on the request only, so all of it is public.

    >>> import dpsu
    >>> plan = dpsu.plan(epsilon=1, delta=1e-6, algorithm="weighted-gaussian")
    >>> plan.chance(users=30, set_size=1) > 0.9
    True
    """

    algorithm: str
    mechanism: Mechanism

    @property
    def parameters(self) -> dict[str, Any]:
        """Noise scale, threshold, cutoff and the algorithm's other constants, in units of one user's budget."""
        return self.mechanism.parameters()

    def chance(self, users: int | Sequence[int], set_size: int = 1) -> Any:
        """The chance that an item is released if `users` hold it and each of them holds `set_size` items alike."""
        holders = np.atleast_1d(np.asarray(users, np.int64))
        chances = self.mechanism.chance(holders, set_size)
        return float(chances[0]) if np.ndim(users) == 0 else chances

    def users_needed(self, chance: float = 0.5, set_size: int = 1) -> int | None:
        """The fewest users that give an item this chance; None if no number does."""
        enough = 1
        while self.chance(enough, set_size) < chance:
            enough *= 2
            if enough > LIMIT:
                return None
        too_few = enough // 2
        while enough - too_few > 1:
            middle = (too_few + enough) // 2
            if self.chance(middle, set_size) < chance:
                too_few = middle
            else:
                enough = middle
        return enough

    def table(self, set_sizes: Sequence[int] | None = None) -> "pl.DataFrame":
        """The chance of release by number of holders (rows) and size of their sets (columns)."""
        import polars as pl

        users, chances = self.chances(set_sizes)
        return pl.DataFrame({"users": users, **{f"{size} items": column for size, column in chances.items()}})

    def chances(self, set_sizes: Sequence[int] | None = None) -> tuple[list[int], dict[int, list[float]]]:
        """The same as plain data: numbers of users, and the chances of each set size."""
        sizes = self.set_sizes() if set_sizes is None else list(set_sizes)
        users = self._ladder(sizes)
        return users, {size: self.chance(users, size).tolist() for size in sizes}

    def when_empty(self) -> str:
        """The message for a release without items."""
        size = min(10, self.mechanism.request.max_items)
        alone, together = self.users_needed(set_size=1), self.users_needed(set_size=size)
        return (
            f"nothing was released: at this privacy an item has a chance of 50 % if about {alone} users hold it who have no "
            f"other item, or about {together} users with {size} items each."
        )

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain data."""
        request = self.mechanism.request
        return {
            "algorithm": self.algorithm,
            "epsilon": request.epsilon,
            "delta": request.delta,
            "max_items": request.max_items,
            "calibration": request.calibration,
            "parameters": self.parameters,
            "users_for_even_odds": {str(size): self.users_needed(set_size=size) for size in self.set_sizes()},
            "chance": self._rows(),
        }

    def to_json(self) -> str:
        """The plan as JSON."""
        return json.dumps(self.to_dict(), indent=2)

    def __str__(self) -> str:
        from dpsu.report.plan import plan_text

        return plan_text(self)

    def __repr__(self) -> str:
        request = self.mechanism.request
        return f"<Plan of {self.algorithm}, epsilon {request.epsilon:g}, delta {request.delta:g}; print it for the table>"

    def set_sizes(self) -> list[int]:
        """The set sizes that plans show."""
        return [size for size in SET_SIZES if size <= self.mechanism.request.max_items]

    def _rows(self) -> list[dict[str, float]]:
        users, chances = self.chances()
        return [
            {"users": count, **{f"{size} items": column[place] for size, column in chances.items()}}
            for place, count in enumerate(users)
        ]

    def _ladder(self, sizes: Sequence[int]) -> list[int]:
        """Numbers of users, from the first with a chance for the smallest sets to near certainty for the largest."""
        low = self.users_needed(0.01, min(sizes)) or 1
        high = self.users_needed(0.99 * self.chance(LIMIT, max(sizes)), max(sizes)) or LIMIT
        rungs = np.unique(np.geomspace(max(1, low), max(low + 1, high), 12).round().astype(np.int64))
        return [int(rung) for rung in rungs]


@known_arguments()
def plan(
    *,
    epsilon: float,
    delta: float,
    max_items: MaxItems = "auto",
    algorithm: str | Algorithm = DEFAULT,
    typical_items: float | None = None,
    calibration: Calibration = "exact",
    counts: bool = False,
) -> Plan:
    """Noise, threshold and the number of users that must share an item, before any data is read.

    Takes the arguments of `release` that do not describe data. With `counts=True` the counts take their share of the budget.

    >>> import dpsu
    >>> dpsu.plan(epsilon=1, delta=1e-6, max_items=10).users_needed(chance=0.5, set_size=1)
    25
    """
    chosen = hinted(find(algorithm), typical_items)
    request = Request.asked(epsilon, delta, max_items, calibration)
    warn_of_weak_privacy(request.epsilon, request.delta, stacklevel=3)
    return Plan(chosen.name, SingleJob(chosen, request, CountingTerms() if counts else None).mechanism())
