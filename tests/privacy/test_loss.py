"""The chance that the privacy loss passes a bound: never below the truth, and reached."""

import math

import mpmath
import numpy as np
import pytest

from dpsu.algorithms.catalogue import find
from dpsu.algorithms.request import Request
from dpsu.privacy.budget import Budget
from dpsu.privacy.laplace import ReleaseCurve
from dpsu.privacy.loss import chance_above


def thresholded(loss: float, mu: float) -> float:
    """The chance of the largest tail of N(mu, 1) that is e^loss times as likely as under N(0, 1), to 40 digits."""
    with mpmath.workdps(40):

        def tail(z: mpmath.mpf) -> mpmath.mpf:
            return mpmath.erfc(z / mpmath.sqrt(2)) / 2

        def gap(z: mpmath.mpf) -> mpmath.mpf:
            return mpmath.log(tail(z - mu)) - mpmath.log(tail(z)) - loss

        ends = (mpmath.mpf(-5), mpmath.mpf(loss) / mu + mpmath.mpf(mu) / 2)
        z = mpmath.findroot(gap, ends, solver="anderson", tol=1e-30)
        return float(tail(z - mu))


@pytest.mark.parametrize("mu", [0.15, 0.2367, 1.0, 3.0])
@pytest.mark.parametrize("loss", [0.1, 1.0, 4.0])
def test_a_threshold_on_gaussian_noise_reaches_the_bound(mu: float, loss: float) -> None:
    found = chance_above(loss, epsilon=9.0, delta=0.5, budget=Budget(mu, 0.0))
    true = thresholded(loss, mu)
    assert true <= found <= true * (1 + 1e-6)
    assert found > _gaussian_tail(loss, mu), "the noise's own tail is no bound on what is made of it"


def test_the_loss_exceeds_epsilon_far_more_often_than_delta() -> None:
    """Weighted Gaussian at (1, 1e-6): twenty times delta for the noise, and more for what a threshold makes of it."""
    mechanism = find("weighted-gaussian").calibrate(Request(1.0, 1e-6))
    budget = mechanism.budget()
    assert budget is not None
    assert _gaussian_tail(1.0, budget.mu) == pytest.approx(2.01e-5, rel=1e-3)
    assert chance_above(1.0, epsilon=1.0, delta=1e-6, budget=budget) == pytest.approx(6.89e-5, rel=1e-3)


def test_simulated_losses_stay_within_the_bound() -> None:
    """Ten items, a user who gives to all of them: losses of the released set, a hundred thousand times."""
    draws = np.random.default_rng(7)
    mu, loss, items, runs = 1.0, 2.0, 10, 100_000
    step = mu / math.sqrt(items)
    z = draws.uniform(-1.0, 3.0, items)
    released = draws.normal(step, 1.0, (runs, items)) > z
    tail = np.frompyfunc(lambda x: 0.5 * math.erfc(x / math.sqrt(2)), 1, 1)
    with_user, without = tail(z - step).astype(float), tail(z).astype(float)
    ratios = np.where(released, np.log(with_user / without), np.log((1 - with_user) / (1 - without)))
    seen = float((ratios.sum(axis=1) > loss).mean())
    bound = chance_above(loss, epsilon=9.0, delta=0.5, budget=Budget(mu, 0.0))
    assert 0.0 < seen <= bound


@pytest.mark.parametrize("more", [0.01, math.log(2), 3.0])
def test_the_release_curve_reaches_what_epsilon_and_delta_say(more: float) -> None:
    """pi(x + 1) = e^epsilon pi(x) + delta below the midpoint: the loss passes epsilon whenever the item comes out."""
    epsilon, delta = 0.7, 1e-5
    curve = ReleaseCurve(epsilon, delta)
    totals = np.linspace(0.0, curve.midpoint - 1.0, 200_001)
    without, with_user = curve.probability(totals), curve.probability(totals + 1.0)
    over = with_user > np.exp(epsilon + more) * without
    bound = chance_above(epsilon + more, epsilon=epsilon, delta=delta)
    assert bound == pytest.approx(delta / (1 - math.exp(-more)), rel=1e-6)
    assert with_user[over].max() <= bound
    assert with_user[over].max() == pytest.approx(bound, rel=1e-3)
    assert chance_above(epsilon, epsilon=epsilon, delta=delta) == 1.0


def test_new_items_and_both_bounds_together() -> None:
    assert chance_above(1.0, epsilon=2.0, delta=1e-6, budget=Budget(0.0, 1e-7)) == pytest.approx(
        1e-7 / (1 - math.exp(-1)), rel=1e-6
    )
    assert chance_above(1.0, epsilon=2.0, delta=1e-6, budget=Budget(0.0, 0.0)) == 0.0
    assert chance_above(0.0, epsilon=1.0, delta=1e-6, budget=Budget(1.0, 0.0)) == 1.0
    wide = Budget(0.3, 1e-3)
    assert chance_above(9.0, epsilon=1.0, delta=1e-9, budget=wide) == pytest.approx(1e-9, rel=1e-3)


def _gaussian_tail(loss: float, mu: float) -> float:
    return 0.5 * math.erfc((loss / mu - mu / 2) / math.sqrt(2))
