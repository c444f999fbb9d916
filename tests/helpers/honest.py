"""Honest statements of every kind, made without data where that is possible, and what a careful forger does to one."""

import json
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from example_policies import weighted_l2
from experiments.edges import as_if_run

import dpsu
from dpsu.algorithms.candidate_list import read_candidates
from dpsu.algorithms.candidates import WithCandidates
from dpsu.algorithms.catalogue import build
from dpsu.algorithms.holders import CountingTerms, counting_terms
from dpsu.algorithms.job import SingleJob
from dpsu.algorithms.levels import LevelsJob, plan_levels
from dpsu.algorithms.policy import PolicyLaplace
from dpsu.algorithms.request import Request
from dpsu.algorithms.series import calibrate_series
from dpsu.algorithms.series_job import promise_of_series
from dpsu.algorithms.tuning import Candidate, TuneBySelection, TuneOnPart
from dpsu.engines.choose import engine_for
from dpsu.outcome.statement import Statement, claims, content_digest
from dpsu.randomness.stream import Stream
from dpsu.run import Terms, run, state
from dpsu.sources.source import Source

Fields = dict[str, Any]
Change = Callable[[Fields], None]

OF_0_1 = Path(__file__).parent / "statements_of_0_1"

EVEN = dpsu.Policy(weighted_l2, norm=2, symmetric=True, name="even")
UNEQUAL = dpsu.Policy(weighted_l2, norm=2, name="unequal")
OWN_L1 = dpsu.Policy(
    lambda weights, cutoff: np.minimum(cutoff - weights, 1 / weights.size), norm=1, name="own in l1"
)
SYMMETRIC_L1 = replace(OWN_L1, symmetric=True)

COLUMNS = Source.of("rows.parquet", user="author", item="word")
TEXT = Source.of("rows.parquet", user=["country", "author"], text="body", ngrams=(1, 2), tokenizer=str.split)

USERS = {f"user {n}": [f"item {k}" for k in range(6)] for n in range(60)}
TEXTS = {f"user {n}": ["to be or not to be"] for n in range(300)}

ON_PART = [
    {"algorithm": "weighted-gaussian", "max_items": 5},
    {"algorithm": PolicyLaplace(alpha=2), "max_items": 4},
    {"algorithm": "dp-sips", "max_items": 3},
]
FOR_SELECTION = [
    {"algorithm": "weighted-gaussian", "max_items": 5},
    {"algorithm": "dp-sips", "max_items": 3},
]


def single(
    algorithm: Any,
    epsilon: float = 1.0,
    delta: float = 1e-6,
    max_items: int = 40,
    *,
    calibration: Any = "exact",
    counts: CountingTerms | None = None,
    source: Source = COLUMNS,
    **options: Any,
) -> Statement:
    """The statement of a run that did not happen."""
    job = SingleJob(build(algorithm, **options), Request(epsilon, delta, max_items, calibration), counts)
    made = state(job.promise, source, Terms(title="a title"), Stream(bytes(32)), bytes(16))
    return with_counts_of_branch(as_if_run(made, job.mechanism()), job)


def auto_with_counts(counts: CountingTerms, place: int) -> Statement:
    """The statement of `auto` with counts, all users in one bin of sizes, which chooses the branch."""
    job = SingleJob(dpsu.Auto(), Request(1.0, 1e-6, 40), counts)
    made = state(job.promise, COLUMNS, Terms(), Stream(bytes(32)), bytes(16))
    return with_counts_of_branch(as_if_run(made, job.mechanism(), place), job)


def with_counts_of_branch(made: Statement, job: SingleJob) -> Statement:
    """The statement with the counts of the branch that the private steps of `auto` chose."""
    if job.counting is None or "sizes" not in made.parameters:
        return made
    counts = job.counting.settled(job.mechanism(), made.parameters).stated
    return replace(made, parameters={**made.parameters, "counts": counts})


def listed(
    share: float = 0.01, discover: bool = True, counts: CountingTerms | None = None, weights: bool = False
) -> Statement:
    """The statement of a release with 1000 candidates."""
    items = pl.DataFrame({"item": [f"item {n}" for n in range(1000)], "weight": [1, 4] * 500})
    candidates = read_candidates(items if weights else items["item"])
    algorithm = WithCandidates(dpsu.FocusedGaussian(), candidates, share, discover)
    job = SingleJob(algorithm, Request(1.0, 1e-6, 40), counts)
    return state(job.promise, COLUMNS, Terms(), Stream(bytes(32)), bytes(16))


def in_levels(
    method: Any, counts: CountingTerms | None = None, false_share: float | None = None
) -> Statement:
    """The statement of words and pairs of words."""
    levels, counting = plan_levels(Request(3.0, 1e-6), 2, [9, 7], [0.6, 0.4], method, counts, false_share)
    source = Source.of(TEXTS, text=True, ngrams=[1, 2])
    assert source.text is not None
    return _seeded(LevelsJob(levels, source.text, counting, false_share), source)


def in_periods(periods: int, period: int, **terms: Any) -> Statement:
    """The statement of one period of a series."""
    mechanism = calibrate_series(1.0, 1e-6, periods, **terms)
    promise = promise_of_series(mechanism, "0123456789abcdef" * 2, period)
    return state(promise, COLUMNS, Terms(), Stream(bytes(32)), bytes(16))


def tuned(way: str, settings: list[Fields], seed: int = 1, epsilon: float = 3.0, **how: Any) -> Statement:
    """The statement of a release whose setting was chosen."""
    candidates, request = [Candidate.of(setting) for setting in settings], Request(epsilon, 1e-6)
    job = (
        TuneOnPart(request, candidates, how.get("share", 0.1), how.get("counts"))
        if way == "part"
        else TuneBySelection(request, candidates, how.get("tries", 4.0))
    )
    return _seeded(job, Source.of(USERS), seed)


def _seeded(job: Any, source: Source, seed: int = 1) -> Statement:
    """What a seeded run states, as if its key had been secret."""
    with warnings.catch_warnings(), dpsu.testing.seeded(seed):
        warnings.simplefilter("ignore", dpsu.EmptyRelease)
        made = run(job, source, engine_for(source.data, "local"), Terms())
    assert made.statement is not None
    return replace(made.statement, void=None)


def _first_setting(way: str, settings: list[Fields]) -> Statement:
    """One that released with Weighted Gaussian, so that forgeries know where to find its numbers."""
    made = (tuned(way, settings, seed) for seed in range(100))
    return next(statement for statement in made if statement.algorithm == "weighted-gaussian")


def _with_lists(statement: Statement) -> Statement:
    lists = {
        "public_items": {"count": 3, "sha256": "ab" * 32},
        "exclude": {"count": 0, "salted_sha256": "cd" * 32},
    }
    assert statement.data is not None
    return replace(statement, lists=lists, rests_on=claims(statement.data, lists))


MEASURED = counting_terms(dpsu.Counts(max_items=5), {"amount": (0, 50), "change": (-3, 1)}, others=True)

MEASURED_FREELY = counting_terms(True, {"amount": (0, 50)}, others=True)

MAKERS: dict[str, Callable[[], Statement]] = {
    **{
        name: partial(single, name)
        for name in (
            *("count-gaussian", "weighted-gaussian", "policy-gaussian", "dp-sips", "mad", "mad2r"),
            *("focused-gaussian", "count-laplace", "weighted-laplace", "policy-laplace", "ordered-laplace"),
        )
    },
    **{
        f"{name}, paper": partial(single, name, calibration="paper")
        for name in (
            *("weighted-gaussian", "policy-laplace", "weighted-laplace", "dp-sips", "focused-gaussian"),
            "ordered-laplace",
        )
    },
    "auto": partial(single, "auto"),
    "auto, many items": lambda: as_if_run(single("auto"), dpsu.Auto().calibrate(Request(1.0, 1e-6, 40)), 8),
    "auto, hint": partial(single, "auto", typical_items=3.0),
    "auto, hint of many": partial(single, "auto", typical_items=30.0),
    "auto with counts": partial(single, "auto", counts=CountingTerms()),
    "auto with counts, many items": lambda: auto_with_counts(MEASURED_FREELY, 8),
    "auto with counts, few items": lambda: auto_with_counts(MEASURED_FREELY, 0),
    "auto with counts, hint": partial(single, "auto", typical_items=3.0, counts=counting_terms(True)),
    "auto with counts, hint of many": partial(
        single, "auto", typical_items=30.0, counts=counting_terms(True)
    ),
    "optimal-single": partial(single, "optimal-single", max_items=1),
    "count-gaussian, few items": partial(single, "count-gaussian", epsilon=8.0, max_items=4),
    "mad, many items": partial(single, "mad", max_items=1000),
    "policy-laplace, many items": partial(single, "policy-laplace", max_items=100_000),
    "policy-laplace, paper, in passes": partial(
        single, "policy-laplace", calibration="paper", passes=3, parts=8
    ),
    "ordered-laplace, in parts": partial(single, "ordered-laplace", max_items=10**6, parts=8, alpha=2.0),
    "ordered-laplace, tiny epsilon": partial(single, "ordered-laplace", epsilon=1e-5),
    "ordered-laplace, public order": partial(single, "ordered-laplace", order=["b", "a"]),
    "policy-gaussian, in passes": partial(single, "policy-gaussian", passes=3, parts=8),
    "focused-gaussian, small": partial(single, "focused-gaussian", rounds=4, cap=0.5, warmup=0.3),
    "own policy": partial(single, EVEN),
    "own policy, unequal": partial(single, UNEQUAL),
    "own policy in l1": partial(single, OWN_L1),
    "own policy in l1, paper": partial(single, OWN_L1, calibration="paper"),
    "own policy in l1, symmetric, paper": partial(single, SYMMETRIC_L1, calibration="paper"),
    "counts beside focused": partial(single, "focused-gaussian", counts=CountingTerms()),
    "counts and users": partial(single, "focused-gaussian", counts=CountingTerms(0.3, with_users=True)),
    "sums and others": partial(single, "focused-gaussian", counts=MEASURED),
    "sums beside laplace": partial(single, "weighted-laplace", counts=MEASURED),
    "counts beside weighted": partial(single, "weighted-gaussian", counts=CountingTerms()),
    "counts beside dp-sips": partial(single, "dp-sips", counts=CountingTerms(0.4)),
    "counts beside laplace": partial(single, "weighted-laplace", counts=CountingTerms()),
    "counts beside single": partial(single, "optimal-single", max_items=1, counts=CountingTerms()),
    "candidates": listed,
    "candidates only": partial(listed, 0.05, discover=False),
    "candidates with weights": partial(listed, weights=True),
    "candidates with counts": partial(listed, counts=CountingTerms()),
    "text": partial(single, "weighted-gaussian", source=TEXT),
    "lists": lambda: _with_lists(single("weighted-gaussian")),
    "levels": partial(in_levels, "focused-gaussian"),
    "levels, dpne": partial(in_levels, "dpne"),
    "levels with counts": partial(in_levels, "focused-gaussian", CountingTerms(0.2, with_users=True)),
    "levels with false_share": partial(in_levels, "focused-gaussian", false_share=0.02),
    "levels with false_share and counts": partial(
        in_levels, "focused-gaussian", CountingTerms(0.2), false_share=0.02
    ),
    "series": partial(in_periods, 3, 2, max_items=[4, 9, 2], shares="front"),
    "series of a year": partial(in_periods, 12, 12, max_items=100),
    "series of one period": partial(in_periods, 1, 1, max_items=7),
    "tuned with counts": partial(tuned, "part", ON_PART, counts=CountingTerms()),
    "tuned, ordered": partial(tuned, "part", [{"algorithm": dpsu.OrderedLaplace(alpha=2, parts=2)}] * 2),
    "tuned on a part": partial(_first_setting, "part", ON_PART),
    "tuned by selection": partial(_first_setting, "selection", FOR_SELECTION),
    "tuned, own policies": partial(
        tuned, "part", [{"algorithm": EVEN, "max_items": 5}, {"algorithm": OWN_L1, "max_items": 6}]
    ),
}


@cache
def _made(name: str) -> str:
    if name.startswith("0.1: "):
        return (OF_0_1 / f"{name.removeprefix('0.1: ')}.json").read_text(encoding="utf-8")
    return MAKERS[name]().to_json()


def honest(name: str) -> Fields:
    """The honest statement of this name, or of a file of 0.1, as data of its own."""
    fields: Fields = json.loads(_made(name))
    return fields


def mended(fields: Fields) -> Fields:
    """With the digest that a careful forger would write."""
    return {**fields, "digest": content_digest(fields)}


def at(*path: Any, to: Any) -> Change:
    """What is found there becomes `to`, or what `to` makes of it."""

    def change(fields: Fields) -> None:
        inner: Any = fields
        for step in path[:-1]:
            inner = inner[step]
        inner[path[-1]] = to(inner[path[-1]]) if callable(to) else to

    return change


def without(*path: Any) -> Change:
    """What is found there is deleted."""

    def change(fields: Fields) -> None:
        inner: Any = fields
        for step in path[:-1]:
            inner = inner[step]
        del inner[path[-1]]

    return change


def all_of(*changes: Change) -> Change:
    """All changes, one after the other."""

    def change(fields: Fields) -> None:
        for each in changes:
            each(fields)

    return change


def times(factor: float) -> Callable[[float], float]:
    """A number that is this many times as large."""
    return lambda value: factor * value


def plus(term: float) -> Callable[[float], float]:
    """A number that is larger by this."""
    return lambda value: value + term
