"""Single runs: what is asked for, what is there already, and running the rest."""

import json
import math
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpsu.algorithms.catalogue import build
from dpsu.algorithms.request import Calibration, Request
from dpsu.engines.local import LocalEngine
from dpsu.randomness.stream import Stream
from dpsu.sets.user_sets import UserSets
from experiments.paper.data import Corpus

DELTA = math.exp(-10)
CORES = 2


@dataclass(frozen=True)
class Cell:
    """One release on one corpus; `run` tells repetitions apart, each with fresh randomness and order of users."""

    corpus: str
    algorithm: str
    max_items: int = 100
    epsilon: float = 3.0
    calibration: Calibration = "paper"
    alpha: float | None = None
    passes: int = 1
    run: int = 0

    @property
    def key(self) -> str:
        """The name of this cell among the results."""
        return json.dumps(asdict(self), sort_keys=True)

    def released(self, sets: UserSets) -> int:
        """How many items come out."""
        options: dict[str, float | int] = {} if self.alpha is None else {"alpha": self.alpha}
        if self.passes > 1:
            options["passes"] = self.passes
        request = Request(self.epsilon, DELTA, self.max_items, self.calibration)
        mechanism = build(self.algorithm, **options).calibrate(request)
        return int(mechanism.select(LocalEngine(1), sets, Stream.fresh())["released"].sum())


class Results:
    """Everything that has been run, in a file of one line a run, so that a killed run goes on where it was."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._counts: dict[str, float] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        for line in path.read_text().splitlines() if path.exists() else ():
            try:
                row = json.loads(line)
            except json.JSONDecodeError:  # the run was killed while it wrote this line
                continue
            self._counts[row["key"]] = row["released"]

    def __contains__(self, key: str) -> bool:
        return key in self._counts

    def __getitem__(self, key: str) -> float:
        return self._counts[key]

    def add(self, key: str, released: float) -> None:
        """Keep one result, on disk at once."""
        with self.path.open("a") as file:
            file.write(json.dumps({"key": key, "released": released}) + "\n")
        self._counts[key] = released

    def of(self, cell: Cell, runs: int) -> NDArray[np.float64]:
        """The counts of all repetitions of a cell."""
        return np.array([self[replace(cell, run=run).key] for run in range(runs)], np.float64)


def repeated(cells: Iterable[Cell], runs: int) -> list[Cell]:
    """Every cell that many times."""
    return [replace(cell, run=run) for cell in cells for run in range(runs)]


def run_missing(
    cells: Iterable[Cell], corpora: Mapping[str, Corpus], results: Results, tell: Callable[[str, int], None]
) -> None:
    """Run what is not there yet, corpus after corpus, two at a time; `tell` hears the corpus and how many are done."""
    missing = [cell for cell in dict.fromkeys(cells) if cell.key not in results]
    for name in dict.fromkeys(cell.corpus for cell in missing):
        tell(f"reading {corpora[name].label}", 0)
        sets = corpora[name].read()
        with ThreadPoolExecutor(CORES) as pool:
            own = [cell for cell in missing if cell.corpus == name]
            waiting = {pool.submit(cell.released, sets): cell for cell in own}
            try:
                for done in as_completed(waiting):
                    cell = waiting[done]
                    results.add(cell.key, done.result())
                    tell(f"{corpora[name].label}: {cell.algorithm}", 1)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
