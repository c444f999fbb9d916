"""The choice of the engine."""

import sys
from collections.abc import Callable
from typing import Any

import pytest

import dpsu
from dpsu.errors import InvalidArgument

SOURCE = {1: ["a"]}
CALLS: list[Callable[..., Any]] = [
    lambda **how: dpsu.release(SOURCE, epsilon=1, delta=1e-6, **how),
    lambda **how: dpsu.ngrams(SOURCE, text=True, epsilon=1, delta=1e-6, **how),
    lambda **how: dpsu.tune(SOURCE, settings=[{"max_items": 2}], epsilon=1, delta=1e-6, **how),
]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("how", "told"),
    [
        ({"engine": "cluster"}, "cluster"),
        ({"engine": "spark", "spark_mode": "driver"}, "driver"),
        ({"spark_mode": "task"}, "engine="),
    ],
)
def test_engines_and_modes_that_do_not_exist_are_refused(
    call: Callable[..., Any], how: dict[str, Any], told: str
) -> None:
    with pytest.raises(InvalidArgument, match=told):
        call(**how)


@pytest.mark.parametrize("call", CALLS)
def test_spark_without_its_extra_says_what_to_install(
    call: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "dpsu.engines.spark.engine", None)
    with pytest.raises(InvalidArgument, match=r"dpsu\[spark\]"):
        call(engine="spark")
