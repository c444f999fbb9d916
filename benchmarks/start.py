"""What starting costs: importing, and the first release with and without compiled code in the cache."""

import tempfile
from pathlib import Path

from benchmarks import fresh
from benchmarks.corpus import Corpus
from benchmarks.measure import Facts, summary
from benchmarks.settings import Settings

COLD, WARM = 2, 5


def measure(settings: Settings, corpus: Corpus) -> Facts:
    """The first release of a small file, in fresh processes; caches are folders that are thrown away."""
    cold, warm = [], []
    for _ in range(1 if settings.quick else COLD):
        with tempfile.TemporaryDirectory(dir=settings.scratch) as folder:
            cold.append(fresh.start(Path(folder)))
            warm += [fresh.start(Path(folder)) for _ in range(1 if settings.quick else WARM)]
    return {
        "import": summary([run["import"] for run in warm]),
        "load": summary([run["load"] for run in warm]),
        "compiling": summary([run["first"] for run in cold]),
        "compiled": summary([run["first"] for run in warm]),
    }
