"""How likely a series has released an item after each period, by simulation: no data, the same answer every time."""

import numpy as np
from numpy.typing import NDArray

from dpsu.algorithms.focused_chance import SAMPLES, divided, public_normals
from dpsu.algorithms.mechanism import Floats
from dpsu.algorithms.series import SeriesMechanism


def chances_by_period(mechanism: SeriesMechanism, holders: NDArray[np.int64], set_size: int) -> Floats:
    """A row per period: the chance that an item is out by its end, by the number of its holders in every period.

    All holders have the same `set_size` items in every period; of larger sets an item keeps its mean number of holders.
    """
    return np.stack([_after_periods(mechanism, int(n), set_size) for n in holders], axis=1)


def _after_periods(mechanism: SeriesMechanism, holders: int, set_size: int) -> Floats:
    boundary, rounds = mechanism.boundary, mechanism.focus.rounds
    size = min(set_size, max(mechanism.max_items))
    draws = public_normals(len(boundary.shares), SAMPLES // size + 1, size)
    noisy, priority = np.zeros(draws.shape[1:]), np.ones(draws.shape[1:])
    released = np.zeros(noisy.shape, np.bool_)
    shares = []
    for r, share in enumerate(boundary.shares):
        kept = holders * min(1.0, mechanism.max_items[r // rounds] / set_size)
        noisy += share * kept * divided(priority, 1.0) + boundary.scales[r] * draws[r]
        released |= noisy > boundary.thresholds[r]
        priority = np.where(released, 0.0, mechanism.focused.priority(noisy, r))
        if (r + 1) % rounds == 0:
            shares.append(float(released.mean()))
    return np.array(shares)
