"""Noise and the decision, exact to the last bit: what leaves here is what ideal real arithmetic would give.

Compiled loops compute in double precision with an error bound. The few values that the bound leaves open are
settled one by one with further random words and arbitrary precision. docs/noise.md has the proof.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any, Protocol

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from dpsu.compiled import kernel, smaller
from dpsu.errors import InvalidArgument, TooLarge
from dpsu.stream import Purpose, Stream

Totals = NDArray[np.int64] | NDArray[np.float64]

#: Bound on the relative error of a computed normal variate; the tests find less than a hundredth of it.
NORMAL_ERROR = 2.0**-44

#: Bound on the absolute error of a computed keep probability, in units of 1 + epsilon * midpoint.
KEEP_ERROR = 2.0**-44

#: Beyond this a double no longer converts to a 64-bit integer with room to spare.
LARGEST = 2.0**62

HALF_RANGE = np.uint64(1 << 63)
LOW_63 = (1 << 63) - 1
WORD = 2.0**-64

# Wichura (1988), algorithm AS 241: the normal quantile of u is q R(0.425^2 - q^2) where q = u - 1/2 is
# at most 0.425, and R(sqrt(-log r) - 1.6) for a tail of r >= e^-25. Coefficients from the highest power down.
CENTRE_NUMERATOR = (
    2.5090809287301226727e3,
    3.3430575583588128105e4,
    6.7265770927008700853e4,
    4.5921953931549871457e4,
    1.3731693765509461125e4,
    1.9715909503065514427e3,
    1.3314166789178437745e2,
    3.3871328727963666080e0,
)
CENTRE_DENOMINATOR = (
    5.2264952788528545610e3,
    2.8729085735721942674e4,
    3.9307895800092710610e4,
    2.1213794301586595867e4,
    5.3941960214247511077e3,
    6.8718700749205790830e2,
    4.2313330701600911252e1,
    1.0,
)
TAIL_NUMERATOR = (
    7.74545014278341407640e-4,
    2.27238449892691845833e-2,
    2.41780725177450611770e-1,
    1.27045825245236838258e0,
    3.64784832476320460504e0,
    5.76949722146069140550e0,
    4.63033784615654529590e0,
    1.42343711074968357734e0,
)
TAIL_DENOMINATOR = (
    1.05075007164441684324e-9,
    5.47593808499534494600e-4,
    1.51986665636164571966e-2,
    1.48103976427480074590e-1,
    6.89767334985100004550e-1,
    1.67638483018380384940e0,
    2.05319162663775882187e0,
    1.0,
)
CENTRE = 0.425
EDGE = math.floor(CENTRE * 2**64)
CENTRE_START, CENTRE_SIZE = np.uint64(2**63 - EDGE + 1), np.uint64(2 * EDGE - 1)
"""The uniform words whose quantile is central: less than EDGE from 2^63."""
FARTHEST = 5.0


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
    _require_positive(unit=unit, scale=scale, cell=cell)
    words = stream.words(purpose, round, digests)
    step, spread = Fraction(unit) / Fraction(cell), Fraction(scale) / Fraction(cell)
    step_high = float(step)
    step_low = float(step - Fraction(step_high))
    normals, widths = np.empty((2, len(words)))
    cells, decided = np.empty(len(words), np.int64), np.zeros(len(words), np.bool_)
    steps = step_high, step_low, float(spread)
    _noisy_cells(*centred(words), totals, *steps, NORMAL_ERROR, normals, widths, cells, decided)
    for i in np.flatnonzero(~decided):
        uniform = _Uniform(stream, purpose, round, digests[i], words[i])
        cells[i] = _settle_cell(uniform, Fraction(totals[i].item()) * step, spread)
    return cells


def centred(words: NDArray[np.uint64]) -> tuple[int, NDArray[np.int64], int, NDArray[np.int64]]:
    """Uniform words less 2^63, and the places of those in the tails; the number of either before it."""
    outer = np.flatnonzero(words - CENTRE_START >= CENTRE_SIZE)
    return len(words), (words ^ HALF_RANGE).view(np.int64), len(outer), outer


def keep(
    totals: Totals, digests: NDArray[np.uint64], stream: Stream, curve: Curve, *, unit: float, round: int = 0
) -> NDArray[np.bool_]:
    """Toss every item's coin: True with the probability that the curve has at `unit * total`, exactly."""
    _require_positive(unit=unit)
    words = stream.words(Purpose.KEEP, round, digests)
    slack = KEEP_ERROR * (1.0 + curve.epsilon * curve.midpoint)
    kept, decided = np.empty(len(words), np.bool_), np.empty(len(words), np.bool_)
    _toss(len(words), words, totals, unit, curve.epsilon, curve.kappa, curve.midpoint, slack, kept, decided)
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


def _settle_cell(uniform: _Uniform, centre: Fraction, spread: Fraction) -> int:
    """floor(centre + spread * z + 1/2) for the normal z that belongs to the uniform."""
    import mpmath

    context = mpmath.MPContext()  # an own one: the precision of the global one is shared by all threads

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


def _settle_coin(uniform: _Uniform, curve: Curve, x: Fraction) -> bool:
    return uniform.below(lambda bits: _exactly(curve.probability_mp(x, bits)))


def _as_it_is(probability: Fraction, bits: int) -> Fraction:
    return probability


def _exactly(value: Any) -> Fraction:
    """The value of an mpmath number, without rounding."""
    sign, mantissa, exponent, _ = value._mpf_
    size = Fraction(int(mantissa)) * (Fraction(2**exponent) if exponent >= 0 else Fraction(1, 2**-exponent))
    return -size if sign else size


def _require_positive(**values: float) -> None:
    for name, value in values.items():
        if not 0.0 < value < math.inf:
            raise InvalidArgument(f"{name} must be a positive number, not {value}.")


def _ratio_ir(numerator: tuple[float, ...], denominator: tuple[float, ...]) -> Any:
    """A ratio of two polynomials as plain instructions, one for every operation: nothing to infer, nothing reordered."""

    def ratio(typing: Any, x: Any) -> Any:
        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            def polynomial(coefficients: tuple[float, ...]) -> Any:
                first, *others = (ir.Constant(ir.DoubleType(), value) for value in coefficients)
                for other in others:
                    first = builder.fadd(builder.fmul(first, arguments[0]), other)
                return first

            return builder.fdiv(polynomial(numerator), polynomial(denominator))

        return types.float64(types.float64), build

    return intrinsic(ratio)


_central_ratio = _ratio_ir(CENTRE_NUMERATOR, CENTRE_DENOMINATOR)
_tail_ratio = _ratio_ir(TAIL_NUMERATOR, TAIL_DENOMINATOR)


def _fused_ir(typing: Any, a: Any, b: Any, c: Any) -> Any:
    """a * b + c, rounded once."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fma(*arguments)

    return types.float64(types.float64, types.float64, types.float64), build


_fused: Any = intrinsic(_fused_ir)


def _converted_ir(typing: Any, value: Any, model: Any) -> Any:
    """The value as a number of the model's type."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.cast(builder, arguments[0], value, model)

    return model(value, model), build


_converted: Any = intrinsic(_converted_ir)


@kernel
def _noisy_cells(
    size: Any,
    centred: Any,
    tails: Any,
    outer: Any,
    totals: Any,
    step_high: Any,
    step_low: Any,
    spread: Any,
    error: Any,
    normals: Any,
    widths: Any,
    cells: Any,
    decided: Any,
) -> None:
    """Nearest cells of total * step + spread * normal, and whether the error bound leaves no doubt.

    `centred` are uniform words less 2^63, and `outer` the places of those in the `tails`; `normals` gets their normal
    quantiles, `widths` how far the bits of the uniform that are still to come can move them.
    """
    # As if all were central, then the others, then the rounding: the first and the last loop become vector instructions.
    for i in range(size):
        q = (centred[i] + 0.5) * WORD
        normals[i] = q * _central_ratio(CENTRE * CENTRE - q * q)
        widths[i] = 8.0 * WORD
    for k in range(tails):
        i = outer[k]
        word = centred[i]
        tail = ((smaller(word, ~word) & LOW_63) + 0.5) * WORD
        distance = math.sqrt(-math.log(tail))
        z = _tail_ratio(distance - 1.6)
        normals[i] = math.copysign(z, word)
        widths[i] = 2.0 * WORD / (tail * z) if distance <= FARTHEST else math.inf
    for i in range(size):
        # A total is high + low; then the rounded product, and its rounding error in one operation that rounds nothing.
        high = np.float64(totals[i])
        low = np.float64(totals[i] - _converted(high, totals[i]))
        centre = high * step_high
        rest = _fused(high, step_high, -centre) + (high * step_low + low * step_high)
        # The rounded sum and its rounding error (Knuth).
        noise = spread * normals[i]
        value = centre + noise
        share = value - centre
        rest += (centre - (value - share)) + (noise - share)
        if not (abs(high) < LARGEST) & (abs(value) < LARGEST):
            continue
        below = math.floor(value)
        offset = (value - below) + rest + 0.5
        whole = math.floor(offset)
        slack = error * abs(noise) + spread * widths[i]
        slack += 2.0**-98 * abs(centre) + 2.0**-49 * (1.0 + abs(offset))
        decided[i] = (slack < offset - whole) & (offset - whole < 1.0 - slack)
        cells[i] = below + whole


@kernel
def _toss(
    size: Any,
    words: Any,
    totals: Any,
    unit: Any,
    epsilon: Any,
    kappa: Any,
    midpoint: Any,
    slack: Any,
    kept: Any,
    decided: Any,
) -> None:
    """Whether each uniform is below its curve, and whether the error bound leaves no doubt about it."""
    for i in range(size):
        above = unit * np.float64(totals[i]) - midpoint
        probability = max(0.0, 0.5 + (kappa + 0.5) * math.expm1(-epsilon * abs(above)))
        if above > 0.0:
            probability = 1.0 - probability
        gap = probability - np.float64(words[i]) * WORD
        kept[i] = gap > 0.0
        decided[i] = abs(gap) > slack
