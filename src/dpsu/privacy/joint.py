"""The joint calibration of noise and threshold for the Gaussian family: one delta for shared and new items.

A user with new items (that nobody else holds) has spent a part q of the ℓ2 budget on them, so the shared items move by
at most sqrt(1 - q). Noise and threshold need not both cover a full budget. docs/calibration.md derives the delta that
is computed here.

A pair is found in two steps. The search solves for the threshold on a grid of q, without any guarantee. The proof
bounds the delta over all q, rounded up, and raises the threshold until the bound holds. Safety depends on the proof
alone.
"""

import math
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dpsu.errors import InvalidArgument
from dpsu.privacy import gaussian, normal

Spending = Literal["count", "all", "any", "asymmetric"]
"""How much of a budget for D items is spent on a new items. "count": exactly a/D. "all": at least a/D. "any": any part,
equal weights. "asymmetric": any part, any weights."""

Array = NDArray[np.float64]

FINE, COARSE = 200, 100
"""Grid sizes for q: for a threshold to within 2e-6 of its value, and for comparing two sigmas."""

MARGIN = 1e-5
"""Relative increment of the threshold that the search found; a smaller increment makes the proof slower."""

CLOSE = 2e-5
"""Thresholds whose relative difference is below this are treated as equal."""

NARROWEST = 1e-10
"""A range of q this narrow that still exceeds delta is a failure."""

GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)


class Case(NamedTuple):
    """The request for a pair. `room` is how many items share the budget: max_items times the sensitivity."""

    epsilon: float
    delta: float
    max_items: int
    room: float
    spending: Spending


def calibrate(
    epsilon: float, delta: float, max_items: int, spending: Spending, sensitivity: float = 1.0
) -> tuple[float, float]:
    """Sigma and threshold that make a release (epsilon, delta)-private, with the lowest threshold of all such pairs.

    `spending` describes the weights of new items. `sensitivity` is 1, or slightly more for rules whose rounding errors
    pass from user to user. Both numbers are rounded up.
    """
    gaussian.check_privacy(epsilon, delta)
    if not (max_items >= 1 and 1.0 <= sensitivity < math.inf):
        raise InvalidArgument(f"max_items and sensitivity must be at least 1: {max_items}, {sensitivity!r}")
    if spending not in get_args(Spending):
        raise InvalidArgument(f"spending must be one of {', '.join(get_args(Spending))}, not {spending!r}")
    case = Case(float(epsilon), float(delta), max_items, max_items * sensitivity, spending)
    # Slightly below delta, to leave room for the rounding margins of the proof.
    sigma = gaussian.noise_scale(case.epsilon, (1.0 - 1e-9) * case.delta)
    lowest = _lowest(case, sigma)
    guess = _guess(case, sigma, FINE)
    if guess > (1.0 + CLOSE) * lowest:
        other = _best_sigma(case, sigma)
        guess, sigma = min((guess, sigma), (_guess(case, other, FINE), other))
    threshold = _proven(case, sigma, guess if lowest < guess < math.inf else lowest)
    if not math.isfinite(threshold):
        raise InvalidArgument(
            f"no threshold can be proven for epsilon {epsilon!r}, delta {delta!r} and {max_items} items: choose a larger "
            'epsilon or delta, or calibration="paper"'
        )
    up = sensitivity * (1.0 + 4.0 * normal.ROUNDING)
    return sigma * up, threshold * up


def _lowest(case: Case, sigma: float) -> float:
    """The lower limit of the threshold at this sigma, for a user whose items are all new."""
    if case.spending == "count":
        each = 1.0 / math.sqrt(case.max_items)
        return gaussian.threshold_split(sigma, case.delta, case.max_items, lambda t: np.full_like(t, each))
    return gaussian.threshold_split(sigma, case.delta, case.max_items)


def _best_sigma(case: Case, smallest: float) -> float:
    """The sigma with approximately the lowest threshold; more than the smallest sigma leaves a part of delta to new items.

    Golden-section search over the logarithm of the excess above the smallest sigma.
    """

    def settle(more: float) -> tuple[float, float]:
        sigma = smallest * (1.0 + math.exp(more))
        return _guess(case, sigma, COARSE), sigma

    low, high = math.log(1e-6), 0.0
    inner = high - GOLDEN * (high - low)
    best = settle(inner)
    while high - low > 0.002:
        other = low + high - inner
        found = settle(other)
        if found < best:
            low, high = (low, inner) if other < inner else (inner, high)
            inner, best = other, found
        else:
            low, high = (other, high) if other < inner else (low, other)
    return gaussian.noise_scale(case.epsilon, gaussian.delta_gaussian(case.epsilon, 1.0 / best[1]))


def _guess(case: Case, sigma: float, points: int) -> float:
    """Approximately the lowest threshold for this sigma: the largest over a grid of q."""
    floors = case.spending in ("count", "all")
    least = 1.0 / case.room if floors else 0.0
    # Denser towards 0, where the allowed loss changes fast if little of delta is left to new items.
    q = least + (1.0 - least) * np.linspace(0.0, 1.0, points) ** 4
    most = np.full_like(q, case.max_items)
    if floors:
        # The number of new items, and so the threshold, jumps at multiples of 1/room.
        most = np.clip(np.floor(case.room * q * (1.0 + 1e-12)), 1.0, case.max_items)
        q, most = np.concatenate([q, most / case.room]), np.concatenate([most, most])
    with np.errstate(all="ignore"):
        allowed = _allowed_loss(case, np.sqrt(np.maximum(0.0, 1.0 - q)) / sigma)
        if case.spending == "count":
            needed = 1.0 / math.sqrt(case.max_items) + sigma * _quantile(allowed / most)
        elif case.spending == "asymmetric":
            needed = _needed_unequal(np.sqrt(q), sigma, allowed, case.max_items)
        else:
            alone = np.sqrt(q) + sigma * _quantile(allowed)
            needed = np.maximum(alone, np.sqrt(q / most) + sigma * _quantile(allowed / most))
    return float(np.where(np.isnan(needed), math.inf, needed).max())


def _allowed_loss(case: Case, mu: Array) -> Array:
    """Approximately the largest loss that keeps a shift by mu within delta, by Newton's method from above.

    Only one direction is computed: the other never exceeds it (docs/calibration.md).
    """
    top = -math.log1p(-case.delta)
    loss = np.full_like(mu, top)
    for _ in range(5):
        x = (case.epsilon + loss) / mu - 0.5 * mu
        tail = 0.5 * special.erfc(normal.SQRT_HALF * x)
        shift = tail - 0.5 * np.exp(-0.5 * x**2) * special.erfcx(normal.SQRT_HALF * (x + mu))
        kept = np.exp(-loss)
        excess = -np.expm1(-loss) + kept * shift - case.delta
        loss = np.clip(loss - excess / (kept * (1.0 - tail)), 0.0, top)
    return loss


def _needed_unequal(norm: Array, sigma: float, allowed: Array, max_items: int) -> Array:
    """Approximately the thresholds at which the bound for unequal weights is `allowed`: the smallest over theta."""
    part = 0.5 ** np.arange(1.0, 8.0)[:, np.newaxis]
    one = 1.0 / (4.0 * part * (1.0 - part))
    # Start with half of it for each of the two terms of the bound; then Newton's method on its logarithm.
    least = part * norm + sigma * _quantile(0.5 * allowed / max_items)
    threshold = np.maximum(least, norm + sigma * _quantile(0.5 * allowed / one))
    for _ in range(3):
        z_all, z_part = (threshold - norm) / sigma, (threshold - part * norm) / sigma
        g_all, g_part = -np.log1p(-special.ndtr(-z_all)), -np.log1p(-special.ndtr(-z_part))
        loss = (max_items - one) * g_part + one * g_all
        falls = (max_items - one) * np.exp(g_part - 0.5 * z_part**2) + one * np.exp(g_all - 0.5 * z_all**2)
        threshold += np.log(loss / allowed) * loss / falls * (math.sqrt(2.0 * math.pi) * sigma)
    return np.asarray(threshold.min(axis=0), dtype=np.float64)


def _quantile(loss: Array) -> Array:
    """Approximately the z with -ln P(N(0, 1) <= z) = loss."""
    return np.asarray(-special.ndtri(-np.expm1(-loss)), dtype=np.float64)


def _proven(case: Case, sigma: float, guess: float) -> float:
    """A proven threshold slightly above `guess`, found by doubling and bisection; inf if there is none."""
    scale = max(guess, sigma)
    step = MARGIN * scale
    low, high = guess, guess + step
    while not _holds(case, sigma, high):
        if high > 1.0 + 40.0 * sigma:
            return math.inf
        step *= 2.0
        low, high = high, guess + step
    while high - low > CLOSE * scale:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if _holds(case, sigma, middle) else (middle, high)
    return high


def _holds(case: Case, sigma: float, threshold: float) -> bool:
    """Whether the divergence is at most delta for every admissible q; ranges of q are halved until this is decided.

    In a range the loss of new items is largest at its upper end and the shift of shared items is largest at its lower
    end. The divergence increases with both, so the two together bound it on the whole range.
    """
    epsilon, delta = case.epsilon, case.delta
    mu = (1.0 + 4.0 * normal.ROUNDING) / sigma
    if normal.delta(epsilon, mu) > delta:
        return False
    ranges = [(0.0 if case.spending in ("any", "asymmetric") else (1.0 - 1e-14) / case.room, 1.0)]
    while ranges:
        first, last = ranges.pop()
        loss = _loss(case, last, sigma, threshold)
        widest = mu * math.sqrt(1.0 - first)
        if _leaving(epsilon, loss, widest) <= delta and _joining(epsilon, loss, widest) <= delta:
            continue
        # One direction is enough to stop early.
        here = mu * math.sqrt(1.0 - last)
        if last - first <= NARROWEST * last or _leaving(epsilon, loss, here) > delta:
            return False
        middle = math.sqrt(first * last) if 0.0 < 4.0 * first < last else 0.5 * (first + last)
        ranges += [(first, middle), (middle, last)]
    return True


def _leaving(epsilon: float, loss: float, mu: float) -> float:
    """The delta from a database with the user, whose shared part is shifted with probability e^-loss, to that without."""
    own = -math.expm1(-loss) + math.exp(-loss) * normal.delta(epsilon + loss, mu)
    return own * (1.0 + 8.0 * normal.ROUNDING)


def _joining(epsilon: float, loss: float, mu: float) -> float:
    """The delta in the other direction."""
    return normal.delta(epsilon - loss, mu) * (1.0 + 8.0 * normal.ROUNDING)


def _loss(case: Case, q: float, sigma: float, threshold: float) -> float:
    """An upper bound on -ln P(no new item is released) for new items whose squared weights sum to at most q."""
    most = min(float(case.max_items), math.floor(case.room * q * (1.0 + 1e-12)))
    if case.spending == "count":
        return most * _item_loss(1.0 / math.sqrt(case.max_items), sigma, threshold)
    norm = math.sqrt(q)
    alone = _item_loss(norm, sigma, threshold)
    if case.spending == "asymmetric":
        least = math.inf
        for k in range(1, 8):
            part = 0.5**k
            small = _item_loss(part * norm, sigma, threshold)
            bound = case.max_items * small + (alone - small) / (4.0 * part * (1.0 - part))
            if bound > least:  # Every part gives a bound; after its minimum it keeps increasing.
                break
            least = bound
        return least
    most = float(case.max_items) if case.spending == "any" else max(1.0, most)
    return max(alone, most * _item_loss(math.sqrt(q / most), sigma, threshold))


def _item_loss(weight: float, sigma: float, threshold: float) -> float:
    """-ln P(weight + noise <= threshold), rounded up."""
    rounding = 4.0 * normal.ROUNDING * (abs(threshold) + weight)
    tail = normal.upper_tail((threshold - weight - rounding) / sigma)
    return -math.log1p(-tail) * (1.0 + 4.0 * normal.ROUNDING) if tail < 1.0 else math.inf
