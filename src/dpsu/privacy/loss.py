"""Bounds on the probability that the privacy loss exceeds a given value.

The loss of an output o is ln(P(o) / Q(o)), where P and Q are its probabilities with and without one user, and o is
drawn from P; the bounds also hold with the two exchanged. Delta is not the probability that the loss exceeds epsilon.
If P(S) <= e^epsilon Q(S) + delta for every set S, let S be all outputs with a loss above epsilon + t. Then Q(S) <=
e^-(epsilon + t) P(S), so P(S) <= delta / (1 - e^-t). For t = 0 this gives no bound. The ℓ1 release curve reaches this
bound for every t.

A budget (mu, delta_new) gives more: P(S) <= Phi(mu - z) + delta_new where Q(S) = Phi(-z). Together with Q(S) <= e^-loss
P(S) this bounds P(S) for every loss above 0. The tail of the Gaussian noise itself, Phi(mu/2 - loss/mu), is smaller,
but it is not a bound for functions of the noise: a threshold turns a whole tail into one output.
"""

import math

import numpy as np
from scipy import special

from dpsu.privacy.budget import Budget

STEPS = 200
MARGIN = 1.0 + 1e-9
"""A margin far above the errors of the logarithms below."""


def chance_above(loss: float, *, epsilon: float, delta: float, budget: Budget | None = None) -> float:
    """An upper bound on the probability that an (epsilon, delta)-private release has a privacy loss above `loss`.

    `budget` is that of a Gaussian release. The result is 1 if no smaller bound is known.
    """
    bounds = [1.0]
    if loss > epsilon:
        bounds.append(delta / -math.expm1(epsilon - loss) * MARGIN)
    if budget is not None and loss > 0:
        bounds.append(_chance_of_budget(loss, budget))
    return min(bounds)


def _chance_of_budget(loss: float, budget: Budget) -> float:
    """The largest p with p <= Phi(mu - z) + delta_new and e^-loss p = Phi(-z), by bisection over z, rounded up."""
    mu, new = budget.mu, budget.delta_new
    if mu == 0.0:
        return min(1.0, new / -math.expm1(-loss) * MARGIN)
    log_new = math.log(new) if new else -math.inf
    low, high = -40.0, loss / mu + mu / 2  # Phi(mu - high) >= e^loss Phi(-high): a tail exceeds its edge
    for _ in range(STEPS):
        middle = (low + high) / 2
        if _log_tail(middle) + loss >= np.logaddexp(_log_tail(middle - mu), log_new):
            low = middle
        else:
            high = middle
    return min(1.0, math.exp(min(0.0, loss + _log_tail(low))) * MARGIN)


def _log_tail(z: float) -> float:
    return float(special.log_ndtr(-z))
