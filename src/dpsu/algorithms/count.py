"""Counts: every user gives the same to each of their items, as if their set were full.

The plainest rule, and the paper's first baseline: a user with few items leaves most of the budget unspent. Weights are
the whole number 1, the unit D^(-1/p) makes D of them one budget in ℓp. Proof: docs/weighted.md.
"""

import math
from fractions import Fraction

import numpy as np

from dpsu.algorithms.calibrate import curve_selection, gaussian_budget, gaussian_selection
from dpsu.algorithms.mechanism import Algorithm, Mechanism, OneRound
from dpsu.algorithms.request import Request
from dpsu.engines.contract import Rule
from dpsu.kernels.weights import weigh_evenly


def _unit(max_items: int, norm: int) -> float:
    """The largest float u with D u^p <= 1."""
    unit: float = max_items ** (-1 / norm)
    while max_items * Fraction(unit) ** norm > 1:
        unit = math.nextafter(unit, 0)
    return unit


def _rule(request: Request, norm: int) -> Rule:
    ones = np.ones(request.max_items + 1, np.int64)
    return Rule(weigh_evenly, unit=_unit(request.max_items, norm), table=ones)


def _count_laplace(request: Request) -> Mechanism:
    return OneRound(request, _rule(request, norm=1), curve_selection(request, new_weight="count"))


def _count_gaussian(request: Request) -> Mechanism:
    selection = gaussian_selection(request, new_weight="count", spending="count")
    return OneRound(
        request, _rule(request, norm=2), selection, gaussian_budget(selection, request.max_items, "count")
    )


ALGORITHMS = (
    Algorithm(
        "count-laplace",
        "count",
        "number of users per item, Laplace noise or its release curve",
        _count_laplace,
        proof="docs/weighted.md",
    ),
    Algorithm(
        "count-gaussian",
        "count",
        "number of users per item, Gaussian noise",
        _count_gaussian,
        proof="docs/weighted.md",
    ),
)
