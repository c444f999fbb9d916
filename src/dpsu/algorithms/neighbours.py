"""Counts by two measurements: the noisy count, and the noisy total at which Focused Gaussian released the item.

Users stop giving to an item once it is out, so items of many holders come out in an early round, at a low total. Items with
nearly the same total have nearly the same count. A count is moved towards the mean of its neighbours, by as much as their
spread allows: empirical Bayes. Both measurements are outputs of the mechanism, so this is post-processing (docs/counts.md).
"""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

Floats = NDArray[np.float64]

WINDOW = 61
"""The items of nearest totals that a count is compared with; with fewer items counts stay as they are."""

CLEAR = 4.0
"""A count that differs from the median of a window by more than this many noise scales plus the median is no part of it."""

ROWS = 1 << 15


def by_neighbours(counts: Floats, sigma: float) -> Floats:
    """Every count moved towards the mean of its window; `counts` are in the order of their totals."""
    if len(counts) < WINDOW:
        return counts
    windows = sliding_window_view(counts, WINDOW)
    starts = np.clip(np.arange(len(counts)) - WINDOW // 2, 0, len(counts) - WINDOW)
    blocks = [
        _by_window(counts[first : first + ROWS], windows[starts[first : first + ROWS]], sigma)
        for first in range(0, len(counts), ROWS)
    ]
    return np.concatenate(blocks)


def _by_window(own: Floats, window: Floats, sigma: float) -> Floats:
    middle = np.median(window, axis=1)
    reach = CLEAR * sigma + np.maximum(middle, 0)
    alike = np.abs(window - middle[:, None]) <= reach[:, None]
    size = alike.sum(axis=1)
    mean = (window * alike).sum(axis=1) / size
    spread = (np.square(window - mean[:, None]) * alike).sum(axis=1) / size
    beyond = np.maximum(spread - sigma**2, 0.0)
    kept = np.where(np.abs(own - middle) <= reach, beyond / (beyond + sigma**2), 1.0)
    return np.asarray(kept * own + (1 - kept) * mean, np.float64)
