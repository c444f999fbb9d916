"""Shapes that the rule of `auto` was not fitted to: most items of a user have so many holders that they come out anyway."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dpsu.datasets import draw_sets

Weights = NDArray[np.float64]


def frame_of(sizes: NDArray[np.int64], items: NDArray[np.int64]) -> pl.DataFrame:
    """Pairs of the users, one user's items after the other's."""
    return pl.DataFrame({"user": np.repeat(np.arange(len(sizes)), sizes), "item": items})


def zipf_law(items: int, exponent: float) -> Weights:
    """Weights by rank."""
    return np.arange(1.0, items + 1) ** -exponent


def two_kinds() -> pl.DataFrame:
    """Of 60 000 users 90 % have one item and 10 % have 300."""
    rng = np.random.default_rng(31)
    sizes = np.where(rng.random(60_000) < 0.9, 1, 300)
    return frame_of(sizes, draw_sets(sizes, np.cumsum(zipf_law(40_000, 0.9)), rng))


def common_and_rare() -> pl.DataFrame:
    """30 000 users with 60 of 400 items that all come out, and 2 of 20 000 others."""
    rng = np.random.default_rng(32)
    common, rare = np.full(30_000, 60), np.full(30_000, 2)
    some = draw_sets(common, np.cumsum(zipf_law(400, 0.3)), rng)
    return pl.concat(
        [frame_of(common, some), frame_of(rare, 400 + draw_sets(rare, np.cumsum(zipf_law(20_000, 1.0)), rng))]
    )


def geometric_law() -> pl.DataFrame:
    """50 000 users with 5 items on average; every item is 0.2 % rarer than the one before it."""
    rng = np.random.default_rng(33)
    sizes = np.minimum(1 + rng.geometric(0.25, 50_000), 40)
    return frame_of(sizes, draw_sets(sizes, np.cumsum(0.998 ** np.arange(4000.0)), rng))


def baskets() -> pl.DataFrame:
    """Like a supermarket: 88 000 baskets of 10 articles, five articles in many of them, 55 baskets per article."""
    rng = np.random.default_rng(34)
    users, top = 88_000, np.array([0.57, 0.48, 0.17, 0.17, 0.17])
    law = np.where(np.arange(6, 16_471) <= 2100, zipf_law(16_465, 0.64), zipf_law(16_465, 1.8) * 2100**1.16)
    held = rng.random((users, len(top))) < top
    sizes = np.floor(8.7 * np.exp(rng.normal(-0.32, 0.8, users)) + rng.random(users)).astype(np.int64)
    sizes = np.clip(sizes, 1 - held.any(1), 70)
    owner, article = np.nonzero(held)
    return pl.concat(
        [
            frame_of(sizes, len(top) + draw_sets(sizes, np.cumsum(law), rng)),
            pl.DataFrame({"user": owner, "item": article}),
        ]
    )
