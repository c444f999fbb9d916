"""The Gaussian mechanism: its privacy, its noise, and thresholds for items that one user alone holds.

Every number is rounded in the safe direction: deltas, noise and thresholds up, shares of delta and mu down. The proofs
are in docs/calibration.md.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from dpsu.errors import InvalidArgument
from dpsu.privacy import advice, normal

Weight = Callable[[NDArray[np.float64]], NDArray[np.float64]]

LEAST_MU = 1e-100
"""Below this the squares of noise scales overflow."""

FEW_ITEMS = 1024
"""Up to this number of items, all are tried at once; that is faster than branch and bound."""


def equal_weight(t: NDArray[np.float64]) -> NDArray[np.float64]:
    """The largest weight that each of t new items gets from a symmetric rule of ℓ2 budget 1: 1/sqrt(t)."""
    return 1.0 / np.sqrt(t)


def any_weight(t: NDArray[np.float64]) -> NDArray[np.float64]:
    """The largest weight that one of t new items gets from a rule that is not symmetric: the whole budget."""
    return np.ones_like(t)


def check_privacy(epsilon: float, delta: float) -> None:
    """Refuse an epsilon or delta outside the range of a promise."""
    if not (0.0 < epsilon < math.inf):
        raise InvalidArgument(f"epsilon must be a positive number, not {epsilon!r}; around 1 is common")
    if not (0.0 < delta < 1.0):
        raise InvalidArgument(f"delta must lie between 0 and 1, not {delta!r}; choose {advice.DELTA}")


def log_delta_gaussian(epsilon: float, mu: float) -> float:
    """The logarithm of `delta_gaussian`, for deltas that would underflow."""
    if mu < 0.0 or math.isnan(mu) or math.isnan(epsilon):
        raise InvalidArgument(f"mu must not be negative, nor mu or epsilon undefined: {mu!r}, {epsilon!r}")
    if mu == math.inf or epsilon == -math.inf:
        return 0.0
    if epsilon >= 0.0:
        return float(normal.log_delta(float(epsilon), float(mu)))
    return math.log(normal.delta(float(epsilon), float(mu)))


def delta_gaussian(epsilon: float, mu: float) -> float:
    """The smallest delta for which Gaussian noise of scale 1 under a shift of mu is (epsilon, delta)-private.

    Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu), Balle and Wang (2018), theorem 8, as an upper bound that
    is tight up to rounding. With mu = 0 it is max(0, 1 - e^epsilon). epsilon may be negative.
    """
    return min(1.0, math.exp(log_delta_gaussian(epsilon, mu)) * (1.0 + 4.0 * normal.ROUNDING))


def mu_for(epsilon: float, delta: float) -> float:
    """The largest mu with delta_gaussian(epsilon, mu) <= delta, rounded down: the inverse in mu."""
    check_privacy(epsilon, delta)
    epsilon = float(epsilon)
    goal = math.log(delta) * (1.0 + 2.0 * normal.ROUNDING) - normal.ROUNDING
    low, high = 0.0, 1.0
    while normal.log_delta(epsilon, high) <= goal:
        low, high = high, 2.0 * high
    while high - low > 4.0 * normal.ROUNDING * high:
        middle = 0.5 * (low + high)
        if normal.log_delta(epsilon, middle) <= goal:
            low = middle
        else:
            high = middle
    return low


def noise_scale(epsilon: float, delta: float) -> float:
    """The smallest sigma that makes a sum of ℓ2-sensitivity 1 (epsilon, delta)-private.

    Balle and Wang (2018), theorem 8, solved in log space and rounded up, so that a rounding error can only
    add noise.
    """
    mu = mu_for(epsilon, delta)
    if mu < LEAST_MU:
        raise InvalidArgument(
            f"epsilon {epsilon!r} with delta {delta!r} needs more noise than floats can represent; choose larger values"
        )
    return math.nextafter(1.0 / mu, math.inf)


def upper_quantile(p: ArrayLike) -> NDArray[np.float64]:
    """The z with P(N(0, 1) > z) = p, rounded up."""
    z = -special.ndtri(np.asarray(p, dtype=np.float64))
    return np.asarray(z + (1e-14 * np.abs(z) + 1e-15), dtype=np.float64)


def per_item_tail(delta: float, t: ArrayLike) -> NDArray[np.float64]:
    """The probability 1 - (1 - delta)^(1/t), rounded down: what each of t independent items may add to delta.

    It is computed in log space: the printed formula with (1 - delta)^(1/t) loses digits in the unsafe direction.
    """
    tail = -np.expm1(math.log1p(-delta) / np.asarray(t, dtype=np.float64))
    return np.asarray(tail * (1.0 - 8.0 * normal.ROUNDING), dtype=np.float64)


def threshold_split(sigma: float, delta_new: float, max_items: int, weight: Weight = equal_weight) -> float:
    """The threshold at which some new item of one user is released with probability at most `delta_new`.

    The largest weight(t) + sigma isf(1 - (1 - delta_new)^(1/t)) over t = 1 .. max_items, rounded up. `weight` is an
    upper bound on what each of t new items gets and must not increase with t: `equal_weight` for symmetric rules,
    `any_weight` (the paper's appendix) for the others.
    """

    def bound(first: NDArray[np.float64], last: NDArray[np.float64]) -> NDArray[np.float64]:
        return weight(first) + sigma * upper_quantile(per_item_tail(delta_new, last))

    return largest_over_items(bound, max_items) * (1.0 + 4.0 * normal.ROUNDING)


def delta_new(sigma: float, threshold: float, max_items: int, weight: Weight = equal_weight) -> float:
    """The probability that some new item of one user is released: the inverse of `threshold_split`, rounded up."""

    def bound(first: NDArray[np.float64], last: NDArray[np.float64]) -> NDArray[np.float64]:
        each = weight(first)
        rounding = 4.0 * normal.ROUNDING * (abs(threshold) + each)
        z = (threshold - each - rounding) / sigma
        tail = np.minimum(special.ndtr(-z) * (1.0 + 4.0 * normal.ROUNDING * (2.0 + z * z)), 1.0 - 2.0**-53)
        return np.asarray(-np.expm1(last * np.log1p(-tail)), dtype=np.float64)

    return min(1.0, largest_over_items(bound, max_items) * (1.0 + 16.0 * normal.ROUNDING))


def largest_over_items(
    bound: Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]], max_items: int
) -> float:
    """The largest bound(t, t) over t = 1 .. max_items, where bound(first, last) covers all t between the two.

    Branch and bound: ranges that cannot contain the largest value are dropped, and the others are halved until they are
    single numbers. This is exact and needs about a hundred evaluations instead of a million.
    """
    if max_items < 1:
        raise InvalidArgument(f"max_items must be at least 1, not {max_items}")
    if max_items <= FEW_ITEMS:
        edges = np.arange(1, max_items + 2)
    else:
        edges = np.unique(np.geomspace(1, max_items + 1, num=64).astype(np.int64))
    first, last = edges[:-1], edges[1:] - 1
    best = -math.inf
    while first.size:
        corners = np.concatenate([first, last]).astype(np.float64)
        best = max(best, float(bound(corners, corners).max()))
        open_ = (last > first) & (bound(first.astype(np.float64), last.astype(np.float64)) > best)
        first, last = first[open_], last[open_]
        middle = (first + last) // 2
        first, last = np.concatenate([first, middle + 1]), np.concatenate([middle, last])
    return best
