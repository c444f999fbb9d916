"""What starting costs: importing, and the first release with and without compiled code in the cache."""

import tempfile
from functools import partial
from pathlib import Path

from benchmarks import fresh
from benchmarks.corpus import Corpus
from benchmarks.measure import Facts, in_turns, summary
from benchmarks.settings import Settings

STARTS = 7


def measure(settings: Settings, corpus: Corpus) -> Facts:
    """The first release of a small file, in fresh processes; caches are folders that are thrown away."""
    folders = partial(tempfile.TemporaryDirectory, dir=settings.scratch)

    def cold() -> Facts:
        with folders() as cache:
            return fresh.start(Path(cache))

    with folders() as kept:
        warm = partial(fresh.start, Path(kept))
        found = in_turns({"cold": cold, "warm": warm}, 1 if settings.quick else STARTS)

    def part(start: str, name: str) -> Facts:
        return summary([timing._replace(seconds=timing.value[name]) for timing in found[start]])

    return {
        "import": part("warm", "import"),
        "load": part("warm", "load"),
        "compiling": part("cold", "first"),
        "compiled": part("warm", "first"),
    }
