"""What a second core gives: whole selections on numbers, and a whole release."""

from functools import partial
from typing import Any

from benchmarks import fresh
from benchmarks.corpus import Corpus
from benchmarks.measure import Facts, ceiling, interleaved, summary
from benchmarks.ours import mechanism, private_algorithms
from benchmarks.quiet import Run
from benchmarks.settings import Settings
from dpsu.engines.local import LocalEngine
from dpsu.randomness.stream import open_stream

MOST_REPETITIONS = 5
CORES = (1, 2)


def measure(settings: Settings, corpus: Corpus) -> Facts:
    """Every algorithm on sets that were read before; Focused Gaussian also from the file, in processes of its own."""
    repetitions = min(settings.repetitions, MOST_REPETITIONS)
    names = private_algorithms()
    contestants: dict[str, Run] = {
        f"{name}, {cores}": partial(_select, mechanism(name), LocalEngine(cores), corpus)
        for name in names
        for cores in CORES
    }
    timings = interleaved({**contestants, **ceiling()}, repetitions)
    whole = {
        str(cores): summary(fresh.releases([corpus.path], repetitions, cores).timings) for cores in CORES
    }
    return {"pairs": corpus.pairs, "algorithms": names, "timings": timings, "release": whole}


def _select(chosen: Any, engine: LocalEngine, corpus: Corpus) -> object:
    return chosen.select(engine, corpus.sets, open_stream())
