"""Read text: the sets of all users' n-grams, or all its words for n-grams in levels."""

from functools import partial
from typing import Any

import numpy as np

from dpsu.randomness.stream import Stream
from dpsu.sets.user_sets import UserSets, digest_order, places
from dpsu.sources.columns import ColumnNames
from dpsu.sources.corpus import TextRule
from dpsu.sources.discreet import discreet
from dpsu.sources.layout import PLAIN, Layout
from dpsu.sources.ngrams import Corpus, NgramReader, Texts, sets_of, slice_ngrams
from dpsu.sources.slices import Slice, SlicedText, Vocabulary


@discreet
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
    """The sets of all users' n-grams in a text source.

    Memory follows the distinct pairs of users and n-grams and the vocabulary; the text is forgotten slice by slice.
    """
    texts = SlicedText(
        source, rule, user=user, stream=stream, drop_nulls=drop_nulls, format=format, layout=layout
    )
    reader = NgramReader(rule.sizes, rule.joiner, stream.digest_key)
    for found in texts.read(partial(slice_ngrams, sizes=rule.sizes)):
        reader.add(found)
    digests, notes = texts.users.digests(), texts.notes()
    del texts  # the table of users is large, and so are their digests
    order = digest_order(digests)
    digests, user_places = digests.take(order, axis=0), places(order)
    known = Texts(reader.vocabulary, digests, stream.digest_key, notes)
    return sets_of([*reader.pairs.values()], reader.parts(), known, user_places, rule.name)


@discreet
def read_corpus(
    source: Any,
    rule: TextRule,
    *,
    user: ColumnNames | None,
    stream: Stream,
    drop_nulls: bool = False,
    format: str | None = None,
    layout: Layout = PLAIN,
) -> Corpus:
    """The words of all rows of `source`, split by the rule."""
    texts = SlicedText(
        source, rule, user=user, stream=stream, drop_nulls=drop_nulls, format=format, layout=layout
    )
    vocabulary = Vocabulary(rule.joiner)
    users, words, lengths = [np.zeros(0, np.uint32)], [np.zeros(0, np.uint32)], [np.zeros(0, np.int64)]
    for part in texts.read(_itself):
        users.append(part.users)
        words.append(vocabulary.encode(part)[part.words])
        lengths.append(np.diff(part.rows))
    digests = texts.users.digests()
    order = digest_order(digests)
    return Corpus(
        vocabulary,
        digests.take(order, axis=0),
        stream.digest_key,
        texts.notes(),
        column=rule.name,
        row_users=places(order)[np.concatenate(users)],
        starts=np.cumsum(np.concatenate([np.zeros(1, np.int64), *lengths])),
        words=np.concatenate(words),
    )


def _itself(part: Slice) -> Slice:
    return part
