"""scikit-learn: vectorizers whose vocabulary is released privately, so that what they were fitted on does not show.

`fit(documents, groups=users)` needs to know who wrote what. Afterwards they behave as CountVectorizer and
TfidfVectorizer with a fixed vocabulary. What is transformed is not protected by anything: privacy is for the
documents that were fitted. Needs `pip install dpsu[sklearn]`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from typing import Any, Self

import numpy as np
import polars as pl
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from dpsu.algorithms import DEFAULT
from dpsu.algorithms.counts import counting_noise, noisy_holders, noisy_users, stated_counts
from dpsu.algorithms.request import DEFAULT_MAX_ITEMS, Request
from dpsu.algorithms.within import focused_within, whole_budget
from dpsu.engines.local import LocalEngine
from dpsu.errors import InvalidArgument
from dpsu.privacy.budget import Budget
from dpsu.release import release
from dpsu.sets import Tokenizer, read_text, text_rule
from dpsu.sets.text import split_text
from dpsu.statement import SEEDED, Statement
from dpsu.stream import open_stream

LEAKS = (
    "{name}={value!r} would choose words by exact counts, which one user can tip, and so would break the promise. "
    "Leave it at {default!r}: the release itself already leaves out what few users share; a smaller epsilon or "
    "delta leaves out more."
)
HARMLESS = {"min_df": 1, "max_df": 1.0, "max_features": None}


class _PrivateVocabulary:
    """What both vectorizers share: the same words in fitting and transforming, and the refusals."""

    epsilon: float
    delta: float
    max_items: int
    ngram_range: tuple[int, int]
    tokenizer: Tokenizer
    vocabulary_: dict[str, int]
    fixed_vocabulary_: bool
    statement_: Statement | None
    fit: Callable[..., Any]

    def build_analyzer(self) -> Callable[[str], list[str]]:
        """From a document to its words and n-grams, by the rule that the vocabulary was made with."""
        tokenizer, sizes = self.tokenizer, self._sizes()

        def analyze(document: str) -> list[str]:
            words = split_text(document, tokenizer)
            return [" ".join(words[i : i + n]) for n in sizes for i in range(len(words) - n + 1)]

        return analyze

    def _sizes(self) -> list[int]:
        first, last = self.ngram_range
        return [*range(first, last + 1)]

    def _frame(self, documents: Iterable[str], groups: Sequence[Any] | None) -> pl.DataFrame:
        """The documents with their users; refuses what would leak before it looks at any."""
        for name, default in HARMLESS.items():
            if getattr(self, name) != default:
                raise InvalidArgument(LEAKS.format(name=name, value=getattr(self, name), default=default))
        if groups is None:
            raise InvalidArgument("say who wrote each document: fit(documents, groups=users)")
        if isinstance(documents, str):
            raise InvalidArgument("documents must be a collection of strings, not one string")
        users = pl.Series("user", groups.tolist() if hasattr(groups, "tolist") else [*groups])
        texts = pl.Series("text", [*documents], dtype=pl.String)
        if len(texts) != len(users):
            raise InvalidArgument("there must be as many groups as documents: one user for each")
        return pl.DataFrame([users, texts])

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


class PrivateCountVectorizer(_PrivateVocabulary, CountVectorizer):  # type: ignore[misc]
    """Counts of the words of a vocabulary that is (epsilon, delta)-private for every user of the fitted documents.

    `statement_` is what was promised. `min_df`, `max_df` and `max_features` are here to be refused: they would
    choose words by exact counts.
    """

    def __init__(
        self,
        *,
        epsilon: float,
        delta: float,
        max_items: int = DEFAULT_MAX_ITEMS,
        algorithm: str = DEFAULT,
        ngram_range: tuple[int, int] = (1, 1),
        tokenizer: Tokenizer = "words",
        binary: bool = False,
        dtype: Any = np.int64,
        min_df: float = 1,
        max_df: float = 1.0,
        max_features: int | None = None,
    ) -> None:
        super().__init__(
            ngram_range=ngram_range,
            tokenizer=tokenizer,
            binary=binary,
            dtype=dtype,
            min_df=min_df,
            max_df=max_df,
            max_features=max_features,
        )
        self.epsilon = epsilon
        self.delta = delta
        self.max_items = max_items
        self.algorithm = algorithm

    def fit(self, raw_documents: Iterable[str], y: Any = None, groups: Sequence[Any] | None = None) -> Self:
        """Learn the vocabulary privately; `groups` says which user wrote each document."""
        result = release(
            self._frame(raw_documents, groups),
            user="user",
            text="text",
            ngrams=self._sizes(),
            tokenizer=self.tokenizer,
            epsilon=self.epsilon,
            delta=self.delta,
            max_items=self.max_items,
            algorithm=self.algorithm,
        )
        return self._keep(result.items, result.statement)


class PrivateTfidfVectorizer(_PrivateVocabulary, TfidfVectorizer):  # type: ignore[misc]
    """Tf-idf over a private vocabulary, with the idf of users: from noisy counts of the users who have a word.

    Vocabulary (Focused Gaussian) and counts share one (epsilon, delta): `idf_share` of the squared mu goes to the counts.
    """

    def __init__(
        self,
        *,
        epsilon: float,
        delta: float,
        max_items: int = DEFAULT_MAX_ITEMS,
        idf_share: float = 0.1,
        ngram_range: tuple[int, int] = (1, 1),
        tokenizer: Tokenizer = "words",
        binary: bool = False,
        dtype: Any = np.float64,
        norm: str | None = "l2",
        sublinear_tf: bool = False,
        min_df: float = 1,
        max_df: float = 1.0,
        max_features: int | None = None,
    ) -> None:
        super().__init__(
            ngram_range=ngram_range,
            tokenizer=tokenizer,
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
        self.idf_share = idf_share

    def fit(self, raw_documents: Iterable[str], y: Any = None, groups: Sequence[Any] | None = None) -> Self:
        """Learn vocabulary and idf privately; `groups` says which user wrote each document."""
        frame = self._frame(raw_documents, groups)
        request = Request(self.epsilon, self.delta, self.max_items)
        whole = whole_budget(request)
        if not 0 < self.idf_share < 1:
            raise InvalidArgument(f"idf_share must lie between 0 and 1, not {self.idf_share!r}")
        for_words, for_counts = (
            Budget(part.mu, delta_new)
            for part, delta_new in zip(
                whole.split([1 - self.idf_share, self.idf_share]), (whole.delta_new, 0.0), strict=True
            )
        )
        mechanism = focused_within(request, for_words)
        sigma = counting_noise(for_counts.mu, request.max_items, with_users=True)

        rule = text_rule("text", ngrams=self._sizes(), tokenizer=self.tokenizer)
        assert rule is not None
        stream, engine = open_stream(), LocalEngine()
        sets = read_text(frame, rule, user="user", stream=stream)
        items = mechanism.select(engine, sets, stream)
        items = noisy_holders(engine, sets, items, max_items=request.max_items, sigma=sigma, stream=stream)
        users = max(1, noisy_users(sets.n_users, sigma=sigma, stream=stream))
        codes = np.flatnonzero(items["released"])
        words = sets.names.decode(codes, beside={"holders": items["holders"][codes]})
        parameters = {
            **mechanism.parameters(),
            "counts": stated_counts(sigma, request.max_items, self.idf_share, with_users=True),
        }
        self._keep(
            words.to_series().to_list(),
            Statement(
                epsilon=request.epsilon,
                delta=request.delta,
                algorithm="focused-gaussian",
                calibration=request.calibration,
                max_items=request.max_items,
                parameters=parameters,
                budget=asdict(for_words.compose(for_counts)),
                proof="docs/ngrams.md",
                void=SEEDED if stream.seeded else None,
            ),
        )
        holders = words["holders"].to_numpy().clip(1, users)
        self.idf_ = np.log((1 + users) / (1 + holders)) + 1
        return self
