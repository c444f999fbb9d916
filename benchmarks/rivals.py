"""What people write by hand: a count, Laplace noise and a threshold."""

import math
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

ITEM = pl.col("item")
WORD = r"[\p{L}\p{Nd}][\p{L}\p{M}\p{Nd}]*"


def by_window(path: Path, epsilon: float, delta: float, max_items: int) -> pl.Series:
    """Distinct pairs, and a random place among the user's pairs for each."""
    pairs = pl.scan_parquet(path).unique().collect()
    cut = pairs.filter(pl.int_range(pl.len()).shuffle().over("user") < max_items)
    return _decide(cut.group_by("item").len(), epsilon, delta, max_items)


def by_lists(path: Path, epsilon: float, delta: float, max_items: int) -> pl.Series:
    """A list of distinct items for every user, shuffled and cut."""
    sets = pl.scan_parquet(path).group_by("user").agg(ITEM.unique().shuffle().head(max_items))
    return _decide(_counted(sets.select("item")), epsilon, delta, max_items)


def by_long_lists(path: Path, epsilon: float, delta: float, max_items: int) -> pl.Series:
    """The same, but only lists that are too long are drawn from."""
    sets = pl.scan_parquet(path).group_by("user").agg(ITEM.unique())
    size = ITEM.list.len()
    drawn = ITEM.list.sample(pl.min_horizontal(size, max_items))
    cut = sets.select(pl.when(size > max_items).then(drawn).otherwise(ITEM))
    return _decide(_counted(cut), epsilon, delta, max_items)


SCRIPTS = {
    "Polars script, window": by_window,
    "Polars script, lists": by_lists,
    "Polars script, long lists": by_long_lists,
}
"""The private version of a GROUP BY in three ways: distinct pairs, a cut per user, a count, noise, a threshold."""


def bare_count(path: Path, epsilon: float, delta: float) -> pl.Series:
    """Without distinct pairs or a cut, so not private: the least that reading and counting cost."""
    counts = pl.scan_parquet(path).group_by("item").len().collect()
    return _decide(counts, epsilon, delta, 1)


def read(path: Path) -> pl.DataFrame:
    """Both columns in memory."""
    return pl.scan_parquet(path).select("user", "item").collect()


def read_and_encode(path: Path) -> pl.DataFrame:
    """Both columns in memory, the items as numbers with a dictionary; neither digests nor rows."""
    return pl.scan_parquet(path).select("user", ITEM.cast(pl.Categorical)).collect()


def words_by_hand(path: Path, epsilon: float, delta: float, max_items: int) -> pl.Series:
    """The private script for text: words by a regular expression, distinct ones per user, a cut, a count, noise."""
    words = pl.col("text").str.to_lowercase().str.extract_all(WORD)
    pairs = pl.scan_parquet(path).select(user="author", item=words).explode("item", empty_as_null=False)
    sets = pairs.group_by("user").agg(ITEM.unique().shuffle().head(max_items))
    return _decide(_counted(sets.select("item")), epsilon, delta, max_items)


def count_vectorizer(path: Path, sizes: tuple[int, int]) -> int:
    """scikit-learn's counts of words in all texts; without users, so not private."""
    from sklearn.feature_extraction.text import CountVectorizer

    vectorizer = CountVectorizer(ngram_range=sizes, binary=True)
    vectorizer.fit_transform(pl.read_parquet(path)["text"].to_list())
    return len(vectorizer.vocabulary_)


def pre_tokenizer(path: Path) -> int:
    """Words of all texts by a pre-tokenizer of Hugging Face, and how often each occurs; not private."""
    from tokenizers import Regex, normalizers, pre_tokenizers

    lower = normalizers.Lowercase()
    split = pre_tokenizers.Split(Regex(WORD), behavior="removed", invert=True)
    counts: Counter[str] = Counter()
    for text in pl.read_parquet(path)["text"]:
        counts.update(word for word, _ in split.pre_tokenize_str(lower.normalize_str(text)))
    return len(counts)


def read_folder(folder: Path) -> int:
    """All text files of a folder, read with Python."""
    return sum(len(file.read_text()) for file in sorted(folder.rglob("*.txt")))


def read_text(path: Path) -> pl.DataFrame:
    """Users and texts in memory."""
    scan = pl.scan_parquet if path.suffix == ".parquet" else pl.scan_ndjson
    return scan(path).select("author", "text").collect()


def count_words(path: Path) -> pl.DataFrame:
    """How often each word occurs: texts of a table, or of the text files of a folder, divided by a regular expression."""
    if path.is_dir():
        texts = pl.DataFrame({"text": [file.read_text() for file in sorted(path.rglob("*.txt"))]})
    else:
        texts = read_text(path)
    words = pl.col("text").str.to_lowercase().str.extract_all(WORD)
    return texts.lazy().select(words.explode(empty_as_null=False).value_counts()).collect()


def draw_normals(size: int, scale: float) -> NDArray[np.float64]:
    """NumPy's normal variates, drawn afresh."""
    return np.random.default_rng().normal(0.0, scale, size)


def draw_cells(totals: NDArray[np.int64], unit: float, scale: float, cell: float) -> NDArray[np.int64]:
    """NumPy's normal variates on the totals, rounded to the grid in floating point."""
    noisy = unit * totals + draw_normals(len(totals), scale)
    return np.rint(noisy / cell).astype(np.int64)


def _counted(sets: pl.LazyFrame) -> pl.DataFrame:
    items = sets.explode("item", empty_as_null=False, keep_nulls=False)
    return items.group_by("item").len().collect()


def _decide(counts: pl.DataFrame, epsilon: float, delta: float, max_items: int) -> pl.Series:
    scale = max_items / epsilon
    noisy = counts["len"].to_numpy() + np.random.default_rng().laplace(0, scale, counts.height)
    threshold = 1 + scale * math.log(max_items / (2 * delta))
    return counts["item"].filter(pl.Series(noisy > threshold)).sort()
