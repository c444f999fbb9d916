"""Members that nobody holds come out as often as they must."""

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpsu.algorithms.known_domain import Joins, KnownDomain, NormalTail, hits
from dpsu.engines.local import LocalEngine
from dpsu.randomness.stream import Stream
from dpsu.sources.pairs import read_sets


def stream(n: int) -> Stream:
    return Stream(n.to_bytes(32, "little"))


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 3).flatmap(lambda n: st.sets(st.tuples(*[st.integers(0, 3)] * n), max_size=12)))
def test_joins_are_all_ngrams_made_of_two_parts(parts: set[tuple[int, ...]]) -> None:
    size = len(next(iter(parts))) if parts else 1
    digests = np.random.default_rng(len(parts)).integers(0, 2**64, (4, 2), dtype=np.uint64)
    joins = Joins(np.array(sorted(parts), np.uint32).reshape(-1, size), digests)
    slowly = {a + b[-1:] for a in parts for b in parts if a[1:] == b[:-1]}
    found = [tuple(row) for row in joins.words([*range(len(joins))]).tolist()]
    assert len(found) == len(slowly)
    assert set(found) == slowly


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
