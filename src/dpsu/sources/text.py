"""Read text into user sets: words and n-grams of all users."""

from typing import Any

from dpsu.randomness.stream import Stream
from dpsu.sets.user_sets import UserSets
from dpsu.sources.columns import ColumnNames
from dpsu.sources.corpus import TextRule, read_corpus
from dpsu.sources.layout import PLAIN, Layout
from dpsu.sources.ngrams import longer, ngram_sets, unigrams


def read_text(
    source: Any,
    rule: TextRule,
    *,
    user: ColumnNames | None = None,
    stream: Stream,
    drop_nulls: bool = False,
    format: str | None = None,
    layout: Layout = PLAIN,
) -> UserSets:
    """The sets of all users' n-grams in a text source."""
    corpus = read_corpus(
        source, rule, user=user, stream=stream, drop_nulls=drop_nulls, format=format, layout=layout
    )
    parts = [unigrams(corpus)]
    while parts[-1].size < rule.sizes[-1]:
        parts.append(longer(corpus, parts[-1]))
    return ngram_sets(corpus, [part for part in parts if part.size in rule.sizes], rule.name)
