"""How likely Focused Gaussian releases an item, by simulation: no data, no secret, the same answer every time."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from dpsu.algorithms.focused import FocusedMechanism
from dpsu.algorithms.mechanism import Floats
from dpsu.randomness.stream import Purpose, Stream

SAMPLES = 1024

SMALLEST = 1e-120
"""Smaller values, relative to the largest, get nothing: their squares would lose digits."""

PUBLIC_KEY = bytes(32)
"""Simulations need no secret: a fixed key makes plans repeatable and their curves smooth."""


def simulate(mechanism: FocusedMechanism, holders: NDArray[np.int64], set_size: int) -> Floats:
    """The share of released items among groups of users who hold the same `set_size` items, for each number of holders.

    Users with more than max_items drop some at random, so an item keeps a binomial number of its holders (here its normal
    approximation).
    """
    return np.array([_released_share(mechanism, int(n), set_size) for n in holders])


def _released_share(mechanism: FocusedMechanism, holders: int, set_size: int) -> float:
    size = min(set_size, mechanism.request.max_items)
    boundary = mechanism.boundary
    draws = public_normals(len(boundary.shares) + 1, SAMPLES // size + 1, size)
    share = size / set_size
    kept = np.maximum(holders * share + np.sqrt(holders * share * (1 - share)) * draws[-1], 0)
    noisy, priority = np.zeros(kept.shape), np.ones(kept.shape)
    released = np.zeros(kept.shape, np.bool_)
    for r, (budget, scale, threshold) in enumerate(
        zip(boundary.shares, boundary.scales, boundary.thresholds, strict=True)
    ):
        noisy += budget * kept * divided(priority, float(boundary.caps[size])) + scale * draws[r]
        released |= noisy > threshold
        priority = np.where(released, 0.0, mechanism.priority(noisy, r))
    return float(released.mean())


def divided(values: Floats, cap: float) -> Floats:
    """One ℓ2 budget per row, divided in proportion to the values, with at most `cap` for one item.

    The slow and plain form of the loop `weigh_proportionally`, for rows of one length.
    """
    if values.shape[1] == 1:
        return np.where(values > 0, min(cap, 1.0), 0.0)
    top = values.max(axis=1, keepdims=True)
    values = values / np.where(top > 0, top, 1.0)
    values = np.where(values > SMALLEST, values, 0.0)
    squares = values * values
    scale = 1 / np.sqrt(np.maximum(squares.sum(axis=1, keepdims=True), 1e-300))
    capped_before = np.zeros(scale.shape)
    while True:
        # The scale for which the squares of min(cap, scale * value) sum to 1, from below.
        below = values * scale < cap
        capped = values.shape[1] - below.sum(axis=1, keepdims=True)
        rest, left = (squares * below).sum(axis=1, keepdims=True), 1 - capped * cap * cap
        moves = (capped > capped_before) & (rest > 0) & (left > 0)
        if not moves.any():
            return np.asarray(np.minimum(values * scale, cap), np.float64)
        scale = np.where(moves, np.sqrt(np.where(moves, left, 0.0) / np.where(moves, rest, 1.0)), scale)
        capped_before = np.where(moves, capped, capped_before)


@lru_cache(maxsize=8)
def public_normals(rounds: int, *shape: int) -> Floats:
    """Normal variates of this shape per round, the same every time."""
    count = int(np.prod(shape))
    digests = np.stack([np.arange(count, dtype=np.uint64), np.zeros(count, np.uint64)], axis=1)
    stream = Stream(PUBLIC_KEY)
    draws = [ndtri((stream.words(Purpose.NOISE, r, digests) + 0.5) / 2.0**64) for r in range(rounds)]
    return np.reshape(draws, (rounds, *shape))
