"""Parts of a release that share one promise: a whole budget, and Focused Gaussian calibrated to a share of it.

Levels of n-grams and vocabularies with counts are several mechanisms in a row, each of which may look at what those before
it released. Their pairs (mu, delta_new) add up (docs/ngrams.md), so the whole is fixed first and then dealt out.
"""

import math

from dpsu.algorithms.focused import ROUNDING, FocusedGaussian, FocusedMechanism, calibrate_boundary
from dpsu.algorithms.request import Request
from dpsu.privacy import gaussian
from dpsu.privacy.budget import Budget


def whole_budget(request: Request) -> Budget:
    """The pair that (epsilon, delta) allows, with delta divided as Focused Gaussian divides it."""
    delta_noise = request.delta * FocusedGaussian().split
    mu = gaussian.mu_for(request.epsilon, delta_noise)
    return Budget(mu, (request.delta - delta_noise) * (1 - ROUNDING))


def noise_for(mu: float) -> float:
    """The noise that makes a sum of ℓ2-sensitivity 1 mu-Gaussian private, rounded up."""
    return math.nextafter(1 / mu, math.inf)


def focused_within(request: Request, budget: Budget) -> FocusedMechanism:
    """Focused Gaussian that spends this budget, for sets of at most `request.max_items`."""
    focus = FocusedGaussian()
    boundary = calibrate_boundary(request, focus, noise_for(budget.mu), budget.delta_new)
    return FocusedMechanism(request, focus, boundary, budget.delta_new)
