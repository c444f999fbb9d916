"""Noise and the decision, exact to the last bit: what leaves here is what ideal real arithmetic would give.

Compiled loops compute in double precision with an error bound. The few values that the bound leaves open are
settled one by one with further random words and arbitrary precision. docs/noise.md has the proof.
"""

import math
import threading
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpsu.errors import InvalidArgument, TooLarge
from dpsu.randomness.stream import Purpose, Stream

Totals = NDArray[np.int64] | NDArray[np.float64]
Floats = NDArray[np.float64]

#: Bound on the relative error of a computed normal variate; the tests find less than a hundredth of it.
NORMAL_ERROR = 2.0**-44

#: Bound on the absolute error of a computed keep probability, in units of 1 + epsilon * midpoint.
KEEP_ERROR = 2.0**-44

#: Bound on the absolute error of a computed -ln(u), in units of 1 - ln(u): far above that of any libm.
LOG_ERROR = 2.0**-44


class Curve(Protocol):
    """A keep probability that rises with an item's total (those of `dpsu.privacy.laplace`).

    At the distance d below the midpoint it is max(0, 1/2 + (kappa + 1/2)(exp(-epsilon d) - 1)), at d above it
    one minus that. With kappa = 0 these are Laplace noise and a threshold.
    """

    @property
    def epsilon(self) -> float:
        """The rate of the exponential."""

    @property
    def kappa(self) -> float:
        """How much of the exponential's tail is cut off."""

    @property
    def midpoint(self) -> float:
        """The total that is kept with probability 1/2."""

    def probability_mp(self, x: Fraction, bits: int) -> Any:
        """The probability at the total `x`, to within 2**-bits."""


def gaussian_cells(
    totals: Totals,
    digests: NDArray[np.uint64],
    stream: Stream,
    *,
    round: int,
    unit: float,
    scale: float,
    cell: float,
    purpose: Purpose = Purpose.NOISE,
) -> NDArray[np.int64]:
    """Add Gaussian noise and round to the grid: floor((unit * total + scale * N(0, 1)) / cell + 1/2).

    The normal variate belongs to the purpose, the round and the item's digest alone, and the result is that of real
    arithmetic, not of floating point. May be called on any part of the items and on several threads.
    """
    from dpsu.kernels.noise import noisy_cells  # numba is not needed to calibrate

    _require_positive(unit=unit, scale=scale, cell=cell)
    words = stream.words(purpose, round, digests)
    step, spread = Fraction(unit) / Fraction(cell), Fraction(scale) / Fraction(cell)
    step_high = float(step)
    step_low = float(step - Fraction(step_high))
    high = totals.astype(np.float64)
    low = (totals - high.astype(totals.dtype)).astype(np.float64)
    cells, decided = np.empty(len(words), np.int64), np.zeros(len(words), np.bool_)
    steps = step_high, step_low, float(spread)
    noisy_cells(words, high, low, *steps, NORMAL_ERROR, cells, decided)
    for i in np.flatnonzero(~decided):
        uniform = _Uniform(stream, purpose, round, digests[i], words[i])
        cells[i] = _settle_cell(uniform, Fraction(totals[i].item()) * step, spread)
    return cells


def keep(
    totals: Totals, digests: NDArray[np.uint64], stream: Stream, curve: Curve, *, unit: float, round: int = 0
) -> NDArray[np.bool_]:
    """Toss every item's coin: True with the probability that the curve has at `unit * total`, exactly."""
    from dpsu.kernels.noise import toss

    _require_positive(unit=unit)
    words = stream.words(Purpose.KEEP, round, digests)
    slack = KEEP_ERROR * (1.0 + curve.epsilon * curve.midpoint)
    kept, decided = np.empty(len(words), np.bool_), np.empty(len(words), np.bool_)
    toss(words, totals, unit, curve.epsilon, curve.kappa, curve.midpoint, slack, kept, decided)
    for i in np.flatnonzero(~decided):
        uniform = _Uniform(stream, Purpose.KEEP, round, digests[i], words[i])
        kept[i] = _settle_coin(uniform, curve, Fraction(unit) * Fraction(totals[i].item()))
    return kept


def keep_counts(
    counts: NDArray[np.int64],
    digests: NDArray[np.uint64],
    stream: Stream,
    probabilities: NDArray[np.float64],
    *,
    round: int = 0,
) -> NDArray[np.bool_]:
    """Toss every item's coin: True with probability `probabilities[count]`, the last for larger counts."""
    words = stream.words(Purpose.KEEP, round, digests)
    chances = probabilities[np.minimum(counts, len(probabilities) - 1)]
    # Scaling and floor are exact in floats; 2^64 itself, for a chance of 1, does not fit into a word.
    limits = np.full(len(words), 2**64 - 1, np.uint64)
    np.copyto(
        limits, np.floor(np.where(chances < 1, chances, 0) * 2.0**64).astype(np.uint64), where=chances < 1
    )
    kept: NDArray[np.bool_] = words < limits
    for i in np.flatnonzero(words == limits):
        uniform = _Uniform(stream, Purpose.KEEP, round, digests[i], words[i])
        kept[i] = uniform.below(partial(_as_it_is, Fraction(float(chances[i]))))
    return kept


def geometric(stream: Stream, epsilon: float, place: int, round: int = 0) -> int:
    """Two-sided geometric noise, P(z) proportional to e^(-epsilon |z|), exactly: the difference of two geometric numbers.

    The number belongs to the round and the place alone.
    """
    _require_positive(epsilon=epsilon)
    digests = np.array([[place, 0], [place, 1]], np.uint64)
    up, down = stream.words(Purpose.SIZE, round, digests)

    def number(digest: NDArray[np.uint64], word: np.uint64) -> int:
        found = _computed_geometric(int(word), epsilon)
        if found is not None:
            return found
        return _settle_geometric(_Uniform(stream, Purpose.SIZE, round, digest, word), Fraction(epsilon))

    return number(digests[0], up) - number(digests[1], down)


class _Uniform:
    """A uniform number of the unit interval, known to as many bits as a decision needs."""

    def __init__(
        self, stream: Stream, purpose: Purpose, round: int, digest: NDArray[np.uint64], word: np.uint64
    ) -> None:
        self._extension = partial(stream.extension, purpose, round, digest)
        self._depth = 0
        self.bits = 64
        self.prefix = int(word)
        self.extend()

    def extend(self) -> None:
        """Learn 512 more bits."""
        self.prefix = self.prefix << 512 | self._extension(self._depth)
        self.bits += 512
        self._depth += 1

    def below(self, probability: Callable[[int], Fraction]) -> bool:
        """Whether the number is below a probability, which is given to within 2**-bits for any `bits`."""
        while True:
            limit = probability(self.bits + 8) * 2**self.bits
            if self.prefix + 1 <= limit - SETTLED:
                return True
            if self.prefix >= limit + SETTLED:
                return False
            self.extend()


#: A probability known to 8 bits more than the uniform is known to within this part of the uniform's last bit.
SETTLED = Fraction(1, 256)

#: Extra bits for what mpmath loses on the way; its functions claim all but the last few.
GUARD = 64


_thread = threading.local()


def _own_context() -> Any:
    """The mpmath context of this thread: the precision of the global one is shared by all threads."""
    if not hasattr(_thread, "context"):
        import mpmath

        _thread.context = mpmath.MPContext()
    return _thread.context


def _settle_cell(uniform: _Uniform, centre: Fraction, spread: Fraction) -> int:
    """floor(centre + spread * z + 1/2) for the normal z that belongs to the uniform."""
    context = _own_context()

    def reaches(cell: int) -> bool:
        x = (cell - Fraction(1, 2) - centre) / spread

        def normal(bits: int) -> Fraction:
            context.prec = bits + GUARD
            return _exactly(context.ncdf(context.mpf(x.numerator) / x.denominator))

        return not uniform.below(normal)

    context.prec = uniform.bits + GUARD
    u = context.mpf(2 * uniform.prefix + 1) / 2 ** (uniform.bits + 1)
    z = _exactly(context.sqrt(2) * context.erfinv(2 * u - 1))
    cell = math.floor(centre + spread * z + Fraction(1, 2))
    while not reaches(cell):
        cell -= 1
    while reaches(cell + 1):
        cell += 1
    if not -(2**63) <= cell < 2**63:
        raise TooLarge("a noisy total has more cells than a 64-bit integer; choose a wider cell.")
    return cell


def _computed_geometric(word: int, epsilon: float) -> int | None:
    """floor(-ln(u) / epsilon) in floats; None if it depends on their errors or on bits of u after this word."""
    if word == 0:
        return None
    most, least = -math.log(word * 2.0**-64), -math.log((word + 1) * 2.0**-64)
    slack = LOG_ERROR * (1.0 + most)
    low, high = (least - slack) / epsilon, (most + slack) / epsilon
    if not 0.0 <= low <= high < 2.0**52 or math.floor(low) != math.floor(high):
        return None
    return math.floor(low)


def _settle_geometric(uniform: _Uniform, epsilon: Fraction) -> int:
    """floor(-ln(u) / epsilon) for the uniform u: at least m with probability e^(-epsilon m)."""
    context = _own_context()

    def reaches(number: int) -> bool:
        x = epsilon * number

        def tail(bits: int) -> Fraction:
            context.prec = bits + GUARD + x.__ceil__().bit_length()
            return _exactly(context.exp(-context.mpf(x.numerator) / x.denominator))

        return uniform.below(tail)

    context.prec = uniform.bits + GUARD
    u = context.mpf(2 * uniform.prefix + 1) / 2 ** (uniform.bits + 1)
    number = max(0, int(-context.log(u) / (context.mpf(epsilon.numerator) / epsilon.denominator)))
    while number > 0 and not reaches(number):
        number -= 1
    while reaches(number + 1):
        number += 1
    return number


def _settle_coin(uniform: _Uniform, curve: Curve, x: Fraction) -> bool:
    return uniform.below(lambda bits: _exactly(curve.probability_mp(x, bits)))


def _as_it_is(probability: Fraction, bits: int) -> Fraction:
    return probability


def _exactly(value: Any) -> Fraction:
    """The value of an mpmath number, without rounding."""
    mantissa, exponent = int(value.man), int(value.exp)
    size = Fraction(mantissa) * (Fraction(2**exponent) if exponent >= 0 else Fraction(1, 2**-exponent))
    return -size if value < 0 else size


def _require_positive(**values: float) -> None:
    for name, value in values.items():
        if not 0.0 < value < math.inf:
            raise InvalidArgument(f"{name} must be a positive number, not {value}.")
