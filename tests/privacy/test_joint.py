"""The joint calibration against brute force: never above delta, and tight."""

import math
from collections import Counter
from types import SimpleNamespace

import mpmath
import numpy as np
import pytest
from exactly import DELTAS, EPSILONS, MAX_ITEMS, delta_gaussian, divergence
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf
from scipy import special
from scipy.special import log_ndtr, ndtr

from dpsu.errors import InvalidArgument
from dpsu.privacy import gaussian, joint, normal

PAPER = (3.0, math.exp(-10))
KINDS = ("count", "all", "any", "asymmetric")


def delta_g(epsilon, mu):
    """delta_gaussian on arrays, as printed; good to about 1e-9 of the deltas used here."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        ratio = epsilon / mu
        value = ndtr(mu / 2 - ratio) - np.exp(epsilon + log_ndtr(-mu / 2 - ratio))
    return np.where(mu > 0, value, np.maximum(0.0, -np.expm1(epsilon)))


def largest_delta(epsilon, sigma, threshold, max_items, spending, points=1500):
    """The largest delta over every a and a fine grid of q, for symmetric rules."""
    a = np.unique(np.geomspace(1, max_items, 400).astype(np.int64))[:, None].astype(float)
    if spending == "count":
        q = a / max_items
    else:
        least = a / max_items if spending == "all" else np.zeros_like(a)
        q = least + (1 - least) * np.linspace(0, 1, points)[None, :]
    loss = -a * log_ndtr((threshold - np.sqrt(q / a)) / sigma)
    mu = np.sqrt(np.maximum(0.0, 1 - q)) / sigma
    own = -np.expm1(-loss) + np.exp(-loss) * delta_g(epsilon + loss, mu)
    worst = np.maximum(own, delta_g(epsilon - loss, mu)).max()
    return max(float(worst), float(delta_g(epsilon, np.array(1 / sigma))))


@pytest.mark.parametrize(
    ("epsilon", "delta", "max_items", "sigma", "threshold"),
    [
        (*PAPER, 1, 1.2824, 6.0193),
        (*PAPER, 10, 1.2824, 6.0193),
        (*PAPER, 100, 1.2824, 6.3974),
        (*PAPER, 300, 1.2824, 6.6259),
        (1.0, 1e-5, 100, 3.7306, 19.4968),
    ],
)
def test_reference_points(epsilon, delta, max_items, sigma, threshold):
    pair = joint.calibrate(epsilon, delta, max_items, "all")
    assert pair == pytest.approx((sigma, threshold), rel=2e-5)


@pytest.mark.parametrize("spending", ["count", "all", "any"])
@pytest.mark.parametrize("max_items", [1, 10, 300])
@pytest.mark.parametrize("delta", [1e-10, 1e-5, 1e-2, 0.1])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0, 10.0])
def test_delta_is_kept_and_reached(epsilon, delta, max_items, spending):
    sigma, threshold = joint.calibrate(epsilon, delta, max_items, spending)
    assert largest_delta(epsilon, sigma, threshold, max_items, spending) <= delta * (1 + 1e-7)
    assert largest_delta(epsilon, sigma, threshold * (1 - 1e-4), max_items, spending) > delta


@pytest.mark.parametrize("spending", ["count", "all", "any"])
@pytest.mark.parametrize(("epsilon", "delta"), [PAPER, (0.01, 1e-15), (1.0, 1e-2), (20.0, 0.1)])
@pytest.mark.parametrize("max_items", [1, 3])
def test_delta_is_kept_in_high_precision(epsilon, delta, max_items, spending):
    sigma, threshold = joint.calibrate(epsilon, delta, max_items, spending)
    with mpmath.workdps(50):
        for a in range(1, max_items + 1):
            least = 0 if spending == "any" else mpf(a) / max_items
            steps = 1 if spending == "count" else 25
            for step in range(steps):
                q = least + (1 - least) * mpf(step) / max(1, steps - 1)
                assert divergence(epsilon, sigma, threshold, [mpmath.sqrt(q / a)] * a, q) <= mpf(delta)
        assert divergence(epsilon, sigma, threshold, [], mpf(0)) <= mpf(delta)


@pytest.mark.parametrize("spending", ["all", "any"])
@pytest.mark.parametrize(
    ("epsilon", "delta", "max_items"),
    [(*PAPER, 10), (*PAPER, 300), (1.0, 1e-2, 1), (1.0, 1e-2, 2), (0.1, 0.1, 2), (10.0, 1e-2, 10)],
)
def test_no_other_sigma_gives_a_lower_threshold(epsilon, delta, max_items, spending):
    _, threshold = joint.calibrate(epsilon, delta, max_items, spending)
    for rest in np.geomspace(1e-4, 0.9, 30):
        sigma = gaussian.noise_scale(epsilon, delta * (1 - rest))
        assert largest_delta(epsilon, sigma, threshold * (1 - 1e-4), max_items, spending, 400) > delta


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from([PAPER, (1.0, 1e-5), (1.0, 1e-2), (0.1, 0.1)]),
    st.integers(1, 12),
    st.floats(0, 1),
    st.lists(st.floats(0, 1), min_size=12, max_size=12),
)
def test_delta_is_kept_for_any_division_among_new_items(privacy, max_items, q, parts):
    epsilon, delta = privacy
    sigma, threshold = joint.calibrate(epsilon, delta, max_items, "asymmetric")
    parts = parts[:max_items]
    scale = math.sqrt(q) / (math.hypot(*parts) or 1.0)
    with mpmath.workdps(40):
        # Slightly less, so that the rounded weights' squares sum to at most q.
        weights = [mpf(part * scale) * (1 - mpf(2) ** -48) for part in parts]
        assert divergence(epsilon, sigma, threshold, weights, mpf(q)) <= mpf(delta)


@pytest.mark.parametrize(("epsilon", "delta"), [PAPER, (1.0, 1e-5), (0.1, 0.1)])
@pytest.mark.parametrize("max_items", [1, 10, 300])
def test_joint_thresholds_are_below_the_papers(epsilon, delta, max_items):
    sigma = gaussian.noise_scale(epsilon, delta / 2)
    halves = gaussian.threshold_split(sigma, delta / 2, max_items)
    appendix = gaussian.threshold_split(sigma, delta / 2, max_items, gaussian.any_weight)
    count, spends_all, any_, asymmetric = (joint.calibrate(epsilon, delta, max_items, k)[1] for k in KINDS)
    assert count <= spends_all * (1 + 1e-5)
    assert spends_all <= any_ * (1 + 1e-5)
    assert any_ <= asymmetric * (1 + 1e-4)
    assert any_ < halves
    assert asymmetric < appendix


@pytest.mark.parametrize("spending", KINDS)
def test_sensitivity_scales_noise_and_threshold(spending):
    base = joint.calibrate(*PAPER, 100, spending)
    wide = joint.calibrate(*PAPER, 100, spending, sensitivity=1.004)
    assert 1.004 * base[0] * (1 - 1e-9) <= wide[0]
    assert wide == pytest.approx((1.004 * base[0], 1.004 * base[1]), rel=2e-4)


@settings(max_examples=200, deadline=None)
@given(st.floats(0, 1), st.floats(0, 0.1))
def test_a_slack_in_shared_items_is_a_larger_sensitivity(q, slack):
    """The substitution q' of docs/calibration.md: new weights stay within it, and q' >= q/s."""
    s = 1 + slack
    turned = 1 - (math.sqrt(1 - q) + slack) ** 2 / s**2
    assert s**2 * turned >= q - 1e-14
    assert turned >= q / s - 1e-14


@pytest.mark.parametrize("spending", KINDS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_every_setting_is_calibrated_with_little_work(epsilon, spending, monkeypatch):
    """Counted, not timed; so much takes a fraction of 0.1 s, also the first time in a process: nothing is compiled."""
    tails = Counter()

    def counted(x, upper_tail=normal.upper_tail):
        tails[spending] += 1
        return upper_tail(x)

    monkeypatch.setattr(normal, "upper_tail", counted)
    every = MAX_ITEMS if spending in ("count", "all") else (1, 2, 100, 10**6)
    for delta in DELTAS:
        for max_items in every:
            tails.clear()
            sigma, threshold = joint.calibrate(epsilon, delta, max_items, spending)
            assert 0 < threshold / sigma < 20
            assert tails[spending] <= 5_000


@pytest.mark.parametrize("spending", ["count", "all", "any"])
@pytest.mark.parametrize("quantile", [0.0, -math.inf, math.inf, math.nan])
def test_a_search_that_fails_is_not_unsafe(monkeypatch, quantile, spending):
    """Safety rests on the proof alone, and without a search it bisects: here quantiles, which only it uses, are wrong."""
    wrong = SimpleNamespace(**{**vars(special), "ndtri": lambda p: np.full_like(p, quantile)})
    monkeypatch.setattr(joint, "special", wrong)
    sigma, threshold = joint.calibrate(*PAPER, 10, spending)
    epsilon, delta = PAPER
    assert largest_delta(epsilon, sigma, threshold, 10, spending) <= delta * (1 + 1e-7)
    assert largest_delta(epsilon, sigma, threshold * (1 - 1e-4), 10, spending) > delta


@settings(max_examples=200, deadline=None)
@given(st.floats(1e-3, 20), st.floats(1e-3, 30), st.floats(1e-2, 5))
def test_the_direction_from_the_user_is_the_larger_one(epsilon, loss, mu):
    with mpmath.workdps(60):
        psi = mpmath.exp(-mpf(loss))
        leaving = 1 - psi + psi * delta_gaussian(mpf(epsilon) + loss, mu)
        assert leaving >= delta_gaussian(mpf(epsilon) - loss, mu)


@pytest.mark.parametrize(("max_items", "sensitivity"), [(0, 1.0), (10, 0.5), (10, math.nan)])
def test_wrong_settings_are_refused(max_items, sensitivity):
    with pytest.raises(InvalidArgument):
        joint.calibrate(1.0, 1e-5, max_items, "all", sensitivity)


def test_an_unknown_spending_is_refused():
    with pytest.raises(InvalidArgument, match="asymmetric"):
        joint.calibrate(1.0, 1e-5, 10, "everything")


def test_the_largest_loss_is_at_an_end_of_the_number_of_items():
    """sqrt(-ln Phi) is convex, so a -> a (-ln Phi((rho - sqrt(q/a))/sigma)) has no maximum inside."""
    with mpmath.workdps(40):
        for z in mpmath.linspace(-30, 30, 241):
            hazard = mpmath.npdf(z) / mpmath.ncdf(z)
            loss = -mpmath.log1p(-mpmath.erfc(z / mpmath.sqrt(2)) / 2)
            assert 2 * loss * (z + hazard) >= hazard
