"""The state of a series: one secret file, sealed by a digest and replaced as a whole.

    magic | Parquet parts: open items, then released items | header, JSON | its length | SHA-256 of all before

Open items have a name and a total; released items have a name and the period. Open items are read and written in parts,
so that they are never all in memory. The digest finds damage and accidental edits; whoever can write the file can seal it.
"""

import fcntl
import hashlib
import io
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl

from dpsu.errors import OutputError, SeriesError
from dpsu.outcome.write import require_folder

MAGIC = b"dpsu-series/1\n"
FAMILY = b"dpsu-series/"
SIZE, SEAL = 8, 32
PART = 1 << 18
"""Number of open items that are in memory at a time."""

TOTAL, PERIOD = "dpsu total", "dpsu period"
"""The columns beside those of the items."""


class State:
    """The state as it is on the disk, read under its lock or for a look."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self._file, self.path = file, path
        self.seal = _checked(file, path)
        file.seek(-SEAL - SIZE, os.SEEK_END)
        size = int.from_bytes(file.read(SIZE), "little")
        file.seek(-SEAL - SIZE - size, os.SEEK_END)
        self.header: dict[str, Any] = json.loads(file.read(size))

    def open_items(self) -> Iterator[pl.DataFrame]:
        """Unreleased items with their totals, in parts."""
        for start, size in self.header["open"]:
            yield self._frame(start, size)

    def released(self) -> pl.DataFrame | None:
        """All released items with their periods; None before the first period with items."""
        place = self.header["released"]
        return None if place is None else self._frame(*place)

    def _frame(self, start: int, size: int) -> pl.DataFrame:
        self._file.seek(start)
        return pl.read_parquet(io.BytesIO(self._file.read(size)))


class Writer:
    """The next state, written beside the present one; `commit` puts it in its place."""

    def __init__(self, path: Path) -> None:
        self.path, self._digest = path, hashlib.sha256()
        # One name, used under the lock: what a killed process leaves is overwritten by the next one.
        self._beside = path.with_name(f".{path.name}.next")
        try:
            self._beside.unlink(missing_ok=True)
            opened = os.open(self._beside, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError as error:
            raise OutputError(f"cannot write {path}: {error.strerror}.") from error
        self._file = os.fdopen(opened, "wb")
        fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._write(MAGIC)
        self._open: list[tuple[int, int]] = []

    def add_open(self, items: pl.DataFrame) -> None:
        """Keep these items, with the column of their totals."""
        for part in items.iter_slices(PART):
            if part.height:
                self._open.append(self._section(part))

    def commit(self, header: dict[str, Any], released: pl.DataFrame | None) -> str:
        """Complete the file, make it durable and put it in place; the new seal."""
        place = None if released is None else self._section(released)
        text = json.dumps({**header, "open": self._open, "released": place}).encode()
        self._write(text + len(text).to_bytes(SIZE, "little"))
        seal = self._digest
        try:
            self._file.write(seal.digest())
            self._file.flush()
            os.fsync(self._file.fileno())
            self._beside.replace(self.path)
            _sync(self.path.parent)
        except OSError as error:
            raise OutputError(f"cannot write {self.path}: {error.strerror}.") from error
        return seal.hexdigest()

    def close(self) -> None:
        """End the lock on the new state, and remove it if it was not put in place."""
        self._beside.unlink(missing_ok=True)
        with suppress(OSError):  # on a full disk, what was not written yet; the error was raised before
            self._file.close()

    def _section(self, frame: pl.DataFrame) -> tuple[int, int]:
        buffer = io.BytesIO()
        frame.write_parquet(buffer, compression="zstd", statistics=False)
        start, data = self._file.tell(), buffer.getvalue()
        self._write(data)
        return start, len(data)

    def _write(self, data: bytes) -> None:
        try:
            self._file.write(data)
        except OSError as error:
            raise OutputError(f"cannot write {self.path}: {error.strerror}.") from error
        self._digest.update(data)


def create(path: Path, header: dict[str, Any]) -> None:
    """Write the state of a new series; there must be nothing at `path`."""
    if os.path.lexists(path):
        raise SeriesError(f"there is something at {path} already: choose another path for a new series.")
    try:
        require_folder(path)
        # Takes the name, so that of two processes only one creates a series here.
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror}.") from error
    try:
        writer = Writer(path)
        try:
            writer.commit(header, None)
        finally:
            writer.close()
    except BaseException:
        path.unlink(missing_ok=True)
        raise


@contextmanager
def reading(path: Path) -> Iterator[State]:
    """The state as it is, for a look; a writer may replace it meanwhile."""
    with _opened(path) as file:
        yield State(file, path)


@contextmanager
def locked(path: Path) -> Iterator[State]:
    """The state, while no other process may write it."""
    with _opened(path) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise SeriesError(f"another process is working on {path}: wait until it has finished.") from None
        found = os.fstat(file.fileno())
        if found.st_ino != path.stat().st_ino:
            raise SeriesError(f"another process has just finished a period of {path}: try again.")
        if found.st_nlink > 1:
            raise SeriesError(
                f"{path} has a second name (a hard link), under which the state before the period would stay: remove one of "
                "the two names."
            )
        yield State(file, path)


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    try:
        file = path.open("rb")
    except OSError as error:
        raise SeriesError(f"cannot open the series {path}: {error.strerror}.") from error
    with file:
        yield file


def _checked(file: BinaryIO, path: Path) -> str:
    """The seal, after comparing it with the content."""
    start = file.read(len(MAGIC))
    if start != MAGIC:
        if start.startswith(FAMILY):
            raise SeriesError(f"the series {path} was written by another version of dpsu.")
        if not start:
            raise SeriesError(
                f"{path} is empty: if its creation was interrupted, delete it and create it again."
            )
        raise SeriesError(f"{path} is not the state of a series.")
    digest, left = hashlib.sha256(start), file.seek(0, os.SEEK_END) - len(MAGIC) - SEAL
    file.seek(len(MAGIC))
    while left > 0:
        block = file.read(min(left, 1 << 20))
        digest.update(block)
        left -= len(block)
    if left < 0 or file.read(SEAL) != digest.digest():
        raise SeriesError(f"the series {path} is damaged or was altered: restore it only with its ledger.")
    return digest.hexdigest()


def _sync(folder: Path) -> None:
    """Make the new name durable."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
