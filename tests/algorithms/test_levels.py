"""n-grams in levels: what all levels together spend."""

import pytest

from dpsu.algorithms.levels import plan_levels
from dpsu.algorithms.request import Request

METHODS = ("focused-gaussian", "dpne")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shares", [None, (0.5, 0.3, 0.2), (0.1, 0.1, 0.1)])
def test_all_levels_together_keep_the_promise(method: str, shares: tuple[float, ...] | None) -> None:
    request = Request(1.0, 1e-5)
    levels, _ = plan_levels(request, 3, level_shares=shares, method=method)  # type: ignore[arg-type]
    spent = levels[0].budget.compose(*(level.budget for level in levels[1:]))
    assert spent.delta(request.epsilon) <= request.delta
    if shares is None:
        assert spent.delta(request.epsilon) > 0.99 * request.delta
    for level in levels:
        actual = level.focused().budget() if level.size == 1 or method != "dpne" else level.budget
        assert actual.mu <= level.budget.mu
        assert actual.delta_new <= level.budget.delta_new
