"""Weighted counts: a user with s items gives s^(-1/p) to each, so that every budget is spent in full.

The paper's second baseline and the rule inside DP-SIPS and the first rounds of Focused Gaussian. Weights are fixed-point
integers rounded down. Proof: docs/weighted.md.
"""

import numpy as np
from numpy.typing import NDArray

from dpsu.algorithms.algorithm import Algorithm, algorithm
from dpsu.algorithms.calibrate import curve_selection, gaussian_budget, gaussian_selection
from dpsu.algorithms.mechanism import Mechanism, OneRound
from dpsu.algorithms.request import Request
from dpsu.engines.contract import Rule
from dpsu.kernels.units import ONE


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
    return Rule("weigh_evenly", unit=1 / ONE, table=weights_by_size(max_items, norm))


@algorithm
class WeightedLaplace(Algorithm):
    """Each user divides one ℓ1 budget evenly over their items; Laplace noise or its release curve.

    >>> import dpsu
    >>> dpsu.plan(epsilon=1, delta=1e-6, algorithm=dpsu.WeightedLaplace()).users_needed(set_size=1)
    14
    """

    name = "weighted-laplace"
    family = "weighted"
    summary = "each user divides one ℓ1 budget evenly; Laplace noise or its release curve"
    proof = "docs/weighted.md"

    def calibrate(self, request: Request) -> Mechanism:
        """Weights of 1/s for a set of s items, and the release curve."""
        selection = curve_selection(request, new_weight="symmetric")
        return OneRound(request, even_rule(request.max_items, norm=1), selection)


@algorithm
class WeightedGaussian(Algorithm):
    """Each user divides one ℓ2 budget evenly over their items; Gaussian noise.

    >>> import dpsu
    >>> dpsu.plan(epsilon=1, delta=1e-6, algorithm=dpsu.WeightedGaussian()).users_needed(set_size=1)
    25
    """

    name = "weighted-gaussian"
    family = "weighted"
    summary = "each user divides one ℓ2 budget evenly; Gaussian noise"
    proof = "docs/weighted.md"

    def calibrate(self, request: Request) -> Mechanism:
        """Weights of s^(-1/2) for a set of s items, Gaussian noise and a threshold."""
        selection = gaussian_selection(request, new_weight="symmetric", spending="all")
        spent = gaussian_budget(selection, request.max_items, "symmetric")
        return OneRound(request, even_rule(request.max_items, norm=2), selection, spent)


ALGORITHMS = (WeightedLaplace, WeightedGaussian)
