"""The planner page: what it embeds is what plans say, and nothing is loaded."""

import json
import re
from typing import Any

import pytest

import dpsu
from dpsu.report import planner

SMALL = planner.Grid((0.5, 2.0), (1e-7, 1e-6), (1, 10), (dpsu.Shape(3000, 2), dpsu.Shape(6000, 2)))


def content_of(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="content">(.*?)</script>', page, re.DOTALL)
    assert found
    return dict(json.loads(found[1]))


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planner, "GRID", SMALL)


@pytest.mark.usefixtures("small")
def test_the_grid_has_the_plan_and_behaves_like_plans() -> None:
    shape = dpsu.Shape(4000, 2)
    plan = dpsu.plan(epsilon=1, delta=1e-6, max_items=5, algorithm="weighted-gaussian", shape=shape)
    content = content_of(plan.to_html())
    assert content["epsilons"] == [0.5, 1.0, 2.0]
    assert content["limits"] == [1, 5, 10]
    assert content["shapes"][0] == {"text": str(shape), "users": 4000}
    epsilon, delta, limit, place = content["start"]
    assert (content["epsilons"][epsilon], content["deltas"][delta], content["limits"][limit], place) == (
        1.0,
        1e-6,
        5,
        0,
    )
    items, *holders = content["points"][0][epsilon][delta][limit]
    assert plan.outlook is not None
    spread = plan.outlook.high - plan.outlook.low
    assert abs(items - plan.outlook.items) <= max(5, 2 * spread)
    assert holders == sorted(holders)
    assert content["points"][0][2][delta][limit][0] > content["points"][0][0][delta][limit][0]


@pytest.mark.usefixtures("small")
def test_an_algorithm_for_single_items_leaves_the_other_points_out() -> None:
    plan = dpsu.plan(epsilon=0.5, delta=1e-6, max_items=1, algorithm="optimal-single")
    points = content_of(plan.to_html())["points"]
    assert points[0][0][0][0] is not None
    assert points[0][0][0][1] is None


def test_counts_own_options_and_files_have_a_page_without_sliders() -> None:
    like = {n: ["a", "b"] for n in range(500)}
    for plan in (
        dpsu.plan(epsilon=1, delta=1e-6, counts=True),
        dpsu.plan(epsilon=1, delta=1e-6, algorithm=dpsu.PolicyGaussian(alpha=2)),
        dpsu.plan(epsilon=1, delta=1e-6, algorithm="weighted-gaussian", like=like, data_is_public=True),
    ):
        assert "<script" not in plan.to_html()


@pytest.mark.usefixtures("small")
def test_stages_are_told() -> None:
    told: list[str] = []
    dpsu.plan(epsilon=0.5, delta=1e-6, max_items=1, algorithm="weighted-gaussian").to_html(told.append)
    assert told == ["shape 1 of 2", "shape 2 of 2"]
