"""scikit-learn vectorizers with a privately released vocabulary.

`fit(documents, groups=users)` needs the author of each document. Afterwards they behave like CountVectorizer and
TfidfVectorizer with a fixed vocabulary. The promise covers the fitted documents. The output of `transform` is not
protected. Needs `pip install dpsu[sklearn]`.
"""

import inspect
import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer, TfidfVectorizer

from dpsu.algorithms.candidate_list import add_candidates
from dpsu.algorithms.catalogue import DEFAULT, NAMED_DEFAULT, find_private
from dpsu.algorithms.holders import SHARE, CountingTerms, Counts
from dpsu.algorithms.job import SingleJob
from dpsu.algorithms.public_items import Listed
from dpsu.algorithms.request import MaxItems, Request
from dpsu.engines.choose import engine_for
from dpsu.errors import InvalidArgument
from dpsu.outcome.ledger import Ledger
from dpsu.outcome.release import Release
from dpsu.outcome.statement import Statement
from dpsu.run import Terms, run
from dpsu.sources.corpus import Tokenizer, split_rows_of, split_text
from dpsu.sources.discreet import discreet
from dpsu.sources.foreign import understood
from dpsu.sources.frames import column_of
from dpsu.sources.source import Source
from dpsu.sources.tokenize import word_rule

LEAKS = (
    "{name}={value!r} would choose words by exact counts, which a single user can change, and would break the promise. "
    "Leave it at {default!r}: the release itself already leaves out what few users share; a smaller epsilon or "
    "delta leaves out more."
)
CROSS_VALIDATION = (
    "a private vectorizer is fitted inside of cross-validation or a search. Every fit is a release of its own, and their "
    "budgets add up for a user who is in several training sets. Fit it once, outside, or give a ledger."
)
ADVICE = "idf_share=…, idf_max_items=…"
MODEL_SELECTION = "sklearn.model_selection"
HARMLESS = {"min_df": 1, "max_df": 1.0, "max_features": None}


class RepeatedFits(UserWarning):
    """A vectorizer is fitted again and again by a tool of scikit-learn, and every fit spends privacy."""


class TextSplitter:
    """A tokenizer with the steps of scikit-learn around it: lower case before, stop words left out after."""

    def __init__(self, tokenizer: Tokenizer, lowercase: bool, stop_words: frozenset[str]) -> None:
        self.tokenizer = understood(tokenizer)
        self.lowercase = lowercase
        self.stop_words = stop_words

    def __call__(self, text: str) -> list[str]:
        """The words of one text."""
        if self.lowercase:
            words = split_text(text.lower(), self.tokenizer)
        elif self.tokenizer == "words":
            words = word_rule("words").split_cased(text)
        else:
            words = split_text(text, self.tokenizer)
        return [word for word in words if word not in self.stop_words]


class _PrivateVocabulary:
    """Code shared by both vectorizers: the tokenizer and the refused arguments."""

    epsilon: float
    delta: float
    max_items: MaxItems
    ngram_range: tuple[int, int]
    tokenizer: Tokenizer
    candidates: Any
    false_share: float | None
    discover: bool
    lowercase: bool
    stop_words: str | Iterable[str] | None
    drop_nulls: bool
    ledger: Ledger | str | Path | None
    title: str | None
    vocabulary_: dict[str, int]
    fixed_vocabulary_: bool
    statement_: Statement | None
    fit: Callable[..., Any]

    def build_analyzer(self) -> Callable[[str], list[str]]:
        """The function from a document to its words and n-grams, by the rule of the vocabulary."""
        tokenizer, sizes = self._splitter(), self._sizes()

        def analyze(document: str) -> list[str]:
            if self.drop_nulls and _is_null(document):
                return []
            rows = split_rows_of(document, tokenizer)
            joiner = "" if tokenizer == "chars" else " "
            return [
                joiner.join(words[i : i + n])
                for n in sizes
                for words in rows
                for i in range(len(words) - n + 1)
            ]

        return analyze

    def _splitter(self) -> Tokenizer:
        """The tokenizer of the release; "words" already has lower case, and is fast."""
        stop = stop_list(self.stop_words)
        if self.lowercase and not stop and self.tokenizer == "words":
            return self.tokenizer
        return TextSplitter(self.tokenizer, self.lowercase, stop)

    def _sizes(self) -> list[int]:
        first, last = self.ngram_range
        return [*range(first, last + 1)]

    @discreet
    def _frame(self, documents: Iterable[str], groups: Sequence[Any] | None) -> pl.DataFrame:
        """The documents with their users; arguments that would break the promise are refused first."""
        for name, default in HARMLESS.items():
            if getattr(self, name) != default:
                raise InvalidArgument(LEAKS.format(name=name, value=getattr(self, name), default=default))
        if groups is None:
            raise InvalidArgument("say who wrote each document: fit(documents, groups=users)")
        if isinstance(documents, str):
            raise InvalidArgument("documents must be a collection of strings, not one string")
        users = column_of("user", groups.tolist() if hasattr(groups, "tolist") else [*groups])
        texts = [*documents]
        if self.drop_nulls and len(texts) == len(users):
            kept = [
                place for place, text in enumerate(texts) if not _is_null(text) and users[place] is not None
            ]
            texts, users = [texts[place] for place in kept], users.gather(kept)
        other = next((type(text).__name__ for text in texts if not isinstance(text, str)), None)
        if other is not None:
            raise InvalidArgument(
                f"documents must be strings; one is of the type {other}. To leave out documents that are None or NaN, pass "
                "drop_nulls=True"
            )
        if len(texts) != len(users):
            raise InvalidArgument("there must be as many groups as documents: one user for each")
        return pl.DataFrame([users, pl.Series("text", texts, dtype=pl.String)])

    def _run(self, algorithm: str, frame: pl.DataFrame, counting: CountingTerms | None = None) -> Release:
        """One release of the words of the documents, recorded in the ledger if there is one."""
        if _in_cross_validation():
            warnings.warn(CROSS_VALIDATION, RepeatedFits, stacklevel=3)
        source = Source.of(frame, user="user", text="text", ngrams=self._sizes(), tokenizer=self._splitter())
        chosen, notes = add_candidates(
            find_private(algorithm), self.candidates, self.false_share, self.discover, source.text
        )
        job = SingleJob(chosen, Request.asked(self.epsilon, self.delta, self.max_items), counting)
        terms = Terms(self.ledger, Listed(notes=notes), title=self.title, check_user=False)
        return run(job, source, engine_for(frame, "local"), terms)

    def _keep(self, words: list[str], statement: Statement | None) -> Self:
        self.vocabulary_ = {word: place for place, word in enumerate(words)}
        self.fixed_vocabulary_ = True
        self.statement_ = statement
        return self

    def fit_transform(
        self, raw_documents: Iterable[str], y: Any = None, groups: Sequence[Any] | None = None
    ) -> Any:
        """Learn the vocabulary privately, then transform the same documents."""
        documents = [*raw_documents]
        return self.fit(documents, y, groups=groups).transform(documents)


def stop_list(stop_words: str | Iterable[str] | None) -> frozenset[str]:
    """The words that `stop_words` means: a list, or scikit-learn's own for "english"."""
    if stop_words is None:
        return frozenset()
    if isinstance(stop_words, str):
        if stop_words != "english":
            raise InvalidArgument(
                f"stop_words must be 'english', a list of words or None, not {stop_words!r}"
            )
        return frozenset(ENGLISH_STOP_WORDS)
    words = [*stop_words]
    if not all(isinstance(word, str) for word in words):
        raise InvalidArgument("stop_words must be strings")
    return frozenset(words)


def _is_null(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _in_cross_validation() -> bool:
    """Whether a tool of `sklearn.model_selection` called us, in this process."""
    frame = inspect.currentframe()
    while frame is not None and not str(frame.f_globals.get("__name__")).startswith(MODEL_SELECTION):
        frame = frame.f_back
    return frame is not None


class PrivateCountVectorizer(_PrivateVocabulary, CountVectorizer):  # type: ignore[misc]
    """Counts of the words of a vocabulary that is (epsilon, delta)-private for every user of the fitted documents.

    `statement_` is the statement of the release. `min_df`, `max_df` and `max_features` exist only to be refused: they
    would choose words by exact counts. `lowercase` and `stop_words` (a public list, or "english") work as in
    scikit-learn; with `drop_nulls=True` documents that are None or NaN have no words. `candidates`, `false_share` and
    `discover` are those of `dpsu.release`.
    """

    def __init__(
        self,
        *,
        epsilon: float,
        delta: float,
        max_items: MaxItems = "auto",
        algorithm: str = DEFAULT,
        ngram_range: tuple[int, int] = (1, 1),
        tokenizer: Tokenizer = "words",
        lowercase: bool = True,
        stop_words: str | Iterable[str] | None = None,
        drop_nulls: bool = False,
        binary: bool = False,
        dtype: Any = np.int64,
        min_df: float = 1,
        max_df: float = 1.0,
        max_features: int | None = None,
        candidates: Any = None,
        false_share: float | None = None,
        discover: bool = True,
        ledger: Ledger | str | Path | None = None,
        title: str | None = None,
    ) -> None:
        super().__init__(
            ngram_range=ngram_range,
            tokenizer=tokenizer,
            lowercase=lowercase,
            stop_words=stop_words,
            binary=binary,
            dtype=dtype,
            min_df=min_df,
            max_df=max_df,
            max_features=max_features,
        )
        self.epsilon = epsilon
        self.delta = delta
        self.max_items = max_items
        self.candidates = candidates
        self.false_share = false_share
        self.discover = discover
        self.ledger = ledger
        self.title = title
        self.drop_nulls = drop_nulls
        self.algorithm = algorithm

    def fit(self, raw_documents: Iterable[str], y: Any = None, groups: Sequence[Any] | None = None) -> Self:
        """Learn the vocabulary privately; `groups` has the user of each document."""
        result = self._run(self.algorithm, self._frame(raw_documents, groups))
        return self._keep(result.items, result.statement)


class PrivateTfidfVectorizer(_PrivateVocabulary, TfidfVectorizer):  # type: ignore[misc]
    """Tf-idf over a private vocabulary; the idf is computed from noisy numbers of the users who have a word.

    Vocabulary (Focused Gaussian) and counts share one (epsilon, delta): `idf_share` of mu^2 goes to the counts. A user with
    s words of the vocabulary counts as min(1, sqrt(idf_max_items/s)) for each: a small number has less noise, and lowers the
    counts of all words much alike, which a normed tf-idf hardly shows. Counts are not below the users whom a word needs.
    """

    def __init__(
        self,
        *,
        epsilon: float,
        delta: float,
        max_items: MaxItems = "auto",
        idf_share: float = 0.1,
        idf_max_items: int = 10,
        ngram_range: tuple[int, int] = (1, 1),
        tokenizer: Tokenizer = "words",
        lowercase: bool = True,
        stop_words: str | Iterable[str] | None = None,
        drop_nulls: bool = False,
        binary: bool = False,
        dtype: Any = np.float64,
        norm: str | None = "l2",
        sublinear_tf: bool = False,
        min_df: float = 1,
        max_df: float = 1.0,
        max_features: int | None = None,
        candidates: Any = None,
        false_share: float | None = None,
        discover: bool = True,
        ledger: Ledger | str | Path | None = None,
        title: str | None = None,
    ) -> None:
        super().__init__(
            ngram_range=ngram_range,
            tokenizer=tokenizer,
            lowercase=lowercase,
            stop_words=stop_words,
            binary=binary,
            dtype=dtype,
            norm=norm,
            sublinear_tf=sublinear_tf,
            min_df=min_df,
            max_df=max_df,
            max_features=max_features,
        )
        self.epsilon = epsilon
        self.delta = delta
        self.max_items = max_items
        self.candidates = candidates
        self.false_share = false_share
        self.discover = discover
        self.ledger = ledger
        self.title = title
        self.drop_nulls = drop_nulls
        self.idf_share = idf_share
        self.idf_max_items = idf_max_items

    def fit(self, raw_documents: Iterable[str], y: Any = None, groups: Sequence[Any] | None = None) -> Self:
        """Learn vocabulary and idf privately; `groups` has the user of each document."""
        asked = Counts(share=self.idf_share, max_items=self.idf_max_items)
        terms = CountingTerms(
            share=asked.share or SHARE, max_items=asked.max_items, with_users=True, raw=False, advice=ADVICE
        )
        result = self._run(NAMED_DEFAULT, self._frame(raw_documents, groups), terms)
        assert result.counts is not None
        assert result.users is not None
        users = max(1, result.users)
        holders = np.array([result.counts[word] for word in result.items], np.int64).clip(1, users)
        self.idf_ = np.log((1 + users) / (1 + holders)) + 1
        return self._keep(result.items, result.statement)
