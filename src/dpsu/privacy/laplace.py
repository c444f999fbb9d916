"""The ℓ1 family: the paper's Laplace threshold, the release curve, and one item per user.

A *curve* gives the probability that an item with a given total is released. Its parameters are doubles and define the
ideal curve exactly: `probability_mp` evaluates it to any precision, `probability` to double precision, for plans. The
parameters are rounded so that the ideal curve is (epsilon, delta)-private. Proofs: docs/calibration.md.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dpsu.errors import InvalidArgument
from dpsu.privacy.gaussian import check_privacy, largest_over_items, per_item_tail

LARGEST_EPSILON = 500.0
"""Above this e^epsilon is outside the range of doubles."""

MOST_STEPS = 2**20
"""The largest table of release probabilities for one item per user."""

EXPONENTIAL_BITS = 256
"""Fractional bits of e^epsilon: the error of a step is below 2^-200, in the safe direction."""


def laplace_threshold(epsilon: float, delta: float, max_items: int, symmetric: bool = True) -> float:
    """The paper's threshold for Laplace noise of scale 1/epsilon, rounded up.

    The largest w(t) + ln(1 / (2 (1 - (1 - delta)^(1/t)))) / epsilon over t = 1 .. max_items, where w(t) is the largest
    weight of each of t new items: 1/t for a symmetric rule, 1 for any other (the paper's appendix).
    """
    check_privacy(epsilon, delta)

    def bound(first: NDArray[np.float64], last: NDArray[np.float64]) -> NDArray[np.float64]:
        weight = 1.0 / first if symmetric else np.ones_like(first)
        return np.asarray(weight - np.log(2.0 * per_item_tail(delta, last)) / epsilon, dtype=np.float64)

    threshold = largest_over_items(bound, max_items)
    return threshold + 2.0**-50 * (abs(threshold) + 1.0)


@dataclass(frozen=True)
class LaplaceThreshold:
    """P(x + Laplace(1/epsilon) > rho): Laplace noise and a threshold, as a curve."""

    epsilon: float
    rho: float
    kind: Literal["laplace"] = "laplace"

    @property
    def kappa(self) -> float:
        """Zero: the tail of the exponential is not truncated."""
        return 0.0

    @property
    def midpoint(self) -> float:
        """The total that is released with probability 1/2."""
        return self.rho

    def probability(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """The probability that an item with total x is released."""
        return _probability(x, self.epsilon, self.kappa, self.rho)

    def probability_mp(self, x: Fraction, bits: int) -> Any:
        """The same to within 2**-bits, as an mpmath number."""
        context = _context(_precision(self.epsilon, x, self.rho, bits))
        return _probability_mp(context, x, self.epsilon, self.kappa, context.mpf(self.rho))


@dataclass(frozen=True)
class ReleaseCurve:
    """A curve that is (epsilon, delta)-private for every sum of ℓ1-sensitivity 1, new items included.

    With kappa = delta / (e^epsilon - 1) it is kappa (e^(epsilon x) - 1) up to its midpoint, where it is 1/2, and
    symmetric about it. The doubles epsilon and kappa define the curve. kappa is rounded down, so that the delta of the
    curve, kappa (e^epsilon - 1), is at most `delta`. The midpoint is the real number that they determine.
    """

    epsilon: float
    delta: float
    kind: Literal["release"] = "release"

    def __post_init__(self) -> None:
        check_privacy(self.epsilon, self.delta)
        if self.epsilon > LARGEST_EPSILON:
            raise InvalidArgument(
                f"epsilon is {self.epsilon!r}: above {LARGEST_EPSILON:g} the promise is meaningless; choose a smaller one"
            )

    @property
    def kappa(self) -> float:
        """The truncation of the exponential's tail: delta / (e^epsilon - 1), rounded down."""
        return self.delta / math.expm1(self.epsilon) * (1.0 - 2.0**-50)

    @property
    def x_h(self) -> float:
        """The midpoint, x_h in the proof: ln(1 + 1/(2 kappa)) / epsilon, up to rounding."""
        return math.log1p(0.5 / self.kappa) / self.epsilon

    @property
    def midpoint(self) -> float:
        """The total that is released with probability 1/2."""
        return self.x_h

    def probability(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """The probability that an item with total x is released."""
        return _probability(x, self.epsilon, self.kappa, self.midpoint)

    def probability_mp(self, x: Fraction, bits: int) -> Any:
        """The same to within 2**-bits, as an mpmath number."""
        context = _context(_precision(self.epsilon, x, self.midpoint, bits))
        middle = context.log1p(1 / (2 * context.mpf(self.kappa))) / context.mpf(self.epsilon)
        return _probability_mp(context, x, self.epsilon, self.kappa, middle)


def optimal_single(epsilon: float, delta: float) -> NDArray[np.float64]:
    """The probability pi(n) to release an item of n users with one item each, for n = 0, 1, .. up to its last increase.

    pi(n+1) = min{e^epsilon pi(n) + delta, 1 - e^-epsilon (1 - pi(n) - delta), 1}, each step rounded down from the exact
    value at the previous double. These doubles, as probabilities, satisfy (epsilon, delta). The last one is 1 if delta
    is at least 2^-52. For a smaller delta, steps near 1 can be too small for doubles.
    """
    check_privacy(epsilon, delta)
    steps = 2.0 * math.log1p(0.5 * math.expm1(min(epsilon, LARGEST_EPSILON)) / delta) / epsilon
    if steps > MOST_STEPS:
        raise InvalidArgument(
            f"epsilon {epsilon!r} with delta {delta!r} needs a table of {steps:.1e} probabilities, more than {MOST_STEPS}; "
            "choose a larger epsilon or delta, or another algorithm"
        )
    # Integers in units of 2^-scale: every double from delta to 1 is a multiple of the unit.
    scale = 60 - math.frexp(delta)[1] + 53
    one, step = 1 << scale, int(Fraction(delta) * 2**scale)
    growth, decay = _exponential(epsilon, up=False), _exponential(-epsilon, up=True)
    here, chances = 0, [0]
    while here < one:
        grown = here * growth >> EXPONENTIAL_BITS
        closed = one - _shifted_up(max(one - here - step, 0) * decay)
        risen = _leading(min(grown + step, closed, one))
        if risen <= here:
            break
        here = risen
        chances.append(here)
    return np.array([math.ldexp(chance, -scale) for chance in chances])


def _leading(value: int) -> int:
    """The 53 leading bits: the largest double that is not larger."""
    below = max(value.bit_length() - 53, 0)
    return value >> below << below


def _shifted_up(value: int) -> int:
    """The value over 2^EXPONENTIAL_BITS, rounded up."""
    return -(-value >> EXPONENTIAL_BITS)


def _probability(x: NDArray[np.float64], epsilon: float, kappa: float, middle: float) -> NDArray[np.float64]:
    above = np.asarray(x, dtype=np.float64) - middle
    lower = np.maximum(0.0, (kappa + 0.5) * np.exp(-epsilon * np.abs(above)) - kappa)
    return np.where(above > 0.0, 1.0 - lower, lower)


def _context(bits: int) -> Any:
    """A separate mpmath context: the precision of the global one is shared by all threads."""
    import mpmath

    context = mpmath.MPContext()
    context.prec = bits
    return context


def _probability_mp(context: Any, x: Fraction, epsilon: float, kappa: float, middle: Any) -> Any:
    above = context.mpf(x.numerator) / x.denominator - middle
    cut = context.mpf(kappa)
    lower = max(context.mpf(0), (cut + 0.5) * context.exp(-context.mpf(epsilon) * abs(above)) - cut)
    return 1 - lower if above > 0 else lower


def _precision(epsilon: float, x: Fraction, middle: float, bits: int) -> int:
    """The number of bits for which the error of the exponent, which may be large, is well below 2**-bits."""
    return bits + 32 + math.ceil(math.log2(2.0 + epsilon * (abs(float(x)) + abs(middle))))


def _exponential(exponent: float, up: bool) -> int:
    """e^exponent in units of 2^-EXPONENTIAL_BITS, rounded up or down."""
    context = _context(2 * EXPONENTIAL_BITS + 2 * math.ceil(abs(exponent)))
    whole = int(context.floor(context.ldexp(context.exp(context.mpf(exponent)), EXPONENTIAL_BITS)))
    return whole + up
