"""The optimal selection for users with one item."""

import itertools
import math

import mpmath
import numpy as np
import pytest
import reference
from user_sets import copies_of

from dpsu.algorithms import optimal_single
from dpsu.algorithms.catalogue import find
from dpsu.algorithms.request import Request
from dpsu.api.plan import Plan
from dpsu.engines.local import LocalEngine
from dpsu.errors import InvalidArgument
from dpsu.randomness.stream import Stream

WEAK = (1.0, 0.05)


def mechanism_for(epsilon, delta):
    return optimal_single.OptimalSingle().calibrate(Request(epsilon, delta, max_items=1))


@pytest.mark.parametrize(("epsilon", "delta"), [WEAK, (3.0, math.exp(-10)), (1.0, 1e-5), (0.1, 1e-9)])
def test_probabilities_are_the_oracles(epsilon, delta):
    found = mechanism_for(epsilon, delta).probabilities
    expected = reference.optimal_single(epsilon, delta)
    assert found[: len(expected)] == pytest.approx([float(chance) for chance in expected], rel=1e-9)


def test_no_two_neighbouring_counts_can_be_told_apart_beyond_epsilon():
    """Exactly, in both directions, for every count: this is the whole privacy of the mechanism."""
    epsilon, delta = WEAK
    chances = [mpmath.mpf(chance) for chance in mechanism_for(epsilon, delta).probabilities] + [mpmath.mpf(1)]
    growth = mpmath.exp(epsilon)
    for fewer, more in itertools.pairwise(chances):
        for p, q in ((fewer, more), (more, fewer), (1 - fewer, 1 - more), (1 - more, 1 - fewer)):
            assert p <= growth * q + delta


def test_no_steeper_curve_is_private():
    """At every count the next probability is the largest that some direction of the promise admits."""
    epsilon, delta = WEAK
    chances = mechanism_for(epsilon, delta).probabilities
    for fewer, more in itertools.pairwise(chances):
        steeper = min(1.0, more * (1 + 1e-9))
        grows = steeper > math.exp(epsilon) * fewer + delta
        closes = 1 - fewer > math.exp(epsilon) * (1 - steeper) + delta
        assert grows or closes or more == 1.0


def test_counts_come_out_as_often_as_the_curve_says():
    mechanism, times = mechanism_for(*WEAK), 40_000
    for users in range(1, 6):
        table = mechanism.select(LocalEngine(), copies_of([[0]] * users, times), Stream(bytes([users] * 32)))
        expected = mechanism.probabilities[users]
        margin = 5 * math.sqrt(expected * (1 - expected) / times)
        assert table["released"].mean() == pytest.approx(expected, abs=margin + 1e-12)


def test_of_larger_sets_one_item_counts():
    """A user of two items never shows both, and shows each as often."""
    mechanism, times = mechanism_for(*WEAK), 40_000
    table = mechanism.select(LocalEngine(), copies_of([[0, 1]], times), Stream(bytes(32)))
    both = table["released"].reshape(times, 2)
    assert not both.all(axis=1).any()
    assert both.mean(axis=0) == pytest.approx([0.025, 0.025], abs=0.004)
    assert Plan("optimal-single", mechanism).chance(1, 2) == pytest.approx(0.025)


def test_it_asks_for_max_items_1():
    with pytest.raises(InvalidArgument, match="max_items=1"):
        find("optimal-single").calibrate(Request(1.0, 1e-5))


def test_it_releases_at_least_what_the_others_do_from_one_item_each():
    """By calculation, for every number of holders: nothing private is above the curve."""
    request = Request(1.0, 1e-5, max_items=1)
    holders = np.arange(1, 60)
    best = mechanism_for(1.0, 1e-5).chance(holders, 1)
    rivals = [
        "count-laplace",
        "weighted-laplace",
        "policy-laplace",
        "ordered-laplace",
        "weighted-gaussian",
        "policy-gaussian",
    ]
    for name in [*rivals, "mad", "mad2r", "dp-sips"]:
        chance = find(name).calibrate(request).chance(holders, 1)
        assert (chance <= best + 1e-9).all(), name
