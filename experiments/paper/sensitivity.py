"""How far one user can move the weights: step by step, for ℓ1-descent under an ℓ2 budget and for ℓ2-descent."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dpsu.kernels.descent import l1_descent_in_l2, l2_descent

POLICIES = {"ℓ1-descent (as published)": l1_descent_in_l2, "ℓ2-descent": l2_descent}
CUTOFF = 40.5
HIGH = 99
FOLLOWERS = 33


def distances(policy: Callable[..., None]) -> NDArray[np.float64]:
    """The ℓ2 distance between the weights with the extra user and without, after every user who follows.

    99 items stand half a unit below the cutoff, one stands at zero. The extra user holds all hundred; each of 33 users
    after that holds three of the 99, every one of these once, and the low item.
    """
    followers = [np.array([3 * k, 3 * k + 1, 3 * k + 2, HIGH]) for k in range(FOLLOWERS)]
    with_x, without = _begin(), _begin()
    _give(policy, np.arange(HIGH + 1), with_x)
    apart = [float(np.linalg.norm(with_x - without))]
    for own in followers:
        _give(policy, own, with_x)
        _give(policy, own, without)
        apart.append(float(np.linalg.norm(with_x - without)))
    return np.array(apart)


def _begin() -> NDArray[np.float64]:
    weights = np.full(HIGH + 1, CUTOFF - 0.5)
    weights[HIGH] = 0.0
    return weights


def _give(policy: Callable[..., None], own: NDArray[np.int64], weights: NDArray[np.float64]) -> None:
    ends = np.array([0, own.size], np.int64)
    policy(ends, own.astype(np.uint32), np.zeros(1, np.int64), CUTOFF, 1.0, weights)
