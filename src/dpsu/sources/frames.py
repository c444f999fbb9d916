"""Frames and Python collections as sources: frames with the Arrow interface, {user: items}, or (user, items) pairs."""

from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
import polars as pl

from dpsu.errors import InvalidArgument, SourceError, UnsupportedType
from dpsu.sources.columns import require_columns
from dpsu.sources.databases import scan_stream

USER, ITEM = "user", "item"

UNCONVERTED = (TypeError, ValueError, NotImplementedError, pl.exceptions.PolarsError)
"""What pandas, pyarrow and Polars raise where a column has no Arrow type."""


def scan_frame(
    frame: Any, columns: list[str], label: str, users: Sequence[str] = (), items: Sequence[str] = ()
) -> pl.LazyFrame:
    """The columns of a Polars frame, or of any other frame with the Arrow stream interface.

    `users` name a user and `items` an item; the others have values.
    """
    if isinstance(frame, pl.DataFrame | pl.LazyFrame):
        lazy = frame.lazy()
        require_columns(columns, lazy.collect_schema().names(), label)
        return lazy.select(columns)
    if type(frame).__name__ == "Series":
        raise InvalidArgument("a series is one column: pass a frame with the columns of users and items")
    kind = type(frame).__module__.partition(".")[0]
    if kind in ("pandas", "duckdb", "_duckdb"):
        # These frames convert what they export, so only the needed columns are requested.
        names = [str(name) for name in frame.columns]
        if kind == "pandas":
            _require_no_index(frame, columns, names)
        require_columns(columns, names, label)
        frame = frame[columns] if kind == "pandas" else frame.select(*columns)
    if kind != "pandas":
        return scan_stream(frame, columns, label)
    try:
        converted = pl.DataFrame(frame)
    except ImportError:
        raise SourceError(
            f"a {kind} frame needs pyarrow to be read; install it or pass a Polars frame"
        ) from None
    except UNCONVERTED:
        raise SourceError(
            f"{label} could not be converted to Arrow: {_culprit(frame, columns, kind)}"
        ) from None
    require_columns(columns, converted.columns, label)
    for column in {*users, *items}:
        if frame[column].dtype == object:
            own, told = frame[column].dropna(), f"column {column!r} of {label}"
            _require_one_type(own, told)
            if column in items:
                _require_fixed_type(converted.schema[column], own, told)
    return converted.lazy().select(columns)


def _require_one_type(values: Iterable[Any], label: str) -> None:
    """Refuse objects that Arrow would convert to the type of the first: one user could change how all others are read."""
    kinds = {str if issubclass(kind, str) else kind for kind in set(map(type, values))}
    if len(kinds) > 1:
        found = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise UnsupportedType(f"{label} has values of several types ({found}); give them all the same one")


def _require_fixed_type(dtype: pl.DataType, values: Iterable[Any], label: str) -> None:
    """Refuse Python objects whose common type one user can change, and with it all items that are released."""
    if dtype.is_decimal():
        raise UnsupportedType(
            f"{label}: decimals get the digits of the longest one, so one user could change all; give strings or integers"
        )
    if dtype.is_temporal() and len({_form(each) for each in values if each is not None}) > 1:
        raise UnsupportedType(
            f"{label}: the times are of several types or time zones; give them all the same one"
        )


def _form(time: Any) -> tuple[Any, ...]:
    """What the type of a column of times can follow from."""
    return type(time), *(str(getattr(time, name, None)) for name in ("tzinfo", "dtype", "unit"))


def _require_no_index(frame: Any, columns: list[str], names: list[str]) -> None:
    """The index of a pandas frame is not among its columns: say what to do."""
    for column in columns:
        unnamed = column == "index" and frame.index.names == [None]
        if (unnamed or column in frame.index.names) and column not in names:
            raise InvalidArgument(
                f"{column!r} is the index of the frame, not a column: pass frame.reset_index()"
            )


def _culprit(frame: Any, columns: list[str], kind: str) -> str:
    """The column that does not convert, without its values."""
    for column in columns if kind == "pandas" else ():
        try:
            pl.DataFrame(frame[[column]])
        except UNCONVERTED:
            return f"column {column!r} has values of several types or of one that Arrow lacks; cast it to strings"
    return f"one of the columns {', '.join(columns)} has values of mixed types, or its query failed"


def scan_collection(source: Mapping[Any, Iterable[Any]] | Iterable[Any]) -> pl.LazyFrame:
    """One row for every item of every user; a user who occurs twice holds the items of both entries."""
    users: list[Any] = []
    sizes: list[int] = []
    items: list[Any] = []
    for user, own in source.items() if isinstance(source, Mapping) else map(_user_and_items, source):
        if isinstance(own, str | bytes) or not isinstance(own, Iterable):
            raise InvalidArgument(
                "the items of a user must be a collection such as a list or a set, not a single value"
            )
        held = len(items)
        items.extend(own)
        users.append(user)
        sizes.append(len(items) - held)
    rows = np.repeat(np.arange(len(users)), sizes)
    return pl.LazyFrame([column_of(USER, users).gather(rows), column_of(ITEM, items)])


def _user_and_items(entry: Any) -> tuple[Any, Any]:
    if not isinstance(entry, tuple | list) or len(entry) != 2:
        raise InvalidArgument("an iterable source must give pairs of a user and their items: (user, items)")
    return entry[0], entry[1]


def column_of(name: str, values: list[Any]) -> pl.Series:
    """The values as one column of one type; Polars would convert some mixed types to other values."""
    kinds = {_kind(value_type) for value_type in set(map(type, values))} - {type(None)}
    if len(kinds) > 1:
        found = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise UnsupportedType(f"the {name}s are of several types ({found}); give them all the same one")
    kind = kinds.pop() if kinds else str
    dtype = None
    if kind is int:
        values = [None if value is None else int(value) for value in values]
        # A single large number must not change the type of all items that are released.
        dtype = pl.Int64 if name == ITEM else None
    try:
        made = pl.Series(name, values, dtype, strict=True) if values else pl.Series(name, [], dtype=pl.String)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        raise UnsupportedType(
            f"{name}s of the type {kind.__name__} cannot be read; give strings or 64-bit integers"
        ) from None
    if name == ITEM:
        _require_fixed_type(made.dtype, values, f"the {name}s")
    return made


def _kind(value_type: type) -> type:
    if issubclass(value_type, bool):
        return bool
    for kind in (str, bytes):
        if issubclass(value_type, kind):
            return kind
    return int if issubclass(value_type, Integral) else value_type
