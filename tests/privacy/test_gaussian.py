"""Noise and thresholds against mpmath at 50 digits: never on the unsafe side, and close."""

import math

import mpmath
import numpy as np
import pytest
from exactly import DELTAS, EPSILONS, MAX_ITEMS, delta_gaussian, new_item_chance, upper_tail
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

from dpsu.errors import InvalidArgument
from dpsu.privacy import gaussian, normal


@pytest.fixture(autouse=True)
def _fifty_digits():
    with mpmath.workdps(50):
        yield


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_noise_scale_is_enough_and_hardly_more(epsilon, delta):
    sigma = gaussian.noise_scale(epsilon, delta)
    assert delta_gaussian(epsilon, 1 / mpf(sigma)) <= mpf(delta)
    assert delta_gaussian(epsilon, 1 / (mpf(sigma) * (1 - mpf("1e-9")))) > mpf(delta)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_mu_delta_mu_is_the_identity(epsilon, delta):
    mu = gaussian.mu_for(epsilon, delta)
    assert gaussian.delta_gaussian(epsilon, mu) == pytest.approx(delta, rel=1e-11)
    assert gaussian.noise_scale(epsilon, delta) == pytest.approx(1 / mu, rel=1e-15)


# Above 30, what is left of delta is below e^-450, and mpmath takes seconds.
ratios = st.floats(0.0, 30.0)


@settings(max_examples=300, deadline=None)
@given(ratio=ratios, log_mu=st.floats(-4, 1.5))
def test_log_delta_bounds_the_true_value_from_above_and_closely(ratio, log_mu):
    mu = 10**log_mu
    epsilon = ratio * mu
    with mpmath.workdps(80 + int(ratio * ratio / 4)):
        excess = mpf(gaussian.log_delta_gaussian(epsilon, mu)) - mpmath.log(delta_gaussian(epsilon, mu))
    assert 0 <= excess < 1e-11


@settings(max_examples=100, deadline=None)
@given(epsilon=st.floats(-20, -1e-6), log_mu=st.floats(-3, 1))
def test_delta_at_negative_epsilon(epsilon, log_mu):
    mu = 10**log_mu
    with mpmath.workdps(200):
        excess = mpf(gaussian.delta_gaussian(epsilon, mu)) / delta_gaussian(epsilon, mu) - 1
    assert -(mpf(2) ** -53) <= excess < 1e-11


def test_delta_at_the_edges():
    assert gaussian.delta_gaussian(1.0, 0.0) == 0.0
    assert gaussian.delta_gaussian(0.0, 0.0) == 0.0
    assert gaussian.delta_gaussian(-1.0, 0.0) == pytest.approx(1 - math.exp(-1), rel=1e-14)
    assert gaussian.delta_gaussian(1.0, math.inf) == 1.0
    assert gaussian.delta_gaussian(5.0, 1e-200) == 0.0
    assert gaussian.delta_gaussian(1.0, 1e3) == 1.0
    with pytest.raises(InvalidArgument):
        gaussian.delta_gaussian(1.0, -1.0)


@settings(max_examples=200, deadline=None)
@given(z=st.floats(-8, 37))
def test_upper_tail_kernel_bounds_from_above_and_closely(z):
    assert 0 <= mpf(normal.upper_tail(z)) / upper_tail(z) - 1 < 1e-12


@settings(max_examples=200, deadline=None)
@given(log_p=st.floats(-30, -1e-9))
def test_upper_quantile_is_rounded_up(log_p):
    p = 10**log_p
    z = float(gaussian.upper_quantile(p))
    assert upper_tail(z) <= mpf(p)
    assert upper_tail(z - 1e-12 * (1 + abs(z))) > mpf(p)


@pytest.mark.parametrize("delta", DELTAS)
def test_per_item_tail_is_rounded_down(delta):
    for t in MAX_ITEMS:
        exact = -mpmath.expm1(mpmath.log1p(-mpf(delta)) / t)
        assert -1e-14 < mpf(float(gaussian.per_item_tail(delta, t))) / exact - 1 <= 0


@pytest.mark.parametrize("weight", [gaussian.equal_weight, gaussian.any_weight])
@pytest.mark.parametrize("max_items", MAX_ITEMS)
@pytest.mark.parametrize("delta", DELTAS)
def test_threshold_leaves_new_items_within_delta(delta, max_items, weight):
    sigma = gaussian.noise_scale(1.0, delta)
    threshold = gaussian.threshold_split(sigma, delta, max_items, weight)

    def chance(threshold):
        candidates = {1, 2, 3, max(1, max_items // 2), max(1, max_items - 1), max_items}
        exact = {t: 1 / mpmath.sqrt(t) if weight is gaussian.equal_weight else mpf(1) for t in candidates}
        return max(new_item_chance(sigma, threshold, t, exact[t]) for t in candidates if t <= max_items)

    assert chance(threshold) <= mpf(delta)
    assert chance(threshold * (1 - 1e-9)) > mpf(delta)
    assert 0 <= mpf(gaussian.delta_new(sigma, threshold, max_items, weight)) / chance(threshold) - 1 < 1e-10


@pytest.mark.parametrize("max_items", [1, 7, 1000, 1024, 1025, 54321])
@pytest.mark.parametrize("sigma", [0.05, 0.2, 1.0, 5.0])
def test_the_search_over_t_finds_the_largest_of_all(sigma, max_items):
    t = np.arange(1.0, max_items + 1)
    for weight in (gaussian.equal_weight, gaussian.any_weight, lambda t: np.where(t < 40, 2.0, 0.1)):
        every = weight(t) + sigma * gaussian.upper_quantile(gaussian.per_item_tail(1e-3, t))
        assert gaussian.threshold_split(sigma, 1e-3, max_items, weight) == pytest.approx(
            every.max(), rel=1e-15
        )


@pytest.mark.parametrize(
    ("epsilon", "delta", "sigma", "threshold"),
    [(3.0, math.exp(-10), 1.3328, 6.8237), (1.0, 1e-5, 3.8841, 20.790)],
)
def test_the_papers_half_and_half(epsilon, delta, sigma, threshold):
    scale = gaussian.noise_scale(epsilon, delta / 2)
    assert scale == pytest.approx(sigma, rel=5e-5)
    assert gaussian.threshold_split(scale, delta / 2, 100) == pytest.approx(threshold, rel=3e-5)


def test_the_printed_quantile_is_unsafe_where_ours_is_not():
    """Erratum 7: ppf((1 - delta)^(1/t)) loses digits, to infinity for delta 1e-15 and 10^6 items."""
    with np.errstate(divide="ignore"):
        from scipy.special import ndtri

        assert ndtri((1 - 1e-15) ** 1e-6) == math.inf
    assert float(gaussian.upper_quantile(gaussian.per_item_tail(1e-15, 1e6))) == pytest.approx(9.44, abs=0.2)


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0.0, 0.1), (-1.0, 0.1), (math.nan, 0.1), (1.0, 0.0), (1.0, 1.0)]
)
def test_no_noise_for_a_promise_that_cannot_be_kept(epsilon, delta):
    with pytest.raises(InvalidArgument):
        gaussian.noise_scale(epsilon, delta)


def test_max_items_must_be_positive():
    with pytest.raises(InvalidArgument, match="max_items"):
        gaussian.threshold_split(1.0, 1e-5, 0)
