"""MAD and MAD2R (Chen, Cohen-Addad, Epasto, Zadimoghaddam 2025): adaptive weights without an order of users.

MAD: users first give 1/s to each of their s items. What an item has beyond the cutoff it sends back, and users reroute a
part of that to all their items; then they give the rest of their ℓ2 budget as in Weighted Gaussian. MAD2R: a first round
of MAD with little budget; a second one in which users give less to items that the first has seen to be safe, and nothing
to those beyond hope. Proofs, with the rounding: docs/mad.md.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsu.algorithms.algorithm import Algorithm, algorithm
from dpsu.algorithms.calibrate import deal, gaussian_budget, gaussian_selection
from dpsu.algorithms.mechanism import Floats, GaussianSelection, Mechanism, thinned
from dpsu.algorithms.ranges import check_shares
from dpsu.algorithms.request import Request
from dpsu.engines.contract import Columns, Engine, Rule
from dpsu.errors import InvalidArgument
from dpsu.kernels.loops import find_loop
from dpsu.kernels.units import FINE_ONE, LIMIT
from dpsu.privacy import gaussian
from dpsu.privacy.budget import Budget
from dpsu.randomness.stream import Stream

MAX_USERS = 2**26
"""The public bound on users for which the rounding of rerouted weights is paid for."""

UNIT = 1 / FINE_ONE

DEFAULT_SHARES = (0.1, 0.9)


@dataclass(frozen=True)
class AdaptiveRound:
    """The public constants of one round of MAD.

    cutoff: what an item has beyond it is sent back. d_max: users with more items do not reroute. An item gets between
    b_min and b_max times an even share; both are 1 without bias.
    """

    selection: GaussianSelection
    cutoff: float
    max_items: int
    d_max: int
    b_min: float = 1.0
    b_max: float = 1.0

    def totals(self, engine: Engine, rows: Any, items: Any) -> Any:
        """The items with the column `total`; with bias, users look at the column `bias`."""
        first = Rule("weigh_rerouted", UNIT, np.array([self.first_weights, np.zeros(self.max_items + 1)]))
        items = engine.weigh(rows, items, first)
        items = engine.update(items, partial(_send_back, cutoff=math.floor(self.cutoff * FINE_ONE)))
        if self.b_min == self.b_max == 1:
            second = np.array([self.even_weights - self.first_weights, self.rerouting])
            items = engine.weigh(rows, items, Rule("weigh_rerouted", UNIT, second, reads="excess"))
            return engine.update(items, _add_up)
        rerouted = np.array([np.zeros(self.max_items + 1), self.rerouting])
        items = engine.weigh(rows, items, Rule("weigh_rerouted", UNIT, rerouted, reads="excess"))
        items = engine.update(items, _add_up)
        items = engine.weigh(rows, items, Rule("weigh_with_bias", UNIT, self.bias_table, reads="bias"))
        return engine.update(items, _add_up)

    @cached_property
    def sizes(self) -> Floats:
        """0 to max_items; set sizes begin at 1, the first entry is never read."""
        return np.arange(self.max_items + 1, dtype=np.float64)

    @cached_property
    def first_weights(self) -> Floats:
        """What a user who reroutes gives to each of s items at first: 1/s, in whole units."""
        adaptive = (
            (math.ceil(1 / self.b_min**2) <= self.sizes) & (self.sizes <= self.d_max) & (self.sizes > 0)
        )
        return np.where(adaptive, np.floor(FINE_ONE / np.maximum(self.sizes, 1)), 0.0)

    @cached_property
    def even_weights(self) -> Floats:
        """What each of s items gets in the end without rerouting or bias: s^(-1/2), in whole units."""
        return np.array(
            [0, *(math.isqrt(FINE_ONE**2 // s) for s in range(1, self.max_items + 1))], np.float64
        )

    @cached_property
    def alpha(self) -> float:
        """The part of what is sent back that a user may reroute; a little less than proven, for rounding."""
        return (self.b_min - 1 / (2 * math.sqrt(self.d_max))) * (1 - self.d_max * 2.0**-39)

    @cached_property
    def rerouting(self) -> Floats:
        """What each of s items gets for every unit in the sum of excesses."""
        return self.first_weights * (self.alpha / self.d_max)

    @cached_property
    def bias_table(self) -> Floats:
        """Given before, least, even and most, by the size of the set."""
        # As much below the ideal as the kernel keeps its budget below 1, so that even shares are within it.
        even = (1 - (self.sizes + 8) * 2.0**-53) / np.sqrt(np.maximum(self.sizes, 1))
        return np.array([self.first_weights, self.b_min * even, even, self.b_max * even])

    def alike(self, holders: Floats | float, sizes: NDArray[np.int64], given: Floats) -> Floats:
        """Totals of items whose holders have as many items as `sizes` says, all alike, and give `given` in the end."""
        first = self.first_weights[sizes] * UNIT
        initial = holders * first
        excess = 1 - self.cutoff / np.maximum(initial, self.cutoff)
        rerouted = holders * excess * sizes * self.rerouting[sizes] * UNIT
        return np.asarray(np.minimum(initial, self.cutoff) + rerouted + holders * (given - first), np.float64)


@dataclass(frozen=True)
class MadMechanism(Mechanism):
    """One round."""

    request: Request
    adaptive: AdaptiveRound
    spent: Budget

    def select(self, engine: Engine, sets: Any, stream: Stream) -> Any:
        """Bound, weigh and reroute, decide."""
        engine.require_users(sets, MAX_USERS)
        rows = engine.bound(sets, self.request.max_items, stream)
        items = self.adaptive.totals(engine, rows, engine.items(sets))
        return engine.update(items, partial(_decide, selection=self.adaptive.selection, stream=stream, r=0))

    def chance(self, holders: NDArray[np.int64], set_size: int) -> Floats:
        """For holders who share all their items."""
        kept = min(set_size, self.request.max_items)

        def released(n: Floats) -> Floats:
            sizes = np.full(n.size, kept)
            return self.adaptive.selection.probability(self.adaptive.alike(n, sizes, sizes**-0.5))

        return thinned(released, holders, kept / set_size)

    def parameters(self) -> dict[str, Any]:
        """Noise, threshold and the constants of rerouting."""
        return {
            **self.adaptive.selection.parameters(),
            "cutoff": self.adaptive.cutoff,
            "d_max": self.adaptive.d_max,
            "alpha": self.adaptive.alpha,
        }

    def budget(self) -> Budget:
        """As for one Gaussian sum."""
        return self.spent


@dataclass(frozen=True)
class Mad2rMechanism(Mechanism):
    """Two rounds; the second looks at the noisy totals of the first."""

    request: Request
    shares: tuple[float, ...]
    first: AdaptiveRound
    second: AdaptiveRound
    c_lb: float
    c_ub: float
    spent: Budget

    def select(self, engine: Engine, sets: Any, stream: Stream) -> Any:
        """MAD; drop what is released or beyond hope; MAD with bias on the rest of the same rows."""
        engine.require_users(sets, MAX_USERS)
        rows = engine.bound(sets, self.request.max_items, stream)
        items = self.first.totals(engine, rows, engine.items(sets))
        items = engine.update(items, partial(_decide, selection=self.first.selection, stream=stream, r=0))
        items = engine.update(items, partial(_look, mechanism=self))
        rows = engine.bound(rows, self.request.max_items, stream, keep=items)
        items = self.second.totals(engine, rows, items)
        return engine.update(items, partial(_decide, selection=self.second.selection, stream=stream, r=1))

    def hopeless(self, noisy: Floats) -> NDArray[np.bool_]:
        """Whether even a first total much higher than seen would not reach the second threshold."""
        return noisy + self.c_ub * self.first.selection.sigma < self.second.selection.threshold

    def bias(self, noisy: Floats) -> Floats:
        """Below 1 where even a first total lower than seen is above the second threshold: that much is enough."""
        threshold = self.second.selection.threshold
        return threshold / np.maximum(noisy - self.c_lb * self.first.selection.sigma, threshold)

    def chance(self, holders: NDArray[np.int64], set_size: int) -> Floats:
        """For holders who share all their items: the second round's mean over many values of the first one's noise."""
        from dpsu.algorithms.focused_chance import SAMPLES, public_normals

        kept = min(set_size, self.request.max_items)
        noise = public_normals(1, -(-SAMPLES // kept), kept)[0]
        return thinned(
            lambda n: np.array([self._chance(count, kept, noise) for count in n]), holders, kept / set_size
        )

    def _chance(self, holders: float, kept: int, noise: Floats) -> float:
        sizes = np.full(noise.size, kept)
        noisy = self.first.alike(holders, sizes, sizes**-0.5) + self.first.selection.sigma * noise.ravel()
        crossed = noisy > self.first.selection.threshold
        left = ~crossed & ~self.hopeless(noisy)
        sizes = left.reshape(noise.shape).sum(axis=1)
        items = np.arange(left.sum(), dtype=np.uint32)
        weights = np.zeros(items.size, np.int64)
        indptr = np.concatenate([[0], np.cumsum(sizes)])
        bias, table = self.bias(noisy[left]), self.second.bias_table
        find_loop("weigh_with_bias")(indptr, items, bias, table, weights, np.empty(kept))
        sizes = np.repeat(sizes, sizes)
        given = (weights + self.second.first_weights[sizes]) * UNIT
        total = self.second.alike(holders, sizes, given)
        return float(crossed.sum() + self.second.selection.probability(total).sum()) / noise.size

    def parameters(self) -> dict[str, Any]:
        """Noise and thresholds of both rounds and the constants."""
        rounds = (self.first, self.second)
        return {
            "noise": "gaussian",
            "sigma": 1 / self.spent.mu,
            "shares": list(self.shares),
            "sigmas": [each.selection.sigma for each in rounds],
            "thresholds": [each.selection.threshold for each in rounds],
            "cutoffs": [each.cutoff for each in rounds],
            "d_max": self.first.d_max,
            "b_min": self.second.b_min,
            "b_max": self.second.b_max,
            "c_lb": self.c_lb,
            "c_ub": self.c_ub,
        }

    def budget(self) -> Budget:
        """Both rounds composed."""
        return self.spent


def _send_back(columns: Columns, cutoff: int) -> Columns:
    """Cut totals at the cutoff; the excess of an item is the part of its total that is sent back."""
    total = np.minimum(columns["total"], LIMIT)
    return {"kept": np.minimum(total, cutoff), "excess": 1 - cutoff / np.maximum(total, cutoff)}


def _add_up(columns: Columns) -> Columns:
    total = columns["kept"] + np.minimum(columns["total"], LIMIT)
    return {"kept": total, "total": total}


def _decide(columns: Columns, selection: GaussianSelection, stream: Stream, r: int) -> Columns:
    """Fresh noise on every item that is held; what exceeds the threshold is released beside what has been."""
    noisy = selection.noisy(columns, stream, UNIT, r)
    crossed = selection.crossed(columns, noisy)
    return {"noisy": noisy, "released": columns["released"] | crossed if r else crossed}


def _look(columns: Columns, mechanism: Mad2rMechanism) -> Columns:
    """What the second round sees of the first."""
    noisy = columns["noisy"] * mechanism.first.selection.cell
    return {"open": ~columns["released"] & ~mechanism.hopeless(noisy), "bias": mechanism.bias(noisy)}


def rounding_slack(d_max: int) -> float:
    """How far rounding can lift the sensitivity above 1: by a unit per rerouted weight and user, and errors of floats."""
    return 2 * MAX_USERS * (math.sqrt(d_max) * UNIT / 2 + (d_max / 2 + 6) * 2.0**-53)


def _selection(
    request: Request, part: Budget, sensitivity: float, weight: gaussian.Weight
) -> GaussianSelection:
    sigma = sensitivity / part.mu * (1 + 2.0**-50)
    return GaussianSelection(
        sigma, gaussian.threshold_split(sigma, part.delta_new, request.max_items, weight)
    )


def _cutoff(selection: GaussianSelection, beta: float) -> float:
    """The threshold and beta noise scales; at least 1, so that what one user alone holds is never sent back."""
    cutoff = max(1.0, selection.threshold + beta * selection.sigma)
    if cutoff > LIMIT * UNIT / 2:
        raise InvalidArgument(
            "epsilon is too small, or beta too large, for MAD: its cutoff must be at most 8192 budgets, since its totals "
            "stop at 16384. Choose a larger epsilon or a smaller beta; dp-sips and weighted-gaussian take any epsilon."
        )
    return cutoff


@algorithm
class Mad(Algorithm):
    """One round; the excess of popular items is rerouted to the other items of their users.

    Users with more than `d_max` items do not reroute. The cutoff is the threshold plus `beta` noise scales.

    >>> import dpsu
    >>> dpsu.plan(epsilon=1, delta=1e-6, algorithm=dpsu.Mad(d_max=20)).users_needed()
    25
    """

    name = "mad"
    family = "mad"
    summary = "one round; the excess of popular items is rerouted (Chen and others)"
    proof = "docs/mad.md"

    d_max: int = 50
    beta: float = 2.0

    def calibrate(self, request: Request) -> Mechanism:
        """Noise and threshold that pay for the rounding of rerouted weights."""
        d_max = min(self.d_max, request.max_items)
        sensitivity = 1 + rounding_slack(d_max)
        selection = gaussian_selection(
            request, new_weight="symmetric", spending="all", sensitivity=sensitivity
        )
        spent = gaussian_budget(selection, request.max_items, "symmetric", sensitivity)
        adaptive = AdaptiveRound(selection, _cutoff(selection, self.beta), request.max_items, d_max)
        return MadMechanism(request, adaptive, spent)


@algorithm
class Mad2r(Algorithm):
    """Two rounds of MAD; the second looks at the noisy totals of the first.

    An item gets between `b_min` and `b_max` even shares in the second round. `c_lb` and `c_ub` are the numbers of noise
    scales by which a first total may be too high or too low. `shares` divides the budget between the two rounds.

    >>> import dpsu
    >>> dpsu.plan(epsilon=1, delta=1e-6, algorithm=dpsu.Mad2r(b_max=1.5)).users_needed()
    28
    """

    name = "mad2r"
    family = "mad"
    summary = "two rounds of MAD; the second looks at the noisy totals of the first"
    proof = "docs/mad.md"

    d_max: int = 50
    beta: float = 2.0
    b_min: float = 0.5
    b_max: float = 2.0
    c_lb: float = 1.0
    c_ub: float = 3.0
    shares: Sequence[float] = DEFAULT_SHARES

    def __post_init__(self) -> None:
        object.__setattr__(self, "shares", check_shares(self.shares, DEFAULT_SHARES))
        if len(self.shares) != 2:
            raise InvalidArgument(
                f"mad2r has two rounds, so shares must be two numbers that sum to 1, not {list(self.shares)}."
            )

    def calibrate(self, request: Request) -> Mechanism:
        """Noise and threshold of both rounds, each from its part of the budget."""
        d_max = min(self.d_max, request.max_items)
        sensitivity = 1 + rounding_slack(d_max)
        parts = deal(request, self.shares)

        def most(t: Floats) -> Floats:
            return np.asarray(np.minimum(1.0, self.b_max / np.sqrt(t)), np.float64)

        first = _selection(request, parts[0], sensitivity, gaussian.equal_weight)
        second = _selection(request, parts[1], sensitivity, most)
        bounds = self.b_min, self.b_max
        return Mad2rMechanism(
            request,
            tuple(self.shares),
            AdaptiveRound(first, _cutoff(first, self.beta), request.max_items, d_max),
            AdaptiveRound(second, _cutoff(second, self.beta), request.max_items, d_max, *bounds),
            c_lb=self.c_lb,
            c_ub=self.c_ub,
            spent=parts[0].compose(parts[1]),
        )


ALGORITHMS = (Mad, Mad2r)
