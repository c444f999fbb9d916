"""Tokenizers of Hugging Face and scikit-learn as `tokenizer=`: their words, their names, and what is refused."""

import itertools
import pickle

import pytest

import dpsu
from dpsu.errors import InvalidArgument, SourceError
from dpsu.sources.corpus import function_name, split_text, text_rule

tokenizers = pytest.importorskip("tokenizers")
text_features = pytest.importorskip("sklearn.feature_extraction.text")


def bpe(dropout: float | None = None) -> object:
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token="[UNK]", dropout=dropout))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    trainer = tokenizers.trainers.BpeTrainer(special_tokens=["[UNK]", "[PAD]"], show_progress=False)
    tokenizer.train_from_iterator(["low lower lowest", "new newer newest"] * 20, trainer)
    tokenizer.enable_padding(pad_token="[PAD]", pad_id=1, length=9)
    return tokenizer


def words_of(text: str, tokenizer: object) -> list[str]:
    rule = text_rule(True, tokenizer=tokenizer)  # type: ignore[arg-type]
    assert rule is not None
    return split_text(text, rule.tokenizer)


def test_tokens_of_hugging_face_are_words_without_padding() -> None:
    tokenizer = bpe()
    own = tokenizer.encode("lowest newer").tokens  # type: ignore[attr-defined]
    assert own[-1] == "[PAD]"
    assert words_of("lowest newer", tokenizer) == [token for token in own if token != "[PAD]"]


def test_pre_tokenizers_and_analyzers() -> None:
    assert words_of("a-b c", tokenizers.pre_tokenizers.Whitespace()) == ["a", "-", "b", "c"]
    vectorizer = text_features.CountVectorizer(stop_words=["the"])
    for tokenizer in (vectorizer, vectorizer.build_analyzer()):
        assert words_of("The CAT sat", tokenizer) == ["cat", "sat"]


@pytest.mark.parametrize(
    "tokenizer",
    [
        bpe(dropout=0.5),
        text_features.CountVectorizer(ngram_range=(1, 2)),
        text_features.CountVectorizer(ngram_range=(1, 2)).build_analyzer(),
        text_features.CountVectorizer(analyzer="char"),
    ],
    ids=["dropout", "n-grams", "analyzer of n-grams", "letters"],
)
def test_what_cannot_be_stateless_or_single_words_is_refused(tokenizer: object) -> None:
    with pytest.raises(InvalidArgument):
        text_rule(True, tokenizer=tokenizer)  # type: ignore[arg-type]


def test_a_part_in_python_is_refused() -> None:
    class Own:
        def pre_tokenize(self, text: object) -> None:
            """Nothing."""

    tokenizer = bpe()
    own = tokenizers.pre_tokenizers.PreTokenizer.custom(Own())
    tokenizer.pre_tokenizer = own  # type: ignore[attr-defined]
    for each in (tokenizer, own, tokenizers.pre_tokenizers.Sequence([own])):
        with pytest.raises(InvalidArgument, match="Python"):
            text_rule(True, tokenizer=each)  # type: ignore[arg-type]


def test_a_pre_tokenizer_is_copied_and_its_name_tells_its_settings() -> None:
    split = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    first, second = (text_rule(True, tokenizer=each) for each in (split, type(split)(add_prefix_space=True)))
    split.add_prefix_space = True
    assert first is not None
    assert second is not None
    assert split_text("a b", first.tokenizer) == ["a", "Ġb"]
    assert function_name(first.tokenizer) != function_name(second.tokenizer)  # type: ignore[arg-type]


def test_a_function_that_remembers_is_found() -> None:
    numbers = itertools.count()
    with pytest.raises(SourceError, match="same text"):
        words_of("a b", lambda text: [f"{text}{next(numbers)}"])


def test_a_change_after_the_start_has_no_effect() -> None:
    tokenizer = bpe()
    rule = text_rule(True, tokenizer=tokenizer)  # type: ignore[arg-type]
    assert rule is not None
    before = split_text("lowest", rule.tokenizer)
    tokenizer.model = tokenizers.models.BPE()  # type: ignore[attr-defined]
    assert split_text("lowest", rule.tokenizer) == before
    assert split_text("lowest", pickle.loads(pickle.dumps(rule.tokenizer))) == before


def test_the_statement_names_the_tokenizer_and_rests_on_it() -> None:
    texts = {n: ["low newer"] for n in range(400)}
    release = dpsu.release(texts, text=True, tokenizer=bpe(), epsilon=3, delta=1e-6)  # type: ignore[arg-type]
    statement = release.statement
    assert statement is not None
    (claim,) = [claim for claim in statement.rests_on if "BPE" in claim]
    assert "trained" in claim
    assert release.items
