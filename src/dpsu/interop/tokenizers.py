"""Hugging Face tokenizers: a released vocabulary as a tokenizer that splits text like the release.

The tokenizer contains the released words only. Merges or pieces learned from the raw text (BPE, WordPiece, Unigram)
would reveal more than the release; docs/text.md shows how to learn them from released words. Needs `pip install
dpsu[tokenizers]`.
"""

from collections.abc import Sequence
from typing import Any, Literal

from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

from dpsu.errors import InvalidArgument
from dpsu.sources.tokenize import URL

WORD = r"[\p{L}\p{Nd}][\p{L}\p{M}\p{Nd}]*"
"""The rule "words" in the syntax of this library."""


def word_level(
    items: Sequence[Any], *, rule: Literal["words", "whitespace"] = "words", unknown: str = "[UNK]"
) -> Tokenizer:
    """A WordLevel tokenizer of the items that are single words; longer n-grams are left out.

    The unknown token has the number 0; the words follow in sorted order.
    """
    if rule not in ("words", "whitespace"):
        raise InvalidArgument(f"rule must be 'words' or 'whitespace', not {rule!r}")
    if not all(isinstance(item, str) for item in items):
        raise InvalidArgument("a tokenizer needs items that are strings; these are not")
    words = [item for item in items if len(item.split()) == 1 and item != unknown]
    numbered = {word: number for number, word in enumerate([unknown, *words])}
    tokenizer = Tokenizer(models.WordLevel(numbered, unk_token=unknown))
    if rule == "words":
        steps = [normalizers.NFC(), normalizers.Lowercase(), normalizers.NFC()]
        tokenizer.normalizer = normalizers.Sequence([*steps, normalizers.Replace(Regex(URL), " ")])
        tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(WORD), behavior="removed", invert=True)
    else:
        tokenizer.normalizer = normalizers.NFC()
        tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return tokenizer
