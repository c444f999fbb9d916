"""Counts by two measurements: equal to the slow twin, closer where totals tell, as they were where totals tell nothing."""

import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpsu
from dpsu.algorithms.focused import FocusedMechanism
from dpsu.algorithms.neighbours import CLEAR, WINDOW, by_neighbours
from dpsu.testing import seeded

SIGMA = 20.0


def slowly(counts, sigma):
    """The same, one count after the other."""
    found = []
    for place, own in enumerate(counts):
        first = min(max(place - WINDOW // 2, 0), len(counts) - WINDOW)
        window = counts[first : first + WINDOW]
        middle = statistics.median(window)
        reach = CLEAR * sigma + max(middle, 0)
        alike = [count for count in window if abs(count - middle) <= reach]
        mean = sum(alike) / len(alike)
        beyond = max(sum((count - mean) ** 2 for count in alike) / len(alike) - sigma**2, 0)
        kept = beyond / (beyond + sigma**2) if abs(own - middle) <= reach else 1
        found.append(kept * own + (1 - kept) * mean)
    return found


@given(st.lists(st.integers(-100, 5000), min_size=WINDOW, max_size=3 * WINDOW))
def test_counts_are_those_of_the_twin(counts):
    found = by_neighbours(np.array(counts, np.float64), SIGMA)
    assert found == pytest.approx(slowly(counts, SIGMA), rel=1e-9, abs=1e-6)


def test_few_items_have_no_neighbours():
    counts = np.arange(WINDOW - 1, dtype=np.float64)
    assert by_neighbours(counts, SIGMA) is counts


def test_totals_that_tell_the_count_help_and_others_do_no_harm():
    """Errors in noise scales: far smaller where neighbours are alike, as before where they are not."""
    rng = np.random.default_rng(1)
    for true, low, high in (
        (np.linspace(300, 40, 2000), 0.1, 0.4),
        (np.resize([40.0, 90.0, 250.0, 900.0, 4000.0], 2000), 0.5, 1.05),
        (rng.permutation(np.linspace(40, 3000, 2000)), 0.9, 1.05),
    ):
        errors = by_neighbours(true + rng.normal(0, SIGMA, len(true)), SIGMA) - true
        assert low < np.sqrt(np.mean(errors**2)) / SIGMA < high


def test_a_count_far_above_its_neighbours_stays():
    counts = np.full(200, 50.0)
    counts[100] = 50 + CLEAR * SIGMA + 51
    assert by_neighbours(counts, SIGMA)[100] == counts[100]


@pytest.fixture(scope="module")
def words():
    """3 to 5 items of each of 20 000 users, by Zipf's law."""
    rng = np.random.default_rng(2)
    weights = 1 / np.arange(1, 3001)
    drawn = np.searchsorted(np.cumsum(weights) / weights.sum(), rng.random((20_000, 5)))
    return {user: [f"w{code}" for code in {*row}] for user, row in enumerate(drawn.tolist())}


@pytest.mark.parametrize("algorithm", ["focused-gaussian", "auto"])
def test_counts_of_a_release_are_closer_than_their_noise(words, algorithm):
    held = [word for own in words.values() for word in own]
    true = dict(zip(*np.unique(held, return_counts=True), strict=True))
    how = {"epsilon": 1.0, "delta": 1e-7, "algorithm": algorithm}
    floor = dpsu.plan(**how, counts=dpsu.Counts(max_items=5)).to_dict()["counts"]["floor"]
    errors = {}
    for raw in (True, False):
        with seeded(1):
            made = dpsu.release(words, **how, counts=dpsu.Counts(max_items=5, raw=raw))
        rare = [word for word in made.items if true[word] < 250]
        assert len(rare) > 100
        found = [max(made.counts[word], floor) - true[word] for word in rare]
        errors[raw] = np.sqrt(np.mean(np.square(found)))
    assert errors[False] < 0.8 * errors[True]


def test_totals_of_items_that_do_not_come_out_are_not_used(words, monkeypatch):
    """The proof covers noisy totals of released items alone."""
    how = {"epsilon": 1.0, "delta": 1e-7, "algorithm": "focused-gaussian", "counts": dpsu.Counts(max_items=5)}
    select = FocusedMechanism.select

    def spoilt(self, engine, sets, stream):
        items = select(self, engine, sets, stream)
        return engine.update(
            items, lambda columns: {"noisy": np.where(columns["released"], columns["noisy"], 10**9)}
        )

    with seeded(1):
        expected = dpsu.release(words, **how).to_polars()
    monkeypatch.setattr(FocusedMechanism, "select", spoilt)
    with seeded(1):
        assert dpsu.release(words, **how).to_polars().equals(expected)
