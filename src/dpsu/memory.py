"""A limit on memory: the process ends with a clear error before the machine suffers."""

import os
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dpsu.errors import InvalidArgument, TooLarge

STATUS = Path("/proc/self/statm")
INTERVAL = 0.02
UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def parse_memory(text: str) -> int:
    """Bytes from 500M, 8G or a plain number."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if found is None or float(found[1]) == 0:
        raise InvalidArgument(f"memory must be a size such as 500M or 8G, not {text!r}.")
    return int(float(found[1]) * UNITS[found[2].upper()])


@contextmanager
def memory_limit(most: int | None) -> Iterator[None]:
    """End the process if it holds more memory than `most` bytes while inside.

    Compiled code cannot be stopped half way, so the process leaves at once, as if it were killed: no output has been
    touched by then, since files appear whole or not at all.
    """
    if most is None:
        yield
        return
    if not STATUS.exists():
        raise InvalidArgument("a memory limit needs Linux.")
    done = threading.Event()
    watch = threading.Thread(target=_watch, args=(most, done), daemon=True)
    watch.start()
    try:
        yield
    finally:
        done.set()
        watch.join()


def held_memory() -> int:
    """The bytes that this process holds in memory."""
    return int(STATUS.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _watch(most: int, done: threading.Event) -> None:
    while not done.wait(INTERVAL):
        if held_memory() > most:
            print(
                f"TooLarge: the release needs more than the {most / 2**20:,.0f} MiB that it may use; nothing was released. "
                "Allow more, or use the Spark engine.",
                file=sys.stderr,
                flush=True,
            )
            os._exit(TooLarge.exit_code)
