"""Counts and sums of the synthetic hospital: what they cost and how far they are off. `python -m experiments.counts_study`.

Prints the table of docs/counts.md: epsilon 1, delta 1e-7, 16 keys on each of two draws of the data, and then the figures
beside it and those of docs/group-by.md. Takes three minutes.
"""

import sys
import warnings
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy import stats

import dpsu
from dpsu.algorithms.holders import counting_terms
from dpsu.algorithms.job import SingleJob
from dpsu.algorithms.request import Request
from dpsu.engines.contract import SHOWN
from dpsu.engines.local import LocalEngine
from dpsu.randomness.stream import Stream
from dpsu.sources.pairs import read_sets
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
    (dpsu.Counts(share=0.05), False),
    (dpsu.Counts(), False),
    (dpsu.Counts(max_items=10), False),
    (dpsu.Counts(), True),
    (dpsu.Counts(sums_share=0.15), True),
    (dpsu.Counts(share=0.05, sums_share=0.2), True),
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


def biases(frame: pl.DataFrame, keys: range = KEYS) -> dict[str, float]:
    """How far counts, sums and means of the defaults are off on average, for codes with many patients.

    `cut` and `bounded` are the part of the patients with more than 5 released codes, and what the bounds take from sums;
    `within` is the part of the counts of codes with fewer patients whose half-width covers the true count.
    """
    found = []
    each = frame.group_by("patient", "code").agg(pl.col("days").sum())
    true = each.group_by("code").agg(
        pl.len().alias("patients"), pl.col("days").sum(), pl.col("days").clip(0, 10).sum().alias("within")
    )
    for key in keys:
        with seeded(key):
            made = dpsu.release(frame, **HOW, counts=True, sums={"days": (0, 10)})
        held = each.filter(pl.col("code").is_in(made.items)).group_by("patient").len()["len"]
        large = made.to_polars().join(true.filter(pl.col("patients") >= MANY), on="code")
        parts = {
            "counts": large["holders"] / large["patients"],
            "sums": large["days_sum"] / large["days"],
            "means": large["days_mean"] / (large["days"] / large["patients"]),
            "bounded": large["within"] / large["days"],
        }
        small = made.to_polars().join(true.filter(pl.col("patients") < MANY), on="code")
        within = ((small["holders"] - small["patients"]).abs() <= small["half_width"]).mean()
        cut = int((held > 5).sum()) / frame["patient"].n_unique()
        found.append(
            {**{name: float((part - 1).mean()) for name, part in parts.items()}, "cut": cut, "within": within}
        )
    return {name: float(np.mean([one[name] for one in found])) for name in found[0]}


def correlation(frame: pl.DataFrame, key: int, few: int = 250) -> float:
    """The rank correlation of noisy totals of Focused Gaussian with true counts, for released codes with few patients."""
    true = dict(frame.group_by("code").agg(pl.col("patient").n_unique()).iter_rows())
    job = SingleJob(dpsu.FocusedGaussian(), Request(HOW["epsilon"], HOW["delta"]), counting_terms(True))
    stream = Stream(key.to_bytes(32))
    with LocalEngine() as engine:
        sets = read_sets(frame, user="patient", item="code", stream=stream)
        items = job.mechanism().select(engine, sets, stream)
        shown = engine.update(items, lambda columns: {SHOWN + "total": columns["noisy"]})
        totals = engine.names(sets, shown)
    pairs = [(total, true[code]) for code, total in totals.iter_rows() if true[code] < few]
    return float(stats.spearmanr(pairs).statistic)


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
            f"share={counts.share}, max_items={counts.max_items}"
            + (f", sums_share={counts.sums_share:g}" if sums else ""),
            f"items {kept}",
            f"off {np.mean([each.off for each in both]):.1%}, worst {max(each.off for each in both):.1%}",
        ]
        if sums:
            told.append(
                f"within 10 %: {within}, all in {sum(each.within == 1 for each in both)} of {len(both)}"
            )
        print("; ".join(told))
    for algorithm in ALGORITHMS:
        raw = [
            each for frame in frames for each in judge(frame, dpsu.Counts(raw=True), False, KEYS, algorithm)
        ]
        print(f"{algorithm}; as drawn {np.mean([each.off for each in raw]):.1%} off")
    print("; ".join(f"{name} {part:.1%}" for name, part in biases(frames[0]).items()))
    print("totals and counts:", *(f"{correlation(frames[0], key):+.2f}" for key in range(1, 5)))


if __name__ == "__main__":
    main()
