"""How time and memory grow with the data: every size in a fresh process, from files in parts."""

import shutil

from benchmarks import fresh
from benchmarks.corpus import Corpus, write_parts
from benchmarks.measure import Facts, rounded, summary
from benchmarks.settings import Settings

MOST_REPETITIONS = 3
"""Of what takes many seconds."""


def measure(settings: Settings, corpus: Corpus) -> Facts:
    """Releases of growing corpora with string items."""
    return _grow(settings, settings.pairs, strings=True)


def measure_large(settings: Settings, corpus: Corpus) -> Facts:
    """Releases of the largest corpora, of integers."""
    return _grow(settings, settings.large, strings=False)


def _grow(settings: Settings, sizes: tuple[int, ...], strings: bool) -> Facts:
    folder = settings.scratch / ("strings" if strings else "integers")
    repetitions = min(settings.repetitions, MOST_REPETITIONS)
    rows = []
    try:
        for pairs, paths in write_parts(folder, sorted(sizes), strings).items():
            found = fresh.releases(paths, repetitions)
            seconds = summary(found.timings)
            rows.append(
                {
                    "pairs": pairs,
                    **seconds,
                    "ns_per_pair": rounded(1e9 * seconds["median"] / pairs),
                    "peak_bytes": found.peak,
                    "base_bytes": found.base,
                    "bytes_per_pair": rounded((found.peak - found.base) / pairs),
                    "file_bytes": sum(path.stat().st_size for path in paths),
                }
            )
            print(f"  {pairs:,} pairs: {seconds['median']} s", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return {"items": "strings" if strings else "integers", "sizes": rows}
