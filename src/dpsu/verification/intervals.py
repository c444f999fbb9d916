"""Interval arithmetic for `dpsu verify`: every value is enclosed in an interval, and every bound is proved.

This module shares no code with the calibration in `dpsu.privacy`, so it does not repeat an error made there. Numbers
are mpmath's intervals. mpmath has no interval version of the normal tail; it is defined below.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np
from mpmath import iv, mp
from scipy import special

Interval = Any
"""An mpmath interval."""

GUARD = 16
"""Number of last bits of mpmath's erfc that are not trusted."""

SLICES, GRID, FLOATS = 128, 1.01, 1e-9
"""For the probability to exceed in two rounds: the number of slices, the ratio of levels, the margin for rounding."""

SMALLEST_CHANCE = 1e-300
"""Below this the quantiles in floats lose digits."""


@contextmanager
def precision_for(epsilon: float, delta: float) -> Iterator[None]:
    """Use enough bits that the digits of `delta` survive every cancellation below.

    With a small epsilon, the two terms of `delta_gaussian` agree in about -log2(epsilon) bits. A large epsilon costs no
    bits: tails are enclosed relative to their size, so their product with e^epsilon keeps its digits.
    """
    before = iv.prec, mp.prec
    small = max(0.0, -math.log2(epsilon))
    iv.prec = mp.prec = 160 + 2 * math.ceil(small) + 2 * math.ceil(-math.log2(delta))
    try:
        yield
    finally:
        iv.prec, mp.prec = before


def exact(value: float) -> Interval:
    """A float or integer as an exact interval."""
    return iv.mpf(value)


def low(x: Interval) -> Any:
    """The lower end."""
    return mp.make_mpf(x._mpi_[0])


def high(x: Interval) -> Any:
    """The upper end."""
    return mp.make_mpf(x._mpi_[1])


def at_most(x: Interval, limit: float) -> bool:
    """Whether the whole interval is at or below the limit."""
    return bool(high(x) <= limit)


def tail(z: Interval) -> Interval:
    """P(N(0, 1) > z). Its slope is at most the density, which is bounded by that at the lower end or by 0.4."""
    start, width = low(z), iv.mpf(high(z)) - iv.mpf(low(z))
    at_low = mp.erfc(start / mp.sqrt(2)) / 2
    # sqrt(2) is rounded, which changes the argument by less than 2^-prec of itself.
    error = at_low * mp.ldexp(1 + start * start, GUARD - mp.prec)
    density = iv.exp(-(iv.mpf(start) ** 2) / 2) if start > 0 else iv.mpf(1)
    drop = iv.mpf("0.4") * density * width
    return iv.mpf([max(mp.mpf(0), low(iv.mpf(at_low) - error - drop)), high(iv.mpf(at_low) + error)])


def delta_gaussian(epsilon: Interval, mu: Interval) -> Interval:
    """The delta of Gaussian noise under a shift of mu standard deviations (Balle and Wang 2018, theorem 8)."""
    if high(mu) <= 0:
        return iv.mpf([0, max(mp.mpf(0), high(1 - iv.exp(epsilon)))])
    middle, half = epsilon / mu, mu / 2
    return tail(middle - half) - iv.exp(epsilon) * tail(middle + half)


def item_loss(weight: Interval, sigma: Interval, threshold: Interval) -> Interval:
    """-ln P(weight + noise <= threshold): what one item of this weight adds to the loss of not being released."""
    chance = tail((threshold - weight) / sigma)
    return -iv.log(1 - chance) if high(chance) < 1 else iv.mpf([0, mp.inf])


def chance_of_any(loss: Interval) -> Interval:
    """1 - e^-loss."""
    return 1 - iv.exp(-loss)


def divergence(epsilon: Interval, loss: Interval, mu: Interval) -> Any:
    """An upper bound on delta if no new item is released with probability e^-loss and shared ones shift by mu; it
    increases with both."""
    stays = iv.exp(-loss)
    own = 1 - stays + stays * delta_gaussian(epsilon + loss, mu)
    return max(high(own), high(delta_gaussian(epsilon - loss, mu)))


def largest(bound: Callable[[int, int], Interval], most: int) -> Interval:
    """The largest bound(t, t) over t = 1 .. most, as an interval; bound(first, last) must cover all t between.

    Ranges that cannot contain it are dropped, and the others are halved until they are single numbers.
    """
    ranges, best = _ranges(most), mp.mpf(0)
    top = mp.mpf(0)
    while ranges:
        bounds = [(first, last, bound(first, last)) for first, last in ranges]
        ranges = []
        for first, last, value in bounds:
            if first == last:
                best, top = max(best, low(value)), max(top, high(value))
        for first, last, value in bounds:
            if first < last and high(value) > best:
                middle = (first + last) // 2
                ranges += [(first, middle), (middle + 1, last)]
    return iv.mpf([best, top])


def holds_up_to(most: int, holds: Callable[[int, int], bool]) -> bool:
    """Whether every t = 1 .. most passes; holds(first, last) is true only if it is proved for all t between."""
    ranges = _ranges(most)
    while ranges:
        first, last = ranges.pop()
        if not holds(first, last):
            if first == last:
                return False
            middle = (first + last) // 2
            ranges += [(first, middle), (middle + 1, last)]
    return True


def _ranges(most: int) -> list[tuple[int, int]]:
    """1 .. most in ranges of doubling size, with the ends as single numbers, where most maxima are."""
    edges = sorted({1, *(min(2**k, most) for k in range(1, most.bit_length() + 1)), most, most + 1})
    return [(first, last - 1) for first, last in pairwise(edges)]


def quantile_below(chance: Interval) -> Interval:
    """A z with P(N(0, 1) > z) >= chance, close to the largest one; the inequality is proved.

    The step down raises the chance by less than 2e-10 of itself, far below the margins of the calibration.
    """
    near = float(-special.ndtri(float(high(chance))))
    z = exact(near - 1e-13 * (1.0 + abs(near)))
    if low(tail(z)) < high(chance):
        raise ValueError("a probability is too small to be resolved")
    return z


def crossing_excess(deal: list[float], shares: list[float], least: float, most: float) -> float:
    """A factor K: if round r is exceeded with probability at most K p deal[r], some round is with probability at most p.

    For sums of noise whose rounds have the variances `shares`, and for every p from `least` to `most`. The sum of all
    probabilities counts the event "exceeds in two neighbouring rounds" twice (Hunter's bound). A lower bound on the
    probability of this event is computed at levels K p on a grid, in floats, whose errors of less than 1e-13 are
    covered by FLOATS.
    """
    # No level may give a probability of 1 or more.
    top = min(2.0, 0.97 / (most * max(deal)))
    if len(deal) == 1 or top <= 1 or least * min(deal) < SMALLEST_CHANCE:
        return 1.0
    levels = least * GRID ** np.arange(math.ceil(math.log(top * most / least) / math.log(GRID)) + 2)
    twice, spent = np.zeros_like(levels), np.cumsum(shares)
    slices = np.log(SLICES / (SLICES - np.arange(SLICES)))
    for r in range(len(deal) - 1):
        here, there = (-special.ndtri(levels * part) for part in deal[r : r + 2])
        # Slices of about equal probability: above a high level the tail is nearly exponential.
        ends = here[:, None] + slices / np.maximum(here, 1.0)[:, None]
        above = np.concatenate([special.ndtr(-ends), np.zeros((levels.size, 1))], axis=1)
        kept, fresh = math.sqrt(spent[r] / spent[r + 1]), math.sqrt(shares[r + 1] / spent[r + 1])
        again = special.ndtr((kept * ends - there[:, None] - FLOATS) / fresh)
        twice += ((above[:, :-1] - above[:, 1:]) * again).sum(axis=1) * (1 - FLOATS)
    return float(min(top, (1 / (1 - twice[:-1] / levels[1:])).min())) * (1 - FLOATS)
