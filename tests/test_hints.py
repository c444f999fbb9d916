"""Hints: unknown arguments get the name that was probably meant."""

from collections.abc import Callable

import pytest

import dpsu
from dpsu.errors import InvalidArgument
from dpsu.hints import known_arguments


@known_arguments(colour="It is called color now.")
def paint(*, color: str = "red", width: int = 1) -> str:
    return color * width


def test_known_arguments_pass() -> None:
    assert paint(color="ab", width=2) == "abab"


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [({"colour": "blue"}, "color"), ({"widht": 3}, "width"), ({"alpha": 2}, "PolicyGaussian")],
)
def test_unknown_arguments_say_what_was_meant(wrong: dict[str, object], meant: str) -> None:
    with pytest.raises(InvalidArgument, match=meant):
        paint(**wrong)  # type: ignore[arg-type]


def test_near_names_of_moved_arguments_count_too() -> None:
    with pytest.raises(InvalidArgument, match="'colour'"):
        paint(colours="blue")  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("made", "meant"),
    [
        (lambda: dpsu.plan(epsilon=1, delta=1e-6, users=100), "dpsu.Shape"),  # type: ignore[call-arg]
        (lambda: dpsu.Counts(max_item=2), "'max_items'"),  # type: ignore[call-arg]
        (lambda: dpsu.Counts(sums={}), "dpsu.release"),  # type: ignore[call-arg]
        (lambda: dpsu.Shape(user=100, items_per_user=2), "'users'"),  # type: ignore[call-arg]
        (lambda: dpsu.tune({}, settings=[None], epsilon=1, delta=1e-6), "dictionary"),  # type: ignore[list-item]
    ],
)
def test_options_of_counts_shapes_and_settings(made: Callable[[], object], meant: str) -> None:
    with pytest.raises(InvalidArgument, match=meant):
        made()


@pytest.mark.parametrize("name", [name for name in dpsu.__all__ if isinstance(getattr(dpsu, name), type)])
def test_algorithms_refuse_unknown_options(name: str) -> None:
    from dpsu.algorithms.algorithm import Algorithm

    kind = getattr(dpsu, name)
    if issubclass(kind, Algorithm):
        with pytest.raises(InvalidArgument, match="colour"):
            kind(colour="blue")
