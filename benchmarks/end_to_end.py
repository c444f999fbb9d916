"""From a file with string items to released items: every algorithm, scripts written by hand, and PipelineDP."""

from collections.abc import Callable
from functools import partial
from typing import Any

from experiments.peers.run import ENVIRONMENTS, run_peer

from benchmarks import rivals
from benchmarks.corpus import Corpus
from benchmarks.measure import Facts, interleaved, rounded
from benchmarks.ours import private_algorithms, release
from benchmarks.settings import DELTA, EPSILON, MAX_ITEMS, Settings

METHOD = "Gaussian threshold"

Contestants = dict[str, Callable[[], Any]]


def measure(settings: Settings, corpus: Corpus) -> Facts:
    """Every private algorithm, and what the hand-written scripts take for the same file."""
    path = corpus.path
    names = private_algorithms()
    scripts: Contestants = {
        name: partial(script, path, EPSILON, DELTA, MAX_ITEMS) for name, script in rivals.SCRIPTS.items()
    }
    bare: Contestants = {"bare count": partial(rivals.bare_count, path, EPSILON, DELTA)}
    ours: Contestants = {name: partial(release, path, name) for name in names}
    timings = interleaved({**scripts, **bare, **ours}, settings.repetitions)
    released = {name: len(run()) for name, run in {**scripts, **ours}.items()}
    fastest = min(rivals.SCRIPTS, key=lambda name: timings[name]["median"])
    return {
        "pairs": corpus.pairs,
        "users": corpus.users,
        "algorithms": names,
        "script": fastest,
        "released": released,
        "timings": timings,
    }


def measure_pipelinedp(settings: Settings, corpus: Corpus) -> Facts:
    """PipelineDP's local backend once, and ours beside it. Both select the same data at the same privacy.

    PipelineDP starts from pairs in memory, which favours it; what reading them takes is told apart.
    """
    arguments = [str(value) for value in (EPSILON, DELTA, MAX_ITEMS, 1)]
    ENVIRONMENTS.mkdir(parents=True, exist_ok=True)
    found = run_peer("PipelineDP", ENVIRONMENTS, corpus.as_csv(), [*arguments, METHOD])
    ours = interleaved({"release": lambda: release(corpus.path)}, settings.repetitions)
    facts: Facts = {"pairs": corpus.pairs, "ours": ours["release"]}
    if isinstance(found, str):
        return {**facts, "absent": found}
    (row,) = found
    return {
        **facts,
        "version": row["version"],
        "seconds": rounded(row["seconds"]),
        "reading_seconds": rounded(row["reading_seconds"]),
    }
