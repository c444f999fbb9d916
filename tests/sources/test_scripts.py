"""Real sentences in many scripts, and what each tokenizer makes of them."""

import warnings
from typing import Any

import polars as pl
import pytest

import dpsu
from dpsu.sources.advice import UNDIVIDED, script_notes
from dpsu.sources.corpus import split_text

SENTENCES = {
    "Chinese": "我今天在北京大学图书馆学习中文。",
    "Japanese": "私は東京の大学で日本語を勉強しています。",
    "Thai": "ฉันรักภาษาไทย",
    "Korean": "나는 서울에서 한국어를 공부합니다.",
    "Arabic": "أنا أحب اللغة العربية",
    "Hindi": "मैं दिल्ली में हिन्दी पढ़ता हूँ",
    "emoji": "I ❤️ 🏳️\u200d🌈 flags 🙂ok",
    "mixed": "iPhone手机很好用 2024年",
}

WORDS = {
    "Chinese": ["我今天在北京大学图书馆学习中文"],
    "Japanese": ["私は東京の大学で日本語を勉強しています"],
    "Thai": ["ฉันรักภาษาไทย"],
    "Korean": ["나는", "서울에서", "한국어를", "공부합니다"],
    "Arabic": ["أنا", "أحب", "اللغة", "العربية"],
    "Hindi": ["मैं", "दिल्ली", "में", "हिन्दी", "पढ़ता", "हूँ"],
    "emoji": ["i", "flags", "ok"],
    "mixed": ["iphone手机很好用", "2024年"],
}
ICU = WORDS | {
    "Chinese": ["我", "今天", "在", "北京", "大学", "图书", "馆", "学习", "中文"],
    "Thai": ["ฉัน", "รัก", "ภาษา", "ไทย"],
    "mixed": ["iphone", "手机", "很好", "用", "2024", "年"],
}
CHARS = {
    "Thai": ["ฉั", "น", "รั", "ก", "ภ", "า", "ษ", "า", "ไ", "ท", "ย"],
    "Korean": [*"나는서울에서한국어를공부합니다"],
}


@pytest.mark.parametrize("script", SENTENCES)
def test_words(script: str) -> None:
    assert split_text(SENTENCES[script], "words") == WORDS[script]


@pytest.mark.parametrize("script", [script for script in SENTENCES if script != "Japanese"])
def test_icu(script: str) -> None:
    pytest.importorskip("icu4py")
    assert split_text(SENTENCES[script], "icu") == ICU[script]


def test_icu_divides_japanese_and_text_after_emoji() -> None:
    pytest.importorskip("icu4py")
    assert {"東京", "大学", "日本語", "勉強"} <= set(split_text(SENTENCES["Japanese"], "icu"))
    assert split_text("🙂🙂𝒜b 我爱北京 https://x.org/a don't", "icu")[-3:] == ["爱", "北京", "don't"]


@pytest.mark.parametrize("script", SENTENCES)
def test_letters_are_those_of_the_words(script: str) -> None:
    letters = split_text(SENTENCES[script], "chars")
    assert "".join(letters) == "".join(WORDS[script])
    assert letters == CHARS.get(script, letters)
    assert split_text("我爱 hé", "chars") == ["我", "爱", "h", "é"]


def chinese(users: int) -> dict[int, list[str]]:
    """Five sentences of six words out of thirty for each user."""
    words = [
        *(
            "我们",
            "今天",
            "北京",
            "大学",
            "学习",
            "中文",
            "图书",
            "老师",
            "朋友",
            "喜欢",
            "中国",
            "工作",
            "时间",
            "问题",
        ),
        *(
            "可以",
            "知道",
            "现在",
            "没有",
            "开始",
            "东西",
            "孩子",
            "城市",
            "音乐",
            "电影",
            "汽车",
            "医院",
            "学校",
            "公司",
        ),
        *("天气", "春天"),
    ]
    return {
        n: ["".join(words[(n * 7 + k * (n % 5 + 1) * 3 + s) % 30] for k in range(6)) for s in range(5)]
        for n in range(users)
    }


def test_sentences_without_spaces_release_letters_and_words() -> None:
    texts = chinese(1000)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        undivided = dpsu.release(texts, text=True, epsilon=1, delta=1e-6)
    assert UNDIVIDED in undivided.notes
    assert any(issubclass(each.category, dpsu.CuratorNote) for each in caught)
    letters = dpsu.release(texts, text=True, tokenizer="chars", ngrams=(1, 2), epsilon=1, delta=1e-6)
    assert {"北", "北京", "大学"} <= set(letters.items)
    assert letters.notes == ()
    assert letters.statement is not None
    assert letters.statement.data["tokenizer"] == {"kind": "rule", "name": "chars"}  # type: ignore[index]


@pytest.mark.parametrize("tokenizer", [r"\w+", r"\S+", str.split])
def test_patterns_and_functions_that_do_not_divide_are_noted(tokenizer: Any) -> None:
    texts = pl.Series([text for texts in chinese(20).values() for text in texts])
    assert script_notes(texts, tokenizer) == (UNDIVIDED,)
    assert script_notes(pl.Series(["한국어를 공부합니다", "plain words"]), tokenizer) == ()


@pytest.mark.parametrize("tokenizer", [r"\w", r"\w{2}", list])
def test_patterns_and_functions_that_divide_are_not(tokenizer: Any) -> None:
    texts = pl.Series([text for texts in chinese(20).values() for text in texts])
    assert script_notes(texts, tokenizer) == ()


def test_icu_states_its_version() -> None:
    pytest.importorskip("icu4py")
    words = dpsu.release(chinese(1000), text=True, tokenizer="icu", epsilon=1, delta=1e-6)
    assert {"北京", "学习"} <= set(words.items)
    assert words.statement is not None
    assert words.statement.data["tokenizer"]["version"]  # type: ignore[index]


def test_text_with_spaces_has_no_note() -> None:
    assert (
        dpsu.release(
            {n: ["나는 서울에서 공부합니다"] for n in range(500)}, text=True, epsilon=1, delta=1e-6
        ).notes
        == ()
    )


def test_ngrams_of_letters_do_not_cross_words_and_lists_fit() -> None:
    texts = {n: ["ab cd"] for n in range(500)}
    release = dpsu.release(
        texts, text=True, tokenizer="chars", ngrams=2, exclude=["CD"], epsilon=2, delta=1e-6
    )
    assert release.items == ["ab"]
    levels = dpsu.ngrams(texts, tokenizer="chars", longest=2, public_items=["xy", "x"], epsilon=2, delta=1e-6)
    assert levels.items == ["a", "ab", "b", "c", "cd", "d", "x", "xy"]
