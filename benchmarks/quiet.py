"""What the host of a virtual machine takes for its other guests: a run that it disturbs is measured again.

Nothing is imported here that a start from nothing would have to load.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

Run = Callable[[], object]

STAT, STOLEN = Path("/proc/stat"), 8
"""Where Linux counts, and the column of what the host of a virtual machine took for others."""

QUIET, TRIES = 0.02, 3
"""The largest part of a measurement that the host may take before it is made again, and how often it is made at most."""


class Timing(NamedTuple):
    """One measurement: how long a run took, what part of that the host took for others, and what the run returned."""

    seconds: float
    stolen: float
    value: Any = None


def quietly(run: Run) -> Timing:
    """Time a run; if the host disturbs it, again, and of several the one that it disturbed least."""
    timings = [_time(run)]
    while timings[-1].stolen > QUIET and len(timings) < TRIES:
        timings.append(_time(run))
    return min(timings, key=lambda timing: timing.stolen)


def _time(run: Run) -> Timing:
    before, start = stolen_seconds(), time.perf_counter()
    value = run()
    seconds = time.perf_counter() - start
    return Timing(seconds, (stolen_seconds() - before) / seconds, value)


def stolen_seconds() -> float:
    """How long this machine's processors, if they are virtual, have waited for real ones since it started."""
    if not STAT.exists():
        return 0.0
    of_all_processors = STAT.read_text().splitlines()[0].split()
    return int(of_all_processors[STOLEN]) / os.sysconf("SC_CLK_TCK")
