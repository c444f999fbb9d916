"""With `calibration="paper"` a plan shows the noise and the thresholds of the paper's boxes, never less."""

import math

import pytest
import reference

import dpsu

CASES = [(3, math.exp(-10), 100), (1, 1e-5, 10), (0.1, 1e-12, 300)]


def plan_of(algorithm, epsilon, delta, max_items):
    plan = dpsu.plan(
        epsilon=epsilon, delta=delta, max_items=max_items, algorithm=algorithm, calibration="paper"
    )
    return plan.parameters


@pytest.mark.parametrize(("epsilon", "delta", "max_items"), CASES)
@pytest.mark.parametrize("algorithm", ["weighted-laplace", "policy-laplace"])
def test_laplace_thresholds(algorithm, epsilon, delta, max_items):
    threshold = plan_of(algorithm, epsilon, delta, max_items)["threshold"]
    expected = reference.threshold_laplace(epsilon, delta, max_items)
    assert expected <= threshold <= expected + 1e-8


@pytest.mark.parametrize(("epsilon", "delta", "max_items"), CASES)
def test_gaussian_noise_and_thresholds(epsilon, delta, max_items):
    found = plan_of("weighted-gaussian", epsilon, delta, max_items)
    sigma = found["sigma"]
    assert reference.delta_gaussian(epsilon, sigma) <= delta / 2
    assert reference.delta_gaussian(epsilon, sigma * (1 - 1e-9)) > delta / 2
    expected = reference.threshold_gaussian(sigma, delta, max_items)
    assert expected <= found["threshold"] <= expected * (1 + 1e-9)


@pytest.mark.parametrize(("epsilon", "delta", "max_items"), CASES)
def test_a_float_policy_pays_for_its_rounding_and_no_more(epsilon, delta, max_items):
    """The slack is that of docs/policies.md, for 2^32 users."""
    exact = plan_of("weighted-gaussian", epsilon, delta, max_items)
    paid = plan_of("policy-gaussian", epsilon, delta, max_items)
    per_user = math.sqrt(max_items) * math.ulp(paid["cutoff"]) / 2 + (max_items / 2 + 4) * 2**-53
    slack = 2 * 2**32 * per_user
    for name in ("sigma", "threshold"):
        # Twice, because the ulp of a cutoff just above this one may be twice as large.
        assert 1 + slack - 1e-12 <= paid[name] / exact[name] <= 1 + 2 * slack
