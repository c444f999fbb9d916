"""Noise and threshold of the Gaussian family together: one delta for shared and new items at once.

A user with new items (that nobody else holds) has spent a part q of the ℓ2 budget on them, so that the shared
items move by at most sqrt(1 - q): noise and threshold need not pay for both in full. docs/calibration.md
derives the delta that is computed here, and why the search over q below can miss nothing.
"""

import math
from collections.abc import Callable
from typing import Literal

import numpy as np

from dpsu.compiled import kernel
from dpsu.errors import InvalidArgument
from dpsu.privacy import gaussian, normal

Spending = Literal["count", "all", "any", "asymmetric"]
"""What a new items take of a budget that is meant for D: a/D exactly; at least a/D; any part, but each the
same; any part in any division."""

COUNT, ALL, ANY, ASYMMETRIC = range(4)
KINDS: dict[Spending, int] = {"count": COUNT, "all": ALL, "any": ANY, "asymmetric": ASYMMETRIC}

FINE, COARSE = 1e-6, 2e-5
"""How close, relatively, a threshold is brought to the smallest one: for the least noise, and in a search."""

NARROWEST = 1e-10
"""A range of q this narrow that still exceeds delta counts as a failure."""

GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)


def calibrate(
    epsilon: float, delta: float, max_items: int, spending: Spending, sensitivity: float = 1.0
) -> tuple[float, float]:
    """Sigma and threshold that make a release (epsilon, delta)-private; of such pairs, the lowest threshold.

    `spending` says what the rule gives to new items. `sensitivity` is 1, or a little more for rules whose
    rounding travels from user to user. Both numbers are rounded up.
    """
    gaussian.check_privacy(epsilon, delta)
    epsilon, delta = float(epsilon), float(delta)
    if not (max_items >= 1 and 1.0 <= sensitivity < math.inf):
        raise InvalidArgument(f"max_items and sensitivity must be at least 1: {max_items}, {sensitivity!r}")
    setting = (max_items, max_items * sensitivity, KINDS[spending])

    def settle(share: float, below: float, closeness: float) -> tuple[float, float]:
        sigma = gaussian.noise_scale(epsilon, share * delta)
        return float(_threshold(epsilon, delta, sigma, lowest, below, closeness, *setting)), sigma

    # Just short of the whole, so that the rounding margins of the search have room.
    most = 1.0 - 1e-9
    lowest = _lowest(gaussian.noise_scale(epsilon, most * delta), delta, max_items, spending)
    threshold, sigma = settle(most, math.inf, FINE)
    if threshold > (1.0 + COARSE) * lowest:
        threshold, sigma = min((threshold, sigma), _best_share(settle))
    up = sensitivity * (1.0 + 4.0 * normal.ROUNDING)
    return sigma * up, threshold * up


def _lowest(sigma: float, delta: float, max_items: int, spending: Spending) -> float:
    """What the threshold cannot go below at this sigma: a user all of whose items are new."""
    if spending == "count":
        return gaussian.threshold_split(
            sigma, delta, max_items, lambda t: np.full_like(t, 1.0 / math.sqrt(max_items))
        )
    return gaussian.threshold_split(sigma, delta, max_items)


def _best_share(settle: Callable[[float, float, float], tuple[float, float]]) -> tuple[float, float]:
    """The lowest threshold over the part of delta that the noise alone may use, by golden section.

    Safety does not rest on it: every pair is calibrated to the whole delta. Only the better of the two inner
    points need be known, so the other is settled just far enough to see that it is not better.
    """
    low, high = math.log(1e-4), math.log(0.95)
    inner = high - GOLDEN * (high - low)
    best = settle(-math.expm1(inner), math.inf, COARSE)
    while high - low > 0.01:
        other = low + high - inner
        found = settle(-math.expm1(other), best[0], COARSE)
        if found < best:
            low, high = (low, inner) if other < inner else (inner, high)
            inner, best = other, found
        else:
            low, high = (other, high) if other < inner else (low, other)
    return best


@kernel
def _threshold(
    epsilon: float,
    delta: float,
    sigma: float,
    lowest: float,
    below: float,
    closeness: float,
    max_items: int,
    room: float,
    kind: int,
) -> float:
    """The lowest threshold for this sigma in [lowest, below), to within `closeness`, from above; or inf."""
    width = closeness * lowest
    low, high = lowest, min(below - width, 1.0 + 40.0 * sigma)
    if high <= low or not _holds(epsilon, delta, sigma, high, max_items, room, kind):
        return math.inf
    while high - low > width:
        middle = 0.5 * (low + high)
        if _holds(epsilon, delta, sigma, middle, max_items, room, kind):
            high = middle
        else:
            low = middle
    return high


@kernel
def _holds(
    epsilon: float, delta: float, sigma: float, threshold: float, max_items: int, room: float, kind: int
) -> bool:
    """Whether the divergence is at most delta for every admissible q, by halving ranges of q until it is.

    In a range the loss to new items is largest at its upper end and the shift of shared items at its lower
    end; the divergence rises with both, so the two together bound it on the whole range.
    """
    mu = (1.0 + 4.0 * normal.ROUNDING) / sigma
    if normal.delta(epsilon, mu) > delta:
        return False
    stack = np.empty((128, 2))
    stack[0, 0] = 0.0 if kind in (ANY, ASYMMETRIC) else (1.0 - 1e-14) / room
    stack[0, 1] = 1.0
    depth = 1
    while depth > 0:
        depth -= 1
        first, last = stack[depth]
        loss = _loss(last, sigma, threshold, max_items, room, kind)
        if _divergence(epsilon, loss, mu * math.sqrt(1.0 - first)) <= delta:
            continue
        here = mu * math.sqrt(1.0 - last)
        if last - first <= NARROWEST * last or depth + 2 > 128 or _divergence(epsilon, loss, here) > delta:
            return False
        middle = math.sqrt(first * last) if 0.0 < 4.0 * first < last else 0.5 * (first + last)
        stack[depth, 0], stack[depth, 1] = first, middle
        stack[depth + 1, 0], stack[depth + 1, 1] = middle, last
        depth += 2
    return True


@kernel
def _divergence(epsilon: float, loss: float, mu: float) -> float:
    """The delta of a shift by mu, of which one side comes out as it is with probability e^-loss only."""
    own = -math.expm1(-loss) + math.exp(-loss) * normal.delta(epsilon + loss, mu)
    return max(own, normal.delta(epsilon - loss, mu)) * (1.0 + 8.0 * normal.ROUNDING)


@kernel
def _loss(q: float, sigma: float, threshold: float, max_items: int, room: float, kind: int) -> float:
    """A bound of -ln P(no new item comes out) for new items whose squared weights sum to at most q."""
    most = min(float(max_items), math.floor(room * q * (1.0 + 1e-12)))
    if kind == COUNT:
        return most * _item_loss(1.0 / math.sqrt(max_items), sigma, threshold)
    norm = math.sqrt(q)
    alone = _item_loss(norm, sigma, threshold)
    if kind == ASYMMETRIC:
        least = math.inf
        for k in range(1, 8):
            part = 0.5**k
            small = _item_loss(part * norm, sigma, threshold)
            least = min(least, max_items * small + (alone - small) / (4.0 * part * (1.0 - part)))
        return least
    if kind == ANY:
        most = float(max_items)
    most = max(1.0, most)
    return max(alone, most * _item_loss(math.sqrt(q / most), sigma, threshold))


@kernel
def _item_loss(weight: float, sigma: float, threshold: float) -> float:
    """-ln P(weight + noise <= threshold), rounded up."""
    rounding = 4.0 * normal.ROUNDING * (threshold + weight)
    tail = normal.upper_tail((threshold - weight - rounding) / sigma)
    return -math.log1p(-tail) * (1.0 + 4.0 * normal.ROUNDING) if tail < 1.0 else math.inf
