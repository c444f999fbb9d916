"""The budget of a Gaussian release: a pair (mu, delta_new) that composes without loss."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dpsu.errors import InvalidArgument
from dpsu.privacy.gaussian import delta_gaussian


@dataclass(frozen=True)
class Budget:
    """`mu`, the Gaussian privacy of shared items, and `delta_new`, the probability that a new item is released.

    Releases that know each other's results compose: the squares of mu add, and so do the delta_new. The pair
    is (epsilon, delta(epsilon))-private for every epsilon at once.

    >>> import dpsu
    >>> both = dpsu.Budget(mu=0.3, delta_new=1e-7).compose(dpsu.Budget(mu=0.4, delta_new=1e-7))
    >>> round(both.mu, 6), round(both.delta(epsilon=3), 7)
    (0.5, 2e-07)
    """

    mu: float
    delta_new: float

    def __post_init__(self) -> None:
        if not (0.0 <= self.mu < math.inf and 0.0 <= self.delta_new <= 1.0):
            raise InvalidArgument(f"a budget needs a finite mu >= 0 and a delta_new in [0, 1], not {self}")

    def compose(self, *others: "Budget") -> "Budget":
        """The budget of this release and the others together, rounded up."""
        if not others:
            return self
        parts = (self, *others)
        mu = math.hypot(*(part.mu for part in parts))
        chance = math.fsum(part.delta_new for part in parts)
        return Budget(_up(mu), min(1.0, _up(chance)))

    def split(self, shares: Sequence[float]) -> list["Budget"]:
        """Budgets for releases with these shares of the whole, rounded down; the shares sum to at most 1."""
        if not shares or any(not share > 0.0 for share in shares) or math.fsum(shares) > 1.0 + 1e-12:
            raise InvalidArgument(
                f"shares of a budget must be positive and sum to at most 1, not {list(shares)}"
            )
        total = max(1.0, _up(math.fsum(shares)))
        parts = [share / total for share in shares]
        return [Budget(_down(self.mu * math.sqrt(part)), _down(self.delta_new * part)) for part in parts]

    def delta(self, epsilon: float) -> float:
        """The delta of this budget at `epsilon`, rounded up."""
        return min(1.0, _up(delta_gaussian(epsilon, self.mu) + self.delta_new))

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon >= 0 at which this budget has at most `delta`, rounded up; inf if there is none."""
        if self.delta(0.0) <= delta:
            return 0.0
        if delta <= _up(self.delta_new):
            return math.inf
        low, high = 0.0, 1.0
        while self.delta(high) > delta:
            low, high = high, 2.0 * high
        while high - low > 1e-12 * high:
            middle = 0.5 * (low + high)
            if self.delta(middle) <= delta:
                high = middle
            else:
                low = middle
        return high


def _up(value: float) -> float:
    return value * (1.0 + 2.0**-50)


def _down(value: float) -> float:
    return value * (1.0 - 2.0**-50)
