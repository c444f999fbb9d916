"""Words by ICU, the library of the Unicode consortium: it divides Chinese, Japanese, Thai, Lao, Khmer and Burmese.

Needs `pip install dpsu[icu]`. ICU has dictionaries for these scripts; another version may divide other words, so the
version is part of the statement.
"""

import re

from dpsu.errors import InvalidArgument
from dpsu.kernels.words import START
from dpsu.sources.tokenize import URL, word_rule

LOCALE = "en"
"""Scripts decide how ICU divides text; languages hardly matter."""


def require_icu() -> None:
    """Fail early if ICU is not installed."""
    try:
        import icu4py.breakers  # noqa: F401
    except ImportError:
        raise InvalidArgument("tokenizer='icu' needs the package icu4py: pip install 'dpsu[icu]'.") from None


def icu_version() -> str:
    """The version of ICU, such as 78.3."""
    import icu4py

    return str(icu4py.icu_version)


def icu_words(text: str) -> list[str]:
    """The words of a text, in normal form C and lower case, without web addresses; a word has a letter or a digit."""
    from icu4py.breakers import WordBreaker

    rule = word_rule("words")
    plain = re.sub(URL, " ", rule.normalise(text))
    # ICU counts units of UTF-16; a character outside the first plane has two.
    units = plain.encode("utf-16-le")
    parts = (
        units[2 * first : 2 * last].decode("utf-16-le")
        for first, last in WordBreaker(plain, LOCALE).segments()
    )
    return [part for part in parts if any(rule.classes[ord(character)] == START for character in part)]
