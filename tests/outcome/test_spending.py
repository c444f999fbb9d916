"""What spendings add up to."""

import math

import pytest
from statements import statement_of

from dpsu.outcome.spending import total_delta, total_epsilon
from dpsu.outcome.statement import Statement
from dpsu.privacy.gaussian import delta_gaussian


def promise(epsilon: float, delta: float, algorithm: str = "focused-gaussian") -> Statement:
    return statement_of(algorithm, epsilon, delta, max_items=10)


def test_gaussian_releases_compose_as_gaussian_dp() -> None:
    """Sixteen releases cost about four times one, not sixteen times."""
    statements = [promise(0.5, 1e-7)] * 16
    budget = statements[0].budget
    assert budget is not None
    mu, new = math.sqrt(16) * budget.mu, 16 * budget.delta_new
    assert total_delta(statements, 3.0) == pytest.approx(delta_gaussian(3.0, mu) + new, rel=1e-9)
    assert 1.5 < total_epsilon(statements, 1e-5) < 3.0


@pytest.mark.parametrize(
    "algorithm", ["focused-gaussian", "weighted-gaussian", "policy-laplace", "optimal-single"]
)
def test_one_release_costs_what_it_promises_at_most(algorithm: str) -> None:
    stated = promise(1.0, 1e-6, algorithm)
    assert total_delta([stated], 1.0) <= 1e-6
    assert total_epsilon([stated], 1e-6) <= 1.0


def test_the_l1_family_adds() -> None:
    statements = [promise(0.5, 1e-7, "policy-laplace")] * 3
    assert total_epsilon(statements, 3e-7) == pytest.approx(1.5)
    assert total_delta(statements, 1.4) == 1.0
    mixed = [*statements, promise(0.5, 1e-7)]
    assert total_epsilon(mixed, 4e-7) <= 2.0
