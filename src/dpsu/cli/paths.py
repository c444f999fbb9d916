"""The files that a command reads and writes: no output may be an input, or another output.

Files are compared by identity, so that another spelling, a link or a case-insensitive file system does not matter.
"""

import glob
import os
import stat
import sys
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from dpsu.errors import InvalidArgument

STANDARD = "-"
"""Standard input as an input, standard output as an output."""

Identity = tuple[int, int] | tuple[int, int, str]


def require_apart(
    outputs: Mapping[str, str | Path | None],
    inputs: Sequence[str | Path] = (),
    others: Mapping[str, Path | None] | None = None,
) -> None:
    """Refuse an output that is an input or another output, and data that is also used for something else.

    `outputs` and `others`, the further files that the command uses, are named by their options; `inputs` may be files,
    folders and globs.
    """
    names: dict[Identity | None, str] = {}
    for option, path in outputs.items():
        identity = None if path is None else _identity(path, sys.stdout)
        if identity in names:
            raise InvalidArgument(
                f"{names[identity]} and {option} name the same file: give each a path of its own."
            )
        if identity is not None:
            names[identity] = option
    used: dict[Identity | None, str] = {}
    for option, path in (others or {}).items():
        identity = None if path is None else _identity(path)
        if taken := names.get(identity):
            raise InvalidArgument(f"{taken} would overwrite the file of {option}: give another path.")
        if identity is not None:
            used[identity] = option
    for file in (file for path in inputs for file in _files(path)):
        identity = _identity(file, sys.stdin)
        if taken := names.get(identity):
            raise InvalidArgument(
                f"{taken} would overwrite an input, or a file of an input folder: give another path."
            )
        if option := used.get(identity, ""):
            raise InvalidArgument(
                f"{option} names a file of the data: give another one; a list must not be made from the data."
            )


def _identity(path: str | Path, standard: TextIO | None = None) -> Identity | None:
    """Equal for all names of one file; for one that is not there yet, its folder and name. None if it is no file.

    `standard` is the stream that `-` stands for; the shell may have led it to a file.
    """
    if standard is not None and str(path) == STANDARD:
        with suppress(OSError, ValueError):
            return _of_status(os.fstat(standard.fileno()))
        return None
    try:
        return _of_status(Path(path).stat())
    except OSError:
        return _identity_to_be(Path(path))


def _of_status(status: os.stat_result) -> Identity | None:
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None


def _identity_to_be(path: Path) -> Identity | None:
    real = Path(os.path.realpath(path))
    with suppress(OSError):
        folder = real.parent.stat()
        return (folder.st_dev, folder.st_ino, unicodedata.normalize("NFC", real.name).casefold())
    return None


def _files(path: str | Path) -> Iterator[str | Path]:
    """The files of an input; missing files, and those that may not be read, are reported when they are read."""
    root = Path(path).expanduser()
    with suppress(PermissionError):
        if str(path) == STANDARD:
            yield path
        elif root.is_dir():
            yield from (file for file in root.rglob("*") if file.is_file())
        elif not root.exists() and glob.has_magic(str(path)):
            for match in glob.iglob(str(root), recursive=True):  # noqa: PTH207 (Path.glob takes no absolute pattern)
                yield from _files(match)
        else:
            yield root
