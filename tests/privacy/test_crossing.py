"""The chance of crossing in some round: below the union bound, above what is simulated."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtri
from scipy.stats import norm

from dpsu.privacy.crossing import excess, overlap


def rounds(count, growth, delta_growth):
    shares = growth ** np.arange(count)
    deal = shares**delta_growth
    return shares / shares.sum(), deal / deal.sum()


@pytest.mark.parametrize("level", [0.3, 0.01, 1e-6])
def test_two_rounds_overlap_as_the_bivariate_normal_does(level):
    shares, deal = rounds(2, 1.25, 1.0)
    z = -ndtri(level * deal)
    correlation = math.sqrt(shares[0])
    rest = math.sqrt(1 - shares[0])
    both, _ = quad(
        lambda x: norm.pdf(x) * norm.sf((z[1] - correlation * x) / rest),
        z[0],
        z[0] + 9,
        epsabs=0,
        epsrel=1e-10,
    )
    found = overlap(np.array([level]), deal, shares)[0]
    assert 0.95 * both < found < both


@pytest.mark.parametrize("p", [0.3, 0.03, 0.003])
@pytest.mark.parametrize(
    ("count", "growth", "delta_growth"), [(16, 1.25, 3.0), (25, 1.18, 3.0), (5, 1.0, 0.0)]
)
def test_the_chance_of_crossing_stays_below_p(p, count, growth, delta_growth):
    """Monte Carlo with the boundary lowered by the whole excess, for any p of the range."""
    shares, deal = rounds(count, growth, delta_growth)
    boundary = np.sqrt(np.cumsum(shares)) * -ndtri(excess(deal, shares, 0.003, 0.3) * p * deal)
    rng, runs = np.random.default_rng(1), 400_000
    noise, crossed = np.zeros(runs), np.zeros(runs, np.bool_)
    for variance, limit in zip(shares, boundary, strict=True):
        noise += math.sqrt(variance) * rng.standard_normal(runs)
        crossed |= noise > limit
    error = math.sqrt(p / runs)
    assert crossed.mean() < p + 4 * error
    if p == 0.003:  # the end of the range for which the excess is chosen
        assert crossed.mean() > 0.9 * p


def test_the_excess_is_what_the_union_bound_gives_away():
    shares, deal = rounds(16, 1.25, 3.0)
    rarest, likeliest = 1.8e-7, 1.8e-5
    gained = excess(deal, shares, rarest, likeliest)
    assert 1.12 < gained < 1.1574  # what a fine recursion over the density finds
    assert gained < excess(deal, shares, 1e-3, 1e-1)
    assert excess(np.ones(1), np.ones(1), rarest, likeliest) == 1.0


def test_rounds_that_share_nothing_gain_nothing():
    shares, deal = rounds(3, 1e6, 0.0)
    assert 1.0 <= excess(deal, shares, 1e-6, 1e-4) < 1.001


def test_rounds_that_add_nothing_are_counted_once():
    """All three sums are the first: the chance of crossing is the chance of the lowest boundary."""
    shares, deal = rounds(3, 1e-40, 0.0)
    assert 1.9 < excess(deal, shares, 1e-6, 1e-4) <= 2.0
