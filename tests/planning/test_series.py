"""The plan of a series: what each choice of shares gives, as the product gives it on data of the same shape."""

import warnings
from pathlib import Path

import numpy as np
import pytest

import dpsu
from dpsu.errors import InvalidArgument

TERMS = {"epsilon": 3.0, "delta": 1e-6, "periods": 4, "max_items": 4}
SHAPE = dpsu.Shape(users=5000, items_per_user=3, items=2000)


def released_by_the_product(path: Path, run: int, shares: object) -> list[int]:
    """Items known after each period of a series on data of the shape."""
    known = []
    with dpsu.testing.seeded(run), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        series = dpsu.Series.create(path, **TERMS, shares=shares)
        for period in range(4):
            drawn = SHAPE.draw(np.random.default_rng([run + 1, period]), 1e9)
            rows = np.split(drawn.items, np.cumsum(drawn.sizes)[:-1])
            series.release({n: row.tolist() for n, row in enumerate(rows)})
            known.append(len(series.items))
    return known


@pytest.mark.parametrize("shares", ["even", (0.6, 0.2, 0.1, 0.1)])
def test_the_plan_tells_what_the_product_releases(shares: object, tmp_path: Path) -> None:
    """The deviation of one series is about 6 items in each period."""
    planned = dpsu.Series.plan(**TERMS, shares=shares).items(SHAPE)
    known = np.mean([released_by_the_product(tmp_path / f"{run}", run, shares) for run in range(4)], axis=0)
    assert planned["period"].to_list() == [1, 2, 3, 4]
    assert planned[:, 1].to_list() == pytest.approx(known, abs=10)
    assert known[-1] > 150


def test_front_loaded_shares_are_ahead_early() -> None:
    plan = dpsu.Series.plan(epsilon=1, delta=1e-6, periods=6, max_items=10)
    known, chances = plan.items(SHAPE), plan.chances([40], 1)
    for name in ("even", "front"):
        assert known[name].is_sorted()
        assert chances.filter(chances["shares"] == name)["40 holders"].is_sorted()
    assert known["front"][2] > known["even"][2]


def test_a_plan_is_the_same_at_every_call() -> None:
    plan = dpsu.Series.plan(**TERMS, shares={"mine": [0.4, 0.3, 0.2, 0.1]})
    assert plan.items(SHAPE).equals(plan.items(SHAPE))
    assert plan.items(SHAPE).columns == ["period", "mine"]


def test_a_large_shape_is_simulated_smaller() -> None:
    """Three million pairs a period are drawn with fewer users; more users still mean more known items."""
    plan = dpsu.Series.plan(**TERMS, shares="even")
    small, large = (
        plan.items(dpsu.Shape(users, 3, items=20_000))["even"][-1] for users in (50_000, 1_000_000)
    )
    assert 2 * small < large <= 20_000


@pytest.mark.parametrize("wrong", [{}, {"period": "even"}, {1: "even"}, {"a": "back"}, [0.5, 0.5], "back"])
def test_choices_that_make_no_sense_are_refused(wrong: object) -> None:
    with pytest.raises(InvalidArgument):
        dpsu.Series.plan(**TERMS, shares=wrong)
    with pytest.raises(InvalidArgument):
        dpsu.Series.plan(**TERMS).chances([0])
