"""The normal distribution with error bounds: its tail, and the divergence of two shifts.

Everything is written as a sum of positive terms, so that no digits cancel. An upper bound includes the rounding errors
of its own arithmetic. The tests compare it with mpmath.
"""

import math

ROUNDING = 2.0**-52
SQRT_HALF = math.sqrt(0.5)
SQRT_HALF_PI = math.sqrt(0.5 * math.pi)
LOG_SQRT_TWO_PI = 0.5 * math.log(2.0 * math.pi)


def upper_tail(z: float) -> float:
    """An upper bound on P(N(0, 1) > z), tight up to rounding."""
    margin = ROUNDING * (8.0 + 2.0 * z * z)
    return min(1.0, 0.5 * math.erfc(z * SQRT_HALF) * (1.0 + margin))


def mills_ratio(u: float) -> float:
    """P(N(0, 1) > u) over the density at u, for u >= 0."""
    if u < 2.0:
        return SQRT_HALF_PI * math.erfc(u * SQRT_HALF) * math.exp(0.5 * u * u)
    terms = 10 + int(260.0 / (u * u))
    ratio = 0.5 * (math.sqrt(u * u + 4.0 * terms) - u)
    for n in range(terms, 0, -1):
        ratio = n / (u + ratio)
    return 1.0 / (u + ratio)


def mills_difference(middle: float, half: float) -> float:
    """mills_ratio(middle - half) - mills_ratio(middle + half) for middle >= 0 and 0 <= half <= 1/4.

    With J_n(u) = integral over t > 0 of t^n exp(-u t - t^2/2) the Mills ratio is J_0, its derivatives are
    (-1)^n J_n, and the difference is twice the sum over odd n of half^n J_n(middle) / n!. The ratios
    J_n / J_{n-1} = n / (u + J_{n+1} / J_n) are a continued fraction; where it converges slowly the same
    recurrence is run forwards from J_0.
    """
    square = half * half
    if middle < 2.0:
        before = mills_ratio(middle)
        here = 1.0 - middle * before
        power = half
        total = power * here
        for n in range(1, 15):
            before, here = here, n * before - middle * here
            power *= half / (n + 1)
            if n % 2 == 0:
                total += power * here
        return 2.0 * total
    terms = 16 + int(260.0 / (middle * middle))
    ratio = 0.5 * (math.sqrt(middle * middle + 4.0 * terms) - middle)
    tail = 1.0
    for n in range(terms, 1, -1):
        above = ratio
        ratio = n / (middle + ratio)
        if n % 2 == 0 and n <= 14:
            tail = 1.0 + tail * square * ratio * above / (n * (n + 1))
    ratio = 1.0 / (middle + ratio)
    return 2.0 * half * tail * ratio / (middle + ratio)


def log_delta(epsilon: float, mu: float) -> float:
    """An upper bound on ln delta_G(epsilon, mu), for epsilon >= 0 and mu >= 0.

    delta_G(epsilon, mu) = Phi(-x) - e^epsilon Phi(-y) with x = epsilon/mu - mu/2 and y = x + mu. As e^epsilon phi(y) =
    phi(x), it is phi(x) times a difference of Mills ratios.
    """
    if mu == 0.0:
        return -math.inf
    middle = epsilon / mu
    if middle > 1e150:
        return -math.inf
    half = 0.5 * mu
    x = middle - half
    y = middle + half
    margin = 64.0 + 4.0 * y * y
    if mu <= 0.5:
        value = math.log(mills_difference(middle, half)) - 0.5 * x * x - LOG_SQRT_TWO_PI
    elif x >= 0.0:
        value = math.log(mills_ratio(x) - mills_ratio(y)) - 0.5 * x * x - LOG_SQRT_TWO_PI
        margin += 32.0 * (1.0 + y / mu)
    else:
        shared = math.exp(-0.5 * x * x - LOG_SQRT_TWO_PI) * mills_ratio(y)
        value = math.log(0.5 * math.erfc(x * SQRT_HALF) - shared)
    return min(0.0, value + ROUNDING * margin)


def delta(epsilon: float, mu: float) -> float:
    """An upper bound on delta_G(epsilon, mu), for any epsilon and mu >= 0.

    For a negative epsilon, delta_G(epsilon, mu) = 1 - e^epsilon + e^epsilon delta_G(-epsilon, mu).
    """
    if epsilon >= 0.0:
        return math.exp(log_delta(epsilon, mu)) * (1.0 + 4.0 * ROUNDING)
    turned = -math.expm1(epsilon) + math.exp(epsilon + log_delta(-epsilon, mu))
    return min(1.0, turned * (1.0 + 8.0 * ROUNDING))
