"""A policy of one's own, passed as the algorithm."""

import math

import numpy as np
import pytest
from example_policies import half, l2_descent
from leaks import told

import dpsu
from dpsu.errors import InvalidArgument, SourceError
from dpsu.testing import seeded

DATA = {n: ["the", "of", "and", f"own {n % 40}"] for n in range(1500)}
PRIVACY = {"epsilon": 2.0, "delta": 1e-6, "max_items": 10}


def test_own_l2_descent_releases_what_the_built_in_one_does() -> None:
    policy = dpsu.Policy(update=l2_descent, norm=2, symmetric=True, name="mine")
    with seeded(3):
        own = dpsu.release(DATA, **PRIVACY, algorithm=policy)
    with seeded(3):
        built_in = dpsu.release(DATA, **PRIVACY, algorithm="policy-gaussian")
    assert len(own) > 30
    assert len(own) >= 0.9 * len(built_in)
    assert own.statement is not None
    assert "the policy 'mine' is ℓ2-contractive and symmetric" in own.statement.rests_on


def test_own_l1_policy_uses_the_release_curve() -> None:
    release = dpsu.release(DATA, **PRIVACY, algorithm=dpsu.Policy(update=half, norm=1))
    assert release.statement is not None
    assert release.statement.parameters["noise"] == "truncated laplace"
    assert "the" in release


def test_without_symmetry_the_thresholds_are_the_appendix_s() -> None:
    def threshold(symmetric: bool) -> float:
        policy = dpsu.Policy(update=l2_descent, norm=2, symmetric=symmetric)
        return dpsu.plan(**PRIVACY, algorithm=policy, calibration="paper").parameters["threshold"]

    sigma = dpsu.plan(**PRIVACY, algorithm="weighted-gaussian", calibration="paper").parameters["sigma"]
    tail = -math.expm1(math.log1p(-PRIVACY["delta"] / 2) / PRIVACY["max_items"])
    from scipy.stats import norm

    assert threshold(False) == pytest.approx(1 + sigma * norm.isf(tail), rel=1e-3)
    assert threshold(False) > threshold(True)


def test_a_policy_that_overspends_is_stopped() -> None:
    def spendthrift(weights, cutoff):
        return np.ones(weights.size)

    with pytest.raises(InvalidArgument, match="budget"):
        dpsu.release(DATA, **PRIVACY, algorithm=dpsu.Policy(update=spendthrift, norm=2))


def test_a_policy_that_forgets_an_item_is_stopped() -> None:
    def forgetful(weights, cutoff):
        return np.zeros(weights.size - 1)

    with pytest.raises(InvalidArgument, match="increment"):
        dpsu.release(DATA, **PRIVACY, algorithm=dpsu.Policy(update=forgetful, norm=1))


def test_an_error_of_a_policy_quotes_no_weight() -> None:
    def talkative(weights, cutoff):
        if weights[0] > 2.2:
            raise ValueError("too much", weights[0])
        return np.full(weights.size, 1 / weights.size)

    algorithm = dpsu.Policy(update=talkative, norm=1, name="talkative")
    with pytest.raises(SourceError, match="talkative") as caught:
        dpsu.release({n: ["a", "b", "c"] for n in range(9)}, **PRIVACY, algorithm=algorithm)
    assert "2.3" not in told(caught.value)
    assert "too much" not in told(caught.value)


def test_wrong_claims_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="norm"):
        dpsu.Policy(update=l2_descent, norm=3)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="update"):
        dpsu.Policy(update=3, norm=1)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="passes"):
        dpsu.Policy(update=l2_descent, norm=2, passes=2)  # type: ignore[call-arg]
