"""The catalogue: one file per family, each with its rule, its calibration and a pointer to its proof."""

import polars as pl

from dpsu.algorithms import (
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
from dpsu.algorithms.mechanism import Algorithm, Mechanism
from dpsu.algorithms.policy import Policy, calibrate_own
from dpsu.algorithms.request import Request
from dpsu.errors import InvalidArgument, NotPrivate
from dpsu.hints import did_you_mean

CATALOGUE: dict[str, Algorithm] = {
    algorithm.name: algorithm
    for family in (count, weighted, policy, ordered, focused, dp_sips, mad, optimal_single, k_anonymity)
    for algorithm in family.ALGORITHMS
}

DEFAULT = "focused-gaussian"


def list_algorithms() -> pl.DataFrame:
    """All algorithms: name, family, whether private, where they run, and what they do."""
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


def find(algorithm: "str | Policy") -> Algorithm:
    """The entry of that name, or one made around the caller's own policy."""
    if isinstance(algorithm, Policy):
        own = algorithm
        return Algorithm(
            own.name,
            "policy",
            "a policy of the caller's own",
            lambda request: calibrate_own(own, request),
            options={"alpha": policy.DEFAULT_ALPHA},
            proof="docs/policies.md",
        )
    if algorithm not in CATALOGUE:
        raise InvalidArgument(
            f"there is no algorithm {algorithm!r}; there are {', '.join(CATALOGUE)}.{did_you_mean(algorithm, CATALOGUE)}"
        )
    return CATALOGUE[algorithm]


def find_private(algorithm: "str | Policy", unsafe: bool = False) -> Algorithm:
    """The same, but algorithms that are not private need consent."""
    entry = find(algorithm)
    if not entry.private and not unsafe:
        raise NotPrivate(
            f"{entry.name} is not differentially private ({entry.proof}). To run it for research, pass unsafe=True "
            "(--unsafe); the result must not be published."
        )
    return entry


def calibrate(algorithm: Algorithm, request: Request) -> Mechanism:
    """The algorithm, calibrated; options that it does not have are an error."""
    for option in request.options:
        if option not in algorithm.options:
            has = (
                f"its options are {', '.join(algorithm.options)}"
                if algorithm.options
                else "it has no options"
            )
            raise InvalidArgument(f"{algorithm.name} has no option {option!r}; {has}.")
    return algorithm.calibrate(request)
