"""How a list of candidates is read: every item once, no nulls, for text through the tokenizer; and its weights."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from dpsu.algorithms.algorithm import Algorithm
from dpsu.algorithms.candidates import NAME, WEIGHT, CandidateList, require_candidates, with_candidates
from dpsu.algorithms.lists import frame_of, kind_of, text_of
from dpsu.errors import InvalidArgument
from dpsu.sources.corpus import TextRule, phrases
from dpsu.sources.discreet import discreet

SLICE = 1 << 18
NO_LIST = CandidateList(0, "", pl.DataFrame())
"""In place of the list, while the other arguments are checked."""

MOST_LISTED = 2**31
"""Items are numbered with 32 bits, and the data needs numbers too."""

NO_ITEM = "Some candidates are left out: the tokenizer makes none of the items of this text from them."
MERGED = "Some candidates are the same item for the tokenizer; each item counts once."

MOST_UNEQUAL = 1e6
"""The largest ratio of two weights: early release is as rare as the smallest weight asks for."""

TO_ESCAPE = r'["\\\x00-\x1f]'
"""Characters that JSON escapes."""


def add_candidates(
    algorithm: Algorithm, items: Any, false_share: float | None, discover: bool, rule: TextRule | None = None
) -> tuple[Algorithm, tuple[str, ...]]:
    """The algorithm with the caller's candidates, if there are any, and notes for the curator about the list."""
    if items is None:
        require_candidates(false_share, discover)
        return algorithm, ()
    check = with_candidates(algorithm, NO_LIST, false_share, discover)
    listed = read_candidates(items, rule)
    return replace(check, listed=listed), listed.notes


@discreet
def read_candidates(items: Any, rule: TextRule | None = None) -> CandidateList:
    """The list that the caller gives: a Path to a file, a frame or series, or any iterable of items."""
    if isinstance(items, Mapping):
        raise InvalidArgument(f"weights of candidates come in a frame or file with a column {WEIGHT!r}.")
    given = frame_of(items, NAME)
    assert given is not None
    frame, weights = _without_weights(given)
    notes: tuple[str, ...] = ()
    if rule is not None:
        frame, weights, notes = _of_text(frame, weights, rule)
    _require_no_null(frame)
    if given.height and not frame.height:
        raise InvalidArgument("the tokenizer makes an item of this text from none of the candidates.")
    if not 1 <= frame.height <= MOST_LISTED:
        raise InvalidArgument(f"candidates must have from 1 to {MOST_LISTED:,} items, not {frame.height:,}.")
    whole = frame if weights is None else frame.with_columns(weights)
    rows = sorted_text(whole)
    _require_distinct(frame, rows)
    sha256 = sha256_of(whole, rows)
    if weights is None:
        return CandidateList(frame.height, sha256, frame, notes)
    values = weights.to_numpy()
    values = np.ldexp(values, -np.frexp(values.max())[1])  # so that no sum overflows
    scaled = values / values.mean()
    extremes = min(1.0, float(scaled.min())), max(1.0, float(scaled.max()))
    return CandidateList(frame.height, sha256, frame, notes, scaled, extremes)


def _without_weights(frame: pl.DataFrame) -> tuple[pl.DataFrame, pl.Series | None]:
    """The columns of the items, and the weights if there is a column of this name beside them."""
    if frame.width == 1 or WEIGHT not in frame.columns:
        return frame, None
    column = frame[WEIGHT]
    if not (column.dtype.is_numeric() or column.dtype == pl.String):
        raise InvalidArgument(f"the column {WEIGHT!r} of candidates must have numbers.")
    weights = column.cast(pl.Float64, strict=False)
    wrong = (~(weights.is_finite() & (weights > 0)).fill_null(False)).arg_true()
    if len(wrong):
        raise InvalidArgument(f"entry {wrong[0] + 1} of candidates has no weight above 0.")
    values = weights.to_numpy()
    if values.size and values.max() / MOST_UNEQUAL > values.min():
        raise InvalidArgument(
            f"weights of candidates must not differ by more than a factor of {MOST_UNEQUAL:,.0f}: raise the smallest ones."
        )
    return frame.drop(WEIGHT), weights


def _of_text(
    frame: pl.DataFrame, weights: pl.Series | None, rule: TextRule
) -> tuple[pl.DataFrame, pl.Series | None, tuple[str, ...]]:
    """The distinct items of the text that the entries stand for, and notes about the others.

    An item of several entries has the largest of their weights.
    """
    column = frame.select(rule.name if rule.name in frame.columns else pl.all())
    if column.width != 1 or column.dtypes[0] != pl.String:
        raise InvalidArgument(
            "candidates must be one column of strings: items of a text are words or n-grams."
        )
    _require_no_null(column)
    parts = [phrases(part.to_series(), rule) for part in column.iter_slices(SLICE)]
    found = pl.concat(parts) if parts else pl.Series([], dtype=pl.String)
    known = found.drop_nulls()
    if weights is None:
        frame = known.unique(maintain_order=True).to_frame(rule.name)
    else:
        entries = pl.DataFrame([found.alias(rule.name), weights]).drop_nulls()
        frame = entries.group_by(rule.name, maintain_order=True).agg(pl.col(WEIGHT).max())
        weights = frame[WEIGHT]
    notes = (NO_ITEM,) * (len(known) < len(found)) + (MERGED,) * (frame.height < len(known))
    return frame.select(rule.name), weights, notes


def sorted_text(frame: pl.DataFrame) -> pl.DataFrame:
    """The items as text, in ascending order."""
    rows = pl.DataFrame([text_of(column).alias(str(k)) for k, column in enumerate(frame)])
    return rows.sort(rows.columns)


def _require_distinct(frame: pl.DataFrame, rows: pl.DataFrame) -> None:
    """Refuse repeats, which are neighbours in sorted rows, by their place. Rows may have weights behind the items."""
    items = pl.col(rows.columns[: frame.width])
    if not rows.select(pl.all_horizontal(items == items.shift(1)).any()).item():
        return
    repeated = (~frame.select(pl.struct(pl.all()).is_first_distinct()).to_series()).arg_true()
    if len(repeated):
        raise InvalidArgument(
            f"entry {repeated[0] + 1} of candidates repeats an earlier one: list every item once."
        )


def _require_no_null(frame: pl.DataFrame) -> None:
    nulls = frame.select(pl.any_horizontal(pl.all().is_null())).to_series().arg_true()
    if len(nulls):
        raise InvalidArgument(f"entry {nulls[0] + 1} of candidates is null, which is no item: remove it.")


def sha256_of(frame: pl.DataFrame, rows: pl.DataFrame) -> str:
    """The SHA-256 of the list in its canonical form (see `lists.canonical`), in slices, for lists of any length.

    `rows` are those of `sorted_text`.
    """
    kinds = [kind_of(dtype) for dtype in frame.dtypes]
    # An item is [["kind","value"],["kind","value"]]; what stands between the values is the same for all items.
    begin, between = f'[["{kinds[0]}","', [f'"],["{kind}","' for kind in kinds[1:]]
    end = '"]]'
    digest, separator = hashlib.sha256(b"["), ""
    for part in rows.iter_slices(SLICE):
        first, *others = (_escaped(column) for column in part)
        for text, column in zip(between, others, strict=True):
            first = first + text + column
        joined = first.str.join(end + "," + begin).item()
        digest.update(f"{separator}{begin}{joined}{end}".encode())
        separator = ","
    digest.update(b"]")
    return digest.hexdigest()


def _escaped(column: pl.Series) -> pl.Series:
    """Strings as they stand between the quotes of JSON; the few that have characters to escape one by one."""
    special = column.str.contains(TO_ESCAPE).arg_true()
    if len(special):
        escaped = [json.dumps(value, ensure_ascii=False)[1:-1] for value in column.gather(special).to_list()]
        column = column.scatter(special, pl.Series(escaped, dtype=pl.String))
    return column
