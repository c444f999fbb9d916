"""Statements of a series: the honest one is accepted, and forged ones are rejected."""

import json
from pathlib import Path
from typing import Any

import pytest
from honest import all_of, at, mended, times, without

import dpsu

P = "parameters"


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> str:
    path: Path = tmp_path_factory.mktemp("series") / "w.series"
    series = dpsu.Series.create(path, epsilon=1, delta=1e-6, periods=3, max_items=[4, 9, 2], shares="front")
    statement = series.release({n: ["a"] for n in range(2000)}).statement
    assert statement is not None
    return statement.to_json()


def test_the_honest_statement_is_accepted(honest: str) -> None:
    assert dpsu.verify(json.loads(honest)).ok


def raise_all(values: list[float]) -> list[float]:
    return [1.1 * value for value in values]


FORGERIES: dict[str, Any] = {
    "less noise": at(P, "sigma", to=times(0.99)),
    "a lower threshold in the first round": at(P, "thresholds", 0, to=times(0.9)),
    "a lower threshold in the last round": all_of(
        at(P, "thresholds", -1, to=times(0.98)), at(P, "threshold", to=times(0.98))
    ),
    "a lower threshold in the middle": at(P, "thresholds", 11, to=times(0.97)),
    "larger cuts": at(P, "period_max_items", 0, to=9),
    "larger cuts than max_items": at(P, "period_max_items", 1, to=10),
    "larger shares": at(P, "shares", to=raise_all),
    "other shares of periods": at(P, "period_shares", 0, to=times(0.5)),
    "fewer periods": at(P, "periods", to=2),
    "a period beyond the horizon": at(P, "period", to=4),
    "period 0": at(P, "period", to=0),
    "a period that is true": at(P, "period", to=True),
    "more rounds": at(P, "rounds", to=12),
    "rounds without end": at(P, "rounds", to=10**12),
    "no series": without(P, "series"),
    "a strange series": at(P, "series", to="x"),
    "a smaller budget": at("budget", "mu", to=times(0.9)),
    "a smaller chance of new items": at("budget", "delta_new", to=times(0.5)),
    "a smaller epsilon": at("epsilon", to=0.9),
    "another unit": at("unit", to="one user, added or removed"),
    "the unit of one period": at("unit", to="one user in period 1, added or removed"),
    "another kind": at("kind", to="single"),
    "levels": at("kind", to="levels"),
    "another proof": at("proof", to="docs/focused-gaussian.md"),
    "another algorithm": at("algorithm", to="weighted-gaussian"),
    "an unknown key": at(P, "cap", to=1.0),
    "a negative share": at(P, "shares", 0, to=times(-1)),
    "another last threshold": at(P, "threshold", to=times(1.1)),
}


@pytest.mark.parametrize("shares", ["even", "front"])
@pytest.mark.parametrize(("epsilon", "delta", "most"), [(1, 1e-6, 100), (0.1, 1e-12, 10**6), (30, 1e-30, 1)])
def test_the_longest_series_is_accepted_and_no_lower_threshold(
    tmp_path: Path, shares: str, epsilon: float, delta: float, most: int
) -> None:
    terms = {"epsilon": epsilon, "delta": delta, "max_items": most, "shares": shares}
    series = dpsu.Series.create(tmp_path / "days.series", periods=366, **terms)
    statement = series.release({n: ["a"] for n in range(20_000)}).statement
    assert statement is not None
    fields = json.loads(statement.to_json())
    assert dpsu.verify(fields).ok
    fields[P]["thresholds"] = [(1 - 1e-6) * each for each in fields[P]["thresholds"]]
    fields[P]["threshold"] = fields[P]["thresholds"][-1]
    assert not dpsu.verify(mended(fields)).ok


@pytest.mark.parametrize("idea", FORGERIES)
def test_a_forged_statement_is_rejected(idea: str, honest: str) -> None:
    fields = json.loads(honest)
    FORGERIES[idea](fields)
    assert not dpsu.verify(mended(fields)).ok


@pytest.mark.parametrize(
    "unit",
    [
        "one user in period , added or removed",
        "one user in period a\nb, added or removed",
        "one user in period a , added or removed",
        "one user in period 1",
        "one user in period 1 , added or removed",
    ],
)
def test_strange_periods_are_rejected(unit: str) -> None:
    made = dpsu.release({n: ["a"] for n in range(500)}, epsilon=3, delta=1e-6, period="2026-01").statement
    assert made is not None
    fields = made.to_dict()
    assert dpsu.verify(fields).ok
    assert not dpsu.verify(mended({**fields, "unit": unit})).ok
    assert not dpsu.verify(mended({**fields, "not_covered": fields["not_covered"][:-1]})).ok
    assert not dpsu.verify(mended({**fields, "rests_on": fields["rests_on"][:1]})).ok
