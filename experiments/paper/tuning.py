"""What choosing a setting privately costs, against what a better setting gains."""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import polars as pl

import dpsu
from experiments.paper.data import SHARED, arxiv_frame, reddit_frame
from experiments.paper.runs import DELTA, Results

EPSILON = 3.0
RUNS = {False: 3, True: 1}
"""Repetitions, of a full and of a quick run."""

DEFAULT = {"max_items": 300}

SETTINGS = {
    "focused-gaussian": [{"max_items": d} for d in (30, 100, 300, 1000)],
    "policy-gaussian": [{"algorithm": "policy-gaussian", "max_items": d} for d in (10, 50, 100, 300)],
}
"""Two choices: the bound for the default algorithm, and for the paper's best private one."""

WAYS: dict[str, dict[str, Any]] = {
    "tried on 10 % of users": {"way": "part", "share": 0.1},
    "tried on 30 % of users": {"way": "part", "share": 0.3},
    "selection, 2 tries": {"way": "selection", "tries": 2},
    "selection, 4 tries": {"way": "selection", "tries": 4},
}


@dataclass(frozen=True)
class Trial:
    """One run of one way to choose; `way` is a name of `WAYS`, or the bound of a fixed setting."""

    corpus: str
    choice: str
    way: str | int
    run: int

    @property
    def key(self) -> str:
        """The name of this trial among the results."""
        return f"tuning / {self.corpus} / {self.choice} / {self.way} / {self.run}"


def trials(quick: bool) -> list[Trial]:
    """Every fixed setting and every way of choosing, on every corpus."""
    return [
        Trial(corpus, choice, way, run)
        for corpus in sources(quick)
        for choice, settings in SETTINGS.items()
        for way in (*(setting["max_items"] for setting in settings), *WAYS)
        for run in range(RUNS[quick])
    ]


def sources(quick: bool) -> dict[str, Callable[[], tuple[pl.DataFrame, dict[str, str]]]]:
    """The corpora: frames and the names of their columns."""
    pairs = {"user": "user", "item": "item"}
    found = {
        "reddit_like words": lambda: (reddit_frame(quick), pairs),
        "arXiv words": lambda: (arxiv_frame(quick), {"user": "author", "text": "text"}),
    }
    debian = SHARED / "debian_depends.parquet"
    if debian.exists():
        found["Debian dependencies"] = lambda: (pl.read_parquet(debian), pairs)
    return found


def run_missing(quick: bool, results: Results, tell: Callable[[str, int], None]) -> None:
    """Run the trials that are not there yet."""
    read = {name: cache(source) for name, source in sources(quick).items()}
    for trial in trials(quick):
        if trial.key in results:
            continue
        tell(f"tuning on {trial.corpus}: {trial.choice}, {trial.way}", 0)
        frame, columns = read[trial.corpus]()
        results.add(trial.key, _released(trial, frame, columns))
        tell(f"tuning on {trial.corpus}: {trial.choice}, {trial.way}", 1)


def _released(trial: Trial, frame: pl.DataFrame, columns: dict[str, str]) -> int:
    how: dict[str, Any] = {**columns, "epsilon": EPSILON, "delta": DELTA}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dpsu.EmptyRelease)
        if isinstance(trial.way, str):
            return len(dpsu.tune(frame, settings=SETTINGS[trial.choice], **WAYS[trial.way], **how).release)
        setting = next(s for s in SETTINGS[trial.choice] if s["max_items"] == trial.way)
        return len(dpsu.release(frame, **{"algorithm": "focused-gaussian", **setting}, **how))


def summary(quick: bool, results: Results) -> Iterator[tuple[str, str, dict[str, float]]]:
    """By corpus and choice: the mean size of the release, for the worst, default and best setting and every way."""
    for corpus in sources(quick):
        for choice, settings in SETTINGS.items():

            def mean(way: str | int, corpus: str = corpus, choice: str = choice) -> float:
                return float(
                    np.mean([results[Trial(corpus, choice, way, run).key] for run in range(RUNS[quick])])
                )

            fixed = {setting["max_items"]: mean(setting["max_items"]) for setting in settings}
            yield (
                corpus,
                choice,
                {
                    "worst setting": min(fixed.values()),
                    "D = 300 (default)": fixed[DEFAULT["max_items"]],
                    "best in hindsight": max(fixed.values()),
                    **{way: mean(way) for way in WAYS},
                },
            )
