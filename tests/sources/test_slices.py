"""Text that is read in slices: the same sets wherever slices, batches and merges fall, and however users are spread."""

import tracemalloc
from collections import defaultdict

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsu.kernels.words import number_words
from dpsu.randomness.digests import digest_bytes, digest_integers
from dpsu.randomness.stream import Stream
from dpsu.sets import distinct
from dpsu.sets.distinct import DistinctPairs
from dpsu.sets.keys import bytes_of
from dpsu.sets.user_sets import UserSets
from dpsu.sources import slices
from dpsu.sources.corpus import text_rule
from dpsu.sources.text import read_corpus, read_text

STREAM = Stream(bytes(range(32)))

rows = st.lists(st.tuples(st.integers(-2, 2), st.text("ab Éc", max_size=14)), max_size=40)
sizes = st.sets(st.integers(1, 3), min_size=1).map(lambda chosen: tuple(sorted(chosen)))


def slowly(texts: list[tuple[int, str]], chosen: tuple[int, ...]) -> dict[int, set[str]]:
    """Every user's n-grams; a user without any has an empty set."""
    sets: dict[int, set[str]] = defaultdict(set)
    for user, text in texts:
        words = text.lower().split()
        sets[user] |= {" ".join(words[i : i + n]) for n in chosen for i in range(len(words) - n + 1)}
    return dict(sets)


def read_back(sets: UserSets, users: list[int]) -> dict[int, set[str]]:
    found = {}
    digests = digest_integers(np.array(users, np.int64), STREAM.digest_key)
    for user, digest in zip(users, digests.tolist(), strict=True):
        place = sets.user_digests.tolist().index(digest)
        codes = sets.items[sets.indptr[place] : sets.indptr[place + 1]]
        assert len(set(codes.tolist())) == len(codes)
        found[user] = set(sets.names.decode(codes).to_series().to_list())
    return found


@settings(max_examples=60, deadline=None)
@given(rows, sizes, st.sampled_from([1, 20, 60, 1 << 20]), st.sampled_from([1, 3, 1000]), st.integers(1, 50))
def test_slices_batches_and_merges_change_nothing(
    texts: list[tuple[int, str]], chosen: tuple[int, ...], in_slice: int, in_batch: int, unmerged: int
) -> None:
    frame = pl.DataFrame(texts, schema={"user": pl.Int64, "text": pl.String}, orient="row")
    rule = text_rule("text", ngrams=chosen)
    assert rule is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slices, "SLICE_BYTES", in_slice)
        patch.setattr(slices, "BATCH_TEXTS", in_batch)
        patch.setattr(distinct, "MOST_UNMERGED", unmerged)
        sets = read_text(frame, rule, user="user", stream=STREAM)
        corpus = read_corpus(frame, rule, user="user", stream=STREAM)
    expected = slowly(texts, chosen)
    assert sets.n_users == len(expected)
    assert read_back(sets, [*expected]) == expected
    words = [name for own in expected.values() for name in own]
    digests = digest_bytes(*bytes_of(pl.Series(sorted(set(words)), dtype=pl.String)), STREAM.digest_key)
    assert sorted(sets.item_digests.tolist()) == sorted(digests.tolist())
    assert corpus.words.size == sum(len(text.split()) for _, text in texts)
    assert len(corpus.vocabulary) == len({word for _, text in texts for word in text.lower().split()})


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text("ab\0é", min_size=1, max_size=20), max_size=60), st.integers(0, 2**64 - 1))
def test_words_are_numbered_as_they_first_appear(words: list[str], seed: int) -> None:
    codes, firsts = number_words(*bytes_of(pl.Series(words, dtype=pl.String)), seed)
    order = list(dict.fromkeys(words))
    assert codes.tolist() == [order.index(word) for word in words]
    assert firsts.tolist() == [words.index(word) for word in order]


def test_many_words_are_numbered() -> None:
    """More than a table of the first size has room for."""
    words = [f"w{i % 9000}" for i in range(20_000)]
    codes, firsts = number_words(*bytes_of(pl.Series(words)), 5)
    assert codes.tolist() == [i % 9000 for i in range(20_000)]
    assert firsts.tolist() == [*range(9000)]


def test_memory_follows_the_distinct_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand times the same pairs take no more room than a few times."""
    monkeypatch.setattr(distinct, "MOST_UNMERGED", 1 << 12)
    pairs, own = DistinctPairs(), np.arange(1 << 11, dtype=np.uint64)
    tracemalloc.start()
    for _ in range(1000):
        pairs.add(own[::-1].copy())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 * own.nbytes
    pairs.merge()
    assert np.concatenate(pairs.taken()).tolist() == own.tolist()
