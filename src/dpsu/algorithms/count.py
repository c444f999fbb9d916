"""Counts: every user gives the same to each of their items, as if their set were full.

The plainest rule, and the paper's first baseline: a user with few items leaves most of the budget unspent. Weights are
the whole number 1, the unit D^(-1/p) makes D of them one budget in ℓp. Proof: docs/weighted.md.
"""

import math
from fractions import Fraction

import numpy as np

from dpsu.algorithms.algorithm import Algorithm, algorithm
from dpsu.algorithms.calibrate import curve_selection, gaussian_budget, gaussian_selection
from dpsu.algorithms.mechanism import Mechanism, OneRound
from dpsu.algorithms.request import Request
from dpsu.engines.contract import Rule


def _unit(max_items: int, norm: int) -> float:
    """The largest float u with D u^p <= 1."""
    unit: float = max_items ** (-1 / norm)
    while max_items * Fraction(unit) ** norm > 1:
        unit = math.nextafter(unit, 0)
    return unit


def _rule(request: Request, norm: int) -> Rule:
    ones = np.ones(request.max_items + 1, np.int64)
    return Rule("weigh_evenly", unit=_unit(request.max_items, norm), table=ones)


@algorithm
class CountLaplace(Algorithm):
    """The number of users per item, with Laplace noise or its release curve.

    >>> import dpsu
    >>> dpsu.plan(epsilon=1, delta=1e-6, algorithm=dpsu.CountLaplace()).users_needed(set_size=1)
    4100
    """

    name = "count-laplace"
    family = "count"
    summary = "number of users per item, Laplace noise or its release curve"
    proof = "docs/weighted.md"

    def calibrate(self, request: Request) -> Mechanism:
        """Weights of D^-1 each, and the release curve."""
        return OneRound(request, _rule(request, norm=1), curve_selection(request, new_weight="count"))


@algorithm
class CountGaussian(Algorithm):
    """The number of users per item, with Gaussian noise.

    >>> import dpsu
    >>> dpsu.plan(epsilon=1, delta=1e-6, algorithm=dpsu.CountGaussian()).users_needed(set_size=1)
    426
    """

    name = "count-gaussian"
    family = "count"
    summary = "number of users per item, Gaussian noise"
    proof = "docs/weighted.md"

    def calibrate(self, request: Request) -> Mechanism:
        """Weights of D^(-1/2) each, Gaussian noise and a threshold."""
        selection = gaussian_selection(request, new_weight="count", spending="count")
        spent = gaussian_budget(selection, request.max_items, "count")
        return OneRound(request, _rule(request, norm=2), selection, spent)


ALGORITHMS = (CountLaplace, CountGaussian)
