"""n-grams that may follow from released parts."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsu.randomness.stream import Stream
from dpsu.sources.corpus import text_rule
from dpsu.sources.ngrams import longer, ngram_sets, spell, unigrams
from dpsu.sources.text import read_corpus


def stream(n: int) -> Stream:
    return Stream(n.to_bytes(32, "little"))


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
        sets = ngram_sets(corpus, [part])
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
