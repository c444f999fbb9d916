"""The chance that noise summed over rounds crosses a boundary in some round, below the sum of the rounds' chances.

Sums of neighbouring rounds are close relatives: much of what crosses in one round crosses in the next as well, and
the union bound counts it twice. Proof: docs/focused-gaussian.md.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy import special

Floats = NDArray[np.float64]

SLICES = 64
GRID = 1.03
"""The ratio of neighbouring levels; the bound is proved at each for all up to the next."""

QUANTILE_ERROR = 1e-13
"""More than what quantiles err; it matters where a round adds next to nothing to the sum."""

ARITHMETIC = 1.0 - 1e-9
"""Far more than what the other floats of an overlap can err."""


def excess(deal: Floats, shares: Floats, lowest: float, highest: float) -> float:
    """The largest factor found by which the rounds' chances may together exceed the chance of crossing at all.

    With k this factor and any p from `lowest` to `highest`: if the sum of rounds 1 to r, each of variance `shares[r]`,
    exceeds its boundary with a chance of `k * p * deal[r]`, and the deals sum to at most 1, then some boundary is crossed
    with a chance of at most p.
    """
    most = min(2.0, 1.0 / highest)
    count = math.ceil(math.log(most * highest / lowest) / math.log(GRID)) + 1
    levels = np.minimum(lowest * GRID ** np.arange(count + 1), 1.0)
    counted_twice = overlap(levels[:-1], deal, shares) / levels[1:]
    return min(most, float(1.0 / (1.0 - counted_twice.min())))


def overlap(levels: Floats, deal: Floats, shares: Floats) -> Floats:
    """A lower bound of the sum over r of P(rounds r and r + 1 both exceed), for boundaries of chance `level * deal[r]`.

    What exceeds in round r is cut into slices of equal chance. The next sum exceeds more often the higher this one is, so
    the lower end of a slice bounds it for the whole slice.
    """
    spent = np.cumsum(shares)
    total = np.zeros_like(levels)
    lower_ends = np.arange(SLICES, 0, -1) / SLICES
    for r in range(len(deal) - 1):
        correlation = math.sqrt(spent[r] / spent[r + 1])
        chance = levels * deal[r]
        here = -special.ndtri(chance[:, None] * lower_ends)
        there = -special.ndtri(levels * deal[r + 1])[:, None]
        ahead = correlation * here - there - QUANTILE_ERROR * (1.0 + np.abs(there))
        rest = math.sqrt(shares[r + 1] / spent[r + 1])
        total += chance * special.ndtr(ahead / rest).mean(axis=1)
    return total * ARITHMETIC
