"""The private vectorizers against scikit-learn's own, with the vocabulary they released."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from leaks import SECRET, told

import dpsu
from dpsu.errors import InvalidArgument

pytest.importorskip("sklearn")

from sklearn import config_context
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from dpsu.interop.sklearn import PrivateCountVectorizer, PrivateTfidfVectorizer, RepeatedFits

USERS = 1500
DOCUMENTS = [
    f"{'Good' if n % 2 else 'bad'} day to all{' of us' if n % 3 else ''} and secret{n}" for n in range(USERS)
]
GROUPS = [*range(USERS)]
PRIVACY = {"epsilon": 8.0, "delta": 1e-6, "max_items": 20}
BOTH = (PrivateCountVectorizer, PrivateTfidfVectorizer)
CERTAIN = {PrivateCountVectorizer: {"algorithm": "focused-gaussian"}, PrivateTfidfVectorizer: {}}
"""The algorithm that leaves out no item that all users hold, which the tests of vocabularies need."""


def test_counts_are_those_of_sklearn_with_the_same_vocabulary() -> None:
    vectorizer = PrivateCountVectorizer(**PRIVACY, ngram_range=(1, 2), algorithm="focused-gaussian")
    vectorizer.fit(DOCUMENTS, groups=GROUPS)
    names = vectorizer.get_feature_names_out().tolist()
    assert {"good", "bad", "good day", "day to", "of us"} <= set(names)
    assert names == sorted(names)
    assert not any("secret" in name for name in names)
    theirs = CountVectorizer(vocabulary=names, ngram_range=(1, 2), token_pattern=r"(?u)\w+")
    found = vectorizer.transform(DOCUMENTS[:50])
    assert (found != theirs.transform(DOCUMENTS[:50])).nnz == 0
    assert vectorizer.statement_.epsilon == 8


def test_the_promise_of_tfidf_covers_words_and_counts() -> None:
    vectorizer = PrivateTfidfVectorizer(**PRIVACY, idf_share=0.25).fit(DOCUMENTS, groups=GROUPS)
    statement = vectorizer.statement_
    spent = statement.budget
    assert 0.99 * 1e-6 < spent.delta(8.0) <= 1e-6
    words = 1 / statement.parameters["sigma"]
    counts = math.sqrt(min(PRIVACY["max_items"], 10) + 1) / statement.parameters["counts"]["sigma"]
    assert math.hypot(words, counts) <= spent.mu
    assert math.isclose(counts**2 / spent.mu**2, 0.25, rel_tol=1e-9)


def test_the_idf_is_near_that_of_users_but_not_it() -> None:
    documents, groups = (
        DOCUMENTS + ["good good day"] * 500,
        GROUPS + [1] * 500,
    )  # one busy user changes nothing
    vectorizer = PrivateTfidfVectorizer(**PRIVACY, idf_share=0.5).fit(documents, groups=groups)
    sigma = vectorizer.statement_.parameters["counts"]["sigma"]
    assert 0 < sigma < USERS / 20
    place = vectorizer.vocabulary_["good"]
    holders = USERS / 2
    expected = math.log((1 + USERS) / (1 + holders)) + 1
    assert vectorizer.idf_[place] == pytest.approx(expected, abs=10 * sigma / holders)
    assert vectorizer.idf_[place] != expected


def test_noise_of_the_idf_is_fresh_every_time() -> None:
    first, second = (PrivateTfidfVectorizer(**PRIVACY).fit(DOCUMENTS, groups=GROUPS).idf_ for _ in range(2))
    assert first.shape != second.shape or (first != second).any()


def test_tfidf_transforms_as_sklearn_does_with_that_idf() -> None:
    vectorizer = PrivateTfidfVectorizer(**PRIVACY).fit(DOCUMENTS, groups=GROUPS)
    theirs = TfidfVectorizer(vocabulary=vectorizer.get_feature_names_out(), token_pattern=r"(?u)\w+")
    theirs.idf_ = vectorizer.idf_
    assert np.allclose(
        vectorizer.transform(DOCUMENTS[:9]).toarray(), theirs.transform(DOCUMENTS[:9]).toarray()
    )


@pytest.mark.parametrize("kind", BOTH)
def test_pipelines_clone_and_routing(kind: type) -> None:
    labels = [n % 2 for n in GROUPS]
    with config_context(enable_metadata_routing=True):
        vectorizer = clone(kind(**PRIVACY).set_fit_request(groups=True))
        model = make_pipeline(vectorizer, LogisticRegression())
        model.fit(DOCUMENTS, labels, groups=GROUPS)
        assert model.score(DOCUMENTS, labels) == 1.0
    assert vectorizer.get_params()["epsilon"] == 8


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("leak", [{"min_df": 2}, {"max_df": 0.5}, {"max_features": 10}])
def test_what_would_leak_is_refused(kind: type, leak: dict[str, float]) -> None:
    with pytest.raises(InvalidArgument, match="|".join(leak)):
        kind(**PRIVACY, **leak).fit(DOCUMENTS, groups=GROUPS)


@pytest.mark.parametrize("kind", BOTH)
def test_who_wrote_what_must_be_said(kind: type) -> None:
    with pytest.raises(InvalidArgument, match="groups"):
        kind(**PRIVACY).fit(DOCUMENTS)
    with pytest.raises(InvalidArgument, match="groups"):
        kind(**PRIVACY).fit(DOCUMENTS, groups=[1])
    with pytest.raises(InvalidArgument, match="string"):
        kind(**PRIVACY).fit("text", groups=[1])


class Failing(list[str]):
    def __iter__(self) -> Iterator[str]:
        yield from super().__iter__()
        raise ValueError(SECRET)


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize(
    ("documents", "groups"),
    [
        (["tea", "tea"], [7, SECRET]),
        (["tea", "tea"], [SECRET, None, 2.5]),
        (["tea", 7], [SECRET, "bob"]),
        ([[SECRET], "tea"], [1, 2]),
        ([None, SECRET], [1, 2]),
        ([f"{SECRET}\ud800", "tea"], [1, 2]),
        (["tea"], [f"{SECRET}\ud800"]),
        (Failing(["tea"]), [1]),
        (["tea"], Failing([SECRET])),
        (["tea", "tea"], np.array([[SECRET, "bob"], ["cyd", "dee"]])),
    ],
)
def test_refusals_quote_neither_users_nor_documents(kind: type, documents: Any, groups: Any) -> None:
    with pytest.raises(dpsu.DpsuError) as caught:
        kind(**PRIVACY).fit(documents, groups=groups)
    assert SECRET not in told(caught.value)


def test_seeded_fits_promise_nothing() -> None:
    with dpsu.testing.seeded(1):
        vectorizer = PrivateTfidfVectorizer(**PRIVACY).fit(DOCUMENTS, groups=GROUPS)
    assert vectorizer.statement_.void


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize(
    "options", [{"stop_words": ["to", "of"]}, {"stop_words": "english"}, {"lowercase": False}]
)
def test_stop_words_and_case_are_those_of_sklearn(kind: Any, options: dict[str, Any]) -> None:
    vectorizer = kind(**PRIVACY, **CERTAIN[kind], ngram_range=(1, 2), **options)
    vectorizer.fit(DOCUMENTS, groups=GROUPS)
    theirs = CountVectorizer(ngram_range=(1, 2), token_pattern=r"(?u)\w+", min_df=USERS // 4, **options)
    assert set(theirs.fit(DOCUMENTS).vocabulary_) <= set(vectorizer.vocabulary_)
    analyze = theirs.build_analyzer()
    assert vectorizer.build_analyzer()(DOCUMENTS[1]) == analyze(DOCUMENTS[1])
    assert all(word in analyze(" ".join(DOCUMENTS[:4])) or " " in word for word in vectorizer.vocabulary_)


@pytest.mark.parametrize("tokenizer", ["whitespace", r"\w+", str.split])
def test_text_is_lowered_before_every_tokenizer_unless_told_otherwise(tokenizer: Any) -> None:
    lowered = PrivateCountVectorizer(**PRIVACY, tokenizer=tokenizer).build_analyzer()
    assert lowered("Good Day") == ["good", "day"]
    kept = PrivateCountVectorizer(**PRIVACY, tokenizer=tokenizer, lowercase=False).build_analyzer()
    assert kept("Good Day") == ["Good", "Day"]


@pytest.mark.parametrize("kind", BOTH)
def test_null_documents_are_left_out_on_request(kind: Any) -> None:
    documents, groups = [None, float("nan"), *DOCUMENTS], [0, 1, *GROUPS]
    with pytest.raises(InvalidArgument, match="drop_nulls"):
        kind(**PRIVACY).fit(documents, groups=groups)
    vectorizer = kind(**PRIVACY, drop_nulls=True).fit(documents, groups=groups)
    found = vectorizer.transform(documents)
    assert found.shape[0] == len(documents)
    assert found[:2].nnz == 0
    assert found[2:].nnz > USERS


def test_cross_validation_is_warned_that_budgets_add_up() -> None:
    from sklearn.model_selection import cross_val_score

    class Fitted(PrivateCountVectorizer):
        """Cross-validation passes no groups to a step: they are the documents' own."""

        def fit(self, raw_documents: Any, y: Any = None, groups: Any = None) -> Any:
            return super().fit(raw_documents, y, groups=[*range(len(raw_documents))])

        def __init__(self, *, epsilon: float = 8.0, delta: float = 1e-6) -> None:
            super().__init__(epsilon=epsilon, delta=delta)

    answers = [n % 2 for n in range(USERS)]
    with pytest.warns(RepeatedFits):
        cross_val_score(make_pipeline(Fitted(), LogisticRegression()), DOCUMENTS, answers, cv=2)
    Fitted().fit(DOCUMENTS)  # no warning, which would be an error
