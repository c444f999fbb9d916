"""Members that nobody holds come out as often as they must."""

from fractions import Fraction

import numpy as np
from scipy import stats

from dpsu.algorithms.known_domain import KnownDomain, NormalTail, hits
from dpsu.engines.local import LocalEngine
from dpsu.randomness.stream import Stream
from dpsu.sources.pairs import read_sets


def stream(n: int) -> Stream:
    return Stream(n.to_bytes(32, "little"))


def test_hits_are_independent_coins() -> None:
    domain, z = 2000, Fraction(2)
    chance = stats.norm.sf(2)
    drawn = [hits(domain, NormalTail(z), stream(n)) for n in range(40)]
    assert all(chosen == sorted(set(chosen)) for chosen in drawn)
    counts = np.array([len(chosen) for chosen in drawn])
    assert stats.binomtest(int(counts.sum()), 40 * domain, chance).pvalue > 1e-4
    assert 0.5 < counts.var(ddof=1) / (domain * chance) < 2
    places = np.concatenate(drawn)
    assert stats.kstest(places / domain, "uniform").pvalue > 1e-4


def test_a_chance_may_be_any_fraction() -> None:
    drawn = [len(hits(1000, Fraction(1, 7), stream(n))) for n in range(20)]
    assert stats.binomtest(sum(drawn), 20_000, 1 / 7).pvalue > 1e-4
    assert hits(5, Fraction(0), stream(0)) == []
    assert hits(5, Fraction(1), stream(0)) == [0, 1, 2, 3, 4]


def test_an_absent_member_comes_out_as_often_as_one_that_is_held_with_no_weight() -> None:
    """The chance in `absent` is exactly that of the grid: the first cell that is released begins half a cell below."""
    mechanism = KnownDomain(sigma=2.0, threshold=3.0, max_items=5)
    expected = stats.norm.sf((3.0 / 2.0 * 2**16 // 1 + 0.5) / 2**16)
    absent = sum(len(mechanism.absent(1000, stream(n))) for n in range(30))
    assert stats.binomtest(absent, 30_000, expected).pvalue > 1e-4
    sets = read_sets({n: [f"item {n}"] for n in range(30_000)}, stream=stream(0))
    light = KnownDomain(
        sigma=2.0, threshold=4.0, max_items=5
    )  # one holder's whole weight lifts to a threshold of 3
    released = light.select(LocalEngine(), sets, stream(0))["released"].sum()
    assert stats.binomtest(int(released), 30_000, expected).pvalue > 1e-4
