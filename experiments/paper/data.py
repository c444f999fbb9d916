"""The corpora of the experiments: as user sets, and as the words that figures name them by."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

import dpsu
from dpsu.randomness.stream import Stream
from dpsu.sets.user_sets import UserSets
from dpsu.sources.corpus import text_rule
from dpsu.sources.pairs import read_sets
from dpsu.sources.text import read_text

SHARED = Path(__file__).parents[3] / "shared" / "data"

REDDIT = "reddit_like"
BIGRAMS = "arxiv 2-grams"
TRIGRAMS = "arxiv 3-grams"
UP_TO_TWO = "arxiv 1-2-grams"
UP_TO_THREE = "arxiv 1-3-grams"

SIZES = {BIGRAMS: (2,), TRIGRAMS: (3,), UP_TO_TWO: (1, 2), UP_TO_THREE: (1, 2, 3)}


@dataclass(frozen=True)
class Corpus:
    """A corpus by the name that results go under; it is read when asked for."""

    name: str
    label: str
    read: Callable[[], UserSets]


def corpora(quick: bool) -> dict[str, Corpus]:
    """All corpora; `quick` takes every tenth user."""
    reddit = Corpus(REDDIT, _label("reddit_like (synthetic, the paper's law)", quick), lambda: _reddit(quick))
    titles = "titles by first author" if _has("arxiv_titles") else "titles by 25 000 first authors"
    texts = {
        name: Corpus(
            name,
            _label(f"arXiv {titles}, {_grams(sizes)}", quick),
            lambda sizes=sizes: _arxiv(sizes, quick),
        )
        for name, sizes in SIZES.items()
    }
    return {REDDIT: reddit, **texts}


def reddit_frame(quick: bool) -> pl.DataFrame:
    """The synthetic corpus: the shared file, or one drawn by the same law."""
    frame = (
        pl.read_parquet(SHARED / "reddit_like.parquet") if _has(REDDIT) else dpsu.datasets.reddit_like(seed=0)
    )
    return frame.filter(pl.col("user") % 10 == 0) if quick else frame


def arxiv_frame(quick: bool) -> pl.DataFrame:
    """Titles of papers and their first authors: all where the shared file is present, else the bundled ones."""
    path = SHARED / "arxiv_titles.parquet"
    frame = pl.read_parquet(path) if path.exists() else dpsu.datasets.load("arxiv_titles_small")
    return frame.filter(pl.col("author") % 10 == 0) if quick else frame


def _reddit(quick: bool) -> UserSets:
    return read_sets(reddit_frame(quick), user="user", item="item", stream=Stream.fresh())


def _arxiv(sizes: tuple[int, ...], quick: bool) -> UserSets:
    rule = text_rule("text", ngrams=sizes)
    assert rule is not None
    return read_text(arxiv_frame(quick), rule, user="author", stream=Stream.fresh())


def _has(name: str) -> bool:
    return (SHARED / f"{name}.parquet").exists()


def _grams(sizes: tuple[int, ...]) -> str:
    names = {(2,): "bigrams", (3,): "trigrams", (1, 2): "words and bigrams"}
    return names.get(sizes, "words, bigrams and trigrams")


def _label(name: str, quick: bool) -> str:
    return f"a tenth of {name}" if quick else name
