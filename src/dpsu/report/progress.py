"""A progress bar in a terminal or a notebook. It knows the names of stages only (`dpsu.algorithms.job.Tell`)."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

from dpsu.algorithms.job import Tell, silent

Progress = bool | Tell | None
"""True for a bar, a function that is called with the name of each stage as it begins, or nothing."""

STEP = re.compile(r"\b(\d+) of (\d+)\b")
FIRST, LAST = "reading", "decoding"
BEGUN, NEARLY = 0.25, 0.9
"""Shares of the bar before the main stage begins and after it ends; they say nothing about time."""


def share_of(stage: str) -> float:
    """The share of the stages that is done when this one begins: 'level 2 of 3' is the second third of the main stage."""
    if stage.startswith(FIRST):
        return 0.0
    if stage.startswith(LAST):
        return NEARLY
    step = STEP.search(stage)
    done = (int(step[1]) - 1) / int(step[2]) if step else 0.0
    return BEGUN + (NEARLY - BEGUN) * done


@contextmanager
def telling(progress: Progress) -> Iterator[Tell]:
    """The function to call with each stage; a bar is removed at the end, also after an error."""
    if callable(progress):
        yield progress
    elif not progress:
        yield silent
    elif in_notebook():
        with _notebook_bar() as tell:
            yield tell
    else:
        with terminal_bar() as tell:
            yield tell


def in_notebook() -> bool:
    """Whether the code runs in the kernel of a notebook."""
    if "IPython" not in sys.modules:
        return False
    from IPython import get_ipython

    return hasattr(get_ipython(), "kernel")


@contextmanager
def terminal_bar(console: Any = None) -> Iterator[Tell]:
    """A bar on standard error; nothing where that is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    shown = console or Console(stderr=True)
    if not shown.is_terminal:
        yield silent
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn())
    with Progress(*columns, console=shown, transient=True) as bar:
        task = bar.add_task("starting", total=1.0)
        yield lambda stage: bar.update(task, description=stage, completed=share_of(stage))


@contextmanager
def _notebook_bar() -> Iterator[Tell]:
    from IPython.display import HTML, display

    handle = display(HTML(_bar("starting", 0.0)), display_id=True)
    try:
        yield lambda stage: handle.update(HTML(_bar(stage, share_of(stage))))
    finally:
        handle.update(HTML(""))


def _bar(stage: str, share: float) -> str:
    return f'<label><progress max="1" value="{share:.3f}"></progress> {escape(stage)}</label>'
