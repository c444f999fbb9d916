"""The catalogue: names, objects and their options."""

from dataclasses import fields

import pytest

import dpsu
from dpsu.algorithms.catalogue import CATALOGUE, build, find
from dpsu.algorithms.ranges import OPTIONS
from dpsu.algorithms.request import Request
from dpsu.errors import InvalidArgument

WITH_ITEMS_OF_ONE = "optimal-single"


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_name_means_the_object_with_its_defaults(name: str) -> None:
    request = Request(1.0, 1e-6, 1 if name == WITH_ITEMS_OF_ONE else 20)
    assert find(name) == CATALOGUE[name]()
    assert find(name).calibrate(request).parameters() == CATALOGUE[name]().calibrate(request).parameters()


def test_every_algorithm_is_public() -> None:
    assert {kind.__name__ for kind in CATALOGUE.values()} <= set(dpsu.__all__)


@pytest.mark.parametrize(
    ("name", "option"),
    [(name, each.name) for name, kind in CATALOGUE.items() for each in fields(kind) if each.name in OPTIONS],  # type: ignore[arg-type]
)
def test_options_are_held_to_their_ranges(name: str, option: str) -> None:
    for wrong in (OPTIONS[option].low - 1, OPTIONS[option].high * 2 + 1, "many", True):
        with pytest.raises(InvalidArgument, match=option):
            build(name, **{option: wrong})


def test_an_option_that_an_algorithm_does_not_have_is_named() -> None:
    with pytest.raises(InvalidArgument, match="alpha"):
        build("weighted-gaussian", alpha=3)


def test_the_engine_fills_in_parts_that_nobody_chose() -> None:
    assert dpsu.PolicyGaussian().for_engine(8).options()["parts"] == 8
    assert dpsu.PolicyGaussian(parts=2).for_engine(8).options()["parts"] == 2
    assert dpsu.WeightedGaussian().for_engine(8) == dpsu.WeightedGaussian()
