"""Single letters of words against a slow twin."""

from itertools import pairwise

import numpy as np
import pytest

from dpsu.kernels.words import START, split_letters
from dpsu.sources.tokenize import word_rule

ALPHABET = [*"aZ9é我京ひกไ나한اब", "\u0e31", "\u0e49", "\u093f", "\u0301", "𝒜", "\U00020000"]


def letters_of(word: str) -> list[str]:
    """Each letter or digit with the marks after it; marks in front of a word are a letter."""
    classes = word_rule("words").classes
    letters: list[str] = []
    for character in word:
        if not letters or classes[ord(character)] == START:
            letters.append(character)
        else:
            letters[-1] += character
    return letters


@pytest.mark.parametrize("seed", range(20))
def test_split_letters(seed: int) -> None:
    draw = np.random.default_rng(seed)
    words = ["".join(draw.choice(ALPHABET, draw.integers(1, 9))) for _ in range(draw.integers(0, 40))]
    encoded = [word.encode() for word in words]
    starts = np.cumsum([0, *map(len, encoded)])
    data = np.frombuffer(b"".join(encoded), np.uint8)
    letters, rows = split_letters(starts, data, word_rule("words").classes)
    found = [data[first:last].tobytes().decode() for first, last in pairwise(letters)]
    assert [found[first:last] for first, last in pairwise(rows)] == [*map(letters_of, words)]
