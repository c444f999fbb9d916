"""A choice between two mechanisms by private steps: the noise that the chosen one may have.

Steps that are epsilon_1-, epsilon_2-, …-private (the first one up to delta_1) look at the data and choose between a Gaussian
mechanism, with a budget (mu, delta_new), and one that is (epsilon_b, delta_b)-private. docs/auto.md has the proof.
"""

import math
from collections.abc import Sequence
from itertools import product

from dpsu.errors import InvalidArgument
from dpsu.privacy.gaussian import LEAST_MU, delta_gaussian, mu_for

ROUNDING = 2.0**-40
"""Relative margin on sums of deltas and differences of epsilons, far above their rounding error."""


def composed_delta(
    epsilon: float, mu: float, delta_new: float, delta_b: float, steps: Sequence[float], delta_1: float
) -> float:
    """The delta of the steps and the branch that they choose, rounded up.

    The privacy loss of the steps is at worst that of randomised responses: ±epsilon_1 ±epsilon_2 ….
    """
    total = delta_1
    for signs in product((1, -1), repeat=len(steps)):
        loss = sum(sign * step for sign, step in zip(signs, steps, strict=True))
        chance = math.prod(1 / (1 + math.exp(-sign * step)) for sign, step in zip(signs, steps, strict=True))
        left = epsilon - loss - ROUNDING * epsilon
        total += chance * max(delta_gaussian(left, mu) + delta_new, delta_b)
    return total * (1 + ROUNDING)


def mu_of_branch(
    epsilon: float,
    delta: float,
    delta_new: float,
    delta_b: float,
    steps: Sequence[float],
    delta_1: float,
) -> float:
    """The largest mu with which `composed_delta` is at most delta, rounded down."""
    low, high = 0.0, mu_for(epsilon, delta)
    for _ in range(60):
        middle = (low + high) / 2
        if composed_delta(epsilon, middle, delta_new, delta_b, steps, delta_1) <= delta:
            low = middle
        else:
            high = middle
    if low < LEAST_MU:
        raise InvalidArgument(
            f"epsilon {epsilon!r} with delta {delta!r} leaves too little for the choice of an algorithm; name one, or "
            "choose larger values"
        )
    return low
