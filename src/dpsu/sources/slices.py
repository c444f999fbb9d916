"""Text in slices: each is divided into words on a thread of its own, and forgotten when its words are numbers.

A slice numbers its own words, so that only its distinct ones are looked up in the vocabulary of all text.
"""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import polars as pl

from dpsu.errors import InvalidArgument, UnsupportedType
from dpsu.kernels.words import gather_words, number_words
from dpsu.randomness.digests import digest_bytes
from dpsu.randomness.stream import Stream
from dpsu.sets.hash_table import Codes, KeyTable
from dpsu.sets.keys import KeyEncoder
from dpsu.sets.user_sets import Digests
from dpsu.sources.advice import script_notes
from dpsu.sources.columns import ColumnNames, require_types, require_values
from dpsu.sources.corpus import TextRule, tokenise
from dpsu.sources.layout import PLAIN, Layout
from dpsu.sources.lines import TEXT, USER, scan_lines
from dpsu.sources.pairs import UserColumns, read_batches, scan_source
from dpsu.sources.tokenize import Bytes, Offsets

Spelling = tuple[Offsets, Bytes, int]
"""The start of each word, the bytes of all words, and the number of spaces between the words of an n-gram."""

BATCH_TEXTS = 1 << 17
SLICE_BYTES = 1 << 22
ROW_BYTES = 16
"""What a row counts beside its text, so that slices of empty texts end, too."""

THREADS, AHEAD = 2, 4
"""Threads that divide slices, and how many slices may wait for the vocabulary."""

T = TypeVar("T")


class Slice(NamedTuple):
    """Some texts as numbers: row r was written by `users[r]` and has the words `words[rows[r]:rows[r + 1]]`.

    Words are numbered within the slice. Word w is `data[starts[w]:starts[w + 1]]`.
    """

    users: Codes
    rows: Offsets
    words: Codes
    starts: Offsets
    data: Bytes
    digests: Digests


class Vocabulary:
    """The distinct words of all slices, numbered in the order of first appearance; private.

    Words are identified by their 128-bit keyed digests, which also determine the noise of an item.
    """

    def __init__(self, joiner: str = " ") -> None:
        self._gap = len(joiner)
        self._table = KeyTable(0, words=2)
        self._parts: list[tuple[Offsets, Bytes]] = []

    def __len__(self) -> int:
        return len(self._table)

    def __repr__(self) -> str:
        return "Vocabulary(<private>)"

    @property
    def digests(self) -> Digests:
        """The digests of all words, in the order of their codes."""
        return self._table.keys

    def encode(self, part: Slice) -> Codes:
        """The codes of the words of a slice."""
        codes = np.empty(len(part.digests), np.uint32)
        fresh = self._table.number(part.digests, codes)
        self._parts.append(gather_words(part.starts, part.data, fresh))
        return codes

    def spelling(self) -> Spelling:
        """How words, and n-grams of them, are written."""
        sizes = [np.diff(starts) for starts, _ in self._parts]
        starts = np.zeros(len(self) + 1, dtype=np.int64)
        np.cumsum(np.concatenate([*sizes, np.zeros(0, np.int64)]), out=starts[1:])
        data = np.concatenate([*(data for _, data in self._parts), np.zeros(0, np.uint8)])
        return starts, data, self._gap


class SlicedText:
    """The texts of a source, read once and slice by slice, and their users; the text of a row must be a string."""

    def __init__(
        self,
        source: Any,
        rule: TextRule,
        *,
        user: ColumnNames | None,
        stream: Stream,
        drop_nulls: bool = False,
        format: str | None = None,
        layout: Layout = PLAIN,
    ) -> None:
        frame, self._label, user_columns, self._column = _scan_text(source, rule, user, format, layout)
        schema = frame.collect_schema()
        require_types(schema, self._label)
        if schema[self._column] not in (pl.String, pl.Null):
            raise UnsupportedType(
                f"column {self._column!r} of {self._label} is not text; text= needs a column of strings"
            )
        self._frame = frame.drop_nulls() if drop_nulls else frame
        self._rule = rule
        self._digest_key = stream.digest_key
        self._seen = UserColumns(user_columns)
        self._scripts: tuple[str, ...] = ()
        self.users = KeyEncoder(schema, user_columns, stream.digest_key)

    def read(self, work: Callable[[Slice], T]) -> Iterator[T]:
        """What `work` makes of every slice; it runs on the thread of the slice."""
        running: deque[Future[T]] = deque()
        divide = partial(_divided, rule=self._rule, digest_key=self._digest_key, work=work)
        with ThreadPoolExecutor(THREADS) as pool:
            for batch in read_batches(self._frame, self._label, BATCH_TEXTS):
                require_values(batch, self._label)
                if not self._seen.rows:
                    self._scripts = script_notes(batch[self._column], self._rule.tokenizer)
                self._seen.see(batch)
                users, text = self.users.encode(batch), batch[self._column].cast(pl.String)
                for first, last in pairwise(_cuts(text)):
                    running.append(pool.submit(divide, text[first:last], users[first:last]))
                    if len(running) > AHEAD:
                        yield running.popleft().result()
            while running:
                yield running.popleft().result()

    def notes(self) -> tuple[str, ...]:
        """The notes for the curator, after all slices have been read."""
        return (*self._scripts, *(() if self._rule.user_per else self._seen.notes(self.users)))


def _cuts(text: pl.Series) -> list[int]:
    """Where slices of about SLICE_BYTES begin and end; no text is cut."""
    if not len(text):
        return []
    sizes = text.str.len_bytes().to_numpy().astype(np.int64) + ROW_BYTES
    number = np.cumsum(sizes) // SLICE_BYTES
    return [0, *(np.flatnonzero(np.diff(number)) + 1).tolist(), len(text)]


def _divided(
    text: pl.Series, users: Codes, rule: TextRule, digest_key: bytes, work: Callable[[Slice], T]
) -> T:
    tokens = tokenise(text, rule.tokenizer)
    words, firsts = number_words(tokens.starts, tokens.data, int.from_bytes(digest_key[:8], "little"))
    starts, data = gather_words(tokens.starts, tokens.data, firsts)
    row_users = np.repeat(users, np.diff(tokens.texts))
    return work(Slice(row_users, tokens.rows, words, starts, data, digest_bytes(starts, data, digest_key)))


def _scan_text(
    source: Any, rule: TextRule, user: ColumnNames | None, format: str | None, layout: Layout
) -> tuple[pl.LazyFrame, str, list[str], str]:
    """The needed columns of the source, its label in errors, the columns of a user and the column of the text."""
    if rule.user_per is None:
        if user is not None and rule.column is None:
            raise InvalidArgument("no column of text is given; pass text=… (--text)")
        frame, label, user_columns, (column, *_) = scan_source(source, user, rule.column, format, layout)
        return frame, label, user_columns, column
    if user is not None or format is not None or layout != PLAIN:
        raise InvalidArgument(
            "user_per= is for plain text files in UTF-8, which have no columns: leave user=, format= and the like out"
        )
    paths = [source] if isinstance(source, str | Path) else source
    if not isinstance(paths, list | tuple) or not all(isinstance(path, str | Path) for path in paths):
        raise InvalidArgument("user_per= is for plain text files: give a path, a glob or a list of them")
    return *scan_lines(paths, rule.user_per), [USER], TEXT
