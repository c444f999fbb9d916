"""Policies as a user would write them: `update(weights, cutoff)` gives the increments of one user's items."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np


@dataclass(frozen=True)
class Example:
    update: Callable[..., Any]
    norm: int
    symmetric: bool = True

    @property
    def name(self) -> str:
        return self.update.__name__


def weighted_l2(weights, cutoff):
    return np.full(weights.size, 1 / math.sqrt(weights.size))


def l2_descent(weights, cutoff):
    gaps = np.maximum(cutoff - weights, 0.0)
    return gaps / max(math.sqrt((gaps * gaps).sum()), 1.0)


def greedy(weights, cutoff):
    """The paper's introduction: all to the item that is closest to the threshold, then to the next."""
    increments = np.zeros(weights.size)
    budget = 1.0
    while budget > 0.0:
        closest = -1
        for item in range(weights.size):
            open_ = weights[item] + increments[item] < cutoff
            if open_ and (closest < 0 or weights[item] > weights[closest]):
                closest = item
        if closest < 0:
            break
        increments[closest] = min(budget, cutoff - weights[closest])
        budget -= increments[closest]
    return increments


def first_takes_all(weights, cutoff):
    """Contractive and within budget, but the first item of a row is favoured."""
    increments = np.zeros(weights.size)
    increments[0] = 1.0
    return increments


def careless(weights, cutoff):
    """Overspends while weights are low and takes back what stands high."""
    return np.where(weights > cutoff / 2, -0.1, 1.0)


@numba.njit
def half(weights, cutoff):
    return np.full(weights.size, 0.5 / weights.size)


GREEDY = Example(greedy, norm=1, symmetric=False)
weighted_l2.norm = 2
weighted_l2.symmetric = True
half.norm = 1
NOT_A_POLICY = 3
