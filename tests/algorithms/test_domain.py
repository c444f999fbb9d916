"""The n-grams that could come out of a level, counted and numbered without being listed."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsu.algorithms.domain import Domain, Joins
from dpsu.randomness.stream import Stream
from dpsu.sources.corpus import text_rule


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


@pytest.mark.parametrize(("tokenizer", "gap"), [("words", " "), ("chars", "")])
def test_a_domain_has_the_names_of_its_members(tokenizer: str, gap: str) -> None:
    released = pl.DataFrame({"ngram": [gap.join(name) for name in ("ab", "bc", "ba", "aa")]})
    rule = text_rule("text", ngrams=(1, 2, 3), tokenizer=tokenizer)
    assert rule is not None
    domain = Domain.of(released, 2, rule, Stream(bytes(32)))
    names = domain.members([*range(len(domain))])
    assert domain.before == 4
    expected = ["aab", "aaa", "aba", "abc", "bab", "baa"]
    assert sorted(names["ngram"]) == sorted(gap.join(name) for name in expected)
    assert len(np.unique(domain.digests(names), axis=0)) == len(domain)
