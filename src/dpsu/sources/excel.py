"""Sheets of Excel workbooks as sources; needs `pip install dpsu[excel]`."""

import io
from pathlib import Path

import polars as pl

from dpsu.errors import InvalidArgument, SourceError


def scan_sheet(source: Path | io.BytesIO, sheet: str | None, label: str) -> pl.LazyFrame:
    """A sheet whose first row names the columns; all cells as strings, so that 007 stays 007."""
    try:
        import fastexcel
    except ImportError:
        raise InvalidArgument("Excel files need the package fastexcel: pip install 'dpsu[excel]'.") from None
    try:
        book = fastexcel.read_excel(source if isinstance(source, Path) else source.getvalue())
    except fastexcel.FastExcelError:
        raise SourceError(
            f"{label} could not be read as Excel: it is damaged, encrypted or in another format"
        ) from None
    names = book.sheet_names
    if sheet is None and len(names) > 1:
        raise InvalidArgument(f"{label} has several sheets: pass the name of one, sheet=… (--sheet)")
    if sheet is not None and sheet not in names:
        raise InvalidArgument(f"there is no sheet {sheet!r} in {label}")
    frame: pl.DataFrame = book.load_sheet(sheet or names[0], dtypes="string").to_polars()
    return frame.lazy()
