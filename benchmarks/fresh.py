"""Releases in a process of their own, where memory and start are this release's alone.

`releases` and `start` run `python -m benchmarks.fresh` with a question in JSON and read its answer.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.quiet import Timing, quietly

STATUS = Path("/proc/self/status")
FIRST_PAIRS = 20_000
"""Enough for sets that are cut, so that all compiled loops are loaded before the clock runs."""


class Releases(NamedTuple):
    """Releases in one process, its memory before them, and at the peak of the first."""

    timings: list[Timing]
    base: int
    peak: int


def releases(
    paths: Sequence[Path], repetitions: int, cores: int | None = None, text: dict[str, Any] | None = None
) -> Releases:
    """Releases from these files; from the text of one file, if `text` says how."""
    question = {
        "paths": [str(path) for path in paths],
        "repetitions": repetitions,
        "cores": cores,
        "text": text,
    }
    found = _ask(question, {})
    return Releases([Timing(*timing) for timing in found["timings"]], found["base"], found["peak"])


def start(cache: Path) -> dict[str, Any]:
    """Seconds to import and for the first release of a small frame, with compiled code cached in that folder."""
    return _ask({"paths": []}, {"NUMBA_CACHE_DIR": str(cache)})


def _ask(question: dict[str, Any], environment: dict[str, str]) -> dict[str, Any]:
    answer = subprocess.run(
        [sys.executable, "-m", "benchmarks.fresh", json.dumps(question)],
        stdout=subprocess.PIPE,
        check=True,
        cwd=Path(__file__).parents[1],
        env={**os.environ, **environment},
    )
    found: dict[str, Any] = json.loads(answer.stdout)
    return found


def _answer(
    paths: list[str], repetitions: int = 1, cores: int | None = None, text: dict[str, Any] | None = None
) -> dict[str, Any]:
    if cores:
        # Before Polars and the engine count what they have.
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    begin = time.perf_counter()
    import dpsu

    imported = time.perf_counter() - begin
    dpsu.release  # noqa: B018 - fetches what the package needs
    loaded = time.perf_counter() - begin
    first = _first_release(paths[0] if paths else None, text)
    base, peaks = _memory("VmRSS"), []
    from benchmarks.ours import release, release_text

    def run() -> None:
        release_text(Path(paths[0]), **text) if text else release([Path(path) for path in paths])
        peaks.append(_memory("VmHWM"))

    timings = [quietly(run) for _ in range(repetitions if paths else 0)]
    return {
        "import": imported,
        "load": loaded,
        "first": first,
        "timings": timings,
        "base": base,
        "peak": peaks[0] if peaks else 0,
    }


def _first_release(path: str | None, text: dict[str, Any] | None) -> float:
    """Seconds for a small release: of the beginning of the data, or of a few hundred users."""
    import polars as pl

    from benchmarks.ours import release, release_text

    small = pl.read_parquet(path, n_rows=FIRST_PAIRS) if path else _few_users()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "small.parquet"
        small.write_parquet(file)
        begin = time.perf_counter()
        release_text(file, **text) if text else release(file)
        return time.perf_counter() - begin


def _few_users() -> Any:
    import polars as pl

    rows = [(user, f"word{item}") for user in range(300) for item in range(user % 120 + 1)]
    return pl.DataFrame(rows, schema=["user", "item"], orient="row")


def _memory(field: str) -> int:
    """Bytes held now (VmRSS) or at the peak (VmHWM).

    Not `ru_maxrss`: a process takes that over from the one that started it.
    """
    for line in STATUS.read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"{STATUS} has no {field}")


if __name__ == "__main__":
    print(json.dumps(_answer(**json.loads(sys.argv[1]))))
