"""Focused Gaussian: a set union in rounds, in which users look at noisy totals and back what is close to making it.

Every round is one weighted sum per item with fresh noise, added to what the item has. Early rounds spend little, evenly:
they release what everybody holds and take it off everyone's list. Later rounds focus: a user gives most to those items
that are about to reach the boundary. Looking at noisy totals is post-processing, so any rule is allowed as long as a
user's own weights stay within one ℓ2 budget a round. Proof: docs/focused-gaussian.md.
"""

import math
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsu.algorithms.algorithm import Algorithm, algorithm
from dpsu.algorithms.mechanism import CELLS_PER_SIGMA, Floats, Mechanism, drawn, threshold_in_cells
from dpsu.algorithms.ranges import SMALLEST_SHARE
from dpsu.algorithms.request import Request
from dpsu.engines.contract import Columns, Engine, Rule, told_rounds
from dpsu.errors import InvalidArgument
from dpsu.kernels.units import ONE
from dpsu.privacy import crossing, gaussian
from dpsu.privacy.budget import Budget
from dpsu.randomness.noise import gaussian_cells
from dpsu.randomness.stream import Stream

ROUNDING = 1e-12
"""Relative margin on sums of shares, far above what their floats can err."""

CROSSING_MARGIN = 4e-9
"""Relative; a verifier that bounds the crossing in other steps must come to as much."""

SMALLEST_CHANCE = 1e-300
"""Below this the quantiles of the noise lose their digits."""

SPREAD_FLOOR = 0.02
"""The focus never gets narrower than with this share of the budget still to come."""


@algorithm
class FocusedGaussian(Algorithm):
    """Rounds in which users give most to the items that are close to the threshold. The options are public constants.

    - rounds: the number of rounds.
    - growth: the ratio of a round's share of the budget to the share of the round before.
    - split: the part of delta that pays for noise on shared items; the rest pays for new items.
    - delta_growth: rounds divide the rest by this power of their shares.
    - warmup: the share of the budget that is given evenly, in the first rounds.
    - boost: how much faster than before an item in focus is expected to rise.
    - width: the width of the focus, in standard deviations of the noise that is still to come.
    - tail: how slowly the focus fades above its centre.
    - cap: the largest part of a budget that goes to one item, between an even share (0) and all of it (1). None takes
      sigma / (sigma + 2), since a budget weighs less where there is more noise.

    docs/focused-study.md shows how the defaults were chosen, and how little most of them matter.

    >>> import dpsu
    >>> dpsu.plan(epsilon=1, delta=1e-6, algorithm=dpsu.FocusedGaussian(rounds=32)).users_needed(set_size=10)
    77
    """

    name = "focused-gaussian"
    family = "focused"
    summary = "rounds in which users give most to items close to the threshold; releases most on text"
    proof = "docs/focused-gaussian.md"

    rounds: int = 20
    growth: float = 1.15
    split: float = 0.6
    delta_growth: float = 4.0
    warmup: float = 0.08
    boost: float = 1.6
    width: float = 0.65
    tail: float = 0.3
    cap: float | None = None

    def calibrate(self, request: Request) -> "FocusedMechanism":
        """The noise of the whole, and the boundary that new items cross with the rest of delta."""
        delta_noise = request.delta * self.split
        delta_new = (request.delta - delta_noise) * (1 - ROUNDING)
        sigma = gaussian.noise_scale(request.epsilon, delta_noise)
        boundary = calibrate_boundary(request, self, sigma, delta_new)
        return FocusedMechanism(request, self, boundary, delta_new)


@dataclass(frozen=True)
class Boundary:
    """The rounds of one calibrated mechanism; tuples with an entry per round.

    `caps` are the most a focused user gives to one item, by set size: what keeps new items below `capped_at` in the last
    round, which may use the part `last_deal` of delta_new.
    """

    sigma: float
    shares: tuple[float, ...]
    spent: tuple[float, ...]
    scales: tuple[float, ...]
    thresholds: tuple[float, ...]
    caps: NDArray[np.float64]
    capped_at: float
    last_deal: float

    @property
    def cell(self) -> float:
        """The width of the grid that every round's noisy sum is rounded to."""
        return self.sigma / CELLS_PER_SIGMA


@dataclass(frozen=True)
class FocusedMechanism(Mechanism):
    """The calibrated mechanism."""

    request: Request
    focus: FocusedGaussian
    boundary: Boundary
    delta_new: float

    def select(self, engine: Engine, sets: Any, stream: Stream) -> Any:
        """Round after round: weigh by priority, add noise, release what crosses, set new priorities."""
        rows = engine.bound(sets, self.request.max_items, stream)
        items = engine.update(engine.items(sets), _begin)
        for r in told_rounds(engine, self.focus.rounds):
            items = engine.weigh(rows, items, self.rule(r))
            items = engine.update(items, partial(_round, mechanism=self, stream=stream, r=r))
            rows = engine.bound(rows, self.request.max_items, stream, keep=items)
        return items

    def rule(self, r: int) -> Rule:
        """How users divide what they give in round r: evenly at first, then by priority."""
        unit, caps = self.boundary.shares[r] / ONE, self.boundary.caps
        if r > 0 and self.boundary.spent[r - 1] >= self.focus.warmup:
            return Rule("weigh_proportionally", unit=unit, table=caps, reads="priority")
        return Rule("weigh_evenly", unit=unit, table=even_weights(caps))

    def chance(self, holders: NDArray[np.int64], set_size: int) -> Floats:
        """By simulation of holders who share all their items."""
        from dpsu.algorithms.focused_chance import simulate

        return simulate(self, holders, set_size)

    def parameters(self) -> dict[str, Any]:
        """Noise, the boundary per round, and the constants."""
        return {
            "noise": "gaussian",
            "sigma": self.boundary.sigma,
            "threshold": self.boundary.thresholds[-1] if self.boundary.thresholds else None,
            **asdict(self.focus),
            "shares": list(self.boundary.shares),
            "thresholds": list(self.boundary.thresholds),
            "capped_at": self.boundary.capped_at,
            "last_deal": self.boundary.last_deal,
        }

    def budget(self) -> Budget:
        """All rounds together are one Gaussian sum of sensitivity 1; new items cross the boundary with delta_new at most."""
        return Budget(mu=1 / self.boundary.sigma, delta_new=self.delta_new)

    def priority(self, totals: Floats, r: int) -> Floats:
        """How much users want to give to items with these noisy totals after round r: the focus."""
        if self.boundary.spent[r] < self.focus.warmup:
            return np.ones_like(totals)
        return bell(totals, *self.aim(r), self.focus.tail)

    def aim(self, r: int, goal: float | None = None) -> tuple[float, float]:
        """Where the focus after round r is centred, and its width: the total that will just reach the goal.

        The goal is the last threshold, unless another one is given.
        """
        goal = self.boundary.thresholds[-1] if goal is None else goal
        spent = self.boundary.spent[r]
        reach = spent + self.focus.boost * (1 - spent)
        width = self.focus.width * self.boundary.sigma * math.sqrt(spent * max(1 - spent, SPREAD_FLOOR))
        return goal * spent / reach, width


def bell(totals: Floats, centre: float, width: float, tail: float) -> Floats:
    """exp(-x^2 / 2) for x = (total - centre) / width below the centre, for tail * x above it.

    Computed as (1 - y / 2^12)^(2^12). Basic operations round alike on every machine and in every place of an array, which
    library exponentials need not, and an item's value must be a function of its own total alone.
    """
    x = (totals - centre) / width
    x *= np.where(x <= 0.0, 1.0, tail)
    values = np.maximum(1.0 - 0.5 * x * x / 4096.0, 0.0)
    for _ in range(12):
        values *= values
    return values


def even_weights(caps: Floats) -> NDArray[np.int64]:
    """What `weigh_proportionally` gives to each of s items of equal value, for every s."""
    size = np.arange(len(caps), dtype=np.float64)
    even = (1 - (size + 8) * 2.0**-53) / np.sqrt(np.maximum(size, 1))
    return np.asarray(np.minimum(even, caps) * ONE, np.int64)


def _begin(columns: Columns) -> Columns:
    size = len(columns["digest"])
    return {
        "noisy": np.zeros(size, np.int64),
        "released": np.zeros(size, np.bool_),
        "priority": np.ones(size, np.float64),
    }


def _round(columns: Columns, mechanism: FocusedMechanism, stream: Stream, r: int) -> Columns:
    """Fresh noise on every item that is held and not yet released; the decision; the next priorities."""
    boundary = mechanism.boundary
    counts = columns["held"] & ~columns["released"]
    how: dict[str, Any] = {
        "unit": boundary.shares[r] / ONE,
        "scale": boundary.scales[r],
        "cell": boundary.cell,
    }
    noisy = drawn(partial(gaussian_cells, stream=stream, round=r, **how), columns, counts)
    noisy += columns["noisy"]
    crossed = counts & (noisy > threshold_in_cells(boundary.thresholds[r], boundary.cell, rounds=r + 1))
    released = columns["released"] | crossed
    priority = mechanism.priority(noisy * boundary.cell, r)
    priority *= counts & ~crossed
    return {"noisy": noisy, "released": released, "priority": priority, "open": ~released}


def divided_shares(focus: FocusedGaussian, sigma: float) -> tuple[Floats, Floats, Floats]:
    """The share of every round, the sum of the shares up to it, and the scale of its noise."""
    steps = math.log(focus.growth) * np.arange(focus.rounds)
    raw = np.exp(steps - steps.max())
    shares = raw / raw.sum() * (1 - ROUNDING)
    return shares, np.cumsum(shares), sigma * np.sqrt(shares) * (1 + ROUNDING)


def calibrate_boundary(request: Request, focus: FocusedGaussian, sigma: float, delta_new: float) -> Boundary:
    """Shares, noise and thresholds of all rounds, from the noise of the whole and the chance that new items may have."""
    shares, spent, scales = divided_shares(focus, sigma)
    deal = shares**focus.delta_growth
    deal = deal / deal.sum() * (1 - ROUNDING)
    rarest, likeliest = gaussian.per_item_tail(delta_new, [request.max_items, 1])
    if rarest * deal.min() < SMALLEST_CHANCE or shares.min() < SMALLEST_SHARE:
        raise InvalidArgument(
            f"these constants leave a round less than {SMALLEST_SHARE:g} of the budget, or no part of delta: take fewer "
            "rounds or less growth, or a larger delta."
        )
    deal = deal * (crossing.excess(deal, shares, rarest, likeliest) * (1 - CROSSING_MARGIN))
    noise_so_far = np.sqrt(np.cumsum(scales**2)) * (1 + ROUNDING)
    even = np.concatenate([[True], spent[:-1] < focus.warmup])
    warm, focused = np.cumsum(shares * even), np.cumsum(shares * ~even)
    caps, capped_at = _caps(
        request.max_items, focus, noise_so_far[-1], deal[-1], delta_new, float(warm[-1]), float(focused[-1])
    )

    def bound(r: int) -> gaussian.Weight:
        def at(first: Floats, last: Floats) -> Floats:
            tail = gaussian.upper_quantile(gaussian.per_item_tail(delta_new, last) * deal[r])
            given = warm[r] / np.sqrt(first) + focused[r] * caps[first.astype(np.int64)]
            return np.asarray(given + noise_so_far[r] * tail, np.float64)

        return at  # type: ignore[return-value]

    thresholds = [
        gaussian.largest_over_items(bound(r), request.max_items) * (1 + ROUNDING)  # type: ignore[arg-type]
        for r in range(focus.rounds)
    ]
    return Boundary(
        sigma,
        tuple(map(float, shares)),
        tuple(map(float, spent)),
        tuple(map(float, scales)),
        tuple(thresholds),
        caps,
        capped_at,
        float(deal[-1]),
    )


def _caps(
    max_items: int,
    focus: FocusedGaussian,
    noise: float,
    deal: float,
    delta_new: float,
    warm: float,
    focused: float,
) -> tuple[NDArray[np.float64], float]:
    """The most a focused user may give to one item, by set size, such that large and small sets need the same threshold."""
    t = np.arange(1, max_items + 1, dtype=np.float64)
    tail = noise * gaussian.upper_quantile(gaussian.per_item_tail(delta_new, t) * deal)
    even = 1 / np.sqrt(t)
    high = float((warm * even + focused + tail).max())
    low = float(((warm + focused) * even + tail).max())
    place = noise / (noise + 2) if focus.cap is None else focus.cap
    wanted = low + place * (high - low)
    caps = np.clip((wanted - tail - warm * even) / focused, even, 1.0) if focused > 0 else even
    return np.concatenate([[1.0], np.maximum(np.minimum.accumulate(caps), even)]), wanted


ALGORITHMS = (FocusedGaussian,)
