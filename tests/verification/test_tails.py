"""Bounds on sums of normal tails are upper bounds, and close ones."""

import numpy as np
import pytest
from mpmath import mp

from dpsu.verification.intervals import exact, precision_for
from dpsu.verification.tails import FARTHEST, Tails


@pytest.mark.parametrize("seed", range(4))
def test_bounds_are_above_the_tails_and_close(seed: int) -> None:
    random = np.random.default_rng(seed)
    grid = random.integers(0, 30 * 1024, 20) / 1024
    points = np.concatenate([random.uniform(0, 38, 150), grid, np.nextafter(grid, 0), [0.0, FARTHEST]])
    with precision_for(1, 1e-300):
        tails = Tails(exact(0.5))
        for z in points:
            with mp.workprec(400):
                true = mp.erfc(mp.mpf(z) / mp.sqrt(2))
                found = mp.mpf(tails.share(np.ones(1), np.array([z])))
                assert true <= found
                assert z > 35 or found <= true * (1 + mp.mpf("2.1e-10"))


def test_sums_of_near_and_far_tails() -> None:
    random = np.random.default_rng(9)
    with precision_for(1, 1e-30):
        for least in (0.0, 2.0, 5.0, 12.0):
            z, counts = least + random.exponential(2, 300), random.integers(1, 10**6, 300)
            found = Tails(exact(1e-30)).share(counts.astype(float), z)
            with mp.workprec(300):
                terms = [int(n) * mp.erfc(mp.mpf(x) / mp.sqrt(2)) for n, x in zip(counts, z, strict=True)]
                true = sum(terms, mp.mpf(0)) / 2 / mp.mpf(1e-30)
                assert true <= found <= true * (1 + mp.mpf("2.1e-10"))


def test_the_largest_numbers_are_no_error() -> None:
    with precision_for(1, 1e-300):
        assert Tails(exact(5e-324)).share(np.array([1e6]), np.array([0.0])) == np.inf
        assert Tails(exact(1e-300)).share(np.array([1e6]), np.array([np.inf])) < 1e-290
