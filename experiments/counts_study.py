"""Counts and sums of the synthetic hospital: what they cost and how far they are off. `python -m experiments.counts_study`.

Prints the table of docs/counts.md: epsilon 1, delta 1e-7, 16 keys on each of two draws of the data. Takes two minutes.
"""

import sys
import warnings
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import dpsu
from dpsu.testing import seeded

sys.path.append(str(Path(__file__).parents[1] / "examples"))
from hospital import hospital

DRAWS, KEYS = (0, 1), range(1, 17)
MANY = 1000
"""Sums are judged for codes with at least this many patients."""

HOW: dict[str, Any] = {
    "user": "patient",
    "item": "code",
    "epsilon": 1.0,
    "delta": 1e-7,
}
SETTINGS: list[tuple[dpsu.Counts, bool]] = [
    (dpsu.Counts(share=0.1), False),
    (dpsu.Counts(), False),
    (dpsu.Counts(share=0.23), False),
    (dpsu.Counts(), True),
    (dpsu.Counts(sums_share=0.2), True),
    (dpsu.Counts(sums_share=0.15), True),
    (dpsu.Counts(share=0.15, sums_share=0.1), True),
]
ALGORITHMS = ("auto", "focused-gaussian")


@dataclass(frozen=True)
class Found:
    """One release: items relative to one without counts, the share of counts off by a factor of 2, sums within 10 %."""

    kept: float
    off: float
    within: float


def judge(
    frame: pl.DataFrame, counts: dpsu.Counts, sums: bool, keys: range = KEYS, algorithm: str = "auto"
) -> list[Found]:
    """Releases with these keys beside the true numbers."""
    how = {**HOW, "algorithm": algorithm}
    true = frame.group_by("code").agg(pl.col("patient").n_unique(), pl.col("days").sum())
    patients = dict(true.select("code", "patient").iter_rows())
    large = dict(true.filter(pl.col("patient") >= MANY).select("code", "days").iter_rows())
    found = []
    for key in keys:
        with seeded(key):
            alone = dpsu.release(frame, **how)
        with seeded(key):
            made = dpsu.release(frame, **how, counts=counts, sums={"days": (0, 10)} if sums else None)
        assert made.counts is not None
        off = [not 0.5 <= count / patients[code] <= 2 for code, count in made.counts.items()]
        within = (
            [abs(made.sums["days"][code] / days - 1) <= 0.1 for code, days in large.items()]
            if sums
            else [True]
        )
        found.append(Found(len(made) / len(alone), float(np.mean(off)), float(np.mean(within))))
    return found


def main() -> None:
    warnings.simplefilter("ignore", dpsu.CuratorNote)
    frames = [hospital(seed=draw) for draw in DRAWS]
    for algorithm, (counts, sums) in product(ALGORITHMS, SETTINGS):
        draws = [judge(frame, counts, sums, algorithm=algorithm) for frame in frames]
        both = [each for found in draws for each in found]
        kept = " and ".join(f"{np.mean([each.kept for each in found]):.0%}" for found in draws)
        within = " and ".join(f"{np.mean([each.within for each in found]):.1%}" for found in draws)
        told = [
            algorithm,
            f"share={counts.share}" + (f", sums_share={counts.sums_share:g}" if sums else ""),
            f"items {kept}",
            f"off {np.mean([each.off for each in both]):.1%}, worst {max(each.off for each in both):.1%}",
        ]
        if sums:
            told.append(
                f"within 10 %: {within}, all in {sum(each.within == 1 for each in both)} of {len(both)}"
            )
        print("; ".join(told))


if __name__ == "__main__":
    main()
