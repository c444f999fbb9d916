"""Upper bounds on many normal tails at once, proved from a few tails in interval arithmetic.

Let Q(z) = P(N(0, 1) > z) and g <= z. The hazard q = -(ln Q)' of the normal distribution is convex (Sampford 1953), and
q' = q (q - z). So the third derivative of ln Q is not positive, and with h = z - g >= 0

    ln Q(z) <= ln Q(g) - h q(g) - h^2 q(g) (q(g) - g) / 2.

The right side is computed for g on a grid, once for each point that is needed. It is at most h^3 / 6 above the left side.
"""

import math

import numpy as np
from mpmath import iv
from numpy.typing import NDArray

from dpsu.verification.intervals import Interval, exact, high, low, tail

Floats = NDArray[np.float64]

STEPS = 1024
"""Number of grid points in a unit: a power of 2, so that h is exact. The bounds exceed the tails by less than 2e-10."""

NEAR, COARSE = 20.0, 32
"""Tails that are less than about e^-20 of the largest one use every 32nd point: their excess is small as well."""

FARTHEST = 64
"""Larger z count as this one, whose tail is below e^-2000."""

FLOATS = 1e-11
"""Margin for the floats below: logarithms up to 3000, the exponential and a dot product."""

UNDERFLOW = 1e-300
"""Above what the exponential loses near zero."""


class Tails:
    """Bounds the sums of tails relative to a probability `limit`, in the present precision of the intervals."""

    def __init__(self, limit: Interval) -> None:
        self._log_limit = below(iv.log(limit))
        self._grid = np.full((3, FARTHEST * STEPS + 1), np.nan)

    def share(self, counts: Floats, z: Floats) -> float:
        """An upper bound on the sum of counts * Q(z) / limit, for z of 0 or more."""
        z = np.minimum(z, FARTHEST)
        place = np.floor(z * STEPS).astype(np.int64)
        far = z > z.min() + NEAR / (1 + z.min())
        place -= np.where(far, place % COARSE, 0)
        for point in np.unique(place[np.isnan(self._grid[0, place])]):
            self._grid[:, point] = _expansion(exact(int(point)) / STEPS)
        h = z - place / STEPS
        log_tail, hazard, bend = self._grid[:, place]
        with np.errstate(over="ignore"):
            terms = np.exp(log_tail - self._log_limit - h * (hazard + h * bend / 2))
            return float(counts @ (terms + UNDERFLOW)) * (1 + FLOATS)


def _expansion(g: Interval) -> tuple[float, float, float]:
    """ln Q at g, rounded up, with its first and second derivative, negative and rounded down."""
    chance = tail(g)
    hazard = iv.exp(-(g**2) / 2) / iv.sqrt(2 * iv.pi) / chance
    return above(iv.log(chance)), below(hazard), below(hazard * (hazard - g))


def above(x: Interval) -> float:
    """A double above the interval."""
    return math.nextafter(float(high(x)), math.inf)


def below(x: Interval) -> float:
    """A double below the interval."""
    return math.nextafter(float(low(x)), -math.inf)
