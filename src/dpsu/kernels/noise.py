"""Compiled noise: normal quantiles, rounded totals and coins, in double precision with error bounds (docs/noise.md)."""

import math

import numpy as np

from dpsu.kernels.arrays import Bools, Floats, Ints, Words
from dpsu.kernels.compiled import inlined, kernel

#: Beyond this a double no longer converts to a 64-bit integer with room to spare.
LARGEST = 2.0**62

HALF_RANGE = np.uint64(1 << 63)
WORD = 2.0**-64
SPLITTER = 2.0**27 + 1


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
# First the centre, then the tail.
NUMERATORS = np.array(CENTRE_NUMERATOR + TAIL_NUMERATOR)
DENOMINATORS = np.array(CENTRE_DENOMINATOR + TAIL_DENOMINATOR)
DEGREE = 7
CENTRE = 0.425
FARTHEST = 5.0


@inlined
def normal_quantile(word: np.uint64) -> tuple[float, float]:
    """The normal quantile of a uniform word, and how far the bits that are still to come can move it."""
    q = (np.float64(np.int64(word ^ HALF_RANGE)) + 0.5) * WORD
    if abs(q) > CENTRE:
        tail = (np.float64(word if word < HALF_RANGE else ~word) + 0.5) * WORD
        distance = math.sqrt(-math.log(tail))
        first, x, factor = DEGREE + 1, distance - 1.6, math.copysign(1.0, q)
        width = 2.0 * WORD / tail if distance <= FARTHEST else math.inf
    else:
        first, x, factor, width = 0, CENTRE * CENTRE - q * q, q, 8.0 * WORD
    above, below = 0.0, 0.0
    for k in range(first, first + DEGREE + 1):
        above = above * x + NUMERATORS[k]
        below = below * x + DENOMINATORS[k]
    return factor * (above / below), width


@inlined
def _product_error(a: float, b: float, product: float) -> float:
    """a * b - product, exactly (Dekker 1971): both factors are split into halves whose products are exact."""
    scaled_a, scaled_b = SPLITTER * a, SPLITTER * b
    high_a, high_b = scaled_a - (scaled_a - a), scaled_b - (scaled_b - b)
    low_a, low_b = a - high_a, b - high_b
    return ((high_a * high_b - product) + high_a * low_b + low_a * high_b) + low_a * low_b


@kernel
def noisy_cells(
    words: Words,
    high: Floats,
    low: Floats,
    step_high: float,
    step_low: float,
    spread: float,
    error: float,
    cells: Ints,
    decided: Bools,
) -> None:
    """Nearest cells of total * step + spread * normal, and whether the error bound leaves no doubt.

    A total is high + low, and step is step_high + step_low. The normals are the quantiles of the uniform words.
    """
    for i in range(words.size):
        normal, width = normal_quantile(words[i])
        total = high[i]
        # The rounded product and its rounding error; then the rounded sum and its own (Knuth).
        centre = total * step_high
        rest = _product_error(total, step_high, centre) + (total * step_low + low[i] * step_high)
        noise = spread * normal
        value = centre + noise
        share = value - centre
        rest += (centre - (value - share)) + (noise - share)
        if not ((abs(total) < LARGEST) & (abs(value) < LARGEST)):
            continue
        below = np.floor(value)
        offset = (value - below) + rest + 0.5
        whole = np.floor(offset)
        slack = error * abs(noise) + spread * width
        slack += 2.0**-98 * abs(centre) + 2.0**-49 * (1.0 + abs(offset))
        part = offset - whole
        decided[i] = (slack < part) & (part < 1.0 - slack)
        cells[i] = np.int64(below) + np.int64(whole)


@kernel
def toss(
    words: Words,
    totals: Ints | Floats,
    unit: float,
    epsilon: float,
    kappa: float,
    midpoint: float,
    slack: float,
    kept: Bools,
    decided: Bools,
) -> None:
    """Whether each uniform is below its curve, and whether the error bound leaves no doubt about it."""
    for i in range(words.size):
        above = unit * np.float64(totals[i]) - midpoint
        probability = max(0.0, 0.5 + (kappa + 0.5) * math.expm1(-epsilon * abs(above)))
        if above > 0.0:
            probability = 1.0 - probability
        gap = probability - np.float64(words[i]) * WORD
        kept[i] = gap > 0.0
        decided[i] = abs(gap) > slack


@kernel
def raise_bounds(
    words: Words, above: Floats, spread: float, limit: float, bounds: Floats, passed: Bools
) -> None:
    """Add to upper bounds on sums of rounded noise, in cells, and note those that exceed the limit.

    `above` bounds the normal quantile of a word by its first 12 bits. Rounding adds half a cell at most.
    """
    for i in range(words.size):
        bounds[i] += spread * above[words[i] >> np.uint64(52)] + 1.0
        passed[i] |= bounds[i] > limit
