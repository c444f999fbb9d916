"""Repeated measurements in one run, so that figures are ratios and not seconds."""

import os
import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dpsu.compiled import kernel

Facts = dict[str, Any]
"""What a section found, as JSON has it."""

Run = Callable[[], object]

SPINS = 60_000_000

STAT, STOLEN = Path("/proc/stat"), 8
"""Where Linux counts, and the column of what the host of a virtual machine took for others."""

QUIET, TRIES = 0.02, 3
"""The largest part of a measurement that the host may take before it is made again, and how often it is made at most."""


class Timing(NamedTuple):
    """One measurement: how long a run took, what part of that the host took for others, and what the run returned."""

    seconds: float
    stolen: float
    value: Any = None


def interleaved(contestants: Mapping[str, Run], repetitions: int) -> dict[str, Facts]:
    """Time all contestants in turns, after one warm-up each, so that a slow minute hurts all alike."""
    return {name: summary(timings) for name, timings in in_turns(contestants, repetitions).items()}


def in_turns(contestants: Mapping[str, Run], repetitions: int) -> dict[str, list[Timing]]:
    """As `interleaved`, one by one.

    Each turn has an order of its own: what one leaves in the caches should not favour the same other every time.
    """
    timings: dict[str, list[Timing]] = {name: [] for name in contestants}
    for run in contestants.values():
        run()
    turns = random.Random(0)
    for _ in range(repetitions):
        for name in turns.sample([*contestants], len(contestants)):
            timings[name].append(quietly(contestants[name]))
    return timings


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


def summary(timings: Sequence[Timing]) -> Facts:
    """Median, least and most of repeated measurements, and the largest part that the host took of one."""
    seconds = [timing.seconds for timing in timings]
    return {
        "median": rounded(statistics.median(seconds)),
        "least": rounded(min(seconds)),
        "most": rounded(max(seconds)),
        "repetitions": len(seconds),
        "stolen": rounded(max(timing.stolen for timing in timings)),
    }


def rounded(value: float) -> float:
    """Four digits: what a clock on a shared machine is good for."""
    return float(f"{value:.4g}")


def ceiling() -> dict[str, Run]:
    """What two cores of this machine can gain at most: arithmetic without memory, on one thread and on two.

    Virtual machines lend time to others, so that a perfect program may gain less than twofold.
    """

    def on_two() -> None:
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(spin, (SPINS // 2, SPINS // 2)))

    return {"ceiling, 1 core": lambda: spin(SPINS), "ceiling, 2 cores": on_two}


@kernel
def spin(times: int) -> np.int64:
    """So many steps of an xorshift generator, each waiting for the one before; nothing that a compiler could shorten."""
    state = np.uint64(88172645463325252)
    for _ in range(times):
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
    return np.int64(state)
