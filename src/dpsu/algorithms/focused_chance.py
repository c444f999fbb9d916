"""How likely Focused Gaussian releases an item, by simulation: no data, no secret, the same answer every time."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpsu.algorithms.focused import FocusedGaussian
from dpsu.algorithms.mechanism import CELLS_PER_SIGMA, Floats
from dpsu.kernels.weights import ONE, weigh_proportionally
from dpsu.randomness.noise import gaussian_cells
from dpsu.randomness.stream import Stream

SAMPLES = 4096
PUBLIC_KEY = bytes(32)
"""Simulations need no secret: a fixed key makes plans repeatable and their curves smooth."""


def simulate(mechanism: FocusedGaussian, holders: NDArray[np.int64], set_size: int) -> Floats:
    """The share of released items among groups of users who hold the same `set_size` items, for each number of holders.

    Users with more than max_items drop some at random, so an item keeps a binomial number of its holders (here its normal
    approximation).
    """
    return np.array([_released_share(mechanism, int(n), set_size) for n in holders])


def _released_share(mechanism: FocusedGaussian, holders: int, set_size: int) -> float:
    size = min(set_size, mechanism.request.max_items)
    groups = -(-SAMPLES // size)
    indptr = np.arange(0, groups * size + 1, size)
    items = np.arange(groups * size, dtype=np.uint32)
    boundary = mechanism.boundary
    draws = public_normals(len(boundary.shares) + 1, groups * size)
    share = size / set_size
    kept = np.maximum(holders * share + np.sqrt(holders * share * (1 - share)) * draws[-1], 0)
    noisy, priority, released = np.zeros(items.size), np.ones(items.size), np.zeros(items.size, np.bool_)
    for r, (budget, scale, threshold) in enumerate(
        zip(boundary.shares, boundary.scales, boundary.thresholds, strict=True)
    ):
        weights = np.zeros(items.size, np.int64)
        weigh_proportionally(indptr, items, priority, boundary.caps, weights, np.empty(size))
        noisy += budget * kept * weights / ONE + scale * draws[r]
        released |= noisy > threshold
        priority = np.where(released, 0.0, mechanism.priority(noisy, r))
    return float(released.mean())


@lru_cache(maxsize=4)
def public_normals(rounds: int, count: int) -> Floats:
    """A row of normal variates per round, the same every time."""
    digests = np.stack([np.arange(count, dtype=np.uint64), np.zeros(count, np.uint64)], axis=1)
    stream, zeros = Stream(PUBLIC_KEY), np.zeros(count, np.int64)
    cell = 1 / CELLS_PER_SIGMA
    draws = [
        gaussian_cells(zeros, digests, stream, round=r, unit=1.0, scale=1.0, cell=cell) for r in range(rounds)
    ]
    return np.array(draws, np.float64) * cell
