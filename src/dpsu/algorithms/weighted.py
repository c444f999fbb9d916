"""Weighted counts: a user with s items gives s^(-1/p) to each, so that every budget is spent in full.

The paper's second baseline and the rule inside DP-SIPS and the first rounds of Focused Gaussian. Weights are fixed-point
integers rounded down. Proof: docs/weighted.md.
"""

import numpy as np
from numpy.typing import NDArray

from dpsu.algorithms.base import Algorithm, Mechanism, OneRound
from dpsu.algorithms.calibrate import curve_selection, gaussian_budget, gaussian_selection
from dpsu.algorithms.request import Request
from dpsu.engines import Rule
from dpsu.kernels import ONE, weigh_evenly


def weights_by_size(max_items: int, norm: int) -> NDArray[np.int64]:
    """The largest whole w with s w^p <= (2^30)^p for every set size s; entry 0 is never read."""
    sizes = np.arange(1, max_items + 1)
    if norm == 1:
        return np.concatenate([[0], ONE // sizes])
    squares = ONE**2 // sizes
    # The root of a float is off by less than 1.
    roots = np.sqrt(squares).astype(np.int64)
    roots -= roots**2 > squares
    roots += (roots + 1) ** 2 <= squares
    return np.concatenate([[0], roots])


def even_rule(max_items: int, norm: int) -> Rule:
    """Every item of a set gets the same weight, and the set spends one budget."""
    return Rule(weigh_evenly, unit=1 / ONE, table=weights_by_size(max_items, norm))


def _weighted_laplace(request: Request) -> Mechanism:
    return OneRound(
        request, even_rule(request.max_items, norm=1), curve_selection(request, new_weight="symmetric")
    )


def _weighted_gaussian(request: Request) -> Mechanism:
    selection = gaussian_selection(request, new_weight="symmetric", spending="all")
    return OneRound(
        request,
        even_rule(request.max_items, norm=2),
        selection,
        gaussian_budget(selection, request.max_items, "symmetric"),
    )


ALGORITHMS = (
    Algorithm(
        "weighted-laplace",
        "weighted",
        "each user divides one ℓ1 budget evenly; Laplace noise or its release curve",
        _weighted_laplace,
        proof="docs/weighted.md",
    ),
    Algorithm(
        "weighted-gaussian",
        "weighted",
        "each user divides one ℓ2 budget evenly; Gaussian noise",
        _weighted_gaussian,
        proof="docs/weighted.md",
    ),
)
