"""Files as sources: paths, globs, folders and standard input, scanned lazily with Polars."""

import codecs
import glob
import gzip
import io
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import polars as pl
from polars import selectors as cs

from dpsu.errors import InvalidArgument, SourceError
from dpsu.hints import did_you_mean
from dpsu.sources.columns import require_columns
from dpsu.sources.excel import scan_sheet
from dpsu.sources.layout import PLAIN, Layout
from dpsu.sources.paths import Found, find_files

FORMATS = {
    "parquet": "Parquet",
    "xlsx": "Excel",
    "csv": "CSV",
    "tsv": "TSV",
    "jsonl": "JSON lines",
    "ndjson": "JSON lines",
}
STANDARD_INPUT = "-"
FRAME = "the frame"
"""What errors call a source that is no file."""

TEXT_HINT = (
    "; if the columns are separated by another character, pass separator= (--separator ';'), and for text in another "
    "encoding than UTF-8, encoding= (--encoding cp1252)"
)
UNREADABLE = (
    "it is damaged, truncated, not in UTF-8 or in another format, or a row has too many fields or a quote that nothing "
    "closes. For text in another encoding pass encoding= (--encoding cp1252)"
)
COMPRESSIBLE = {"csv", "tsv", "jsonl", "ndjson"}
KNOWN_ENDINGS = ".parquet, .xlsx, .csv, .tsv, .jsonl, .ndjson (the last four also with .gz or .zst)"
SEPARATORS = {"csv": ",;\t|", "tsv": "\t,;|"}
"""Separators that a header line may show; the first one that yields the wanted columns is taken."""

MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""Byte order marks and their encodings, the longer ones first; Polars knows that of UTF-8."""

FIRST_ROWS = 100
"""Rows of JSON lines that show the names of the columns."""

GZIP, ZSTANDARD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"

PLAIN_TEXT = "txt"
NO_COLUMNS = (
    "{label} is plain text, which has no columns: leave user, item and text out and pass user_per='line' or "
    "user_per='file', for one user per line or per file; a table with this ending needs format= (--format)"
)


def scan_paths(
    paths: Sequence[str | Path], columns: list[str], format: str | None, layout: Layout = PLAIN
) -> tuple[pl.LazyFrame, str]:
    """The columns of all files in `paths`, each file once, and their label in errors.

    A path is a file, a folder (the keys of its `key=value` parts become columns), a glob, or `-` for standard input.
    Text has no types: columns of CSV, TSV and JSON lines and the keys of a folder's parts are strings. The separator is
    the one that yields the columns from the header line, and the encoding is that of the byte order mark, else UTF-8,
    unless `layout` gives them: nothing is guessed from the rows, where one user could change how all others are read.
    """
    if format is not None and format not in FORMATS:
        raise InvalidArgument(
            f"there is no format {format!r}; known are {', '.join(FORMATS)}.{did_you_mean(format, FORMATS)}"
        )

    def is_data(name: str) -> bool:
        """Files that start with a dot or underscore are metadata, not data."""
        file = Path(name)
        hidden = any(part.startswith((".", "_")) for part in file.parts)
        return not hidden and (format is not None or _ending(file) in FORMATS)

    named = [path for path in paths if str(path) != STANDARD_INPUT]
    files = find_files(named, is_data, f"file with one of the endings {KNOWN_ENDINGS}")
    formats = [format or _format_of(file) for file in files]
    _require_use(layout, {*formats, *([format] if format else [])})
    frames = [_scan_file(file, columns, kind, layout) for file, kind in zip(files, formats, strict=True)]
    if len(named) < len(paths):
        frames.append(_scan_standard_input(columns, format, layout))
    label = str(paths[0]) if len(paths) == 1 else "the files"
    if len(frames) == 1:
        return frames[0], label
    _require_one_kind(frames, label)
    return pl.concat(frames, how="vertical_relaxed"), label


def _require_use(layout: Layout, formats: set[str]) -> None:
    """Refuse an option that none of these formats has, instead of ignoring it."""
    uses = {
        "encoding": (layout.encoding, {*COMPRESSIBLE}),
        "separator": (layout.separator, {*SEPARATORS}),
        "sheet": (layout.sheet, {"xlsx"}),
    }
    for name, (value, for_these) in uses.items():
        if value is not None and not formats & for_these:
            raise InvalidArgument(
                f"{name}= (--{name}) is for files with the endings {', '.join(sorted(for_these))}; there is none"
            )


def refuse_plain_text(paths: Sequence[str | Path]) -> None:
    """Say how plain text is read, if a path without columns has its ending."""
    for path in paths:
        if Path(path).suffix.lower() == f".{PLAIN_TEXT}":
            raise SourceError(NO_COLUMNS.format(label=repr(str(path))))


def _require_one_kind(frames: list[pl.LazyFrame], label: str) -> None:
    """A column may have a wider type in one file than in another, but not numbers in one file and strings in another."""
    kinds: dict[str, pl.DataType | str] = {}
    for frame in frames:
        for column, dtype in frame.collect_schema().items():
            kind = "integer" if dtype.is_integer() else dtype
            if dtype != pl.Null and kinds.setdefault(column, kind) != kind:
                raise SourceError(f"column {column!r} of {label} has different types in different files")


@contextmanager
def reading(label: str, format: str | None) -> Iterator[None]:
    """Turn the errors of Polars about unreadable data into one line: its messages may quote the data."""
    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, UnicodeError) as error:
        kind = f" as {FORMATS[format]}" if format else ""
        if isinstance(error, OSError) and error.errno:
            why = os.strerror(error.errno)
        elif isinstance(error, pl.exceptions.NoDataError):
            why = "it is empty"
        elif label == FRAME:
            why = "a step of its query failed"
        elif format == "parquet":
            why = "it is damaged, truncated or in another format"
        else:
            why = UNREADABLE
        raise SourceError(f"{label} could not be read{kind}: {why}") from None


def _scan_standard_input(columns: list[str], format: str | None, layout: Layout) -> pl.LazyFrame:
    if format is None:
        raise InvalidArgument(
            f"standard input has no ending; pass its format (--format): one of {', '.join(FORMATS)}"
        )
    with reading("standard input", format):
        content = sys.stdin.buffer.read()
    return _select(io.BytesIO(content), columns, format, "standard input", layout)


def _ending(path: Path) -> str:
    endings = [ending.lower().lstrip(".") for ending in path.suffixes[-2:]]
    if endings and endings[-1] in ("gz", "zst") and endings[0] in COMPRESSIBLE:
        return endings[0]
    return endings[-1] if endings else ""


def _format_of(file: Found) -> str:
    ending = _ending(file.path)
    if ending not in FORMATS:
        if ending == PLAIN_TEXT:
            raise SourceError(NO_COLUMNS.format(label=repr(file.label)))
        raise SourceError(
            f"the ending of {file.label!r} says no known format; known are {KNOWN_ENDINGS}. "
            "For another ending pass format= (--format)"
        )
    return ending


def _scan_file(file: Found, columns: list[str], format: str, layout: Layout) -> pl.LazyFrame:
    try:
        with file.path.open("rb") as opened:
            start = opened.read(4)
    except OSError as error:
        raise SourceError(f"{file.label!r} could not be opened: {error.strerror}") from None
    # Parquet read as text seems to have a header: report the format instead of missing columns.
    looks = "Parquet" if start == b"PAR1" else "JSON lines" if start[:1] == b"{" else FORMATS[format]
    if looks != FORMATS[format]:
        raise SourceError(
            f"{file.label!r} is not {FORMATS[format]}: it looks like {looks}; if so, pass format= (--format)"
        )
    keys = [part.partition("=")[0] for part in file.keys]
    return _select(file.path, columns, format, file.label, layout, keys)


def _select(
    source: Path | io.BytesIO,
    columns: list[str],
    format: str,
    label: str,
    layout: Layout,
    keys: Sequence[str] = (),
) -> pl.LazyFrame:
    if FORMATS[format] == "JSON lines" and _is_empty(source):
        return pl.LazyFrame(schema=dict.fromkeys(columns, pl.Null))
    with reading(label, format):
        if format in SEPARATORS:
            frame = _scan_separated(
                in_utf8(source, layout.encoding), columns, layout.separator or SEPARATORS[format], label
            )
        elif format == "xlsx":
            frame = scan_sheet(source, layout.sheet, label)
        elif format == "parquet":
            frame = _scan_parquet(source, keys)
        else:
            frame = _scan_json_lines(in_utf8(source, layout.encoding), columns)
        available = frame.collect_schema().names()
    require_columns(
        columns,
        available,
        label,
        schema_names=format == "parquet",
        hint=TEXT_HINT if format in SEPARATORS else "",
    )
    # Each file has its own categories; strings are the same in all files.
    return frame.select(columns).with_columns((cs.categorical() | cs.enum()).cast(pl.String))


def _scan_parquet(source: Path | io.BytesIO, keys: Sequence[str]) -> pl.LazyFrame:
    schema = dict.fromkeys(keys, pl.String) or None
    return pl.scan_parquet(source, glob=False, hive_partitioning=bool(keys), hive_schema=schema)


def _scan_json_lines(source: Path | io.BytesIO, columns: Sequence[str]) -> pl.LazyFrame:
    """The columns as strings: a type that follows from the rows would be the choice of a single user.

    The first rows say whether the columns exist and have no lists; later rows, only if the first ones lack a column.
    """
    scan = partial(pl.scan_ndjson, glob.escape(str(source)) if isinstance(source, Path) else source)
    found = pl.Schema()
    for rows in (FIRST_ROWS, None):
        found = scan(infer_schema_length=rows).collect_schema()
        if {*columns} <= {*found}:
            break
    lists = {name: dtype for name, dtype in found.items() if name in columns and dtype.is_nested()}
    return scan(schema={**dict.fromkeys(found, pl.String), **lists})


def _scan_separated(
    source: Path | io.BytesIO, columns: list[str], separators: str, label: str
) -> pl.LazyFrame:
    """The file with the separator with which its header line has most of the columns; the first of several."""
    frames = [pl.scan_csv(source, glob=False, separator=each, infer_schema=False) for each in separators]
    header, frame = max(
        ((frame.collect_schema().names(), frame) for frame in frames),
        key=lambda found: len({*columns} & {*found[0]}),
    )
    if any(re.search(r"\r(?!\n)", name) for name in header):
        raise SourceError(f"the lines of {label} end with a carriage return alone: save it as CSV in UTF-8")
    return frame


def in_utf8(source: Path | io.BytesIO, encoding: str | None) -> Path | io.BytesIO:
    """The file in UTF-8: as it is, or converted in memory if its byte order mark or the caller says otherwise."""
    if encoding is not None and codecs.lookup(encoding).name == "utf-8":
        return source
    with _unpacked(source, needed=encoding is not None) as opened:
        start = opened.read(4)
        marked = next((name for mark, name in MARKS.items() if start.startswith(mark)), None)
        if encoding is None and marked is None:
            return source
        text = (start + opened.read()).decode(encoding or marked or "utf-8")
    return io.BytesIO(text.removeprefix("\ufeff").encode())


@contextmanager
def _unpacked(source: Path | io.BytesIO, *, needed: bool) -> Iterator[io.BufferedIOBase]:
    """The content of a file, also of a compressed one; Polars unpacks files in UTF-8 itself."""
    with source.open("rb") if isinstance(source, Path) else io.BytesIO(source.getvalue()) as raw:
        start = raw.read(4)
        raw.seek(0)
        if start.startswith(GZIP):
            with gzip.GzipFile(fileobj=raw) as opened:
                yield opened
        elif start == ZSTANDARD and (zstandard := _zstandard(needed)):
            with zstandard.open(raw, "rb") as opened:
                yield opened
        else:
            yield raw


def _zstandard(needed: bool) -> Any:
    """The package that unpacks .zst files, or None if it is neither installed nor needed."""
    try:
        return import_module("zstandard")
    except ImportError:
        if not needed:
            return None
    raise InvalidArgument(
        "encoding= (--encoding) of a .zst file needs the package zstandard: pip install zstandard"
    )


def _is_empty(source: Path | io.BytesIO) -> bool:
    return not (source.stat().st_size if isinstance(source, Path) else source.getbuffer().nbytes)
