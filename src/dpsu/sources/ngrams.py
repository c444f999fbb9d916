"""n-grams of a corpus as user sets: numbers, converted to strings only for digests or after release."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dpsu.errors import TooLarge
from dpsu.kernels.ngrams import NONE, join_words, pair_up, pairs_of
from dpsu.randomness.digests import digest_bytes
from dpsu.sets.csr import Batch, group_by_user
from dpsu.sets.hash_table import Codes, KeyTable
from dpsu.sets.keys import LOW_32
from dpsu.sets.user_sets import Digests, Names, UserSets, digest_order, places
from dpsu.sources.corpus import Corpus, Spelling
from dpsu.sources.pairs import MOST_PAIRS

Bools = NDArray[np.bool_]

SLICE = 1 << 18


@dataclass(frozen=True, repr=False)
class Ngrams:
    """The n-grams of one size: `codes[i]` is the n-gram that begins at word i of the corpus, or NONE.

    An n-gram of several words is a pair of the n-gram without its last word and this last word; `table` holds the
    pairs.
    """

    size: int
    codes: Codes
    shorter: "Ngrams | None"
    table: KeyTable | None
    n_words: int

    def __repr__(self) -> str:
        return f"Ngrams(<private {self.size}-grams>)"

    def __len__(self) -> int:
        return self.n_words if self.table is None else len(self.table)

    def words_of(self, codes: NDArray[np.int64]) -> NDArray[np.uint32]:
        """The words of the n-grams with these codes, one row each."""
        if self.shorter is None or self.table is None:
            return codes.astype(np.uint32).reshape(-1, 1)
        keys = self.table.keys[codes]
        before = self.shorter.words_of((keys >> np.uint64(32)).astype(np.int64))
        return np.hstack([before, (keys & LOW_32).astype(np.uint32).reshape(-1, 1)])

    def add(self, words: NDArray[np.uint32]) -> NDArray[np.int64]:
        """The codes of n-grams given by their words, whether or not the corpus has them; their prefixes are known."""
        if self.shorter is None or self.table is None:
            return words[:, 0].astype(np.int64)
        before = self.shorter.add(words[:, :-1]).astype(np.uint64)
        return self.table.encode(before << np.uint64(32) | words[:, -1].astype(np.uint64)).astype(np.int64)


def unigrams(corpus: Corpus) -> Ngrams:
    """The words themselves."""
    return Ngrams(1, corpus.words, None, None, len(corpus.vocabulary))


def longer(corpus: Corpus, shorter: Ngrams, kept: Bools | None = None) -> Ngrams:
    """The n-grams with one more word, within rows; only those whose two parts are `kept`, if given."""
    chosen = np.ones(len(shorter), np.bool_) if kept is None else kept
    keys, at = pair_up(corpus.starts, corpus.words, shorter.codes, chosen, shorter.size)
    table = KeyTable(int.from_bytes(corpus.digest_key[:8], "little"))
    codes = np.full(corpus.words.size, NONE, dtype=np.uint32)
    codes[at] = table.encode(keys)
    return Ngrams(shorter.size + 1, codes, shorter, table, shorter.n_words)


class NgramNames(Names):
    """The names of n-grams, built from the words of the corpus only when requested.

    Item i is the n-gram with the code `numbers[i]`, where codes are counted through all `parts`.
    """

    def __init__(
        self,
        column: str,
        parts: Sequence[Ngrams],
        numbers: NDArray[np.int64],
        spelling: Spelling,
    ) -> None:
        self._column = column
        self._parts = parts
        self.numbers = numbers
        self._spelling = spelling

    def __len__(self) -> int:
        return self.numbers.size

    @property
    def columns(self) -> list[str]:
        """The single column of n-grams."""
        return [self._column]

    def decode(
        self, codes: NDArray[np.integer], beside: Mapping[str, NDArray[Any]] | None = None
    ) -> pl.DataFrame:
        """The n-grams with these codes, their words joined, sorted; `beside` are additional columns."""
        wanted = self.numbers[codes]
        names = np.empty(wanted.size, dtype=object)
        base = 0
        for part in self._parts:
            own = np.flatnonzero((wanted >= base) & (wanted < base + len(part)))
            names[own] = spell(part.words_of(wanted[own] - base), self._spelling)
            base += len(part)
        further = [pl.Series(name, values) for name, values in (beside or {}).items()]
        return pl.DataFrame([pl.Series(self._column, names, dtype=pl.String), *further]).sort(self._column)


def spell(phrases: NDArray[np.uint32], spelling: Spelling) -> list[str]:
    """The phrases as strings."""
    offsets, joined = join_words(phrases, *spelling)
    text = joined.tobytes()
    return [text[first:last].decode() for first, last in pairwise(offsets)]


def ngram_sets(corpus: Corpus, parts: Sequence[Ngrams], column: str) -> UserSets:
    """The sets of all n-grams of these sizes."""
    pairs: list[tuple[Codes, Codes]] = []
    base = 0
    spelling = corpus.vocabulary.spelling()
    for part in parts:
        pairs.append(pairs_of(corpus.row_users, corpus.starts, part.codes, base))
        base += len(part)
    if sum(users.size for users, _ in pairs) > MOST_PAIRS:
        raise TooLarge("the text has more than 2^31 n-grams; use fewer sizes or a part of the users")
    digests = np.concatenate([_digests(part, corpus, spelling) for part in parts])
    order = digest_order(digests)
    user_places, item_places = np.arange(len(corpus.user_digests), dtype=np.uint32), places(order)
    batches = [Batch(*pairs.pop(), user_places, item_places) for _ in parts]
    indptr, items, found = group_by_user(batches, len(user_places), len(item_places))
    order = order[found]
    names = NgramNames(column, parts, order, spelling)
    return UserSets(indptr, items, corpus.user_digests, digests.take(order, axis=0), names, corpus.notes)


def _digests(part: Ngrams, corpus: Corpus, spelling: Spelling) -> Digests:
    """The digests of all n-grams of one size: the digests of their names, as on every engine."""
    if part.size == 1:
        return corpus.vocabulary.digests

    def of_slice(first: int) -> Any:
        phrases = part.words_of(np.arange(first, min(first + SLICE, len(part))))
        return digest_bytes(*join_words(phrases, *spelling), corpus.digest_key)

    with ThreadPoolExecutor(2) as pool:
        return np.concatenate([np.zeros((0, 2), np.uint64), *pool.map(of_slice, range(0, len(part), SLICE))])
