"""The false share: how many of the released listed items are, on average, items that nobody holds.

Benjamini and Hochberg (1995) bound it by the tails of pure noise, with the estimate of Storey, Taylor and Siegmund (2004)
of how many items are null. All numbers are rounded in the safe direction: tails up, limits and eta down. Proof:
docs/candidates.md.
"""

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dpsu.privacy import gaussian

Floats = NDArray[np.float64]

MARGIN = 1e-9
"""Relative margin on eta and on every limit, far above the errors of floats."""


def early_chance(false_share: float, listed: int, lightest: float, heaviest: float, adaptive: bool) -> float:
    """The largest eta, the chance that noise alone releases a listed item before the last round, which any cut covers.

    It is at most w q / |L| for every weight w; if the cut is adaptive, at most that for the largest estimate of nulls.
    """
    most = most_nulls(false_share, listed, heaviest) if adaptive else 1.0
    return false_share * lightest / (max(listed, 1) * most) * (1 - MARGIN)


def most_nulls(false_share: float, listed: int, heaviest: float) -> float:
    """The largest estimate of the share of nulls: if no tail is within q."""
    return nulls(0.0, false_share, listed, heaviest)


def nulls(within: float, false_share: float, listed: int, heaviest: float) -> float:
    """An estimate of the share of nulls, from the weight of the items with tails of at most q and the largest weight.

    The weights of all items sum to |L|. Those with larger tails are mostly null, and 1 - q of the nulls are among them.
    """
    return (heaviest + listed * (1 + MARGIN / 8) - within) / (listed * (1 - false_share))


def early_limits(eta: float, deal: Floats, noise: Floats) -> Floats:
    """Totals that pure noise exceeds in round r with probability at most eta deal[r]; the deals sum to at most 1."""
    return np.asarray(noise * gaussian.upper_quantile(eta * deal) * (1 + 1e-12), np.float64)


def tails(totals: Floats, noise: float, eta: float) -> Floats:
    """An upper bound on min(1, p + eta), where p is the chance that pure noise of this scale reaches the total."""
    found = special.ndtr(-totals / noise) * (1 + 1e-11) + eta
    return np.asarray(np.minimum(found, 1.0), np.float64)


def largest_tail(tails_found: Floats, listed: int, false_share: float, nulls: float = 1.0) -> float:
    """The cut of Benjamini and Hochberg: items with at most this tail, divided by their weight, are released.

    The largest k q / (|L| nulls) such that at least k of the listed items have at most that; 0 if there is none.
    """
    step = false_share / (max(listed, 1) * nulls) * (1 - MARGIN / 2)
    ordered = np.sort(tails_found)
    passing = np.flatnonzero(ordered <= np.arange(1, len(ordered) + 1) * step)
    return float((passing[-1] + 1) * step) if passing.size else 0.0


def aim(false_share: float, expected: float) -> float:
    """Where the focus aims for a listed item, in noise scales: 0.88 of the cut if this share of the list comes out."""
    return 0.88 * float(-special.ndtri(false_share * expected))


def smallest_normal(tail: float) -> float:
    """The normal value with this tail; lower values have larger tails."""
    return float(-special.ndtri(tail))


def bounds_of_normals(bits: int = 12) -> Floats:
    """Upper bounds on normal quantiles by the first bits of their uniforms; the last is infinite."""
    above = special.ndtri(np.arange(1, 2**bits + 1) / 2**bits)
    return np.asarray(above + 1e-9, np.float64)
