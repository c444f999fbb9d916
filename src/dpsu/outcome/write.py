"""Write files completely or not at all."""

import io
import math
import os
import secrets
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import BinaryIO

import polars as pl
from polars import selectors as cs

from dpsu.errors import InvalidArgument, OutputError
from dpsu.hints import did_you_mean

Writer = Callable[[pl.DataFrame, BinaryIO], None]


def _write_text_lines(frame: pl.DataFrame, file: BinaryIO) -> None:
    if frame.width > 1:
        raise InvalidArgument(
            "plain text holds one column; write items of several columns as .parquet, .csv or .jsonl."
        )
    lines = pl.DataFrame({"item": frame.to_series().cast(pl.String)})
    lines.write_csv(file, include_header=False, quote_style="never")


def _write_parquet(frame: pl.DataFrame, file: BinaryIO) -> None:
    frame.write_parquet(file)


def _write_workbook(frame: pl.DataFrame, file: BinaryIO, numbers: Collection[str] = ()) -> None:
    """Sheets with a header, as many as are needed; items are written as text, never as formulas or links.

    The columns in `numbers` are written as numbers. Items stay text, also if they are numbers: Excel would change long ones.
    """
    import xlsxwriter

    whole = io.BytesIO()  # a workbook that cannot be written to its file raises errors of its own
    with xlsxwriter.Workbook(whole, {"in_memory": True}) as book:
        for part, rows in enumerate(frame.iter_slices(MOST_EXCEL_ROWS) if frame.height else [frame]):
            sheet = book.add_worksheet("items" if part == 0 else f"items {part + 1}")
            for place, column in enumerate(rows):
                number = column.name in numbers
                write = sheet.write_number if number else sheet.write_string
                sheet.write_string(0, place, column.name)
                for row, value in enumerate((column if number else column.cast(pl.String)).to_list(), 1):
                    if value is not None and (not number or math.isfinite(value)):
                        written = write(row, place, value)
                        if written != 0:
                            raise OutputError(
                                "an item is too long for a cell of Excel: write .parquet or .csv."
                            )
    file.write(whole.getvalue())


def write_excel_csv(frame: pl.DataFrame, file: BinaryIO) -> None:
    """CSV that Excel opens in every country: UTF-16 and tabs. Cells that look like formulas get an apostrophe."""
    strings = pl.col(pl.String)
    safe = pl.when(strings.str.contains(r"^[=+\-@＝＋－＠\t\r\n]")).then("'" + strings).otherwise(strings)
    text = frame.with_columns(safe.name.keep()).write_csv(separator="\t")
    file.write(text.encode("utf-16"))


MOST_EXCEL_ROWS = (1 << 20) - 1
"""Rows of a sheet below its header."""

WRITERS: dict[str, Writer] = {
    ".parquet": _write_parquet,
    ".csv": lambda frame, file: frame.write_csv(file),
    ".tsv": lambda frame, file: frame.write_csv(file, separator="\t"),
    ".jsonl": lambda frame, file: frame.write_ndjson(file),
    ".ndjson": lambda frame, file: frame.write_ndjson(file),
    ".xlsx": _write_workbook,
    ".txt": _write_text_lines,
}


def writer_for(path: str | Path) -> Writer:
    """The writer for the ending; `-`, the standard output, gets plain text."""
    if str(path) == "-":
        return _write_text_lines
    ending = Path(path).suffix.lower()
    if ending not in WRITERS:
        known = ", ".join(WRITERS)
        if ending == ".json":
            raise InvalidArgument(
                f"{Path(path).name!r} is no table: for a tokenizer.json pass style='hugging-face' (--style hugging-face); "
                f"tables are {known}."
            )
        raise InvalidArgument(
            f"cannot tell the format of {Path(path).name!r}: the ending must be one of {known}."
            f"{did_you_mean(ending, WRITERS)}"
        )
    return WRITERS[ending]


def require_csv(path: str | Path) -> None:
    """CSV for Excel needs the ending .csv."""
    if Path(path).suffix.lower() != ".csv":
        raise InvalidArgument("excel (--excel) is for .csv files; .xlsx files need no option.")


def check_writable(path: str | Path) -> None:
    """Fail before the work: check that the format is known, its package installed and the folder writable."""
    writer_for(path)
    if Path(path).suffix.lower() == ".xlsx" and find_spec("xlsxwriter") is None:
        raise InvalidArgument("Excel files need the package xlsxwriter: pip install 'dpsu[excel]'.")
    require_folder(path)


def require_folder(path: str | Path) -> None:
    """Fail if no file can be written to `path`."""
    if str(path) == "-":
        return
    target = Path(path)
    if target.is_dir():
        raise OutputError(f"cannot write {target}: it is a folder.")
    if not target.parent.is_dir():
        raise OutputError(f"cannot write {target}: there is no folder {target.parent}.")
    if not os.access(target.parent, os.W_OK):
        raise OutputError(f"cannot write {target}: the folder {target.parent} is not writable.")


def require_page(path: str | Path) -> None:
    """Fail if no HTML page can be written to `path`."""
    require_folder(path)
    if str(path) != "-" and Path(path).suffix.lower() not in (".html", ".htm"):
        raise OutputError(
            f"cannot write {path}: this page is HTML, so its name ends in .html. A browser prints it as PDF."
        )


def write_frame(
    frame: pl.DataFrame, path: str | Path, *, excel: bool = False, numbers: Collection[str] = ()
) -> None:
    """Write `frame` in the format of the ending; with `excel`, CSV as Excel opens it.

    `numbers` are the columns that a workbook holds as numbers. Formats other than Parquet get bytes as hexadecimal digits
    and durations as text.
    """
    check_writable(path)
    write = writer_for(path)
    if write is not _write_parquet:
        frame = frame.with_columns(cs.binary().bin.encode("hex"), cs.duration().dt.to_string("iso"))
    if write is _write_workbook:
        write = partial(_write_workbook, numbers=numbers)
    if excel:
        require_csv(path)
        write = write_excel_csv
    if str(path) == "-":
        _write_to_standard_output(frame, write)
        return
    with replacing(path) as file:
        write(frame, file)


def _write_to_standard_output(frame: pl.DataFrame, write: Writer) -> None:
    try:
        write(frame, sys.stdout.buffer)
        sys.stdout.buffer.flush()
    except OSError as error:
        # The rest of the buffer must not fail again when the process ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise OutputError(f"cannot write to standard output: {error.strerror or error}.") from error


def write_text(text: str, path: str | Path) -> None:
    """Write `text` as UTF-8."""
    with replacing(path) as file:
        file.write(text.encode())


@contextmanager
def replacing(path: str | Path) -> Iterator[BinaryIO]:
    """A temporary file that replaces `path` when it is complete, and is removed otherwise.

    It is written next to `path` under a random, unused name. It gets the default mode of new files.
    """
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        opened = temporary.open("xb")
    except OSError as error:
        raise OutputError(f"cannot write {target}: {error.strerror}.") from error
    try:
        with opened as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except (OSError, pl.exceptions.ComputeError) as error:  # Polars raises both where a disk is full
        raise OutputError(f"cannot write {target}: {getattr(error, 'strerror', None) or error}.") from error
    finally:
        temporary.unlink(missing_ok=True)
