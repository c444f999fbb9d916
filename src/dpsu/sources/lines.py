"""Plain text files as sources: one row per line, and one user per line or per file."""

import codecs
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import polars as pl
from polars.io.plugins import register_io_source

from dpsu.sources.paths import find_files

USER, TEXT = "user", "text"
ENDING = ".txt"

SMALL_BYTES = 1 << 20
"""Files up to this size are read at once, several together; Polars reads larger ones line by line."""

MARK = codecs.BOM_UTF8.decode()
"""The byte order mark that some editors put in front of a text."""

BATCH_BYTES, BATCH_FILES, BATCH_LINES = 1 << 24, 1 << 13, 1 << 17


def scan_lines(paths: Sequence[str | Path], user_per: Literal["line", "file"]) -> tuple[pl.LazyFrame, str]:
    """The lines of all files in `paths` with their users, and their label in errors.

    A path is a file, a glob, or a folder, whose .txt files at any depth are read. Files are in UTF-8. A file counts
    once, even if several paths and links refer to it: a line must not become several users, nor a file two. The user of
    a file is its resolved path.
    """
    found = find_files(paths, _is_text, f"{ENDING} file")
    names = [file.name for file in found]
    per_file = user_per == "file"
    schema = pl.Schema({USER: pl.String() if per_file else pl.Int64(), TEXT: pl.String()})

    def batches(
        with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        lines = 0
        for batch in _lines(names):
            numbers = pl.int_range(lines, lines + batch.height, eager=True).alias(USER)
            lines += batch.height
            numbered = batch if per_file else batch.with_columns(numbers)
            chosen = numbered.select(with_columns or schema.names())
            yield chosen if predicate is None else chosen.filter(predicate)

    return register_io_source(batches, schema=schema), str(paths[0]) if len(paths) == 1 else "the files"


def _is_text(name: str) -> bool:
    return os.path.splitext(name)[1] == ENDING  # noqa: PTH122 (a Path for each of many files takes time)


def _lines(names: list[str]) -> Iterator[pl.DataFrame]:
    """The lines of all files, each with the resolved path of its file."""
    users: list[str] = []
    texts: list[bytes] = []
    size = 0
    folders: dict[str, str] = {}
    for name in names:
        user = _resolved(name, folders)
        with open(name, "rb") as opened:  # noqa: PTH123
            text = opened.read(SMALL_BYTES + 1)
        if len(text) > SMALL_BYTES:
            yield from _lines_of(name, user)
            continue
        users.append(user)
        texts.append(text.removeprefix(codecs.BOM_UTF8))
        size += len(text)
        if size > BATCH_BYTES or len(users) == BATCH_FILES:
            yield _divided(users, texts)
            users, texts, size = [], [], 0
    yield _divided(users, texts)


def _resolved(name: str, folders: dict[str, str]) -> str:
    """The path without links; that of a folder is looked up once."""
    if os.path.islink(name):  # noqa: PTH114
        return os.path.realpath(name)
    folder, _, file = name.rpartition(os.sep)
    if folder not in folders:
        folders[folder] = os.path.realpath(folder or (os.sep if name.startswith(os.sep) else os.curdir))
    return os.path.join(folders[folder], file)  # noqa: PTH118


def _lines_of(name: str, user: str) -> Iterator[pl.DataFrame]:
    """The lines of a large file."""
    lines = pl.scan_lines(name, name=TEXT, glob=False)
    for batch in lines.collect_batches(chunk_size=BATCH_LINES, maintain_order=False):
        yield batch.select(pl.lit(user).alias(USER), _plain(pl.col(TEXT).str.strip_prefix(MARK)))


def _divided(users: list[str], texts: list[bytes]) -> pl.DataFrame:
    """The lines of small files; an empty file has none, and the end of the last line begins no other."""
    files = pl.DataFrame({USER: users, TEXT: texts}, schema={USER: pl.String, TEXT: pl.Binary})
    lines = pl.col(TEXT).cast(pl.String).str.strip_suffix("\n").str.split("\n")
    filled = files.filter(pl.col(TEXT).bin.size() > 0).with_columns(lines)
    return filled.explode(TEXT, empty_as_null=False).with_columns(_plain(pl.col(TEXT)))


def _plain(line: pl.Expr) -> pl.Expr:
    """The line without the carriage return of other systems."""
    return line.str.strip_chars_end("\r")
