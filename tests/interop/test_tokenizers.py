"""A released vocabulary as a Hugging Face tokenizer."""

from pathlib import Path

import pytest

import dpsu
from dpsu.errors import InvalidArgument
from dpsu.interop.tokenizers import word_level
from dpsu.sources.tokenize import word_rule

tokenizers = pytest.importorskip("tokenizers")

TEXTS = [
    "Don't PANIC: it's 42!",
    "see https://example.org/a?b for cafe\u0301 CAFÉ",
    "中文 和 日本語。 שָׁלוֹם",
    "I ❤️ flags\0and nuls, ²",
    "",
]


@pytest.mark.parametrize("rule", ["words", "whitespace"])
def test_it_splits_as_the_release_does(rule: str) -> None:
    words = sorted({word for text in TEXTS for word in word_rule(rule).split(text)})
    tokenizer = word_level(words, rule=rule)  # type: ignore[arg-type]
    for text in TEXTS:
        assert tokenizer.encode(text).tokens == word_rule(rule).split(text)


def test_it_is_saved_and_loaded(tmp_path: Path) -> None:
    release = dpsu.release(
        {n: ["the cat", f"secret{n}"] for n in range(500)},
        text=True,
        ngrams=(1, 2),
        epsilon=8,
        delta=1e-6,
        algorithm="focused-gaussian",
    )
    assert "the cat" in release
    release.to_tokenizer().save(str(tmp_path / "tokenizer.json"))
    loaded = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert loaded.get_vocab() == {"[UNK]": 0, "cat": 1, "the": 2}
    assert loaded.encode("The cat, secret7").tokens == ["the", "cat", "[UNK]"]
    assert "secret" not in (tmp_path / "tokenizer.json").read_text()


def test_numbers_are_no_words() -> None:
    with pytest.raises(InvalidArgument, match="strings"):
        word_level([1, 2])
    with pytest.raises(InvalidArgument, match="rule"):
        word_level(["a"], rule="word")  # type: ignore[arg-type]


def test_the_tokenizer_keeps_the_rule_of_the_release() -> None:
    import dpsu

    texts = {n: ["A-1 b"] for n in range(400)}
    codes = {n: ["C00.1"] for n in range(400)}
    spaced = dpsu.release(texts, text=True, tokenizer="whitespace", epsilon=3, delta=1e-6).to_tokenizer()
    assert spaced.encode("A-1 b").tokens == ["A-1", "b"]
    assert dpsu.release(codes, epsilon=3, delta=1e-6).to_tokenizer().encode("C00.1 x").tokens == [
        "C00.1",
        "[UNK]",
    ]
    lowered = dpsu.release(texts, text=True, epsilon=3, delta=1e-6).to_tokenizer()
    assert lowered.encode("B").tokens == ["b"]
