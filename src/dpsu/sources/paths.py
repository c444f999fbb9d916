"""The files of paths: each file once, even if several paths, globs, folders and links refer to it."""

import glob
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

from dpsu.errors import InvalidArgument, SourceError

ADDRESS = re.compile(r"\s*[A-Za-z][\w+.-]+:/|.*\b(password|pwd)\s*=", re.IGNORECASE | re.DOTALL)
"""The address of a database or a server, or the keywords that libpq and ODBC take for one, also misspelt."""


@dataclass(frozen=True)
class Found:
    """A file by its name, and the name that errors show, if it is another.

    `keys` are the `key=value` parts of its path below the given folder.
    """

    name: str
    shown: str | None = None
    keys: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        """The file."""
        return Path(self.name)

    @property
    def label(self) -> str:
        """The file in errors."""
        return self.shown or _discreet(self.path)

    @property
    def identity(self) -> tuple[object, ...]:
        """Equal for all names of one file. The keys are part of it, because they become columns."""
        status = os.stat(self.name)  # noqa: PTH116 (a Path for each of many files takes time)
        # Some file systems have no file numbers.
        file = (status.st_dev, status.st_ino) if status.st_ino else (self.path.resolve(),)
        return (*file, self.keys)


def find_files(
    paths: Sequence[str | Path], wanted: Callable[[str], bool], none_in_folder: str
) -> list[Found]:
    """The files in `paths`: files, globs, and folders, whose `wanted` files at any depth count.

    `wanted` gets the path relative to the folder. A folder without a wanted file is refused; `none_in_folder` says what
    is missing.
    """
    files: dict[tuple[object, ...], Found] = {}
    if any(ADDRESS.match(str(path)) and not Path(path).exists() for path in paths):
        # Not quoted: an address may have a password.
        raise SourceError(
            "addresses such as https:// and s3:// are not read, and of databases only postgresql:// and sqlite://, "
            "alone and with a query: give files of this machine"
        )
    if not all(map(str, paths)):
        raise InvalidArgument("a path is empty: give a file, a folder or a glob.")
    try:
        for path in dict.fromkeys(map(str, paths)):
            for found in _find(path, wanted, none_in_folder):
                files.setdefault(found.identity, found)
    except OSError as error:
        raise SourceError(
            f"{_discreet(Path(error.filename))!r} could not be opened: {error.strerror}"
        ) from None
    return [*files.values()]


def _find(path: str, wanted: Callable[[str], bool], none_in_folder: str) -> Iterator[Found]:
    root = Path(path).expanduser()
    if root.exists() or not glob.has_magic(path):
        yield from _behind(root, path, wanted, none_in_folder)
        return
    names = glob.glob(str(root), recursive=True)  # noqa: PTH207 (Path.glob takes no absolute pattern)
    matches = [match for match in map(Path, sorted(names)) if match.exists()]
    if not matches:
        raise SourceError(f"no file matches {path!r}")
    for match in matches:
        yield from _behind(match, _discreet(match), wanted, none_in_folder)


def _behind(root: Path, label: str, wanted: Callable[[str], bool], none_in_folder: str) -> Iterator[Found]:
    """The file itself, or the wanted files of a folder."""
    if root.is_file():
        yield Found(str(root), label)
        return
    if root.exists() and not root.is_dir():
        raise SourceError(f"{label!r} is neither a file nor a folder: pass a stream as standard input, '-'")
    if not root.is_dir():
        raise SourceError(f"there is no file {label!r}")
    found = False
    for file in _below(f"{root}{os.sep}", "", wanted, ()):
        found = True
        yield file
    if not found:
        raise SourceError(f"the folder {label!r} holds no {none_in_folder}")


def _below(root: str, within: str, wanted: Callable[[str], bool], keys: tuple[str, ...]) -> Iterator[Found]:
    """The wanted files in the folder `within` the root, at any depth, sorted; names stay strings: there may be many."""
    with os.scandir(root + within) as opened:
        entries = sorted(opened, key=attrgetter("name"))
    for entry in entries:
        name = within + entry.name
        if entry.is_dir(follow_symlinks=False):
            own = (entry.name,) if "=" in entry.name else ()
            yield from _below(root, name + os.sep, wanted, keys + own)
        elif wanted(name) and entry.is_file():
            yield Found(root + name, keys=keys)


def _discreet(path: Path) -> str:
    """The path without the values of its `key=value` parts, which are data."""
    return str(Path(*(_without_value(part) for part in path.parts)))


def _without_value(part: str) -> str:
    key, equals, _ = part.partition("=")
    return f"{key}=…" if equals else part
