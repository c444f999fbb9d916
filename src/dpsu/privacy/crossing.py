"""A bound on the probability that noise summed over rounds crosses a boundary in some round.

It is tighter than the union bound: sums of neighbouring rounds are correlated, so noise that crosses in one round often
crosses in the next, and the union bound counts it twice. Proof: docs/focused-gaussian.md.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy import special

Floats = NDArray[np.float64]

SLICES = 64
GRID = 1.03
"""The ratio of neighbouring levels; the bound at a level is valid up to the next level."""

QUANTILE_ERROR = 1e-13
"""An upper bound on the error of quantiles; it matters where a round adds almost nothing to the sum."""

ARITHMETIC = 1.0 - 1e-9
"""A margin far above the other floating-point errors of an overlap."""


def excess(deal: Floats, shares: Floats, lowest: float, highest: float) -> float:
    """The largest factor found by which the sum of the rounds' probabilities may exceed the probability of any crossing.

    With k this factor and any p from `lowest` to `highest`: if the sum of rounds 1 to r, each of variance `shares[r]`,
    exceeds its boundary with probability `k * p * deal[r]`, and the deals sum to at most 1, then the probability that
    some boundary is crossed is at most p.
    """
    most = min(2.0, 1.0 / highest)
    count = math.ceil(math.log(most * highest / lowest) / math.log(GRID)) + 1
    levels = np.minimum(lowest * GRID ** np.arange(count + 1), 1.0)
    counted_twice = overlap(levels[:-1], deal, shares) / levels[1:]
    return min(most, float(1.0 / (1.0 - counted_twice.min())))


def overlap(levels: Floats, deal: Floats, shares: Floats) -> Floats:
    """A lower bound on the sum over r of P(rounds r and r + 1 both exceed their boundaries).

    The boundary of round r is exceeded with probability `level * deal[r]`.

    The values that exceed in round r are divided into slices of equal probability. The next sum exceeds more often the
    higher this one is, so the lower end of a slice gives a lower bound for the whole slice.
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
