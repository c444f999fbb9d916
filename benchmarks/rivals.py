"""What people write by hand: a count, Laplace noise and a threshold."""

import math
from pathlib import Path

import numpy as np
import polars as pl


def polars_script(path: Path, epsilon: float, delta: float, max_items: int) -> pl.Series:
    """The private version of a GROUP BY: distinct pairs, a cut per user, a count, noise, a threshold."""
    pairs = pl.scan_parquet(path).unique().collect()
    cut = pairs.filter(pl.int_range(pl.len()).shuffle().over("user") < max_items)
    counts = cut.group_by("item").len()
    scale = max_items / epsilon
    noisy = counts["len"].to_numpy() + np.random.default_rng().laplace(0, scale, counts.height)
    threshold = 1 + scale * math.log(max_items / (2 * delta))
    return counts["item"].filter(pl.Series(noisy > threshold)).sort()


def bare_count(path: Path, epsilon: float, delta: float) -> pl.Series:
    """Without distinct pairs or a cut, so not private: the least that reading and counting cost."""
    counts = pl.scan_parquet(path).group_by("item").len().collect()
    noisy = counts["len"].to_numpy() + np.random.default_rng().laplace(0, 1 / epsilon, counts.height)
    return counts["item"].filter(pl.Series(noisy > 1 + math.log(1 / (2 * delta)) / epsilon)).sort()
