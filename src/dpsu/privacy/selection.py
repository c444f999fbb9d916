"""Private selection: the privacy of showing the best of many runs, if their number is random and stays secret.

Liu and Talwar (2019); Papernot and Steinke (2022), theorem 2, for a geometric number of runs. The proof, with the term
for new items, is in docs/tuning.md.
"""

import math

import numpy as np

from dpsu.errors import InvalidArgument
from dpsu.privacy.budget import Budget

ROUNDING = 2.0**-40
"""Relative margin, far above the floating-point errors here."""

ORDERS = 1 + np.geomspace(1e-2, 1e6, 4000)
"""Orders of Rényi divergence to try; each gives a valid delta."""


def delta_of_best(epsilon: float, budget: Budget, tries: float) -> float:
    """The delta for this `epsilon` of the best of a geometric number of runs with mean `tries`.

    Every run spends at most `budget`. Only the best run may be published, not the number of runs.
    """
    if not 1 < tries < math.inf:
        raise InvalidArgument(f"tries, the mean number of runs, must be a number above 1, not {tries!r}.")
    loss = ORDERS * budget.mu**2 / 2 + _choice_loss(budget.mu, tries)
    log_delta = (
        (ORDERS - 1) * (loss - epsilon)
        + math.log(tries)
        - np.log(ORDERS - 1)
        + ORDERS * np.log1p(-1 / ORDERS)
    )
    shared = math.exp(min(0.0, float(log_delta.min())))
    return min(1.0, (shared + new_item_runs(epsilon, tries) * budget.delta_new) * (1 + ROUNDING))


def _choice_loss(mu: float, tries: float) -> float:
    """What the choice adds to the loss at every order: the smallest over orders of the opposite divergence."""
    order = max(1.0, math.sqrt(2 * math.log(tries)) / mu)
    return 2 * ((order - 1) * mu**2 / 2 + math.log(tries) / order)


def new_item_runs(epsilon: float, tries: float) -> float:
    """How often delta_new counts: the mean number of runs among the longest e^-epsilon of all series, rounded up."""
    return math.ceil(-epsilon / math.log1p(-1 / tries)) + tries
