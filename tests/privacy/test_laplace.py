"""The ℓ1 family: thresholds and curves against mpmath, and the inequalities that make the curves private."""

import math
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from exactly import DELTAS, EPSILONS, MAX_ITEMS
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

from dpsu.errors import InvalidArgument
from dpsu.privacy.laplace import LaplaceThreshold, ReleaseCurve, laplace_threshold, optimal_single

BITS = 200
epsilons = st.floats(0.01, 20)
deltas = st.floats(-15, -1).map(lambda power: 10**power)


@pytest.fixture(autouse=True)
def _fifty_digits():
    with mpmath.workdps(50):
        yield


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("max_items", MAX_ITEMS)
@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_papers_threshold_is_rounded_up(epsilon, delta, max_items, symmetric):
    def term(t):
        tail = -mpmath.expm1(mpmath.log1p(-mpf(delta)) / t)
        return (mpf(1) / t if symmetric else 1) - mpmath.log(2 * tail) / mpf(epsilon)

    # As a function of real t it falls and then rises, so that its largest value is at an end.
    exact = max(term(t) for t in {1, 2, max_items - 1, max_items} if 1 <= t <= max_items)
    assert 0 <= mpf(laplace_threshold(epsilon, delta, max_items, symmetric)) - exact < 1e-13 * (1 + exact)


def test_reference_points():
    delta = math.exp(-10)
    assert laplace_threshold(3.0, delta, 100) == pytest.approx(4.647, abs=5e-4)
    assert laplace_threshold(1.0, 1e-5, 100) == pytest.approx(15.435, abs=5e-4)
    assert ReleaseCurve(3.0, delta).midpoint == pytest.approx(4.085, abs=5e-4)
    assert ReleaseCurve(1.0, 1e-5).midpoint == pytest.approx(11.361, abs=5e-4)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_kappa_is_rounded_down(epsilon, delta):
    exact = mpf(delta) / mpmath.expm1(mpf(epsilon))
    assert -1e-14 < mpf(ReleaseCurve(epsilon, delta).kappa) / exact - 1 <= 0


@settings(max_examples=300, deadline=None)
@given(epsilon=epsilons, delta=deltas, place=st.floats(0, 1.2), move=st.floats(2**-20, 1))
def test_one_item_moved_by_v_stays_within_its_share_of_delta(epsilon, delta, place, move):
    """Release and silence, both ways: the four inequalities of the proof."""
    curve = ReleaseCurve(epsilon, delta)
    x = Fraction(2 * place * curve.midpoint)
    low, high = curve.probability_mp(x, BITS), curve.probability_mp(x + Fraction(move), BITS)
    growth = mpmath.exp(mpf(epsilon) * mpf(move))
    share = mpf(curve.kappa) * (growth - 1)
    slack = mpf(10) ** -45
    assert low <= high
    assert high <= growth * low + share + slack
    assert 1 - low <= growth * (1 - high) + share + slack


@settings(max_examples=100, deadline=None)
@given(epsilon=epsilons, delta=deltas, moves=st.lists(st.floats(1e-6, 1), min_size=1, max_size=20))
def test_the_shares_of_moves_that_sum_to_one_sum_to_delta(epsilon, delta, moves):
    kappa = mpf(ReleaseCurve(epsilon, delta).kappa)
    total = sum(mpf(move) for move in moves)
    assert sum(kappa * mpmath.expm1(mpf(epsilon) * move / total) for move in moves) <= mpf(delta)


@settings(max_examples=200, deadline=None)
@given(epsilon=epsilons, delta=deltas, place=st.floats(0, 1.2))
def test_release_curve_as_printed(epsilon, delta, place):
    curve = ReleaseCurve(epsilon, delta)
    x = 2 * place * curve.midpoint
    kappa, rate = mpf(curve.kappa), mpf(epsilon)
    half = mpmath.log(1 + 1 / (2 * kappa)) / rate
    if x <= half:
        printed = kappa * (mpmath.exp(rate * x) - 1)
    elif x <= 2 * half:
        printed = 1 - kappa * (mpmath.exp(rate * (2 * half - x)) - 1)
    else:
        printed = mpf(1)
    assert abs(curve.probability_mp(Fraction(x), 120) - printed) < mpf(2) ** -118
    assert float(curve.probability(np.array(x))) == pytest.approx(float(printed), abs=1e-13)


@settings(max_examples=200, deadline=None)
@given(epsilon=epsilons, rho=st.floats(1, 100), x=st.floats(0, 200))
def test_laplace_threshold_as_a_curve(epsilon, rho, x):
    gap = mpf(x) - mpf(rho)
    tail = mpmath.exp(-mpf(epsilon) * abs(gap)) / 2
    exact = 1 - tail if gap > 0 else tail
    curve = LaplaceThreshold(epsilon, rho)
    assert abs(curve.probability_mp(Fraction(x), 120) - exact) < mpf(2) ** -118
    assert float(curve.probability(np.array(x))) == pytest.approx(float(exact), rel=1e-11)
    assert curve.midpoint == rho


def test_truncated_laplace_noise_gives_the_release_curve():
    """The curve is P(x + noise > midpoint) for Laplace noise cut to [-midpoint, midpoint]."""
    curve = ReleaseCurve(1.0, 1e-3)
    half = curve.midpoint
    inside = -math.expm1(-half)
    for x in (0.0, 1.0, 0.7 * half, half, 1.5 * half, 2 * half):
        z = half - x
        above = 0.5 * (math.exp(-abs(z)) - math.exp(-half)) / inside
        assert float(curve.probability(np.array(x))) == pytest.approx(
            above if z >= 0 else 1 - above, abs=1e-14
        )


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_optimal_single_is_private_exactly_and_hardly_less_than_optimal(epsilon, delta):
    chances = optimal_single(epsilon, delta)
    assert chances[0] == 0.0
    assert chances[-1] == 1.0
    with mpmath.workdps(60):
        growth, delta_mp, ideal = mpmath.exp(mpf(epsilon)), mpf(delta), mpf(0)
        for before, after in pairwise(chances):
            low, high = mpf(before), mpf(after)
            assert low < high
            assert high <= growth * low + delta_mp
            assert 1 - low <= growth * (1 - high) + delta_mp
            ideal = min(growth * ideal + delta_mp, 1 - (1 - ideal - delta_mp) / growth, mpf(1))
            assert high == pytest.approx(ideal, rel=1e-11)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.1), (1.0, 0.0), (1.0, 1.0), (501.0, 0.1)])
def test_a_curve_that_promises_nothing_is_refused(epsilon, delta):
    with pytest.raises(InvalidArgument):
        ReleaseCurve(epsilon, delta)
