"""Plain text files as sources: one row per line, and one user per line or per file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import polars as pl

from dpsu.sources.paths import find_files

USER, TEXT = "user", "text"
ENDING = ".txt"


def scan_lines(paths: Sequence[str | Path], user_per: Literal["line", "file"]) -> tuple[pl.LazyFrame, str]:
    """The lines of all files in `paths` with their users, and their label in errors.

    A path is a file, a glob, or a folder, whose .txt files at any depth are read. Files are in UTF-8. A file counts
    once, even if several paths and links refer to it: a line must not become several users, nor a file two. The user of
    a file is its resolved path.
    """
    found = find_files(paths, lambda file: file.suffix == ENDING, f"{ENDING} file")
    label = str(paths[0]) if len(paths) == 1 else "the files"
    files = [file.path.resolve() for file in found]
    if user_per == "file":
        return pl.scan_lines(files, name=TEXT, glob=False, include_file_paths=USER), label
    return pl.scan_lines(files, name=TEXT, glob=False, row_index_name=USER), label
