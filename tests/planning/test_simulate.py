"""Simulations against releases: the number of items, the holders that one needs, and other values of max_items."""

import numpy as np
import polars as pl
import pytest

import dpsu
from dpsu.errors import InvalidArgument, NotPrivate
from dpsu.planning.simulate import chance_by_holders
from dpsu.report.plan_page import plan_page

PRIVACY = {"epsilon": 3.0, "delta": 1e-6}


def frame_of(shape, seed):
    drawn = shape.draw(np.random.default_rng(seed), 1e9)
    users = np.repeat(np.arange(len(drawn.sizes)), drawn.sizes)
    return pl.DataFrame({"user": users, "item": drawn.items})


@pytest.mark.parametrize("algorithm", ["ordered-laplace", "focused-gaussian"])
def test_the_band_has_the_releases_of_such_data(algorithm):
    """Fixed keys; the band of two standard deviations is doubled, so the draw of the test hardly matters."""
    shape = dpsu.Shape(users=10_000, items_per_user=3)
    outlook = dpsu.plan(algorithm=algorithm, shape=shape, **PRIVACY).outlook
    sizes = [
        len(dpsu.release(frame_of(shape, seed), user="user", item="item", algorithm=algorithm, **PRIVACY))
        for seed in range(100, 104)
    ]
    half = outlook.high - outlook.items
    assert 0 < half < 0.2 * outlook.items
    assert abs(np.mean(sizes) - outlook.items) < 2 * half


def test_a_smaller_simulation_agrees_with_the_whole(monkeypatch):
    shape, how = dpsu.Shape(users=100_000, items_per_user=3), {"algorithm": "ordered-laplace", **PRIVACY}
    whole = dpsu.plan(shape=shape, **how).outlook
    monkeypatch.setattr("dpsu.planning.simulate.PAIRS", 30_000)
    part = dpsu.plan(shape=shape, **how).outlook
    assert whole.factor == 1
    assert part.factor == pytest.approx(10)
    assert part.items == pytest.approx(whole.items, rel=0.05)
    assert part.holders_needed() == pytest.approx(whole.holders_needed(), abs=2)


def test_public_data_is_simulated_as_it_is():
    """100 items with 200 holders each are released, those with 2 holders are not."""
    data = {n: [f"shared {n % 100}", f"rare {n // 2}"] for n in range(20_000)}
    made = dpsu.plan(like=data, data_is_public=True, algorithm="weighted-gaussian", **PRIVACY)
    assert made.outlook.items == pytest.approx(100, abs=2)
    assert made.outlook.chance(2) < 0.01
    assert made.outlook.chance(200) > 0.97
    assert 2 < made.outlook.holders_needed() <= 200
    assert made.outlook.by_max_items[1] == pytest.approx(100, abs=2)


def test_a_plan_of_auto_compares_what_it_chooses_from():
    """With one item each the ℓ1 family needs fewer holders."""
    made = dpsu.plan(shape=dpsu.Shape(users=10_000, items_per_user=1), **PRIVACY)
    found = made.outlook.by_algorithm
    assert made.to_dict()["outlook"]["algorithms"] == found
    assert found["ordered-laplace"] > 1.3 * found["focused-gaussian"]
    assert found["ordered-laplace"] == pytest.approx(made.outlook.items, rel=0.15)
    assert f"ordered-laplace {found['ordered-laplace']:,.0f}" in " ".join(str(made).split())
    named = dpsu.plan(
        algorithm="ordered-laplace", shape=dpsu.Shape(users=10_000, items_per_user=1), **PRIVACY
    )
    assert named.outlook.by_algorithm == {}


def test_a_public_order_is_used_with_like_and_refused_with_a_shape():
    ordered = dpsu.OrderedLaplace(order=["a", "b"])
    data = {n: ["a", "b"] for n in range(50)}
    made = dpsu.plan(like=data, data_is_public=True, algorithm=ordered, **PRIVACY)
    assert made.outlook.items == pytest.approx(2, abs=0.5)
    with pytest.raises(InvalidArgument, match="like="):
        dpsu.plan(shape=dpsu.Shape(100, 2), algorithm=ordered, **PRIVACY)


def test_data_needs_consent_before_it_is_read():
    with pytest.raises(NotPrivate, match="data_is_public=True"):
        dpsu.plan(like="no-such-file.parquet", user="user", item="item", **PRIVACY)


@pytest.mark.parametrize("wrong", [{"shape": dpsu.Shape(9, 1), "like": {}}, {"user": "user"}])
def test_arguments_that_exclude_each_other_are_refused(wrong):
    with pytest.raises(InvalidArgument):
        dpsu.plan(data_is_public=True, **wrong, **PRIVACY)


@pytest.mark.parametrize("algorithm", dpsu.list_algorithms().filter("private")["name"].to_list())
def test_every_private_algorithm_can_be_simulated(algorithm):
    limit = 1 if algorithm == "optimal-single" else 3
    made = dpsu.plan(algorithm=algorithm, max_items=limit, shape=dpsu.Shape(3000, 2), **PRIVACY)
    assert 0 < made.outlook.low <= made.outlook.items <= made.outlook.high
    assert all(len(line) <= 80 for line in str(made).splitlines())


def test_nothing_is_released_from_too_few_users():
    made = dpsu.plan(shape=dpsu.Shape(2, 1), **PRIVACY)
    assert made.outlook.items < 0.1
    assert made.outlook.holders_needed() is None
    assert str(made)
    assert plan_page(made)


def test_plans_repeat_themselves():
    plans = [dpsu.plan(shape=dpsu.Shape(2000, 2), **PRIVACY).to_json() for _ in range(2)]
    assert plans[0] == plans[1]


def test_the_chance_does_not_decrease():
    holders, released = np.array([1, 2, 2, 3, 4]), np.array([False, True, False, False, True])
    values, chances = chance_by_holders(holders, released, np.ones(5))
    assert values.tolist() == [1, 2, 3, 4]
    assert chances.tolist() == pytest.approx([0, 1 / 3, 1 / 3, 1])
