"""Mechanisms: algorithms calibrated to a request, and the ways to decide on totals."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, ndtr

from dpsu.algorithms.request import Request
from dpsu.engines.contract import Columns, Engine, Rule
from dpsu.privacy.budget import Budget
from dpsu.privacy.laplace import LaplaceThreshold, ReleaseCurve
from dpsu.randomness.noise import gaussian_cells, keep
from dpsu.randomness.stream import Stream

Floats = NDArray[np.float64]

CELLS_PER_SIGMA = 2**16
"""Noisy totals are rounded to a grid of this many cells per standard deviation of the noise."""

MOST_USERS = 2**40
"""Chances are not computed for more users."""

MOST = 0.75
"""If a larger share of the items still counts, noise is drawn for all items: selecting them would take longer."""


class Mechanism(ABC):
    """An algorithm calibrated to a request. It selects items, and it can compute its chances beforehand."""

    request: Request

    @abstractmethod
    def select(self, engine: Engine, sets: Any, stream: Stream) -> Any:
        """The engine's table of items with the column `released`."""

    def selected(self, engine: Engine, sets: Any, stream: Stream) -> tuple[Any, dict[str, Any]]:
        """The same, and the parameters that private steps fixed on the way."""
        return self.select(engine, sets, stream), {}

    @abstractmethod
    def chance(self, holders: NDArray[np.int64], set_size: int) -> Floats:
        """The chance that an item is released, by its number of holders, if each of them holds `set_size` such items."""

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """Noise, thresholds and other public constants, for plans and statements."""

    def budget(self) -> Budget | None:
        """The pair that composes as Gaussian DP, or None for the ℓ1 family, which carries (epsilon, delta)."""
        return None

    def lists(self) -> dict[str, Any]:
        """The lengths and digests of the caller's lists that the algorithm uses, by name: the promise rests on them."""
        return {}

    def admit(self, engine: Engine, sets: Any, stream: Stream) -> Any:
        """The sets with the items that exist whether or not anybody holds them."""
        return sets

    def fitted(self, engine: Engine, sets: Any, stream: Stream) -> "Mechanism":
        """The mechanism with its lists as items of the sets that were read with this stream; others are refused."""
        return self


@dataclass(frozen=True)
class GaussianSelection:
    """Gaussian noise on every total; items above the threshold are released."""

    sigma: float
    threshold: float

    @property
    def cell(self) -> float:
        """The width of the grid that noisy totals are rounded to."""
        return self.sigma / CELLS_PER_SIGMA

    def step(self, stream: Stream, unit: float) -> Callable[[Columns], Columns]:
        """The decision as a step of an engine."""
        return partial(_decide_by_noise, selection=self, stream=stream, unit=unit)

    def noisy(self, columns: Columns, stream: Stream, unit: float, round: int = 0) -> NDArray[np.int64]:
        """Totals with the noise of this round, in cells; items that nobody holds get none."""
        how: dict[str, Any] = {"round": round, "unit": unit, "scale": self.sigma, "cell": self.cell}
        return drawn(partial(gaussian_cells, stream=stream, **how), columns, columns["held"])

    def crossed(self, columns: Columns, noisy: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which items that somebody holds have noisy totals, in cells, above the threshold."""
        return np.asarray(columns["held"] & (noisy > threshold_in_cells(self.threshold, self.cell)), np.bool_)

    def probability(self, totals: Floats) -> Floats:
        """The chance that a total of this value is released."""
        return np.asarray(ndtr((totals - self.threshold) / self.sigma), np.float64)

    def parameters(self) -> dict[str, Any]:
        """Noise and threshold in units of one user's budget."""
        return {"noise": "gaussian", "sigma": self.sigma, "threshold": self.threshold}


@dataclass(frozen=True)
class CurveSelection:
    """Every item is released with a probability that depends on its total."""

    curve: ReleaseCurve | LaplaceThreshold

    def step(self, stream: Stream, unit: float) -> Callable[[Columns], Columns]:
        """The decision as a step of an engine."""
        return partial(_decide_by_curve, curve=self.curve, stream=stream, unit=unit)

    def probability(self, totals: Floats) -> Floats:
        """The chance that a total of this value is released."""
        return np.asarray(self.curve.probability(totals), np.float64)

    def parameters(self) -> dict[str, Any]:
        """The curve in units of one user's budget."""
        if isinstance(self.curve, ReleaseCurve):
            return {
                "noise": "truncated laplace",
                "scale": 1 / self.curve.epsilon,
                "threshold": self.curve.midpoint,
                "kappa": self.curve.kappa,
            }
        return {"noise": "laplace", "scale": 1 / self.curve.epsilon, "threshold": self.curve.rho}


Selection = GaussianSelection | CurveSelection


@dataclass(frozen=True)
class OneRound(Mechanism):
    """Bound, weigh once, decide: the count and weighted families."""

    request: Request
    rule: Rule
    selection: Selection
    spent: Budget | None = None

    def select(self, engine: Engine, sets: Any, stream: Stream) -> Any:
        """One weighted sum per item, one decision per item."""
        rows = engine.bound(sets, self.request.max_items, stream)
        items = engine.weigh(rows, engine.items(sets), self.rule)
        return engine.update(items, self.selection.step(stream, self.rule.unit))

    def chance(self, holders: NDArray[np.int64], set_size: int) -> Floats:
        """Weights depend only on the size of the set, so the chance is exact for any data."""
        kept = min(set_size, self.request.max_items)
        weight = self.rule.unit * float(self.rule.table[kept])
        return thinned(lambda n: self.selection.probability(n * weight), holders, kept / set_size)

    def parameters(self) -> dict[str, Any]:
        """The parameters of the selection."""
        return self.selection.parameters()

    def budget(self) -> Budget | None:
        """Gaussian DP of one noisy sum, and the chance of a new item; None in ℓ1."""
        return self.spent


def fewest_users(chance: Callable[[int], float], goal: float) -> int | None:
    """The fewest users for whom a chance that grows with them reaches the goal; None if no number does."""
    enough = 1
    while chance(enough) < goal:
        enough *= 2
        if enough > MOST_USERS:
            return None
    too_few = enough // 2
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        if chance(middle) < goal:
            too_few = middle
        else:
            enough = middle
    return enough


def thinned(chance: Callable[[Floats], Floats], holders: NDArray[np.int64], share: float) -> Floats:
    """The mean of `chance` when each holder keeps the item with probability `share`, as the cut to max_items does."""
    if share >= 1.0:
        return chance(holders.astype(np.float64))
    return np.array([_binomial_mean(chance, int(n), share) for n in holders])


def _binomial_mean(chance: Callable[[Floats], Floats], n: int, share: float) -> float:
    reach = 12 * np.sqrt(n * share * (1 - share)) + 12
    k = np.arange(max(0, int(n * share - reach)), min(n, int(n * share + reach)) + 1, dtype=np.float64)
    log_ways = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return float(np.exp(log_ways + k * np.log(share) + (n - k) * np.log1p(-share)) @ chance(k))


def drawn(draw: Callable[..., NDArray[Any]], columns: Columns, counts: NDArray[np.bool_]) -> NDArray[Any]:
    """`draw` applied to the totals and digests of the items that count; 0 for the others."""
    if np.count_nonzero(counts) > MOST * len(counts):
        values = draw(columns["total"], columns["digest"])
        values *= counts
        return values
    where = np.flatnonzero(counts)
    some = draw(columns["total"][where], columns["digest"][where])
    values = np.zeros(len(counts), some.dtype)
    values[where] = some
    return values


def threshold_in_cells(threshold: float, cell: float, rounds: int = 1) -> int:
    """The last cell that is not released: each rounded round may have lifted a total by half a cell."""
    return (Fraction(threshold) / Fraction(cell) + Fraction(rounds, 2)).__floor__()


def _decide_by_noise(columns: Columns, selection: GaussianSelection, stream: Stream, unit: float) -> Columns:
    return {"released": selection.crossed(columns, selection.noisy(columns, stream, unit))}


def _decide_by_curve(
    columns: Columns, curve: ReleaseCurve | LaplaceThreshold, stream: Stream, unit: float
) -> Columns:
    return {"released": drawn(partial(keep, stream=stream, curve=curve, unit=unit), columns, columns["held"])}
