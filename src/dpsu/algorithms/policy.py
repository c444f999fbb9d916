"""The paper's policies: users one by one, each looking at the weights that those before have left.

`policy-laplace` is ℓ1-descent under an ℓ1 budget, in exact integers; `policy-gaussian` is ℓ2-descent under an ℓ2 budget;
`policy-gaussian-l1` is ℓ1-descent under an ℓ2 budget as published, which is not private. `Policy` wraps one of your own.
Proofs: docs/policies.md; why the published ℓ1-descent fails: docs/errata.md.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dpsu.algorithms.algorithm import Algorithm, algorithm
from dpsu.algorithms.calibrate import curve_selection, gaussian_budget, gaussian_selection
from dpsu.algorithms.mechanism import CurveSelection, Floats, Mechanism, Selection, thinned
from dpsu.algorithms.request import Request
from dpsu.engines.contract import Engine, Walk
from dpsu.errors import InvalidArgument
from dpsu.kernels.loops import Loop
from dpsu.kernels.units import ONE
from dpsu.privacy.budget import Budget
from dpsu.randomness.stream import Stream
from dpsu.sources.discreet import discreet

MAX_USERS = 2**32
"""The public bound on users for which the rounding of float policies is paid for."""

DEFAULT_ALPHA = 3.0

MOST_SENSITIVITY = 2.0
"""Of a policy in floats, with what rounding adds to 1."""

MOST_UNITS = 2**62
"""Above every sum of the gaps between the cutoff and a user's weights, in units of 2^-30."""

TOLERANCE = 1e-9
"""What an update of the caller's own may spend beyond one budget: more than its floats can err, and paid for."""

PART_SHARE = 1.5
"""How many P-ths of the cutoff one of P parts goes for: an item's holders scatter over the parts."""


@dataclass(frozen=True)
class PolicyMechanism(Mechanism):
    """A walk over all users and one decision per item."""

    request: Request
    alpha: float
    walk: Walk
    selection: Selection
    spent: Budget | None = None
    own: "Policy | None" = None

    def select(self, engine: Engine, sets: Any, stream: Stream) -> Any:
        """Bound, walk, decide."""
        engine.require_users(sets, MAX_USERS)
        rows = engine.bound(sets, self.request.max_items, stream)
        walk = engine.walk
        if self.own is not None:  # an error of the caller's function may quote weights
            walk = discreet(walk, f"the policy {self.own.name!r}, which `dpsu check-policy` examines, failed")
        items = walk(rows, engine.items(sets), self.walk, stream)
        return engine.update(items, self.selection.step(stream, self.walk.unit))

    def chance(self, holders: NDArray[np.int64], set_size: int) -> Floats:
        """Where all items of the holders are alike they rise together, one budget a user, up to the cutoff."""
        kept = min(set_size, self.request.max_items)
        norm = 1 if isinstance(self.selection, CurveSelection) else 2
        unit = self.walk.unit
        rise = unit * self.walk.budget * self.walk.passes / kept ** (1 / norm)
        return thinned(
            lambda n: self.selection.probability(
                np.minimum(n * rise, unit * self.walk.cutoff * self.walk.parts)
            ),
            holders,
            kept / set_size,
        )

    def parameters(self) -> dict[str, Any]:
        """The selection's, and the walk's constants; of a policy of the caller's own also what is claimed."""
        own = {"policy": self.own.name, "norm": self.own.norm} if self.own else {}
        return {
            **self.selection.parameters(),
            "alpha": self.alpha,
            "cutoff": self.walk.unit * self.walk.cutoff,
            "passes": self.walk.passes,
            "parts": self.walk.parts,
            "symmetric": self.own.symmetric if self.own else True,
            **own,
        }

    def budget(self) -> Budget | None:
        """As for one Gaussian sum: contractivity makes the sensitivity that of one user's budget, but for rounding."""
        return self.spent


def rounding_slack(cutoff: float, max_items: int, norm: int, passes: int = 1, parts: int = 1) -> float:
    """How far the sensitivity of a float policy can exceed 1: every visit rounds on both of two neighbouring histories.

    So does adding up the parts, once per part and item; users hold at most MAX_USERS * max_items items.
    """
    per_visit: float = max_items ** (1 / norm) * math.ulp(cutoff) / 2 + (max_items / 2 + 4) * 2.0**-53
    adding: float = (MAX_USERS * max_items) ** (1 / norm) * (parts - 1) * math.ulp(parts * cutoff) / 2
    return 2 * (MAX_USERS * passes * per_visit + adding)


def part_of_cutoff(cutoff: float, parts: int, budget: float) -> float:
    """What the users of one part raise items towards: a share of the cutoff, but not less than one budget.

    Then a user who holds a new item always spends the whole budget, as the threshold takes for granted (docs/hybrid.md).
    """
    return max(min(cutoff, PART_SHARE * cutoff / parts), budget)


def _gaussian_walk(
    request: Request,
    loop: Loop,
    alpha: float,
    passes: int = 1,
    parts: int = 1,
    *,
    symmetric: bool = True,
    spends_all: bool = False,
    tolerance: float = 0.0,
) -> PolicyMechanism:
    """Noise, threshold and cutoff that pay for the rounding of the cutoff itself, and for a `tolerance` of the budget."""
    new_weight: Literal["symmetric", "any"] = "symmetric" if symmetric else "any"
    spending: Literal["all", "any"] = "all" if spends_all and passes == 1 else "any"
    sensitivity, needed = 0.0, 1.0
    while needed > sensitivity:
        # Rounding grows with the cutoff, and the cutoff with the noise that pays for it.
        sensitivity = _payable(needed)
        selection = gaussian_selection(
            request, new_weight=new_weight, spending=spending, sensitivity=sensitivity
        )
        cutoff = part_of_cutoff(selection.threshold + alpha * selection.sigma, parts, 1.0)
        slack = rounding_slack(cutoff, request.max_items, 2, passes, parts)
        needed = 1 + (slack + tolerance) * (1 + 2.0**-40)
    walk = Walk(loop, cutoff, 1 / passes, passes, np.float64, 1.0, parts)
    spent = gaussian_budget(selection, request.max_items, new_weight, sensitivity)
    return PolicyMechanism(request, alpha, walk, selection, spent)


def _payable(sensitivity: float) -> float:
    """The sensitivity with rounding, unless it is so much that another algorithm is the better choice."""
    if sensitivity > MOST_SENSITIVITY:
        raise InvalidArgument(
            "the rounding of this policy's sums, for up to 2^32 users, would more than double the noise: the cutoff is too "
            "large for floats. Choose a larger epsilon, fewer max_items or passes, a smaller alpha, or weighted-gaussian, "
            "which has no such limit."
        )
    return sensitivity


@lru_cache(maxsize=16)
def _walk_with(rule: Callable[..., Any], norm: int) -> Callable[..., Any]:
    """The update as a loop over users; weights stop at the cutoff, which brings no two histories further apart."""
    import numba

    update: Any = rule if hasattr(rule, "py_func") else numba.njit(rule)
    most, least = 1 + TOLERANCE, -TOLERANCE

    @numba.njit(nogil=True)
    def walk(indptr: Any, items: Any, order: Any, cutoff: float, budget: float, weights: Any) -> None:
        for user in order:
            own = items[indptr[user] : indptr[user + 1]]
            if own.size == 0:
                continue
            increments = update(weights[own], cutoff)
            if increments.size != own.size:
                raise InvalidArgument("the policy must return an increment for every weight")
            spent = np.abs(increments).sum() if norm == 1 else math.sqrt((increments * increments).sum())
            if not (spent <= budget * most) or increments.min() < least:
                raise InvalidArgument("the policy spends more than one budget or lowers a weight")
            for k in range(own.size):
                weights[own[k]] = min(weights[own[k]] + increments[k], cutoff)

    return walk


@algorithm
class BuiltInPolicy(Algorithm):
    """A policy of the catalogue: users are processed one after the other, in `passes` passes.

    The cutoff is the threshold plus `alpha` noise scales. Users are divided into `parts`, which are processed separately;
    None leaves the number to the engine.
    """

    family = "policy"
    proof = "docs/policies.md"

    alpha: float = DEFAULT_ALPHA
    passes: int = 1
    parts: int | None = None

    def for_engine(self, parts: int) -> "BuiltInPolicy":
        """The policy in as many parts as the engine takes, unless the caller has chosen a number."""
        return self if self.parts is not None else replace(self, parts=parts)


@algorithm
class PolicyLaplace(BuiltInPolicy):
    """ℓ1-descent: users raise their items evenly towards a cutoff; the release curve of Laplace noise decides.

    The cutoff is the threshold plus `alpha` noise scales, and users come `passes` times. `parts` divides the users into
    parts that run side by side; None leaves it to the engine.

    >>> import dpsu
    >>> dpsu.plan(epsilon=1, delta=1e-6, algorithm=dpsu.PolicyLaplace(alpha=2)).users_needed()
    14
    """

    name = "policy-laplace"
    summary = "ℓ1-descent: users raise their items evenly towards a cutoff"

    def calibrate(self, request: Request) -> Mechanism:
        """The release curve, and a cutoff in exact integers."""
        parts = self.parts or 1
        # Left-over units of the common level go to the first items of a row: symmetric up to one unit.
        selection = curve_selection(request, new_weight="symmetric", margin=self.passes / ONE)
        aim = (selection.parameters()["threshold"] + self.alpha / request.epsilon) * ONE
        cutoff = math.ceil(part_of_cutoff(aim, parts, ONE))
        if cutoff * request.max_items >= MOST_UNITS:
            raise InvalidArgument(
                f"the cutoff of policy-laplace, {cutoff / ONE:.3g} budgets, times max_items, {request.max_items}, must be "
                "below 2^32, so that no sum of a user's gaps leaves 64 bits. Choose a larger epsilon, a smaller alpha or "
                "fewer max_items."
            )
        walk = Walk("l1_descent", cutoff, ONE // self.passes, self.passes, np.int64, 1 / ONE, parts)
        return PolicyMechanism(request, self.alpha, walk, selection)


@algorithm
class PolicyGaussian(BuiltInPolicy):
    """ℓ2-descent: users move their items straight towards a cutoff; Gaussian noise and a threshold decide.

    The cutoff is the threshold plus `alpha` noise scales, and users come `passes` times. `parts` divides the users into
    parts that run side by side; None leaves it to the engine.

    >>> import dpsu
    >>> dpsu.plan(epsilon=1, delta=1e-6, algorithm=dpsu.PolicyGaussian(alpha=2)).users_needed()
    25
    """

    name = "policy-gaussian"
    summary = "ℓ2-descent: users move their items straight towards a cutoff"

    def calibrate(self, request: Request) -> Mechanism:
        """Noise, threshold and cutoff; a user with new items always spends the whole budget."""
        how = self.alpha, self.passes, self.parts or 1
        return _gaussian_walk(request, "l2_descent", *how, spends_all=True)


@algorithm
class PolicyGaussianL1(BuiltInPolicy):
    """ℓ1-descent under an ℓ2 budget, as published. Not private: it needs `unsafe=True`.

    >>> import dpsu
    >>> dpsu.plan(epsilon=1, delta=1e-6, algorithm=dpsu.PolicyGaussianL1()).users_needed()
    26
    """

    name = "policy-gaussian-l1"
    summary = "ℓ1-descent under an ℓ2 budget, as published; not private"
    proof = "docs/errata.md"
    private = False

    def calibrate(self, request: Request) -> Mechanism:
        """As if it were contractive, which it is not."""
        return _gaussian_walk(request, "l1_descent_in_l2", self.alpha, self.passes, self.parts or 1)


@algorithm
class Policy(Algorithm):
    """A policy of your own.

    `update(weights, cutoff)` is compiled with numba. It gets the current weights of one user's items and returns the
    increment of each: at most 1 in the given `norm`, never below zero. You claim that the policy is contractive: two
    histories that are one budget apart stay one budget apart. The statement says so; `dpsu check-policy` searches for a
    counterexample. `symmetric` claims that items of equal weight get equal increments, which lowers the threshold. The
    cutoff is the threshold plus `alpha` noise scales.

    >>> import dpsu, numpy
    >>> even = dpsu.Policy(lambda weights, cutoff: numpy.full(len(weights), 1 / len(weights)), norm=1, name="even")
    >>> dpsu.plan(epsilon=1, delta=1e-6, algorithm=even).users_needed()
    14
    """

    family = "policy"
    summary = "a policy of the caller's own"
    proof = "docs/policies.md"

    update: Callable[[Floats, float], Floats]
    norm: Literal[1, 2]
    symmetric: bool = False
    name: str = "policy"
    alpha: float = DEFAULT_ALPHA

    def __post_init__(self) -> None:
        if self.norm not in (1, 2):
            raise InvalidArgument(
                f"norm must be 1 or 2, not {self.norm!r}: it is the norm a user's increments are measured in."
            )
        if not callable(self.update):
            raise InvalidArgument("update must be a function (weights, cutoff) -> increments.")

    def options(self) -> dict[str, Any]:
        """The one number that a setting states; what is claimed of the policy stands in the parameters."""
        return {"alpha": self.alpha}

    def calibrate(self, request: Request) -> Mechanism:
        """The appendix's thresholds, unless symmetry is claimed."""
        loop = _walk_with(self.update, self.norm)
        if self.norm == 2:
            walked = _gaussian_walk(request, loop, self.alpha, symmetric=self.symmetric, tolerance=TOLERANCE)
            return replace(walked, own=self)
        selection = curve_selection(request, new_weight="symmetric" if self.symmetric else "any")
        cutoff = selection.parameters()["threshold"] + self.alpha / request.epsilon
        # Weights are lowered by what rounding may add. A lowered weight stands for at most twice as much: see _payable.
        slack = rounding_slack(2 * cutoff, request.max_items, norm=1) + TOLERANCE
        unit = math.nextafter(1 / _payable(1 + slack), 0)
        walk = Walk(loop, cutoff / unit, 1.0, 1, np.float64, unit=unit)
        return PolicyMechanism(request, self.alpha, walk, selection, own=self)


ALGORITHMS = (PolicyLaplace, PolicyGaussian, PolicyGaussianL1)
