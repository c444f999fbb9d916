"""A series: the rounds of one Focused Gaussian, divided among periods whose data arrives one after the other.

Horizon, shares and cuts are fixed before the first period. An item exists from the first round in which it is in
somebody's cut set, and from then on it receives the noise of every round, whether anybody holds it or not. A newcomer
also receives the noise of all rounds before, and users see it through the focus of that total. Without either of the
two a series would not be private. Proof: docs/series.md.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dpsu.algorithms.focused import (
    ROUNDING,
    SMALLEST_CHANCE,
    Boundary,
    FocusedGaussian,
    FocusedMechanism,
)
from dpsu.algorithms.mechanism import CELLS_PER_SIGMA, Floats, Mechanism, drawn, threshold_in_cells
from dpsu.algorithms.ranges import MAX_ITEMS, SHARES_ROUNDING, SMALLEST_SHARE, Range
from dpsu.algorithms.request import Request
from dpsu.engines.contract import Columns, Engine, told_rounds
from dpsu.errors import InvalidArgument
from dpsu.kernels.units import ONE
from dpsu.privacy import gaussian
from dpsu.privacy.budget import Budget
from dpsu.randomness.noise import gaussian_cells
from dpsu.randomness.stream import Stream
from dpsu.sets.user_sets import Digests

PERIODS = Range(1, 366, "the horizon of a series is fixed, such as 12 months", whole=True)

CONSTANTS = FocusedGaussian(rounds=6, growth=1.3, cap=1.0)
"""The focus of a series; `rounds` is the number of rounds in each period. The cap is not used: an item may get all."""

FRONT = 0.5
"""Front-loaded shares fall with this power of the period's number."""

QUANTILE_MARGIN = 1e-9
"""Relative margin on the probability of each round, far above the error of the normal tails in floats."""

NAMES = ("growth", "split", "delta_growth", "warmup", "boost", "width", "tail")
"""Constants of the focus that a statement repeats."""

Shares = str | Sequence[float]


@dataclass(frozen=True)
class SeriesMechanism(Mechanism):
    """The calibrated series. `boundary` has all rounds of all periods, `max_items` and `period_shares` every period."""

    request: Request
    focus: FocusedGaussian
    boundary: Boundary
    delta_new: float
    max_items: tuple[int, ...]
    period_shares: tuple[float, ...]

    @property
    def periods(self) -> int:
        """The horizon."""
        return len(self.max_items)

    @property
    def focused(self) -> FocusedMechanism:
        """The rule for weights and the focus, by the number of the round in the whole series."""
        return FocusedMechanism(self.request, self.focus, self.boundary, self.delta_new)

    def rounds_of(self, periods: Sequence[int]) -> list[int]:
        """The rounds of these periods, numbered from 0 through the whole series; periods are numbered from 1."""
        each = self.focus.rounds
        return [r for period in periods for r in range((period - 1) * each, period * each)]

    def begin(self, engine: Engine, sets: Any, stream: Stream, period: int, done: Sequence[int]) -> Any:
        """The period's items, each with the noise of all rounds that took place before it.

        Items that exist already get their totals afterwards (`bring`).
        """
        before = self.rounds_of(done)
        return engine.update(
            engine.items(sets), partial(_back_fill, mechanism=self, stream=stream, before=before)
        )

    def bring(self, items: Columns, places: NDArray[np.int64], totals: NDArray[np.int64]) -> Columns:
        """The items with the totals of those at `places`, which exist from earlier periods."""
        noisy, exists = items["noisy"].copy(), items["exists"].copy()
        noisy[places], exists[places] = totals, True
        return {**items, "noisy": noisy, "exists": exists}

    def play(self, engine: Engine, sets: Any, items: Any, stream: Stream, period: int) -> Any:
        """The rounds of one period on the sets that were read, without what was released before."""
        most = self.max_items[period - 1]
        rows = engine.bound(sets, most, stream, round=period)
        first, *_ = rounds = self.rounds_of([period])
        items = engine.update(items, partial(_look, mechanism=self, r=first - 1))
        for number in told_rounds(engine, len(rounds)):
            r = rounds[number]
            items = engine.weigh(rows, items, self.focused.rule(r))
            items = engine.update(items, partial(_round, mechanism=self, stream=stream, r=r))
            rows = engine.bound(rows, most, stream, keep=items)
        return items

    def rest(self, digests: Digests, totals: NDArray[np.int64], stream: Stream, period: int) -> Columns:
        """The rounds of one period for existing items that are in nobody's set in it."""
        size = len(digests)
        items: Columns = {
            "digest": digests,
            "total": np.zeros(size, np.int64),
            "held": np.zeros(size, np.bool_),
            "noisy": totals,
            "exists": np.ones(size, np.bool_),
            "released": np.zeros(size, np.bool_),
        }
        for r in self.rounds_of([period]):
            items = {**items, **_round(items, mechanism=self, stream=stream, r=r)}
        return items

    def select(self, engine: Engine, sets: Any, stream: Stream) -> Any:
        """The first period."""
        return self.play(engine, sets, self.begin(engine, sets, stream, 1, ()), stream, 1)

    def chance(self, holders: NDArray[np.int64], set_size: int) -> Floats:
        """The chance by the end of the series, for items that are held in every period."""
        from dpsu.algorithms.series_chance import chances_by_period

        return np.asarray(chances_by_period(self, holders, set_size)[-1], np.float64)

    def parameters(self) -> dict[str, Any]:
        """Noise, the boundary of every round, and the constants."""
        return {
            "noise": "gaussian",
            "sigma": self.boundary.sigma,
            "threshold": self.boundary.thresholds[-1],
            "periods": self.periods,
            "rounds": self.focus.rounds,
            **{name: getattr(self.focus, name) for name in NAMES},
            "period_shares": list(self.period_shares),
            "period_max_items": list(self.max_items),
            "shares": list(self.boundary.shares),
            "thresholds": list(self.boundary.thresholds),
        }

    def budget(self) -> Budget:
        """All rounds of all periods are one Gaussian sum; own items cross with delta_new at most."""
        return Budget(mu=1 / self.boundary.sigma, delta_new=self.delta_new)


def calibrate_series(
    epsilon: float,
    delta: float,
    periods: int,
    max_items: int | Sequence[int],
    shares: Shares = "even",
    focus: FocusedGaussian = CONSTANTS,
) -> SeriesMechanism:
    """The series with these public constants."""
    horizon: int = PERIODS.check("periods", periods)
    cuts = _cuts(max_items, horizon)
    request = Request(epsilon, delta, max(cuts))
    of_periods = period_shares(shares, horizon)
    delta_noise = request.delta * focus.split
    delta_new = (request.delta - delta_noise) * (1 - ROUNDING)
    sigma = gaussian.noise_scale(request.epsilon, delta_noise)
    steps = np.exp(math.log(focus.growth) * np.arange(focus.rounds))
    of_rounds = np.outer(of_periods, steps / steps.sum()).ravel() * (1 - ROUNDING)
    within = steps**focus.delta_growth
    deal = np.tile(within / within.sum(), horizon) / horizon * (1 - ROUNDING)
    if of_rounds.min() < SMALLEST_SHARE or delta_new * deal.min() / sum(cuts) < SMALLEST_CHANCE:
        raise InvalidArgument(
            f"these shares leave a round less than {SMALLEST_SHARE:g} of the budget, or no part of delta: plan fewer "
            "periods, less uneven shares or a larger delta."
        )
    thresholds = own_item_thresholds(sigma, of_rounds, deal * delta_new, cuts, focus.rounds)
    return series_of(request, focus, sigma, delta_new, cuts, of_periods, of_rounds, thresholds)


def series_of(
    request: Request,
    focus: FocusedGaussian,
    sigma: float,
    delta_new: float,
    max_items: Sequence[int],
    of_periods: Sequence[float],
    of_rounds: Floats | Sequence[float],
    thresholds: Floats | Sequence[float],
) -> SeriesMechanism:
    """The mechanism with these numbers, fresh from the calibration or read from the state of a series."""
    shares = np.asarray(of_rounds, np.float64)
    boundary = Boundary(
        sigma,
        tuple(map(float, shares)),
        tuple(map(float, np.cumsum(shares))),
        tuple(map(float, sigma * np.sqrt(shares) * (1 + ROUNDING))),
        tuple(map(float, thresholds)),
        np.ones(request.max_items + 1),
        float(thresholds[-1]),
        1.0,
    )
    return SeriesMechanism(
        request, focus, boundary, delta_new, tuple(map(int, max_items)), tuple(map(float, of_periods))
    )


def series_told(request: Request, delta_new: float, told: Mapping[str, Any]) -> SeriesMechanism:
    """The mechanism that `SeriesMechanism.parameters` describes: a later version of dpsu must not calibrate it anew."""
    focus = replace(CONSTANTS, rounds=told["rounds"], **{name: told[name] for name in NAMES})
    of_periods = told["period_max_items"], told["period_shares"]
    return series_of(
        request, focus, told["sigma"], delta_new, *of_periods, told["shares"], told["thresholds"]
    )


def own_item_thresholds(
    sigma: float, shares: Floats, chances: Floats, max_items: Sequence[int], rounds: int
) -> Floats:
    """The smallest thresholds at which a user's own items cross in round r with probability `chances[r]` at most.

    At most D_s own items begin in period s. Each has received at most c_r - C_{s-1}, where c_r is the share spent by the
    end of round r and C_{s-1} the share spent before period s. So the bound is the sum over s of D_s times a normal tail.
    Rounded up.
    """
    spent = np.cumsum(shares)
    # Computed as a verifier does that sums other doubles: the margins below cover the difference.
    before = np.concatenate([[0.0], spent[rounds - 1 :: rounds]])[:-1]
    cuts = np.asarray(max_items, np.float64)
    thresholds = np.empty_like(spent)
    for r, (given, chance) in enumerate(zip(spent, chances, strict=True)):
        noise = sigma * math.sqrt(given) * (1 + 2 * ROUNDING)
        begun = slice(0, r // rounds + 1)
        ahead, own = before[begun] / noise, cuts[begun]
        z = _smallest_root(own, ahead, chance * (1 - QUANTILE_MARGIN))
        thresholds[r] = (given + noise * z) * (1 + ROUNDING)
    return thresholds


def _smallest_root(cuts: Floats, ahead: Floats, chance: float) -> float:
    """The z, rounded up, with sum of cuts * P(N > z + ahead) = chance; bisection between bounds from one and all terms."""
    low, high = (float(gaussian.upper_quantile(min(chance / total, 0.5))) for total in (cuts[0], cuts.sum()))
    low, high = min(low, high) - 1e-9, high + 1e-9
    while high - low > 1e-12 * (1 + high):
        middle = (low + high) / 2
        if float(cuts @ special.ndtr(-(middle + ahead))) <= chance:
            high = middle
        else:
            low = middle
    return high


def period_shares(shares: Shares, periods: int) -> tuple[float, ...]:
    """The share of the budget of every period: "even", "front" (early periods get more) or given."""
    if isinstance(shares, str):
        if shares not in ("even", "front"):
            raise InvalidArgument(f"shares must be 'even', 'front' or {periods} numbers, not {shares!r}.")
        raw = np.arange(1, periods + 1, dtype=np.float64) ** (0.0 if shares == "even" else -FRONT)
        return tuple(map(float, raw / raw.sum()))
    given = [*shares] if isinstance(shares, Iterable) else []
    numbers = all(isinstance(each, int | float) and not isinstance(each, bool) for each in given)
    if len(given) != periods or not numbers or not all(SMALLEST_SHARE <= each <= 1 for each in given):
        raise InvalidArgument(f"shares must be 'even', 'front' or {periods} positive numbers that sum to 1.")
    if abs(math.fsum(given) - 1) > SHARES_ROUNDING:
        raise InvalidArgument(f"the shares of the periods must sum to 1, not to {math.fsum(given):g}.")
    return tuple(float(each) for each in given)


def _cuts(max_items: int | Sequence[int], periods: int) -> tuple[int, ...]:
    """The cut of every period."""
    if isinstance(max_items, Sequence):
        if len(max_items) != periods:
            raise InvalidArgument(
                f"max_items must be one number, or {periods} numbers, one for each period, not {len(max_items)}."
            )
        return tuple(MAX_ITEMS.check("max_items", each) for each in max_items)
    return (MAX_ITEMS.check("max_items", max_items),) * periods


def _noise(mechanism: SeriesMechanism, r: int) -> dict[str, Any]:
    """How round r adds noise."""
    boundary = mechanism.boundary
    return {
        "round": r,
        "unit": boundary.shares[r] / ONE,
        "scale": boundary.scales[r],
        "cell": boundary.sigma / CELLS_PER_SIGMA,
    }


def _back_fill(
    columns: Columns, mechanism: SeriesMechanism, stream: Stream, before: Sequence[int]
) -> Columns:
    """What an item has that nobody ever held: the noise of the rounds before, drawn and rounded one by one."""
    size = len(columns["digest"])
    noisy, nothing = np.zeros(size, np.int64), np.zeros(size, np.int64)
    for r in before:
        noisy += gaussian_cells(nothing, columns["digest"], stream, **_noise(mechanism, r))
    return {"noisy": noisy, "exists": np.zeros(size, np.bool_), "released": np.zeros(size, np.bool_)}


def _look(columns: Columns, mechanism: SeriesMechanism, r: int) -> Columns:
    """The priorities before a period's first round, of newcomers too: the focus on their totals after round r."""
    if r < 0:
        return {"priority": np.ones(len(columns["noisy"]))}
    return {"priority": mechanism.focused.priority(columns["noisy"] * mechanism.boundary.cell, r)}


def _round(columns: Columns, mechanism: SeriesMechanism, stream: Stream, r: int) -> Columns:
    """Noise on every item that exists and is not released; the decision; the next priorities."""
    boundary = mechanism.boundary
    exists = columns["exists"] | columns["held"]
    counts = exists & ~columns["released"]
    fresh = drawn(partial(gaussian_cells, stream=stream, **_noise(mechanism, r)), columns, counts)
    noisy = columns["noisy"] + fresh
    crossed = counts & (noisy > threshold_in_cells(boundary.thresholds[r], boundary.cell, rounds=r + 1))
    released = columns["released"] | crossed
    priority = mechanism.focused.priority(noisy * boundary.cell, r)
    priority *= counts & ~crossed
    return {
        "noisy": noisy,
        "exists": exists,
        "released": released,
        "priority": priority,
        "open": ~released,
    }
