"""Text to words and n-grams: the compiled rules against a slow, obvious version, and what must not break them."""

import re
import unicodedata
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsu.errors import InvalidArgument, SourceError, UnsupportedType
from dpsu.randomness.digests import digest_bytes
from dpsu.randomness.stream import Stream
from dpsu.sets.keys import bytes_of
from dpsu.sources.corpus import Tokens, split_text, text_rule, tokenise
from dpsu.sources.text import read_text
from dpsu.sources.tokenize import word_rule

STREAM = Stream(bytes(range(32)))


def words_slowly(text: str) -> list[str]:
    """NFC, lower case, URLs removed; a letter or digit, and the letters, marks and digits after it."""
    text = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).lower())
    text = re.sub(r"https?://\S+", " ", text)
    words, word = [], ""
    for character in text + " ":
        category = unicodedata.category(character)
        if category[0] == "L" or category == "Nd" or (word and category[0] == "M"):
            word += character
        elif word:
            words.append(word)
            word = ""
    return words


def per_row(tokens: Tokens) -> list[list[str]]:
    data = tokens.data.tobytes()
    words = [data[a:b].decode() for a, b in zip(tokens.starts[:-1], tokens.starts[1:], strict=True)]
    return [words[a:b] for a, b in zip(tokens.rows[:-1], tokens.rows[1:], strict=True)]


def split(*texts: str, tokenizer: object = "words") -> list[list[str]]:
    return per_row(tokenise(pl.Series(texts, dtype=pl.String), tokenizer))  # type: ignore[arg-type]


# Characters that meet: marks after letters, jamo after jamo, capitals whose lower case composes, sigmas at ends, URLs.
TROUBLE = [
    *"aZ9 _-'\0\t\n\x1c\u00a0\u2028ßẞİıſKÅǅΣσςΑ",
    *"\u0301\u030c\u0307\u0323\u0338\u0345\ufe0f\u200d\u200cJjḱⱥȺ",
    *"가\u1100\u1161\u11a8𐐀𝒜🙂❤한中文ひゕकि्ষแม่עִבְרִיתمُحَمَّد²½Ⅳ٣",
    "http://", "https://", "HTTPS://", "hhttp://x", "http:// ", "e\u0301", "\U000e0100", "ﬁ", "豈", "𝅗𝅥",
]  # fmt: skip
texts = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=30),
    st.lists(st.sampled_from(TROUBLE), max_size=12).map("".join),
)


@settings(max_examples=250, deadline=None)
@given(st.lists(texts, max_size=5))
def test_words_are_those_of_the_slow_rule(rows: list[str]) -> None:
    assert split(*rows) == [words_slowly(row) for row in rows]


@settings(max_examples=150, deadline=None)
@given(texts)
def test_one_text_at_a_time_gives_the_same_words(text: str) -> None:
    assert word_rule("words").split(text) == words_slowly(text)
    assert word_rule("whitespace").split(text) == unicodedata.normalize("NFC", text).split()


@settings(max_examples=150, deadline=None)
@given(st.lists(texts, max_size=5))
def test_whitespace_keeps_all_but_white_space(rows: list[str]) -> None:
    assert split(*rows, tokenizer="whitespace") == [unicodedata.normalize("NFC", row).split() for row in rows]


def test_every_character_alone_and_among_letters() -> None:
    """Those that Unicode has assigned, and every hundredth of the others."""
    codes = [
        *range(0xD800),
        *range(0xE000, 0x33000),
        *range(0xE0000, 0xE0200),
        *range(0x33000, 0x110000, 100),
    ]
    rows = [f"{chr(c)} x{chr(c)}y" for c in codes]
    assert split(*rows) == [words_slowly(row) for row in rows]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don't PANIC: 42!", ["don", "t", "panic", "42"]),
        ("see https://example.org/a?b=c#d for_more", ["see", "for", "more"]),
        ("HTTP://EXAMPLE.ORG", []),
        ("http:// alone", ["http", "alone"]),
        ("I ❤️ 🏳️‍🌈 flags", ["i", "flags"]),
        ("中文 和 日本語。", ["中文", "和", "日本語"]),
        ("שָׁלוֹם עולם", ["שָׁלוֹם", "עולם"]),
        ("cafe\u0301 CAFÉ", ["café", "café"]),
        ("a\0b", ["a", "b"]),
        ("ΟΔΟΣ", ["οδος"]),
        ("", []),
    ],
)
def test_examples(text: str, expected: list[str]) -> None:
    assert split(text) == [[unicodedata.normalize("NFC", word) for word in expected]]


def test_a_line_of_a_megabyte_and_one_long_word() -> None:
    line = "ab é" * 250_000
    assert split(line, "x" * 1_000_000, "\0" * 1_000_000) == [words_slowly(line), ["x" * 1_000_000], []]


def test_regular_expressions_and_functions() -> None:
    assert split("a1 b22", "", "c", tokenizer=r"[a-z]\d*") == [["a1", "b22"], [], ["c"]]
    assert split("a-b", "", tokenizer=lambda text: text.split("-")) == [["a", "b"], []]
    assert split_text("a1 b22", r"[a-z]\d*") == ["a1", "b22"]
    assert split_text("a-b", lambda text: text.split("-")) == ["a", "b"]


def sets_of(texts: dict[str, list[str]], **rule: object) -> dict[str, set[str]]:
    """User sets read back: every user of the frame with the names of their items."""
    frame = pl.DataFrame(
        [(user, text) for user, rows in texts.items() for text in rows],
        schema={"user": pl.String, "text": pl.String},
        orient="row",
    )
    sets = read_text(frame, text_rule("text", **rule), user="user", stream=STREAM)  # type: ignore[arg-type]
    found = {}
    digests = digest_bytes(*bytes_of(pl.Series([*texts])), STREAM.digest_key)
    for user, digest in zip(texts, digests.tolist(), strict=True):
        row = sets.user_digests.tolist().index(digest)
        codes = sets.items[sets.indptr[row] : sets.indptr[row + 1]]
        own = sets.item_digests[codes].tolist()
        assert own == sorted(own)
        found[user] = set(sets.names.decode(codes).to_series().to_list())
    return found


def ngrams_slowly(rows: list[str], sizes: tuple[int, ...]) -> set[str]:
    split = [words_slowly(row) for row in rows]
    return {" ".join(w[i : i + n]) for w in split for n in sizes for i in range(len(w) - n + 1)}


@settings(max_examples=40, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from("uvw"), st.lists(st.text("ab c", max_size=12), min_size=1, max_size=3), min_size=1
    ),
    st.sets(st.integers(1, 4), min_size=1).map(lambda sizes: tuple(sorted(sizes))),
)
def test_ngrams_are_those_within_rows(texts: dict[str, list[str]], sizes: tuple[int, ...]) -> None:
    assert sets_of(texts, ngrams=sizes) == {user: ngrams_slowly(rows, sizes) for user, rows in texts.items()}


def test_no_word_holds_a_space() -> None:
    """Else the word "a b" and the bigram of "a" and "b" would be two items with one name and one noise."""
    assert split("a b|c", tokenizer=lambda text: text.split("|")) == [["a", "b", "c"]]
    assert split("<a b> <c>", tokenizer="<.*?>") == [["<a", "b>", "<c>"]]


def test_digests_of_ngrams_are_those_of_their_strings() -> None:
    from dpsu.sources.pairs import read_sets

    made = read_text({"u": ["new york city"]}, text_rule(True, ngrams=(1, 2, 3)), stream=STREAM)
    given_ = read_sets(
        {"u": ["new", "york", "city", "new york", "york city", "new york city"]}, stream=STREAM
    )
    assert (made.item_digests == given_.item_digests).all()


def test_rows_of_many_batches_keep_their_users() -> None:
    rows = 100_000
    frame = pl.DataFrame({"user": range(rows), "text": [f"w{i % 1000} {'é' * (i % 3)}" for i in range(rows)]})
    sets = read_text(frame, text_rule("text"), user="user", stream=STREAM)
    assert sets.n_users == rows
    assert sets.n_items == 1002
    assert sets.items.size == sum(1 + (i % 3 > 0) for i in range(rows))


def test_plain_text_files_by_line_and_by_file(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("a b\nc\n")
    (tmp_path / "two.txt").write_text("a\r\n\nd\x00e")
    by_line = read_text(str(tmp_path / "*.txt"), text_rule(None, user_per="line"), stream=STREAM)
    by_file = read_text([tmp_path], text_rule(None, user_per="file", ngrams=(1, 2)), stream=STREAM)
    assert by_line.n_users == 5
    assert by_file.n_users == 2
    names = by_file.names.decode(range(by_file.n_items)).to_series().to_list()  # type: ignore[arg-type]
    assert names == ["a", "a b", "b", "c", "d", "d e", "e"]
    with pytest.raises(SourceError, match="no file"):
        read_text(str(tmp_path / "none.txt"), text_rule(None, user_per="line"), stream=STREAM)


def test_overlapping_paths_count_a_line_and_a_file_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("one line\n")
    (tmp_path / "b.txt").write_text("one line\n")
    (tmp_path / "soft.txt").symlink_to("a.txt")
    (tmp_path / "hard.txt").hardlink_to(tmp_path / "a.txt")
    monkeypatch.chdir(tmp_path)
    paths = [
        "a.txt",
        tmp_path / "a.txt",
        "./a.txt",
        "*.txt",
        str(tmp_path),
        f"{tmp_path}/**",
        *["b.txt"] * 80,
    ]
    for user_per in ("line", "file"):
        sets = read_text(paths, text_rule(None, user_per=user_per), stream=STREAM)
        assert sets.n_users == 2
        assert sets.items.size == 4


def test_the_user_of_a_file_is_the_same_however_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("one line\n")
    monkeypatch.chdir(tmp_path)
    rule = text_rule(None, user_per="file")
    relative, absolute = (read_text(path, rule, stream=STREAM) for path in ("a.txt", tmp_path / "a.txt"))
    assert (relative.user_digests == absolute.user_digests).all()


@pytest.mark.parametrize("lines", [1, 200_000])
def test_a_byte_order_mark_belongs_to_no_word(tmp_path: Path, lines: int) -> None:
    (tmp_path / "a.txt").write_text("tea = milk\n" * lines, encoding="utf-8-sig")
    sets = read_text(tmp_path, text_rule(None, user_per="line", tokenizer="whitespace"), stream=STREAM)
    assert sorted(sets.names.decode(range(sets.n_items)).to_series()) == ["=", "milk", "tea"]  # type: ignore[arg-type]


def test_files_that_are_not_utf8_are_refused(tmp_path: Path) -> None:
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9\n")
    with pytest.raises(SourceError, match="UTF-8"):
        read_text(tmp_path / "latin.txt", text_rule(None, user_per="line"), stream=STREAM)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"text": "t", "item": "i"}, "item"),
        ({"text": None, "ngrams": 2}, "text="),
        ({"text": "t", "ngrams": 0}, "ngrams"),
        ({"text": "t", "ngrams": ()}, "ngrams"),
        ({"text": "t", "ngrams": 1.5}, "ngrams"),
        ({"text": "t", "ngrams": None}, "ngrams"),
        ({"text": "t", "ngrams": True}, "ngrams"),
        ({"text": "t", "tokenizer": ""}, "tokenizer"),
        ({"text": "t", "tokenizer": "word"}, "'words'"),
        ({"text": "t", "tokenizer": "(["}, "'(['"),
        ({"text": None, "user_per": "page"}, "'line' or 'file'"),
        ({"text": "t", "user_per": "line"}, "text="),
    ],
)
def test_rules_that_make_no_sense_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidArgument, match=re.escape(message)):
        text_rule(**arguments)  # type: ignore[arg-type]


def test_a_source_with_columns_needs_one_of_text() -> None:
    with pytest.raises(InvalidArgument, match="text"):
        read_text(pl.DataFrame({"user": [1]}), text_rule(True), user="user", stream=STREAM)
    assert text_rule(False) is None


def test_text_must_be_strings() -> None:
    frame = pl.DataFrame({"user": [1], "text": [5]})
    with pytest.raises(UnsupportedType, match="text"):
        read_text(frame, text_rule("text"), user="user", stream=STREAM)


def test_nothing_private_is_shown() -> None:
    sets = read_text({"u": ["secret words"]}, text_rule(True, ngrams=(1, 2)), stream=STREAM)
    assert "secret" not in repr(sets) + repr(sets.names)
