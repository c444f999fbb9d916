"""Messages on standard error while a command runs."""

import re
import shutil
import sys
import textwrap
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import dpsu
from dpsu.cli.wording import for_command

if TYPE_CHECKING:
    from rich.console import Console

LEAD = re.compile(r"(ok    |FAIL  |- |\s+)")
"""How a line begins whose later parts are indented."""


@cache
def errors() -> "Console":
    """The console on standard error; rich is loaded when something is printed."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def say(line: str) -> None:
    """Print a line on standard error: whole for programs, wrapped between words for a person."""
    errors().print(line, markup=False, emoji=False, soft_wrap=not errors().is_terminal)


def tell(text: Any) -> None:
    """Print text on standard output: as it is for programs, wrapped between words for a person."""
    lines = str(text).rstrip("\n").split("\n")
    if sys.stdout.isatty():
        width = shutil.get_terminal_size().columns
        lines = [part for line in lines for part in _wrapped(line, width)]
    print("\n".join(lines))


def _wrapped(line: str, width: int) -> list[str]:
    """The line in parts that fit; later parts are indented like the text after the first word of a list or a check."""
    if len(line) <= width:
        return [line]
    found = LEAD.match(line)
    indent = " " * len(found[0]) if found else "  "
    return textwrap.wrap(
        line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


@contextmanager
def stages(quiet: bool) -> Iterator[Any]:
    """Shows which stage runs, on standard error; stages are public."""
    if quiet:
        yield None
        return
    from dpsu.report.progress import terminal_bar

    with terminal_bar(errors()) as tell:
        yield tell


@contextmanager
def notes(quiet: bool) -> Iterator[None]:
    """Shows warnings as notes, on standard error; those that depend on the data are marked as the curator's."""
    with warnings.catch_warnings(record=True) as caught:
        for kind in (dpsu.EmptyRelease, dpsu.WeakPrivacy, dpsu.CuratorNote):
            warnings.simplefilter("always", kind)
        yield
    for line in dict.fromkeys(map(_line, () if quiet else caught)):
        say(line)


def _line(note: warnings.WarningMessage) -> str:
    whose = "for the curator only" if issubclass(note.category, dpsu.CuratorNote) else "note"
    return f"{whose}: {for_command(str(note.message))}"
