"""Where the time of one release goes, stage by stage, and the least that any program could take."""

import importlib
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks import rivals
from benchmarks.corpus import Corpus
from benchmarks.measure import Facts, in_turns, summary
from benchmarks.ours import mechanism
from benchmarks.settings import Settings
from dpsu.engines.local import LocalEngine
from dpsu.randomness.stream import open_stream
from dpsu.sources.source import Source

WATCHED = ("dpsu.sources.pairs", "group_by_user")
"""The function that sorts pairs into rows, under the name by which the reader calls it."""

CALIBRATE, ENCODE, SORT, BOUND = "calibrate", "read and encode", "sort into rows", "bound"
WEIGH, UPDATE, COMPACT, DECODE, REST = "weigh", "noise and decision", "compaction", "decode", "all else"
STAGES = (CALIBRATE, ENCODE, SORT, BOUND, WEIGH, UPDATE, COMPACT, DECODE, REST)


class Clock:
    """Seconds by stage; a stage that comes again adds up, and of stages within each other only the inner one counts."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.calls: dict[str, int] = defaultdict(int)
        self._within: list[str] = []

    @contextmanager
    def during(self, stage: str) -> Iterator[None]:
        self.calls[stage] += 1
        self._within.append(stage)
        start = time.perf_counter()
        try:
            yield
        finally:
            taken = time.perf_counter() - start
            self._within.pop()
            self.seconds[stage] += taken
            if self._within:
                self.seconds[self._within[-1]] -= taken


class TimedEngine(LocalEngine):
    """The local engine under a clock."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock

    def read(self, *given: Any, **named: Any) -> Any:
        with self._clock.during(ENCODE):
            return super().read(*given, **named)

    def bound(self, *given: Any, **named: Any) -> Any:
        with self._clock.during(BOUND if named.get("keep") is None else COMPACT):
            return super().bound(*given, **named)

    def weigh(self, *given: Any, **named: Any) -> Any:
        with self._clock.during(WEIGH):
            return super().weigh(*given, **named)

    def update(self, *given: Any, **named: Any) -> Any:
        with self._clock.during(UPDATE):
            return super().update(*given, **named)

    def names(self, *given: Any, **named: Any) -> Any:
        with self._clock.during(DECODE):
            return super().names(*given, **named)


def measure(settings: Settings, corpus: Corpus) -> Facts:
    """The stages of a release by Focused Gaussian; reading, and reading with encoding, by Polars alone."""

    def staged() -> Clock:
        clock = Clock()
        one_release(corpus, clock)
        return clock

    timings = in_turns(
        {
            "release": staged,
            "read": lambda: rivals.read(corpus.path),
            "read and encode": lambda: rivals.read_and_encode(corpus.path),
        },
        settings.repetitions,
    )
    releases = timings["release"]
    return {
        "pairs": corpus.pairs,
        "rounds": releases[0].value.calls[WEIGH],
        "stages": {
            stage: summary([timing._replace(seconds=timing.value.seconds[stage]) for timing in releases])
            for stage in STAGES
            if stage in releases[0].value.seconds
        },
        "alone": {name: summary(own) for name, own in timings.items()},
    }


def one_release(corpus: Corpus, clock: Clock) -> Any:
    """The way of a release on this machine, from calibration to names, under the clock."""
    engine = TimedEngine(clock)
    with clock.during(REST):
        with clock.during(CALIBRATE):
            chosen = mechanism()
        stream = open_stream()
        with engine, _watching(clock):
            sets = engine.read(Source.of(corpus.path, user="user", item="item"), stream)
            return engine.names(sets, chosen.select(engine, sets, stream))


@contextmanager
def _watching(clock: Clock) -> Iterator[None]:
    """Tell the sorting apart while the reader runs."""
    module, name = importlib.import_module(WATCHED[0]), WATCHED[1]
    original = getattr(module, name)

    def watched(*given: Any, **named: Any) -> Any:
        with clock.during(SORT):
            return original(*given, **named)

    setattr(module, name, watched)
    try:
        yield
    finally:
        setattr(module, name, original)
