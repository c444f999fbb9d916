"""Tokenizers of Hugging Face and scikit-learn as functions from a text to its words.

Whatever could carry one text into another is refused where it shows: dropout, which is random, and parts in Python that
cannot be copied. A tokenizer is copied before any text is read, so that nothing changes it meanwhile.
"""

import hashlib
import json
import pickle
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from dpsu.errors import InvalidArgument

SHOWN_DIGITS = 16


class ForeignTokenizer:
    """The words of a text by somebody else's tokenizer, and its name in statements and errors."""

    def __init__(self, name: str, split: Callable[[str], Iterable[str]]) -> None:
        self.__qualname__ = name
        self._split = split

    def __call__(self, text: str) -> list[str]:
        """The words of a text."""
        return [*self._split(text)]


class _Encoder:
    """The tokens of a Hugging Face tokenizer without special ones, such as padding."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    def __call__(self, text: str) -> list[str]:
        found = self._tokenizer.encode(text, add_special_tokens=False)
        return [
            token
            for token, special in zip(found.tokens, found.special_tokens_mask, strict=True)
            if not special
        ]


class _PreTokenizer:
    """The parts of a text by a Hugging Face pre-tokenizer."""

    def __init__(self, pre_tokenizer: Any) -> None:
        self._pre_tokenizer = pre_tokenizer

    def __call__(self, text: str) -> list[str]:
        return [word for word, _ in self._pre_tokenizer.pre_tokenize_str(text)]


def understood(tokenizer: Any) -> Any:
    """A function for the tokenizers and analyzers of Hugging Face and scikit-learn; anything else as it is."""
    tokenizer = getattr(tokenizer, "backend_tokenizer", tokenizer)  # of the package transformers
    if hasattr(tokenizer, "pre_tokenize_str"):
        return _copied_pre_tokenizer(tokenizer)
    if hasattr(tokenizer, "encode") and hasattr(tokenizer, "to_str") and hasattr(tokenizer, "from_str"):
        return _copied(tokenizer)
    if hasattr(tokenizer, "build_analyzer"):
        return _analyzer(tokenizer, tokenizer.build_analyzer())
    # What `build_analyzer` returns is a partial function, with a method of its vectorizer.
    used = tokenizer.keywords if isinstance(tokenizer, partial) else {}
    vectorizer = getattr(used.get("ngrams"), "__self__", None)
    return tokenizer if vectorizer is None else _analyzer(vectorizer, tokenizer)


def _kind(tokenizer: Any) -> str:
    return f"{type(tokenizer).__module__}.{type(tokenizer).__qualname__}"


PARTS_IN_PYTHON = (
    "this tokenizer has parts in Python, which cannot be copied or checked; pass a function from a text to "
    "its words."
)


def _copied(tokenizer: Any) -> ForeignTokenizer:
    """A copy of a Hugging Face tokenizer; its name has the digest of its file."""
    try:
        written = str(tokenizer.to_str())
        copy = type(tokenizer).from_str(written)
    except Exception:
        copy = None
    if copy is None:
        raise InvalidArgument(PARTS_IN_PYTHON)
    model = json.loads(written)["model"]
    if model.get("dropout"):
        raise InvalidArgument(
            "this tokenizer has dropout: it divides the same text differently each time. Set tokenizer.model.dropout = None."
        )
    return ForeignTokenizer(
        f"{_kind(tokenizer)} {model['type']}, {_digest(written.encode())}", _Encoder(copy)
    )


def _copied_pre_tokenizer(tokenizer: Any) -> ForeignTokenizer:
    """A copy of a Hugging Face pre-tokenizer; its name has the digest of its settings."""
    try:
        settings: bytes = tokenizer.__getstate__()
        copy = pickle.loads(pickle.dumps(tokenizer))
    except Exception:
        copy = None
    if copy is None:
        raise InvalidArgument(PARTS_IN_PYTHON)
    return ForeignTokenizer(f"{_kind(tokenizer)}, {_digest(settings)}", _PreTokenizer(copy))


def _digest(written: bytes) -> str:
    return f"sha256 {hashlib.sha256(written).hexdigest()[:SHOWN_DIGITS]}"


def _analyzer(vectorizer: Any, analyzer: Callable[[str], Iterable[str]]) -> ForeignTokenizer:
    """The analyzer of a scikit-learn vectorizer for single words; n-grams are made by dpsu."""
    if vectorizer.analyzer != "word" and not callable(vectorizer.analyzer):
        raise InvalidArgument("an analyzer of letters is not needed: pass tokenizer='chars' and ngrams=.")
    if tuple(vectorizer.ngram_range) != (1, 1):
        raise InvalidArgument(
            "the analyzer must give single words, ngram_range=(1, 1); pass the sizes of n-grams as ngrams=."
        )
    return ForeignTokenizer(f"{_kind(vectorizer)} analyzer", analyzer)
