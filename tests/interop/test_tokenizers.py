"""A released vocabulary as a Hugging Face tokenizer."""

import json
import sys
from hashlib import sha256
from pathlib import Path

import command
import polars as pl
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
    texts = {n: ["the cat", f"secret{n}"] for n in range(500)}
    how = {"epsilon": 8, "delta": 1e-6, "algorithm": "focused-gaussian"}
    release = dpsu.release(texts, text=True, ngrams=(1, 2), **how)
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


COUNTED = {n: ["the cat", "the dog"] if n % 2 else ["the cat"] for n in range(2000)}


@pytest.mark.parametrize("counts", [False, True])
def test_vocabularies_in_other_styles_hold_the_released_words(tmp_path: Path, counts: bool) -> None:
    release = dpsu.release(COUNTED, text=True, ngrams=(1, 2), counts=counts, epsilon=8, delta=1e-6)
    assert "the cat" in release
    words = {"cat", "dog", "the"}
    release.save(tmp_path / "spacy.jsonl", style="spacy")
    _, *lexemes = map(json.loads, (tmp_path / "spacy.jsonl").read_text().splitlines())
    assert {lexeme["orth"] for lexeme in lexemes} == words
    release.save(tmp_path / "fast.txt", style="fasttext")
    number, *lines = (tmp_path / "fast.txt").read_text().splitlines()
    assert int(number) == 3
    assert {line.split()[0] for line in lines} == words
    if counts:
        assert lines[-1].startswith("dog ")
        assert min(lexemes, key=lambda lexeme: lexeme["prob"])["orth"] == "dog"
    assert release.statement is not None
    assert release.statement.released_sha256 == sha256((tmp_path / "fast.txt").read_bytes()).hexdigest()
    release.save(tmp_path / "tokenizer.json", style="hugging-face")
    assert set(tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json")).get_vocab()) == {
        "[UNK]",
        *words,
    }


def test_a_style_needs_its_ending_and_words(tmp_path: Path) -> None:
    release = dpsu.release({n: [n % 2] for n in range(400)}, epsilon=3, delta=1e-6)
    with pytest.raises(InvalidArgument, match=r"\.jsonl"):
        release.save(tmp_path / "words.txt", style="spacy")
    with pytest.raises(InvalidArgument, match="'fasttext'"):
        release.save(tmp_path / "words.txt", style="fastext")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="strings"):
        release.save(tmp_path / "words.jsonl", style="spacy")
    assert not [*tmp_path.iterdir()]


def test_the_command_writes_a_vocabulary(tmp_path: Path) -> None:
    frame = pl.DataFrame({"user": range(400), "text": ["the cat"] * 400})
    frame.write_parquet(tmp_path / "posts.parquet")
    how = ["--user", "user", "--text", "text", "--epsilon", "3", "--delta", "1e-6"]
    output = tmp_path / "words.jsonl"
    run = command.dpsu("release", tmp_path / "posts.parquet", *how, "-o", output, "--style", "spacy")
    assert run.returncode == 0
    assert '"orth": "cat"' in output.read_text()
    refused = command.dpsu(
        "release", tmp_path / "posts.parquet", *how, "--counts", "-o", "t.json", "--style", "hugging-face"
    )
    assert refused.returncode != 0


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    release = dpsu.release({n: ["a"] for n in range(500)}, epsilon=8, delta=1e-6)
    monkeypatch.delitem(sys.modules, "dpsu.interop.tokenizers")
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(InvalidArgument, match=r"dpsu\[tokenizers\]"):
        release.to_tokenizer()


@pytest.mark.parametrize(
    "wrong",
    [["--text", "text", "--tokenizer", "chars"], ["--item", "text"]],
    ids=["a rule without counterpart", "items that are no text"],
)
def test_what_a_style_cannot_hold_is_refused_before_privacy_is_spent(
    tmp_path: Path, wrong: list[str]
) -> None:
    pl.DataFrame({"user": range(400), "text": ["a"] * 400}).write_parquet(tmp_path / "posts.parquet")
    dpsu.Ledger.create(tmp_path / "ledger.json", epsilon=10, delta=1e-3)
    before = (tmp_path / "ledger.json").read_bytes()
    how = [
        "--user",
        "user",
        *wrong,
        "--epsilon",
        "3",
        "--delta",
        "1e-6",
        "--ledger",
        tmp_path / "ledger.json",
    ]
    output = ["-o", tmp_path / "t.json", "--style", "hugging-face"]
    assert command.dpsu("release", tmp_path / "posts.parquet", *how, *output).returncode != 0
    assert (tmp_path / "ledger.json").read_bytes() == before


def test_a_rule_without_counterpart_says_which_rules_there_are() -> None:
    release = dpsu.release(
        {n: ["a-b c"] for n in range(400)}, text=True, tokenizer=r"\w+", epsilon=3, delta=1e-6, max_items=3
    )
    with pytest.raises(InvalidArgument, match="rule='whitespace'"):
        release.to_tokenizer()
    assert release.to_tokenizer(rule="words").encode("a b").tokens == ["a", "b"]
