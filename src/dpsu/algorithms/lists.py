"""Lists of items that the caller gives: how they are read, typed as the data's items, and digested.

Lists may be sensitive themselves: errors name the place of an entry and never the entry.
"""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import polars as pl

from dpsu.errors import InvalidArgument, SourceError
from dpsu.randomness.stream import Stream
from dpsu.sets.keys import row_digests
from dpsu.sets.user_sets import Digests
from dpsu.sources.excel import scan_sheet
from dpsu.sources.files import SEPARATORS, in_utf8


def _read_separated(path: Path) -> pl.DataFrame:
    """A file with the separator that divides its header line into most columns."""
    source, separators = in_utf8(path, None), SEPARATORS[path.suffix.lower().removeprefix(".")]
    scans = [pl.scan_csv(source, glob=False, separator=each, infer_schema=False) for each in separators]
    return max(scans, key=lambda scan: len(scan.collect_schema())).collect()


def _read_lines(path: Path) -> pl.DataFrame:
    """An item per line; empty lines are none."""
    source = in_utf8(path, None)
    data = source.read_bytes() if isinstance(source, Path) else source.getvalue()
    lines = data.decode("utf-8-sig").splitlines()
    return pl.DataFrame({"item": [line for line in lines if line]}, schema={"item": pl.String})


READERS: dict[str, Callable[[Path], pl.DataFrame]] = {
    ".parquet": pl.read_parquet,
    ".csv": _read_separated,
    ".tsv": _read_separated,
    ".xlsx": lambda path: scan_sheet(path, None, str(path)).collect(),
    ".jsonl": pl.read_ndjson,
    ".ndjson": pl.read_ndjson,
}
"""Other files have an item per line."""


def canonical(rows: list[list[list[str]]]) -> bytes:
    """What the digest of a list is taken of.

    A JSON array in UTF-8, without spaces and with no character escaped that need not be. Its elements are the distinct
    items, in ascending order unless their order is what the list is for. An item is an array with a pair [type, value]
    for each column, such as [["string","fr"],["integer","7"]].
    """
    return json.dumps(rows, ensure_ascii=False, separators=(",", ":")).encode()


def distinct_rows(frame: pl.DataFrame | None) -> list[list[list[str]]]:
    """The distinct items, in the order of the list, as pairs of type and value; entries with a null are none."""
    if frame is None:
        return []
    kinds = [kind_of(dtype) for dtype in frame.dtypes]
    values = (column.to_list() for column in map(text_of, frame.drop_nulls()))
    distinct = dict.fromkeys(zip(*values, strict=True))
    return [[[*pair] for pair in zip(kinds, row, strict=True)] for row in distinct]


def sorted_rows(frame: pl.DataFrame | None) -> list[list[list[str]]]:
    """The same in ascending order of the values."""
    return sorted(distinct_rows(frame))


def kind_of(dtype: pl.DataType) -> str:
    """The type of a value without its width: the same for a list in Python, CSV or Parquet."""
    if dtype.is_integer():
        return "integer"
    if isinstance(dtype, pl.Categorical | pl.Enum):
        return "string"
    return str(dtype.base_type()).lower()


def text_of(column: pl.Series) -> pl.Series:
    """The values as strings, bytes in hexadecimal."""
    if column.dtype == pl.Binary:
        return column.bin.encode("hex")
    if column.dtype.is_nested() or column.dtype in (pl.Object, pl.Duration):
        return pl.Series([str(value) for value in column.to_list()], dtype=pl.String)
    return column.cast(pl.String)


def frame_of(items: Any, role: str) -> pl.DataFrame | None:
    """The list as a frame in whatever types it came, from a Path, a frame or an iterable; None if there is none."""
    if items is None:
        return None
    if isinstance(items, Path):
        return _read(items)
    arrow = hasattr(items, "__arrow_c_stream__") or hasattr(items, "__arrow_c_array__")
    if isinstance(items, str) or not (arrow or isinstance(items, Iterable)):
        raise InvalidArgument(
            f"{role} must be a list of items, a frame or a pathlib.Path, not {type(items).__name__}."
        )
    try:
        return _from_arrow(items) if arrow else _from_entries([*items])
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        raise InvalidArgument(
            f"{role} cannot be read: give all entries the same type, and composite items as tuples of one length."
        ) from None


def _from_arrow(items: Any) -> pl.DataFrame:
    """A frame, or a series of pandas or Arrow, as a frame."""
    try:
        return pl.DataFrame(items)
    except pl.exceptions.SchemaError:
        return pl.Series("item", items).to_frame()


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
        return READERS.get(path.suffix.lower(), _read_lines)(path)
    except OSError as error:
        reason = error.strerror or type(error).__name__
    except (UnicodeError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
        reason = "it is damaged, not in UTF-8 or not what its ending says"
    raise SourceError(f"cannot read the items in {path}: {reason}.")


def typed(frame: pl.DataFrame | None, types: pl.Schema, role: str, *, distinct: bool = False) -> pl.DataFrame:
    """The listed items in the columns and types of the data's, each once.

    `distinct` says that the list has no repeats and no nulls, so that they are looked for only where its type changes, or
    where it has other columns, too.
    """
    if frame is None:
        return pl.DataFrame(schema=types)
    distinct = distinct and frame.width == len(types)
    if set(types) <= set(frame.columns):
        frame = frame.select(types.names())
    if frame.width != len(types):
        raise InvalidArgument(f"listed items have {frame.width} columns where the data's have {len(types)}.")
    columns = [
        _cast(column, dtype, role).alias(name)
        for column, (name, dtype) in zip(frame, types.items(), strict=True)
    ]
    found = pl.DataFrame(columns)
    if distinct and found.dtypes == frame.dtypes:
        return found
    return found.drop_nulls().unique(maintain_order=True)


def _cast(column: pl.Series, dtype: pl.DataType, role: str) -> pl.Series:
    """The column in this type; an entry that does not fit is refused by its place."""
    theirs, ours = (str(each.base_type()).lower() for each in (column.dtype, dtype))
    fitting = _cast_or_none(column, dtype) if _may_become(column.dtype, dtype) else None
    if fitting is None:
        raise InvalidArgument(
            f"{role} has entries of the type {theirs}; the data's items are of the type {ours}."
        )
    wrong = (fitting.is_null() & column.is_not_null()).arg_true()
    if len(wrong):
        raise InvalidArgument(
            f"entry {wrong[0] + 1} of {role} is not of the type of the data's items, {ours}."
        )
    return fitting


def _may_become(theirs: pl.DataType, ours: pl.DataType) -> bool:
    """Whether a cast keeps what values of a list mean: it would make numbers of dates and of truth values.

    Floats are never items, and a cast would cut their fractions off.
    """
    kinds = kind_of(theirs), kind_of(ours)
    if theirs.is_float():
        return False
    if kinds[0] == kinds[1] or "string" in kinds or kinds[0] == "null" or kinds == ("date", "datetime"):
        return True
    return not any(each == pl.Boolean or each.is_temporal() for each in (theirs, ours))


def _cast_or_none(column: pl.Series, dtype: pl.DataType) -> pl.Series | None:
    """The column in this type, null where a value does not fit; None where Polars has no such cast."""
    try:
        return column.cast(dtype, strict=False)
    except pl.exceptions.PolarsError:
        return None


def digests_of(items: pl.DataFrame, stream: Stream) -> Digests:
    """The digests that this release gives to items, which must be typed as the data's."""
    return row_digests(items, stream.digest_key)
