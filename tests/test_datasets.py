import numpy as np
import polars as pl
import pytest

from dpsu import datasets
from dpsu.errors import InvalidArgument


@pytest.mark.parametrize(
    ("name", "user", "n_users", "n_words", "n_pairs"),
    [
        ("arxiv_titles_small", "author", 25_000, 31_212, 462_179),
        ("shakespeare_speakers", "uid", 1_323, 22_707, 317_644),
    ],
)
def test_bundled_corpora_have_the_documented_words(name, user, n_users, n_words, n_pairs):
    pairs = datasets.words(datasets.load(name), user=user, text="text").unique()
    assert pairs.columns == [user, "word"]
    assert pairs[user].n_unique() == n_users
    assert pairs["word"].n_unique() == n_words
    assert pairs.height == n_pairs


def test_words_are_lower_case_without_addresses_and_empty_texts_give_none():
    frame = pl.DataFrame(
        {"who": [1, 2, 3, 4], "body": ["See HTTPS://no https://x.org/Y?z C3PO's", "…", None, ""]}
    )
    expected = ["see", "https", "no", "c3po", "s"]
    found = datasets.words(frame, user="who", text="body")
    assert found.rows() == [(1, word) for word in expected]


def test_an_unknown_corpus_is_named_with_those_there_are():
    with pytest.raises(InvalidArgument, match=r"arxiv_titles_small.*'shakespeare_speakers'"):
        datasets.load("shakespeare_speaker")


@pytest.fixture(scope="module")
def reddit():
    return datasets.reddit_like()


def test_reddit_like_has_the_paper_corpus_statistics(reddit):
    assert reddit.schema == {"user": pl.Int32, "item": pl.UInt32}
    assert reddit["user"].n_unique() == 223_388
    assert reddit.height == pytest.approx(7_271_697, rel=0.02)
    holders = reddit.group_by("item").len()["len"].to_numpy()
    for k, expected in {5: 34_629, 10: 23_132, 15: 18_413, 18: 16_639, 20: 15_705, 25: 13_858}.items():
        assert np.count_nonzero(holders >= k) == pytest.approx(expected, rel=0.02)


def test_reddit_like_sizes_follow_the_table(reddit):
    sizes = reddit.group_by("user").len()["len"].to_numpy()
    for size, share in {1: 0.0278, 10: 0.2982, 50: 0.7916, 100: 0.9313, 300: 0.9959}.items():
        assert np.mean(sizes <= size) == pytest.approx(share, abs=0.005)
    assert sizes.max() <= 2000
    assert np.count_nonzero(sizes > 850) <= 25


def test_reddit_like_draws_without_replacement_and_hides_the_rank(reddit):
    head = reddit.head(500_000)
    assert head.n_unique() == head.height
    popular = reddit["item"].value_counts(sort=True)["item"].head(100).to_numpy()
    assert np.median(popular) > 100_000


def test_reddit_like_is_a_function_of_its_seed():
    small = datasets.reddit_like(users=50, seed=7)
    assert small.equals(datasets.reddit_like(users=50, seed=7))
    assert not small.equals(datasets.reddit_like(users=50, seed=8))
    assert datasets.reddit_like(users=0).height == 0
    with pytest.raises(InvalidArgument, match="users"):
        datasets.reddit_like(users=-1)
