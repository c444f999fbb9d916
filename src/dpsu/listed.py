"""Items that the caller lists: public ones, which come out at no cost, and those that never come out.

Neither takes part in a release: users give nothing to them, so their budgets go to other items. Which items are listed
says nothing about the data, as long as the list was not made from it. What is listed for a text goes through the text's
tokenizer first. Lists may be sensitive themselves: errors name the place of an entry and never the entry.
"""

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from dpsu.algorithms.counts import Counting, noisy_absent, noisy_holders
from dpsu.engines import Columns, Engine
from dpsu.errors import InvalidArgument, SourceError
from dpsu.sets.discreet import discreet
from dpsu.sets.encode import KeyEncoder
from dpsu.sets.text import TextRule, phrases
from dpsu.sets.user_sets import Digests, among
from dpsu.stream import Stream

HOLDERS = "holders"

RESPELT = "Some public items are written differently by the tokenizer; they come out as it writes them."
NO_ITEM = "Some public items are left out: the tokenizer makes none of the items of this text from them."

READERS: dict[str, Callable[[Path], pl.DataFrame]] = {
    ".parquet": pl.read_parquet,
    ".csv": lambda path: pl.read_csv(path, infer_schema=False),
    ".tsv": lambda path: pl.read_csv(path, infer_schema=False, separator="\t"),
    ".jsonl": pl.read_ndjson,
    ".ndjson": pl.read_ndjson,
}


@dataclass(frozen=True, repr=False)
class Listed:
    """The two lists as frames: in whatever types they came, or as items of the text.

    `notes` are for the curator and depend on the lists alone.
    """

    public: pl.DataFrame | None = None
    excluded: pl.DataFrame | None = None
    notes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.public is not None or self.excluded is not None

    @property
    def public_count(self) -> int:
        """The number of distinct public items."""
        return len(self._public_rows)

    @property
    def excluded_count(self) -> int:
        """The number of distinct excluded items."""
        return len(self._excluded_rows)

    @property
    def public_sha256(self) -> str | None:
        """The digest of the public items (see `canonical`), or None if none are listed."""
        return None if self.public is None else hashlib.sha256(canonical(self._public_rows)).hexdigest()

    def excluded_sha256(self, salt: bytes) -> str | None:
        """The digest of the salt and then the excluded items (see `canonical`), or None if none are listed.

        Short lists can be guessed from a digest without a salt.
        """
        if self.excluded is None:
            return None
        return hashlib.sha256(salt + canonical(self._excluded_rows)).hexdigest()

    def described(self, salt: bytes) -> dict[str, Any]:
        """What the statement says of the lists: lengths and digests; that of `exclude` is salted."""
        described: dict[str, Any] = {}
        if self.public is not None:
            described["public_items"] = {"count": self.public_count, "sha256": self.public_sha256}
        if self.excluded is not None:
            salted = self.excluded_sha256(salt)
            described["exclude"] = {"count": self.excluded_count, "salted_sha256": salted}
        return described

    @cached_property
    def _public_rows(self) -> list[list[list[str]]]:
        return _sorted_rows(self.public)

    @cached_property
    def _excluded_rows(self) -> list[list[list[str]]]:
        return _sorted_rows(self.excluded)

    def require_fit(self, engine: Engine, sets: Any, stream: Stream) -> None:
        """Refuse lists of other types than the data's items, and items that are on both lists."""
        if self:
            public, excluded = self._digests(engine, sets, stream)
            if among(public, excluded).any():
                raise InvalidArgument("an item is both public and excluded; it can be one of them.")

    def leave_out(self, engine: Engine, sets: Any, stream: Stream) -> Any:
        """The sets as if nobody held a listed item."""
        return engine.leave_out(sets, np.concatenate(self._digests(engine, sets, stream))) if self else sets

    def _digests(self, engine: Engine, sets: Any, stream: Stream) -> tuple[Digests, Digests]:
        """The digests of the public items and of the excluded ones."""
        types = engine.item_types(sets)
        public, excluded = _typed(self.public, types, "public_items"), _typed(self.excluded, types, "exclude")
        return _digests(public, stream), _digests(excluded, stream)

    def of_size(self, words: int) -> "Listed":
        """The listed n-grams of so many words."""

        def chosen(frame: pl.DataFrame | None) -> pl.DataFrame | None:
            if frame is None:
                return None
            return frame.filter(pl.all().str.count_matches(" ", literal=True) == words - 1)

        return Listed(chosen(self.public), chosen(self.excluded))

    def with_public(self, engine: Engine, sets: Any, items: Any, stream: Stream) -> Columns:
        """The items, those that are public and held marked as released."""
        if self.public is None:
            shown: Columns = items
            return shown
        public, _ = self._digests(engine, sets, stream)
        return {**items, "released": items["released"] | among(items["digest"], public)}

    def names(self, engine: Engine, sets: Any, items: Any, counting: Counting | None, stream: Stream) -> Any:
        """What comes out: the released items and the public ones, with noisy counts of their holders if asked."""
        if not self and not counting:
            return engine.names(sets, items)
        types = engine.item_types(sets)
        public = _typed(self.public, types, "public_items")
        digests = _digests(public, stream)
        shown = self.with_public(engine, sets, items, stream)
        held = among(digests, items["digest"])
        absent = public.filter(~held)
        if counting:
            _require_free(types)
            cut, sigma = counting.request.max_items, counting.sigma
            shown = noisy_holders(engine, sets, shown, max_items=cut, sigma=sigma, stream=stream)
            noise = noisy_absent(digests[~held], sigma=sigma, stream=stream)
            absent = absent.with_columns(pl.Series(HOLDERS, noise))
        return pl.concat([engine.names(sets, shown), absent]).sort(types.names())


@discreet
def read_lists(public_items: Any, exclude: Any, rule: TextRule | None = None) -> Listed:
    """The lists that the caller gives: a Path to a file, a frame or series, or any iterable of items.

    With the `rule` of a text they become items of that text: a tokenizer that lower-cases makes "the" from "The". An entry
    that cannot be an item of the text is refused in `exclude`, where it would silently exclude nothing, and left out of
    `public_items` with a note.
    """
    public, excluded = _frame(public_items, "public_items"), _frame(exclude, "exclude")
    if rule is None:
        return Listed(public, excluded)
    notes: tuple[str, ...] = ()
    if public is not None:
        entries = _entries(public, rule, "public_items")
        items = phrases(entries, rule)
        respelt, none = (entries != items).any(), items.null_count() > 0
        notes = (RESPELT,) * respelt + (NO_ITEM,) * none
        public = items.drop_nulls().to_frame(rule.name)
    if excluded is not None:
        items = phrases(_entries(excluded, rule, "exclude"), rule)
        _require_items(items, rule)
        excluded = items.to_frame(rule.name)
    return Listed(public, excluded, notes)


def _entries(listed: pl.DataFrame, rule: TextRule, role: str) -> pl.Series:
    """The entries of a list for a text: one column of strings."""
    column = listed.select(rule.name if rule.name in listed.columns else pl.all())
    if column.width != 1 or column.dtypes[0] not in (pl.String, pl.Null):
        raise InvalidArgument(f"{role} must be one column of strings: items of a text are words or n-grams.")
    return column.to_series().cast(pl.String).fill_null("")


def _require_items(items: pl.Series, rule: TextRule) -> None:
    """Refuse the first entry that is no item of the text, by its place."""
    wrong = items.is_null().arg_true()
    if len(wrong):
        sizes = " or ".join(map(str, rule.sizes))
        raise InvalidArgument(
            f"entry {wrong[0] + 1} of exclude cannot be an item, so it would exclude nothing: items of this text have "
            f"{sizes} word(s), and the tokenizer makes another number of words from the entry. Remove it or list its words."
        )


def canonical(rows: list[list[list[str]]]) -> bytes:
    """What the digest of a list is taken of.

    A JSON array in UTF-8, without spaces and with no character escaped that need not be. Its elements are the distinct
    items in ascending order. An item is an array with a pair [type, value] for each column, such as
    [["string","fr"],["integer","7"]].
    """
    return json.dumps(rows, ensure_ascii=False, separators=(",", ":")).encode()


def _sorted_rows(frame: pl.DataFrame | None) -> list[list[list[str]]]:
    """The distinct items as pairs of type and value; entries with a null are none."""
    if frame is None:
        return []
    kinds = [_kind(dtype) for dtype in frame.dtypes]
    values = (column.to_list() for column in map(_text, frame.drop_nulls()))
    return [
        [[*pair] for pair in zip(kinds, row, strict=True)] for row in sorted(set(zip(*values, strict=True)))
    ]


def _kind(dtype: pl.DataType) -> str:
    """The type of a value without its width: the same for a list in Python, CSV or Parquet."""
    if dtype.is_integer():
        return "integer"
    if isinstance(dtype, pl.Categorical | pl.Enum):
        return "string"
    return str(dtype.base_type()).lower()


def _text(column: pl.Series) -> pl.Series:
    """The values as strings, bytes in hexadecimal."""
    if column.dtype == pl.Binary:
        return column.bin.encode("hex")
    if column.dtype.is_nested() or column.dtype in (pl.Object, pl.Duration):
        return pl.Series([str(value) for value in column.to_list()], dtype=pl.String)
    return column.cast(pl.String)


def _frame(items: Any, role: str) -> pl.DataFrame | None:
    if items is None:
        return None
    if isinstance(items, Path):
        return _read(items)
    if isinstance(items, str) or not (hasattr(items, "__arrow_c_stream__") or isinstance(items, Iterable)):
        raise InvalidArgument(
            f"{role} must be a list of items, a frame or a pathlib.Path, not {type(items).__name__}."
        )
    try:
        return pl.DataFrame(items) if hasattr(items, "__arrow_c_stream__") else _from_entries([*items])
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        raise InvalidArgument(
            f"{role} cannot be read: give all entries the same type, and composite items as tuples of one length."
        ) from None


def _from_entries(entries: list[Any]) -> pl.DataFrame:
    if not entries:
        return pl.DataFrame({"item": pl.Series([], dtype=pl.String)})
    return pl.DataFrame(
        [entry if isinstance(entry, tuple) else (entry,) for entry in entries],
        orient="row",
        infer_schema_length=None,
    )


def _read(path: Path) -> pl.DataFrame:
    try:
        if path.suffix.lower() in READERS:
            return READERS[path.suffix.lower()](path)
        return pl.DataFrame(
            {"item": path.read_text(encoding="utf-8").splitlines()}, schema={"item": pl.String}
        )
    except OSError as error:
        reason = error.strerror or type(error).__name__
    except (UnicodeError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
        reason = "it is damaged, not in UTF-8 or not what its ending says"
    raise SourceError(f"cannot read the items in {path}: {reason}.")


def _typed(frame: pl.DataFrame | None, types: pl.Schema, role: str) -> pl.DataFrame:
    """The listed items in the columns and types of the data's, each once."""
    if frame is None:
        return pl.DataFrame(schema=types)
    if set(types) <= set(frame.columns):
        frame = frame.select(types.names())
    if frame.width != len(types):
        raise InvalidArgument(f"listed items have {frame.width} columns where the data's have {len(types)}.")
    columns = [
        _cast(column, dtype, role).alias(name)
        for column, (name, dtype) in zip(frame, types.items(), strict=True)
    ]
    return pl.DataFrame(columns).drop_nulls().unique(maintain_order=True)


def _cast(column: pl.Series, dtype: pl.DataType, role: str) -> pl.Series:
    """The column in this type; an entry that does not fit is refused by its place."""
    theirs, ours = (str(each.base_type()).lower() for each in (column.dtype, dtype))
    # Floats are never items, and a cast would cut their fractions off.
    typed = None if column.dtype.is_float() else _cast_or_none(column, dtype)
    if typed is None:
        raise InvalidArgument(
            f"{role} has entries of the type {theirs}; the data's items are of the type {ours}."
        )
    wrong = (typed.is_null() & column.is_not_null()).arg_true()
    if len(wrong):
        raise InvalidArgument(
            f"entry {wrong[0] + 1} of {role} is not of the type of the data's items, {ours}."
        )
    return typed


def _cast_or_none(column: pl.Series, dtype: pl.DataType) -> pl.Series | None:
    """The column in this type, null where a value does not fit; None where Polars has no such cast."""
    try:
        return column.cast(dtype, strict=False)
    except pl.exceptions.PolarsError:
        return None


def _digests(items: pl.DataFrame, stream: Stream) -> Digests:
    encoder = KeyEncoder(items.schema, items.columns, stream.digest_key)
    encoder.encode(items)
    return encoder.digests()


def _require_free(columns: Iterable[str]) -> None:
    if HOLDERS in columns:
        raise InvalidArgument(
            f"counts come as the column {HOLDERS!r}, which the items have already: rename it."
        )
