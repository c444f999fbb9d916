"""The formulas of the paper and of docs/calibration.md as they are printed, in mpmath: slow, obvious, the oracle."""

import math
from collections.abc import Iterable

import mpmath
from mpmath import mpf

EPSILONS = (0.01, 0.1, 1.0, 3.0, 10.0, 20.0)
DELTAS = (1e-15, 1e-10, 1e-5, math.exp(-10), 1e-2, 0.1)
MAX_ITEMS = (1, 2, 10, 100, 300, 10**4, 10**6)


def delta_gaussian(epsilon: float, mu: float) -> mpf:
    epsilon, mu = mpf(epsilon), mpf(mu)
    if mu == 0:
        return max(mpf(0), 1 - mpmath.exp(epsilon))
    # The two terms agree in all but a few of their digits when mu is small.
    with mpmath.extraprec(40 + int(2 * abs(mpmath.log(mu, 2)))):
        return mpmath.ncdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - epsilon / mu)


def upper_tail(z: float) -> mpf:
    return mpmath.erfc(mpf(z) / mpmath.sqrt(2)) / 2


def new_item_chance(sigma: float, threshold: float, t: int, weight: mpf) -> mpf:
    """1 - Phi((threshold - weight)/sigma)^t."""
    tail = upper_tail((mpf(threshold) - weight) / mpf(sigma))
    return -mpmath.expm1(t * mpmath.log1p(-tail))


def divergence(epsilon: float, sigma: float, threshold: float, weights: Iterable[mpf], q: mpf) -> mpf:
    """delta of a user whose new items get `weights`, of squared sum q, and who moves the rest by sqrt(1 - q)."""
    loss = -sum(mpmath.log1p(-upper_tail((mpf(threshold) - w) / mpf(sigma))) for w in weights)
    psi = mpmath.exp(-loss)
    mu = mpmath.sqrt(1 - q) / mpf(sigma)
    own = 1 - psi + psi * delta_gaussian(epsilon + loss, mu)
    return max(own, delta_gaussian(epsilon - loss, mu))
