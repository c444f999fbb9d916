"""The catalogue: one file per family, each with its rule, its calibration and a pointer to its proof."""

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from dpsu.algorithms import (
    auto,
    count,
    dp_sips,
    focused,
    k_anonymity,
    mad,
    optimal_single,
    ordered,
    policy,
    weighted,
)
from dpsu.algorithms.algorithm import Algorithm
from dpsu.errors import InvalidArgument, NotPrivate
from dpsu.hints import did_you_mean

if TYPE_CHECKING:
    import polars as pl

CATALOGUE: dict[str, type[Algorithm]] = {
    algorithm.name: algorithm
    for family in (auto, count, weighted, policy, ordered, focused, dp_sips, mad, optimal_single, k_anonymity)
    for algorithm in family.ALGORITHMS
}

DEFAULT = "auto"

NAMED_DEFAULT = "focused-gaussian"
"""The default where `auto` cannot choose: with candidates, and among settings to tune."""


def list_algorithms() -> "pl.DataFrame":
    """All algorithms: name, family, whether private, where they run, and what they do.

    >>> import dpsu
    >>> dpsu.list_algorithms().filter("default")["name"].to_list()
    ['auto']
    """
    import polars as pl

    return pl.DataFrame(
        [
            {
                "name": entry.name,
                "family": entry.family,
                "private": entry.private,
                "engines": ", ".join(entry.engines),
                "default": entry.name == DEFAULT,
                "summary": entry.summary,
            }
            for entry in CATALOGUE.values()
        ]
    )


def build(algorithm: "str | Algorithm", **options: Any) -> Algorithm:
    """The algorithm with these options in place of its own."""
    found: Any = find(algorithm)
    known = [each.name for each in fields(found)]
    for option in options:
        if option not in known:
            has = f"its options are {', '.join(known)}" if known else "it has no options"
            raise InvalidArgument(f"{found.name} has no option {option!r}; {has}.")
    built: Algorithm = replace(found, **options)
    return built


def find(algorithm: "str | Algorithm") -> Algorithm:
    """The algorithm of that name with its defaults, or the one that is given."""
    if isinstance(algorithm, Algorithm):
        return algorithm
    if algorithm not in CATALOGUE:
        hint = did_you_mean(str(algorithm), CATALOGUE)
        raise InvalidArgument(f"there is no algorithm {algorithm!r}; there are {', '.join(CATALOGUE)}.{hint}")
    return CATALOGUE[algorithm]()


def find_private(algorithm: "str | Algorithm", unsafe: bool = False) -> Algorithm:
    """The same, but algorithms that are not private need consent."""
    found = find(algorithm)
    if not found.private and not unsafe:
        raise NotPrivate(
            f"{found.name} is not differentially private ({found.proof}). To run it for research, pass unsafe=True "
            "(--unsafe); the result must not be published."
        )
    return found


def hinted(algorithm: Algorithm, typical_items: float | None) -> Algorithm:
    """The algorithm with the caller's hint, which only `auto` takes."""
    return algorithm if typical_items is None else build(algorithm, typical_items=typical_items)
