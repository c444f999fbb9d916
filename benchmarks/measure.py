"""Repeated measurements in one run, so that figures are ratios and not seconds."""

import random
import statistics
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from benchmarks.quiet import Run, Timing, quietly
from dpsu.kernels.compiled import kernel

Facts = dict[str, Any]
"""What a section found, as JSON has it."""

SPINS = 40_000_000


def interleaved(contestants: Mapping[str, Run], repetitions: int, in_a_row: int = 1) -> dict[str, Facts]:
    """Time all contestants in turns, after one warm-up each, so that a slow minute hurts all alike.

    A contestant runs so often `in_a_row`, and its time is what one of these took: for what a release does again and again.
    """
    in_rows = {name: partial(_repeat, run, in_a_row) for name, run in contestants.items()}
    return {name: summary(timings, in_a_row) for name, timings in in_turns(in_rows, repetitions).items()}


def _repeat(run: Run, times: int) -> None:
    for _ in range(times):
        run()


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


def summary(timings: Sequence[Timing], in_a_row: int = 1) -> Facts:
    """Median, least and most of repeated measurements, and the largest part that the host took of one."""
    seconds = [timing.seconds / in_a_row for timing in timings]
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

    Virtual machines lend time to others, and two of their processors may be the two threads of one core, which share what
    it can do; so that a perfect program may gain less than twofold.
    """

    def on_two() -> None:
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(spin, (SPINS // 2, SPINS // 2)))

    return {"ceiling, 1 core": lambda: spin(SPINS), "ceiling, 2 cores": on_two}


@kernel
def spin(times: int) -> np.int64:
    """So many steps of four xorshift generators side by side: no memory, nothing to wait for, nothing to shorten."""
    a, b, c, d = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(5)
    for _ in range(times):
        a ^= a << np.uint64(13)
        b ^= b << np.uint64(13)
        c ^= c << np.uint64(13)
        d ^= d << np.uint64(13)
        a ^= a >> np.uint64(7)
        b ^= b >> np.uint64(7)
        c ^= c >> np.uint64(7)
        d ^= d >> np.uint64(7)
    return np.int64(a ^ b ^ c ^ d)
