"""Noise and threshold for a rule for weights, from a request.

A rule says how much one of t new items of a user can get (`new_weight`) and how much of the budget is then left for items
that others hold too (`spending`); the mathematics in `privacy` does the rest. Proofs: docs/calibration.md.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from dpsu.algorithms.mechanism import CurveSelection, Floats, GaussianSelection
from dpsu.algorithms.request import Request
from dpsu.privacy import gaussian, joint, laplace
from dpsu.privacy.budget import Budget

ROUNDING = 2.0**-40
"""Relative margin on sums of deltas, far above their rounding error."""

NewWeight = Literal["count", "symmetric", "any"]
"""Upper bound on the weight of one of t new items: D^(-1/p), t^(-1/p), or a whole budget."""

Spending = Literal["count", "all", "any"]
"""Part of the squared budget that a new items take: exactly a/D, at least a/D, or any part."""


def gaussian_selection(
    request: Request, *, new_weight: NewWeight, spending: Spending, sensitivity: float = 1.0
) -> GaussianSelection:
    """Noise and threshold for weights of this ℓ2-sensitivity.

    "paper" gives half of delta to the noise and half to new items; "exact" accounts for both at once.
    """
    if request.calibration == "paper":
        half = request.delta / 2 * (1 - ROUNDING)
        sigma = gaussian.noise_scale(request.epsilon, half)
        weight = _weight_bound(new_weight, request.max_items)
        threshold = gaussian.threshold_split(sigma, half, request.max_items, weight)
        return GaussianSelection(sigma * sensitivity, threshold * sensitivity)
    kind = "asymmetric" if new_weight == "any" else spending
    sigma, threshold = joint.calibrate(request.epsilon, request.delta, request.max_items, kind, sensitivity)
    return GaussianSelection(sigma, threshold)


def gaussian_budget(
    selection: GaussianSelection, max_items: int, new_weight: NewWeight, sensitivity: float = 1.0
) -> Budget:
    """The pair that one noisy sum spends: Gaussian privacy of shared items, and the chance of a new one."""
    weight = _weight_bound(new_weight, max_items)
    sigma, threshold = selection.sigma / sensitivity, selection.threshold / sensitivity
    return Budget((1 + ROUNDING) / sigma, gaussian.delta_new(sigma, threshold, max_items, weight))


NOISE_PART = 0.6
"""The part of delta that pays for noise in rounds under the exact calibration; the rest pays for new items."""


def deal(request: Request, shares: Sequence[float]) -> list[Budget]:
    """The budget of every round of a Gaussian mechanism, by its share of the whole.

    The squares of mu and the chances of new items add up over rounds. "paper" gives half of delta to either; "exact"
    gives NOISE_PART of it to the noise, which releases slightly more.
    """
    noise_part = 0.5 if request.calibration == "paper" else NOISE_PART
    mu = gaussian.mu_for(request.epsilon, request.delta * noise_part)
    delta_new = request.delta * (1 - noise_part) * (1 - ROUNDING)
    return Budget(mu, delta_new).split(shares)


def curve_selection(request: Request, *, new_weight: NewWeight, margin: float = 0.0) -> CurveSelection:
    """The decision for weights of ℓ1-sensitivity 1.

    "exact" is the release curve, which needs no case for new items; "paper" is Laplace noise and a threshold, raised by
    `margin` where a new item can get that much more than its equal share.
    """
    if request.calibration == "exact":
        return CurveSelection(laplace.ReleaseCurve(request.epsilon, request.delta))
    threshold = laplace.laplace_threshold(
        request.epsilon, request.delta, request.max_items, symmetric=new_weight != "any"
    )
    return CurveSelection(laplace.LaplaceThreshold(request.epsilon, threshold + margin))


def _weight_bound(new_weight: NewWeight, max_items: int) -> gaussian.Weight:
    if new_weight == "symmetric":
        return gaussian.equal_weight
    if new_weight == "any":
        return gaussian.any_weight

    def of_count(t: Floats) -> Floats:
        return np.full_like(t, max_items**-0.5)

    return of_count
