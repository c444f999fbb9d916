"""Plain text files as sources: one row per line, and one user per line or per file."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import polars as pl

from dpsu.sources.files import reading
from dpsu.sources.paths import find_files

USER, TEXT = "user", "text"
ENDING = ".txt"
BLOCK = 1 << 26


def scan_lines(paths: Sequence[str | Path], user_per: Literal["line", "file"]) -> tuple[pl.LazyFrame, str]:
    """The lines of all files in `paths` with their users, and their label in errors.

    A path is a file, a glob, or a folder, whose .txt files at any depth are read. Files are in UTF-8. A file counts
    once, even if several paths and links refer to it: a line must not become several users, nor a file two. The user of
    a file is its resolved path.
    """
    files = find_files(paths, lambda file: file.suffix == ENDING, f"{ENDING} file")
    label = str(paths[0]) if len(paths) == 1 else "the files"
    with reading(label, None):
        blocks = [block for file in files for block in _blocks(file.path.resolve())]
    frame = pl.concat([pl.DataFrame(schema={USER: pl.String, TEXT: pl.String}), *blocks]).lazy()
    return (frame if user_per == "file" else frame.drop(USER).with_row_index(USER)), label


def _blocks(file: Path) -> Iterator[pl.DataFrame]:
    """The lines of one file, in blocks of some million characters."""
    with file.open(encoding="utf-8", newline="\n") as opened:
        while lines := opened.readlines(BLOCK):
            text = pl.Series(TEXT, lines, dtype=pl.String).str.strip_chars_end("\r\n")
            yield pl.DataFrame([pl.Series(USER, [str(file)]).new_from_index(0, len(lines)), text])
