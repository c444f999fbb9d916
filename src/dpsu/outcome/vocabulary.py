"""A released vocabulary in the formats of Hugging Face, spaCy and fastText.

N-grams of several words are left out: these formats have single words.
"""

import json
import math
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from dpsu.errors import InvalidArgument
from dpsu.hints import did_you_mean
from dpsu.outcome.write import require_folder, write_text

Style = Literal["hugging-face", "spacy", "fasttext"]

ENDINGS = {"hugging-face": ".json", "spacy": ".jsonl", "fasttext": ".txt"}

UNKNOWN_LOG_PROBABILITY = -20.0


def check_style(path: str | Path, style: str) -> None:
    """Fail before the work: the style is known, and the file has its ending."""
    if style not in ENDINGS:
        raise InvalidArgument(
            f"there is no style {style!r} of a vocabulary; known are {', '.join(ENDINGS)}.{did_you_mean(style, ENDINGS)}"
        )
    if Path(path).suffix.lower() != ENDINGS[style]:
        raise InvalidArgument(f"a vocabulary in the style {style} is a {ENDINGS[style]} file.")
    if style == "hugging-face" and find_spec("tokenizers") is None:
        raise InvalidArgument("this style needs the package tokenizers: pip install 'dpsu[tokenizers]'.")
    require_folder(path)


def write_vocabulary(
    items: list[Any],
    counts: Mapping[Any, int] | None,
    path: str | Path,
    style: str,
    tokenizer: Callable[[], Any],
) -> None:
    """Write the single words in a style, with counts if there are any; `tokenizer` makes that of Hugging Face."""
    check_style(path, style)
    if not all(isinstance(item, str) for item in items):
        raise InvalidArgument("a vocabulary needs items that are strings; these are not.")
    words = [item for item in items if len(item.split()) == 1]
    if style == "hugging-face":
        text = tokenizer().to_str(pretty=True)
    elif style == "spacy":
        text = _for_spacy(words, counts)
    else:
        text = _for_fasttext(words, counts)
    write_text(text, path)


def _for_spacy(words: list[str], counts: Mapping[Any, int] | None) -> str:
    """Lexemes for `vocab_data` of spaCy, with the logarithm of their share of all counts."""
    lines: list[dict[str, Any]] = [{"settings": {"oov_prob": UNKNOWN_LOG_PROBABILITY}}]
    whole = sum(max(counts[word], 1) for word in words) if counts else 0
    for word in words:
        share = {"prob": round(math.log(max(counts[word], 1) / whole), 6)} if counts else {}
        lines.append({"orth": word, **share})
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def _for_fasttext(words: list[str], counts: Mapping[Any, int] | None) -> str:
    """The number of words, then a word per line; with counts as `fasttext dump … dict` shows them, the largest first."""
    if counts is None:
        return "".join(f"{line}\n" for line in (len(words), *words))
    ordered = sorted(words, key=lambda word: -counts[word])
    return "".join(f"{line}\n" for line in (len(words), *(f"{word} {counts[word]} word" for word in ordered)))
