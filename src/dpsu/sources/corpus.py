"""Text as items: what a word is, which n-grams are items, and the words of texts."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl

from dpsu.errors import InvalidArgument, SourceError
from dpsu.hints import did_you_mean
from dpsu.kernels.ngrams import join_words
from dpsu.kernels.words import rows_with, split_letters, split_rows
from dpsu.sets.keys import bytes_of
from dpsu.sources.columns import ColumnNames
from dpsu.sources.foreign import understood
from dpsu.sources.icu import icu_words, require_icu
from dpsu.sources.tokenize import Bytes, Offsets, WordRule, unsettled, word_rule

Tokenizer = str | Callable[[str], Iterable[str]]
UserPer = Literal["line", "file"]

RULES = ("words", "whitespace", "chars", "icu")
Spelling = tuple[Offsets, Bytes, int]
"""The start of each word, the bytes of all words, and the number of spaces between the words of an n-gram."""

MOST_WORDS = 16
CALLED_TWICE = 50
SLICE_ROWS = 1 << 15
NO_ROWS = np.zeros(0, np.int64)


@dataclass(frozen=True)
class TextRule:
    """How text is split into words, and which sizes of n-grams are items."""

    column: str | None
    sizes: tuple[int, ...]
    tokenizer: Tokenizer
    user_per: UserPer | None

    @property
    def name(self) -> str:
        """The name of the column of released items."""
        return "word" if self.sizes == (1,) else "ngram"

    @property
    def joiner(self) -> str:
        """What stands between the words of an n-gram: nothing between single letters."""
        return "" if self.tokenizer == "chars" else " "


def text_rule(
    text: str | bool | None,
    *,
    item: ColumnNames | None = None,
    ngrams: int | Sequence[int] = 1,
    tokenizer: Tokenizer = "words",
    user_per: UserPer | None = None,
) -> TextRule | None:
    """The rule for these arguments of a release, or None if its items are not text."""
    if user_per not in (None, "line", "file"):
        raise InvalidArgument(f"user_per must be 'line' or 'file', not {user_per!r}")
    if not text and user_per is None:
        if ngrams != 1 or tokenizer != "words":
            raise InvalidArgument("ngrams= and tokenizer= are for text; pass the column of text: text=…")
        return None
    if item is not None:
        raise InvalidArgument("item= and text= exclude each other: items are either given or made from text")
    if user_per is not None and isinstance(text, str):
        raise InvalidArgument("user_per= is for plain text files, which have no columns: leave text= out")
    column = text if isinstance(text, str) else None
    return TextRule(column, _sizes(ngrams), _checked(tokenizer), user_per)


def _sizes(ngrams: int | Sequence[int]) -> tuple[int, ...]:
    sizes = tuple(ngrams) if isinstance(ngrams, Sequence) else (ngrams,)
    whole = all(isinstance(size, int) and not isinstance(size, bool) for size in sizes)
    if not sizes or not whole or not all(1 <= size <= MOST_WORDS for size in sizes):
        raise InvalidArgument(
            f"ngrams must be a whole number from 1 to {MOST_WORDS} or several of them, such as (1, 2, 3), not {ngrams!r}"
        )
    return tuple(sorted(set(sizes)))


def _checked(tokenizer: Tokenizer) -> Tokenizer:
    tokenizer = understood(tokenizer)
    if callable(tokenizer) or tokenizer in RULES:
        if tokenizer == "icu":
            require_icu()
        return tokenizer
    if not isinstance(tokenizer, str) or not tokenizer or tokenizer.isalpha():
        raise InvalidArgument(
            f"there is no tokenizer {tokenizer!r}; give {' or '.join(map(repr, RULES))}, a regular expression, a "
            f"function from a text to its words, or a tokenizer of Hugging Face or scikit-learn."
            f"{did_you_mean(str(tokenizer), RULES)}"
        )
    try:
        pl.Series([""]).str.extract_all(tokenizer)
    except pl.exceptions.PolarsError:
        raise InvalidArgument(
            f"{tokenizer!r} is not a valid regular expression (Rust syntax, without look-around)"
        ) from None
    return tokenizer


class Tokens(NamedTuple):
    """The words of some texts: all bytes, the start of each word, the words of each row, and the rows of each text.

    A row is a text; for single letters it is a word of a text, so that n-grams of letters do not cross words.
    """

    data: Bytes
    starts: Offsets
    rows: Offsets
    texts: Offsets


def tokenise(text: pl.Series, tokenizer: Tokenizer) -> Tokens:
    """The words of every row of a string column.

    A word contains no white space, because it could otherwise be equal to an n-gram. The results of a regular
    expression or function are split at white space.
    """
    if tokenizer == "icu":
        text = pl.Series(["\n".join(icu_words(row)) for row in text.to_list()], dtype=pl.String)
    elif callable(tokenizer):
        text = pl.Series(_each_called(tokenizer, text.to_list()), dtype=pl.String)
    elif tokenizer not in RULES:
        text = text.str.normalize("NFC").str.extract_all(tokenizer).list.join("\n")
    found = _by_rule(text, word_rule("words" if tokenizer in ("words", "chars") else "whitespace"))
    if tokenizer != "chars":
        return found
    letters, rows = split_letters(found.starts, found.data, word_rule("words").classes)
    return Tokens(found.data, letters, rows, found.rows)


def _each_called(tokenizer: Callable[[str], Iterable[str]], texts: list[str]) -> list[str]:
    """The words of each text, one per line; a few texts are given a second time, in another order, to find some functions
    that are random or remember."""
    found = [_called(tokenizer, text) for text in texts]
    for text, words in zip(reversed(texts[:CALLED_TWICE]), reversed(found[:CALLED_TWICE]), strict=True):
        if _called(tokenizer, text) != words:
            raise SourceError(
                f"the tokenizer {function_name(tokenizer)!r} gave other words for the same text: it is random, or remembers "
                "earlier texts. Then one user's text could change the items of another, and the promise would be void"
            )
    return found


def _called(tokenizer: Callable[[str], Iterable[str]], text: str) -> str:
    """The words that the caller's function returns for a text, one per line.

    The message of an exception may quote the text. The error contains only its type and is raised outside the handler,
    which would keep the exception as context.
    """
    name = function_name(tokenizer)
    try:
        returned: Any = tokenizer(text)
        listed = isinstance(returned, Iterable) and not isinstance(returned, str | Mapping)
        words = [*returned] if listed else None
    except MemoryError:
        raise
    except Exception as error:
        raised = type(error).__name__
    else:
        return _lines(words, type(returned).__name__, name)
    raise SourceError(f"the tokenizer {name!r} raised {raised} on a text")


def function_name(tokenizer: Callable[..., Any]) -> str:
    """The name of a caller's function, as statements and errors have it."""
    return str(getattr(tokenizer, "__qualname__", type(tokenizer).__qualname__))


def _lines(words: list[Any] | None, kind: str, name: str) -> str:
    """The words joined by line breaks; anything but strings is refused, and the error contains only its type."""
    if words is None:
        found = "None" if kind == "NoneType" else kind
        raise InvalidArgument(
            f"the tokenizer {name!r} returned {found}; it must return a list of words, empty for a text without words"
        )
    other = next((type(word).__name__ for word in words if not isinstance(word, str)), None)
    if other is not None:
        raise InvalidArgument(
            f"the tokenizer {name!r} returned words of the type {other}; words must be strings"
        )
    return "\n".join(words)


def split_text(text: str, tokenizer: Tokenizer) -> list[str]:
    """The words of one text, as in `tokenise`."""
    return runs_of(tokenise(pl.Series([text], dtype=pl.String), tokenizer))[0]


def split_rows_of(text: str, tokenizer: Tokenizer) -> list[list[str]]:
    """The words of one text in rows, as in `Tokens`: n-grams do not cross rows."""
    tokens = tokenise(pl.Series([text], dtype=pl.String), tokenizer)
    words = runs_of(tokens)[0]
    return [words[first:last] for first, last in pairwise(tokens.rows.tolist())]


def runs_of(tokens: Tokens) -> list[list[str]]:
    """The words of each text as strings."""
    data = tokens.data.tobytes()
    words = [data[first:last].decode() for first, last in pairwise(tokens.starts.tolist())]
    bounds = tokens.rows[tokens.texts].tolist()
    return [words[first:last] for first, last in pairwise(bounds)]


def phrases(entries: pl.Series, rule: TextRule) -> pl.Series:
    """The item for each string: its words joined, or null if their number is not one of the sizes.

    Letters of several words are no item, because n-grams of letters do not cross words.
    """
    tokens = tokenise(entries, rule.tokenizer)
    first, rows_of_text = tokens.texts[:-1], np.diff(tokens.texts)
    words = np.where(rows_of_text == 1, np.diff(tokens.rows[tokens.texts]), 0)
    items = np.full(len(entries), None, dtype=object)
    for size in rule.sizes:
        chosen = np.flatnonzero(words == size)
        places = (tokens.rows[first[chosen], None] + np.arange(size)).astype(np.uint32)
        offsets, joined = join_words(places, tokens.starts, tokens.data, len(rule.joiner))
        data, bounds = joined.tobytes(), offsets.tolist()
        items[chosen] = [data[begin:end].decode() for begin, end in pairwise(bounds)]
    return pl.Series(items.tolist(), dtype=pl.String)


def _by_rule(text: pl.Series, rule: WordRule) -> Tokens:
    offsets, data = bytes_of(text)
    rows = np.flatnonzero(rows_with(offsets, data, unsettled()))
    if rows.size:
        normal = map(rule.normalise, text.gather(rows).to_list())
        offsets, data = bytes_of(text.scatter(rows, pl.Series([*normal], dtype=pl.String)))
    found = split_rows(offsets, data, rule.classes, rule.lower, rule.removes_urls)
    return Tokens(*found, np.arange(len(text) + 1))
