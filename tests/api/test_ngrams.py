"""n-grams in levels: what may come out, what it costs, and that absent n-grams come out as often as they must."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import dpsu
from dpsu.algorithms.known_domain import Joins, KnownDomain, hits
from dpsu.algorithms.levels import plan_levels
from dpsu.algorithms.request import Request
from dpsu.engines.local import LocalEngine
from dpsu.errors import InvalidArgument
from dpsu.randomness.stream import Stream
from dpsu.sources.corpus import read_corpus, text_rule
from dpsu.sources.ngrams import longer, ngram_sets, spell, unigrams
from dpsu.sources.pairs import read_sets

PRIVACY = {"epsilon": 8.0, "delta": 1e-6}
METHODS = ("focused-gaussian", "dpne")

CORPUS = {
    n: ["the quick brown fox", f"my secret{n} word" if n % 2 else "the lazy dog sleeps", f"secret{n}"]
    for n in range(600)
}


def stream(n: int) -> Stream:
    return Stream(n.to_bytes(32, "little"))


@pytest.mark.parametrize("method", METHODS)
def test_what_many_share_comes_out_and_nothing_else(method: str) -> None:
    with dpsu.testing.seeded(1):
        release = dpsu.ngrams(CORPUS, text=True, longest=4, method=method, **PRIVACY)  # type: ignore[arg-type]
    assert {"the", "quick", "the quick", "quick brown fox", "the quick brown fox", "lazy dog", "my"} <= set(
        release
    )
    assert "fox the" not in release  # across the end of a row
    assert not any("secret" in item for item in release)
    assert release.items == sorted(set(release.items))


@pytest.mark.parametrize("method", METHODS)
def test_parts_of_what_is_released_are_released(method: str) -> None:
    frame = dpsu.datasets.load("arxiv_titles_small")
    with dpsu.testing.seeded(2):
        release = dpsu.ngrams(frame, user="author", text="text", epsilon=3, delta=1e-5, method=method)  # type: ignore[arg-type]
    sizes = {len(item.split()) for item in release}
    assert sizes == {1, 2, 3}
    for item in release:
        words = item.split()
        if len(words) > 1:
            assert " ".join(words[1:]) in release
            assert " ".join(words[:-1]) in release


def test_dpne_makes_up_ngrams_and_focused_does_not() -> None:
    frame = dpsu.datasets.load("arxiv_titles_small")
    written = set()
    for text in frame["text"].str.to_lowercase().str.extract_all("[a-z0-9]+"):
        written |= {f"{a} {b}" for a, b in itertools.pairwise(text)}
    made_up = {}
    for method in METHODS:
        with dpsu.testing.seeded(3):
            release = dpsu.ngrams(
                frame,
                user="author",
                text="text",
                longest=2,
                epsilon=3,
                delta=1e-5,
                method=method,  # type: ignore[arg-type]
            )
        made_up[method] = [item for item in release if item.isascii() and " " in item and item not in written]
    assert not made_up["focused-gaussian"]
    assert 5 < len(made_up["dpne"]) < 100


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shares", [None, (0.5, 0.3, 0.2), (0.1, 0.1, 0.1)])
def test_all_levels_together_keep_the_promise(method: str, shares: tuple[float, ...] | None) -> None:
    request = Request(1.0, 1e-5)
    levels, _ = plan_levels(request, 3, level_shares=shares, method=method)  # type: ignore[arg-type]
    spent = levels[0].budget.compose(*(level.budget for level in levels[1:]))
    assert spent.delta(request.epsilon) <= request.delta
    if shares is None:
        assert spent.delta(request.epsilon) > 0.99 * request.delta
    for level in levels:
        actual = level.focused().budget() if level.size == 1 or method != "dpne" else level.budget
        assert actual.mu <= level.budget.mu
        assert actual.delta_new <= level.budget.delta_new


def test_the_statement_tells_every_level() -> None:
    release = dpsu.ngrams(CORPUS, text=True, longest=2, max_items=(50, 20), **PRIVACY)
    assert release.statement is not None
    assert release.statement.void is None
    levels = release.statement.parameters["levels"]
    assert [(level["size"], level["share"], level["max_items"]) for level in levels] == [
        (1, 0.5, 50),
        (2, 0.5, 20),
    ]
    assert math.isclose(levels[0]["sigma"], math.sqrt(2) / release.statement.budget.mu)
    assert dpsu.Statement.from_json(release.statement.to_json()).epsilon == 8


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"longest": 0}, "longest must be"),
        ({"method": "greedy"}, "method must be"),
        ({"shares": (0.5, 0.5)}, "one number per level"),
        ({"shares": (0.9, 0.9, 0.9)}, "sum to at most 1"),
        ({"max_items": (1, 2)}, "one number per level"),
    ],
)
def test_levels_that_make_no_sense_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        dpsu.ngrams(CORPUS, text=True, **PRIVACY, **arguments)  # type: ignore[arg-type]


def test_an_empty_source_gives_an_empty_release() -> None:
    for method in METHODS:
        with pytest.warns(dpsu.EmptyRelease):
            assert dpsu.ngrams({1: [""]}, text=True, method=method, **PRIVACY).items == []  # type: ignore[arg-type]


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 3).flatmap(lambda n: st.sets(st.tuples(*[st.integers(0, 3)] * n), max_size=12)))
def test_joins_are_all_ngrams_made_of_two_parts(parts: set[tuple[int, ...]]) -> None:
    size = len(next(iter(parts))) if parts else 1
    joins = Joins(np.array(sorted(parts), np.uint32).reshape(-1, size))
    slowly = {a + b[-1:] for a in parts for b in parts if a[1:] == b[:-1]}
    found = [tuple(row) for row in joins.words([*range(len(joins))]).tolist()]
    assert len(found) == len(slowly)
    assert set(found) == slowly


words = st.lists(st.sampled_from("abcd"), max_size=7).map(" ".join)


@settings(max_examples=60, deadline=None)
@given(st.lists(words, min_size=1, max_size=5), st.data())
def test_valid_ngrams_are_those_with_both_parts_released(rows: list[str], data: st.DataObject) -> None:
    rule = text_rule(True, ngrams=(1, 2, 3))
    assert rule is not None
    corpus = read_corpus(dict(enumerate([row] for row in rows)), rule, user=None, stream=stream(0))
    split = [tuple(row.split()) for row in rows]
    part, released = unigrams(corpus), {row[i : i + 1] for row in split for i in range(len(row))}
    for size in (2, 3):
        kept = set(data.draw(st.lists(st.sampled_from(sorted(released)), max_size=12))) if released else set()
        names = spell(part.words_of(np.arange(len(part))), corpus.vocabulary.spelling())
        part = longer(corpus, part, np.array([tuple(name.split()) in kept for name in names], np.bool_))
        sets = ngram_sets(corpus, [part], "ngram")
        slowly = [
            {
                row[i : i + size]
                for i in range(len(row) - size + 1)
                if {row[i : i + size - 1], row[i + 1 : i + size]} <= kept
            }
            for row in split
        ]
        released = set().union(*slowly)
        found = {tuple(name.split()) for name in sets.names.decode(np.arange(sets.n_items)).to_series()}
        assert found == released
        assert sorted(np.diff(sets.indptr)) == sorted(map(len, slowly))


def test_hits_are_independent_coins() -> None:
    domain, z = 2000, Fraction(2)
    chance = stats.norm.sf(2)
    drawn = [hits(domain, z, stream(n)) for n in range(40)]
    assert all(chosen == sorted(set(chosen)) for chosen in drawn)
    counts = np.array([len(chosen) for chosen in drawn])
    assert stats.binomtest(int(counts.sum()), 40 * domain, chance).pvalue > 1e-4
    assert 0.5 < counts.var(ddof=1) / (domain * chance) < 2
    places = np.concatenate(drawn)
    assert stats.kstest(places / domain, "uniform").pvalue > 1e-4


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
