"""Repeated measurements in one run, so that figures are ratios and not seconds."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Timing:
    """Seconds of every repetition."""

    name: str
    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def spread(self) -> float:
        """Half the distance between the fastest and the slowest, relative to the median."""
        return (max(self.seconds) - min(self.seconds)) / (2 * self.median)


def interleaved(contestants: dict[str, Callable[[], object]], repetitions: int = 7) -> list[Timing]:
    """Time all contestants in turns, after one warm-up each, so that a slow minute hurts all alike."""
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for run in contestants.values():
        run()
    for _ in range(repetitions):
        for name, run in contestants.items():
            start = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - start)
    return [Timing(name, tuple(values)) for name, values in seconds.items()]
