"""The mathematics of private selection."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from dpsu.privacy.budget import Budget
from dpsu.privacy.selection import delta_of_best, new_item_runs


def exact_delta_of_largest(epsilon, mu, tries):
    """The delta of showing the largest of a geometric number of values N(mu, 1), against N(0, 1), by integration."""
    g = 1 / tries

    def density(x, shift):
        return g / (1 - (1 - g) * norm.cdf(x - shift)) ** 2 * norm.pdf(x - shift)

    x = np.linspace(-12, 16, 200_001)
    excess = [
        np.maximum(0, density(x, one) - math.exp(epsilon) * density(x, other)).sum() * (x[1] - x[0])
        for one, other in ((mu, 0.0), (0.0, mu))
    ]
    return max(excess)


@pytest.mark.parametrize(
    ("mu", "tries", "epsilon"), [(0.2, 2, 1.0), (0.2, 10, 1.5), (0.4, 4, 2.0), (0.6, 4, 4.0)]
)
def test_selection_pays_for_showing_the_largest(mu, tries, epsilon):
    exact = exact_delta_of_largest(epsilon, mu, tries)
    assert exact <= delta_of_best(epsilon, Budget(mu, 0.0), tries) < 1
    assert exact > Budget(mu, 0.0).delta(epsilon), "one run's delta does not cover the largest of several"


@given(tries=st.floats(1.5, 50), epsilon=st.floats(0.1, 8))
@settings(max_examples=50, deadline=None)
def test_new_items_count_as_in_the_longest_series(tries, epsilon):
    g, share = 1 / tries, math.exp(-epsilon)
    k = np.arange(1, 40_000)
    tail = (1 - g) ** (k - 1)  # P(J >= k)
    # The mean of J over its longest e^-epsilon is the integral of min(share, P(J >= k)) over k, divided by the share.
    longest = np.minimum(tail, share).sum() / share
    assert longest <= new_item_runs(epsilon, tries) <= longest + 2
    assert new_item_runs(epsilon, tries) > tries


def test_delta_new_counts_for_every_run():
    without = delta_of_best(3.0, Budget(0.2, 0.0), 4)
    assert delta_of_best(3.0, Budget(0.2, 1e-7), 4) - without == pytest.approx(new_item_runs(3.0, 4) * 1e-7)
