"""n-grams of text as user sets: numbers, converted to strings only for digests or after release."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dpsu.errors import TooLarge
from dpsu.kernels.ngrams import NONE, join_words, pair_up, pairs_of, renumber
from dpsu.randomness.digests import digest_bytes
from dpsu.sets.csr import Batch, group_by_user
from dpsu.sets.distinct import DistinctPairs
from dpsu.sets.hash_table import Codes, Keys, KeyTable
from dpsu.sets.keys import LOW_32
from dpsu.sets.user_sets import Digests, Names, UserSets, digest_order, places
from dpsu.sources.pairs import MOST_PAIRS
from dpsu.sources.slices import Slice, Spelling, Vocabulary

Bools = NDArray[np.bool_]

SLICE = 1 << 18

NO_CODES = np.zeros(0, np.uint32)


@dataclass(frozen=True, repr=False)
class Texts:
    """What is known of all text when it has been read: its words, and its users in the order of their digests.

    `notes` are for the curator (see `advice`); they depend on the data and are not pickled.
    """

    vocabulary: Vocabulary
    user_digests: Digests
    digest_key: bytes
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(<private>)"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "notes": ()}


@dataclass(frozen=True, repr=False, kw_only=True)
class Corpus(Texts):
    """All text as numbers: row r was written by `row_users[r]` and has the words `words[starts[r]:starts[r + 1]]`.

    Users are numbered in the order of their digests, as in `UserSets`. `column` is the name of the column of n-grams.
    """

    column: str
    row_users: Codes
    starts: NDArray[np.int64]
    words: Codes


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


class SliceNgrams(NamedTuple):
    """A slice with its distinct n-grams of 2, 3, … words, each as a pair of codes, and the pairs of users and n-grams.

    All codes are those of the slice; `pairs` has the sizes that are items.
    """

    part: Slice
    keys: list[Keys]
    pairs: dict[int, Keys]


def slice_ngrams(part: Slice, sizes: tuple[int, ...]) -> SliceNgrams:
    """The n-grams of a slice."""
    codes, keys, pairs = part.words, [], {}
    known = len(part.digests)
    for size in range(1, sizes[-1] + 1):
        if size > 1:
            found, at = pair_up(part.rows, part.words, codes, np.ones(known, np.bool_), size - 1)
            table = KeyTable(int(part.digests[0, 0]) if known else 0)
            codes = np.full(codes.size, NONE, np.uint32)
            codes[at] = table.encode(found)
            known = len(table)
            keys.append(table.keys)
        if size in sizes:
            pairs[size] = pairs_of(part.users, part.rows, codes)
    return SliceNgrams(part, keys, pairs)


class NgramReader:
    """The n-grams of all slices that have been added: their codes, and the distinct pairs of users and n-grams."""

    def __init__(self, sizes: tuple[int, ...], joiner: str, digest_key: bytes) -> None:
        seed = int.from_bytes(digest_key[:8], "little")
        self.vocabulary = Vocabulary(joiner)
        self._tables = [KeyTable(seed) for _ in range(1, sizes[-1])]
        self.pairs = {size: DistinctPairs() for size in sizes}

    def add(self, found: SliceNgrams) -> None:
        """Add the n-grams of a slice."""
        words = codes = self.vocabulary.encode(found.part)
        self._add_pairs(1, found, codes)
        for size, (table, keys) in enumerate(zip(self._tables, found.keys, strict=True), 2):
            before = codes[keys >> np.uint64(32)].astype(np.uint64)
            codes = table.encode(before << np.uint64(32) | words[keys & LOW_32])
            self._add_pairs(size, found, codes)

    def _add_pairs(self, size: int, found: SliceNgrams, codes: Codes) -> None:
        if size in self.pairs:
            renumber(found.pairs[size], codes)
            self.pairs[size].add(found.pairs[size])

    def parts(self) -> list[Ngrams]:
        """The n-grams of the sizes that are items."""
        parts = [Ngrams(1, NO_CODES, None, None, len(self.vocabulary))]
        for table in self._tables:
            parts.append(Ngrams(parts[-1].size + 1, NO_CODES, parts[-1], table, len(self.vocabulary)))
        return [part for part in parts if part.size in self.pairs]


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
        self.parts = parts
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
        for part in self.parts:
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


def ngram_sets(corpus: Corpus, parts: Sequence[Ngrams]) -> UserSets:
    """The sets of all n-grams of these sizes."""
    pairs = [DistinctPairs() for _ in parts]
    for part, own in zip(parts, pairs, strict=True):
        own.add(pairs_of(corpus.row_users, corpus.starts, part.codes))
    users = np.arange(len(corpus.user_digests), dtype=np.uint32)
    return sets_of(pairs, parts, corpus, users, corpus.column)


def longer_sets(corpus: Corpus, names: Names | None, released: NDArray[np.int64]) -> UserSets:
    """The sets of words; or with the names of n-grams, those with one more word whose two parts are `released` there."""
    if names is None:
        return ngram_sets(corpus, [unigrams(corpus)])
    assert isinstance(names, NgramNames)
    (part,) = names.parts
    kept = np.zeros(len(part), np.bool_)
    kept[names.numbers[released]] = True
    return ngram_sets(corpus, [longer(corpus, part, kept)])


def sets_of(
    pairs: list[DistinctPairs], parts: Sequence[Ngrams], texts: Texts, user_places: Codes, column: str
) -> UserSets:
    """The sets of these pairs of users and n-grams, in the order of digests; `pairs` is emptied to save memory."""
    if sum(map(len, pairs)) > MOST_PAIRS:
        for own in pairs:
            own.merge()
    if sum(map(len, pairs)) > MOST_PAIRS:
        raise TooLarge("the text has more than 2^31 n-grams; use fewer sizes or a part of the users")
    spelling = texts.vocabulary.spelling()
    digests = np.concatenate([_digests(part, texts, spelling) for part in parts])
    order = digest_order(digests)
    item_places, base = places(order), 0
    batches: list[Batch] = []
    for part, own in zip(parts, pairs, strict=True):
        words = own.taken()
        while words:
            batches.append(Batch(*_codes_of(words.pop()), user_places, item_places[base : base + len(part)]))
        base += len(part)
    indptr, items, found = group_by_user(batches, len(user_places), len(item_places))
    order = order[found]
    names = NgramNames(column, parts, order, spelling)
    return UserSets(indptr, items, texts.user_digests, digests.take(order, axis=0), names, texts.notes)


def _codes_of(pairs: NDArray[np.uint64]) -> tuple[Codes, Codes]:
    halves = pairs.view(np.uint32).reshape(-1, 2)  # the lower half first
    return halves[:, 1].copy(), halves[:, 0].copy()


def _digests(part: Ngrams, texts: Texts, spelling: Spelling) -> Digests:
    """The digests of all n-grams of one size: the digests of their names, as on every engine."""
    if part.size == 1:
        return texts.vocabulary.digests

    def of_slice(first: int) -> Any:
        phrases = part.words_of(np.arange(first, min(first + SLICE, len(part))))
        return digest_bytes(*join_words(phrases, *spelling), texts.digest_key)

    with ThreadPoolExecutor(2) as pool:
        return np.concatenate([np.zeros((0, 2), np.uint64), *pool.map(of_slice, range(0, len(part), SLICE))])
