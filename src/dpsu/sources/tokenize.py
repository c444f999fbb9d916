"""Split text into words, with tables over all characters and one compiled loop over UTF-8 bytes.

The rule `words`: NFC, lower case, URLs removed; a word starts with a letter or digit of any script and continues with
letters, marks and digits. The rule `whitespace`: NFC; words are separated by white space.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from dpsu.kernels.words import MARK, OTHER, SPACE, START

Bytes = NDArray[np.uint8]
Offsets = NDArray[np.int64]

CHARACTERS = 0x110000
LAST_ASSIGNED = 0x32400
VARIATION_SELECTORS = range(0xE0100, 0xE01F0)
HANGUL_VOWELS_AND_FINALS = (range(0x1161, 0x1176), range(0x11A8, 0x11C3))
IDEOGRAPHS_AND_SYLLABLES = (
    range(0x3400, 0x4DC0),
    range(0x4E00, 0xA000),
    range(0xAC00, 0xD7A4),
    range(0x20000, 0x2F800),
)
"""Long ranges without case that NFC does not change."""

URL = r"https?://\S+"


@dataclass(frozen=True, eq=False)
class WordRule:
    """A rule for words: the class of every character, its lower case, and whether URLs are removed."""

    classes: Bytes
    lower: NDArray[np.int32]
    lowers: bool
    removes_urls: bool

    def normalise(self, text: str) -> str:
        """The text in NFC, and in lower case if the rule requires it; `unsettled` rows need this before they are split."""
        normal = unicodedata.normalize("NFC", text)
        return unicodedata.normalize("NFC", normal.lower()) if self.lowers else normal

    @property
    def pattern(self) -> "re.Pattern[str]":
        """The words of a normalised text without URLs, as a regular expression."""
        return _pattern(self.lowers)

    def split(self, text: str) -> list[str]:
        """The words of one text, in order; for many texts see `split_rows`."""
        normal = self.normalise(text)
        return self.pattern.findall(re.sub(URL, " ", normal) if self.removes_urls else normal)

    def split_cased(self, text: str) -> list[str]:
        """The words of one text with the case that they have."""
        normal = unicodedata.normalize("NFC", text)
        return self.pattern.findall(re.sub(URL, " ", normal) if self.removes_urls else normal)


@cache
def word_rule(name: str) -> WordRule:
    """The rule of this name: "words" or "whitespace"."""
    classes = _classes()
    if name == "words":
        return WordRule(classes, _lower(), lowers=True, removes_urls=True)
    between_spaces = np.where(classes == SPACE, np.uint8(SPACE), np.uint8(START))
    return WordRule(between_spaces, np.arange(CHARACTERS, dtype=np.int32), lowers=False, removes_urls=False)


@cache
def unsettled() -> NDArray[np.bool_]:
    """Characters that NFC may change or compose, or whose lower case is not a single fixed character.

    The latter are İ, which becomes two characters, and Σ, whose lower case depends on its neighbours.
    """
    marked = np.zeros(CHARACTERS, np.bool_)
    codes, characters = _cased_or_composed()
    marked[codes] = [
        bool(unicodedata.combining(c)) or len(c.lower()) > 1 or not unicodedata.is_normalized("NFC", c)
        for c in characters
    ]
    for parts in map(str.split, map(unicodedata.decomposition, characters)):
        if len(parts) == 2 and not parts[0].startswith("<"):
            marked[int(parts[1], 16)] = True
    for jamo in HANGUL_VOWELS_AND_FINALS:
        marked[jamo.start : jamo.stop] = True
    marked[ord("Σ")] = True
    return marked


@cache
def _classes() -> Bytes:
    classes = np.zeros(CHARACTERS, np.uint8)
    codes = np.array([*range(LAST_ASSIGNED), *VARIATION_SELECTORS])
    characters = [*map(chr, codes.tolist())]
    categories = np.array([*map(unicodedata.category, characters)])
    kinds = categories.astype("U1")
    spaces = np.array([*map(str.isspace, characters)])
    classes[codes] = np.select(
        [(kinds == "L") | (categories == "Nd"), kinds == "M", spaces], [START, MARK, SPACE], OTHER
    )
    return classes


@cache
def _lower() -> NDArray[np.int32]:
    lower = np.arange(CHARACTERS, dtype=np.int32)
    codes, characters = _cased_or_composed()
    lowered = [*map(str.lower, characters)]
    lower[codes] = [ord(low) if len(low) == 1 else code for code, low in zip(codes, lowered, strict=True)]
    return lower


@cache
def _cased_or_composed() -> tuple[NDArray[np.int64], list[str]]:
    """The characters outside the long ranges without case and composition."""
    chosen = np.ones(LAST_ASSIGNED, np.bool_)
    for plain in IDEOGRAPHS_AND_SYLLABLES:
        chosen[plain.start : plain.stop] = False
    codes = np.concatenate([np.flatnonzero(chosen), VARIATION_SELECTORS])
    return codes, [*map(chr, codes.tolist())]


@cache
def _pattern(words: bool) -> "re.Pattern[str]":
    if not words:
        return re.compile(r"\S+")
    start, inner = _ranges(_classes() == START), _ranges(_classes() >= MARK)
    return re.compile(f"[{start}][{inner}]*")


def _ranges(members: NDArray[np.bool_]) -> str:
    """The members in the syntax of a character class."""
    edges = np.flatnonzero(np.diff(members.astype(np.int8), prepend=0, append=0))
    return "".join(f"{chr(first)}-{chr(after - 1)}" for first, after in edges.reshape(-1, 2))
