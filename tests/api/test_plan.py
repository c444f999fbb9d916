"""Plans: public numbers, and a chance that the releases keep to."""

import json
import math
from collections.abc import Callable

import numpy as np
import pytest

import dpsu
from dpsu.errors import InvalidArgument
from dpsu.testing import seeded

PRIVATE = [row["name"] for row in dpsu.list_algorithms().iter_rows(named=True) if row["private"]]


def plan_of(algorithm: str, **options: object) -> dpsu.Plan:
    return dpsu.plan(
        **{
            "epsilon": 1.0,
            "delta": 1e-4,
            "algorithm": algorithm,
            "max_items": limit_for(algorithm),
            **options,
        }
    )


def limit_for(algorithm: str) -> int:
    return 1 if algorithm == "optimal-single" else 10


@pytest.mark.parametrize("algorithm", PRIVATE)
def test_more_holders_make_release_more_likely(algorithm: str) -> None:
    chances = plan_of(algorithm).chance([1, 5, 20, 80, 320, 2000], set_size=1)
    assert chances[0] <= 1e-4
    assert chances[-1] > 0.97
    assert np.all(np.diff(chances) >= -1e-12)


@pytest.mark.parametrize("algorithm", PRIVATE)
def test_the_chance_is_what_releases_show(algorithm: str) -> None:
    """Items held by just as many users as give even odds come out about half of the time."""
    # The chance of `auto` is that of many users with such sets; a hint makes the same choice for few.
    hint = {"typical_items": 4.0} if algorithm == "auto" else {}
    plan = plan_of(algorithm, **hint)
    size = 1 if algorithm == "optimal-single" else 4
    holders = plan.users_needed(0.5, set_size=size)
    assert holders is not None
    groups = 1200 // size
    data = {
        (group * holders + n): [f"{group}/{j}" for j in range(size)]
        for group in range(groups)
        for n in range(holders)
    }
    with seeded(4):
        released = len(
            dpsu.release(
                data, epsilon=1.0, delta=1e-4, algorithm=algorithm, max_items=limit_for(algorithm), **hint
            )
        )
    items = groups * size
    expected = plan.chance(holders, size)
    assert abs(released / items - expected) < 5 * math.sqrt(0.25 / items)


@pytest.mark.parametrize(
    ("ask", "named"),
    [
        (lambda plan: plan.chance(-3), "users"),
        (lambda plan: plan.chance("x"), "users"),
        (lambda plan: plan.chance(5, 0), "set_size"),
        (lambda plan: plan.table([0]), "set_size"),
        (lambda plan: plan.users_needed(math.nan), "chance"),
        (lambda plan: plan.users_needed(2), "chance"),
        (lambda plan: dpsu.plan(epsilon=1, delta=1e-6, shape=(100, 3)), "shape"),
    ],
)
def test_numbers_outside_the_range_have_no_chance(ask: Callable[[dpsu.Plan], object], named: str) -> None:
    with pytest.raises(InvalidArgument, match=named):
        ask(plan_of("focused-gaussian"))


def test_thinning_by_max_items_lowers_the_chance() -> None:
    plan = plan_of("weighted-gaussian", max_items=10)
    full, cut = plan.chance(200, set_size=10), plan.chance(200, set_size=40)
    assert cut < full
    rng = np.random.default_rng(0)
    kept = rng.binomial(200, 0.25, 4000)
    assert cut == pytest.approx(float(np.mean(plan.chance(kept.tolist(), set_size=10))), abs=0.02)


@pytest.mark.parametrize("algorithm", PRIVATE)
def test_plans_print_and_serialise(algorithm: str) -> None:
    plan = plan_of(algorithm)
    assert algorithm in str(plan)
    fields = json.loads(plan.to_json())
    assert fields["algorithm"] == algorithm
    assert fields["chance"][0]["users"] >= 1


def test_the_paper_s_numbers() -> None:
    """Golden values at the paper's privacy, from its formulas evaluated with 50 digits."""
    half = dpsu.plan(
        epsilon=3, delta=math.exp(-10), max_items=100, algorithm="weighted-gaussian", calibration="paper"
    ).parameters
    assert half["sigma"] == pytest.approx(1.3327913294, rel=1e-9)
    assert half["threshold"] == pytest.approx(6.823660981, rel=1e-9)
    joint = dpsu.plan(epsilon=3, delta=math.exp(-10), max_items=100, algorithm="weighted-gaussian").parameters
    assert joint["sigma"] == pytest.approx(1.2824, abs=1e-4)
    assert joint["threshold"] == pytest.approx(6.3974, abs=1e-3)
    curve = dpsu.plan(epsilon=3, delta=math.exp(-10), max_items=100, algorithm="weighted-laplace").parameters
    assert curve["threshold"] == pytest.approx(4.085, abs=1e-3)
