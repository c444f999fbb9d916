"""Messages on standard error while a command runs."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import dpsu
from dpsu.cli.wording import for_command

if TYPE_CHECKING:
    from rich.console import Console


@cache
def errors() -> "Console":
    """The console on standard error; rich is loaded when something is printed."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def say(line: str) -> None:
    """Print a line on standard error as it is."""
    errors().print(line, markup=False, emoji=False, soft_wrap=True)


@contextmanager
def stages(quiet: bool) -> Iterator[Any]:
    """Shows which stage runs, on standard error; stages are public."""
    if quiet or not errors().is_terminal:
        yield None
        return
    with errors().status("starting") as status:
        yield lambda stage: status.update(stage)


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
