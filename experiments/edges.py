"""At the edges of every range: does a calibration refuse, or promise what `dpsu.verify` accepts and a lone user can trust?

    python -m experiments.edges [--points 6000] [--seed 1] [--only ordered-laplace]

Draws points from a grid of privacy, set size, calibration and options of every private algorithm, of policies of one's
own, and of what is built from Focused Gaussian: candidates, n-grams in levels, series; and counts, sums and others beside
every algorithm. A point fails if calibration raises anything but InvalidArgument, warns or takes longer than a minute, if
its statement is rejected, or if a user whose items nobody else holds sees one of them with a chance above delta.
"""

import argparse
import json
import math
import random
import resource
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from itertools import product
from multiprocessing import get_context
from typing import Any

import numpy as np
import polars as pl

import dpsu
from dpsu.algorithms.auto import AutoMechanism
from dpsu.algorithms.auto_rule import BINS, Seen, width_of
from dpsu.algorithms.candidate_list import MOST_LISTED, MOST_UNEQUAL
from dpsu.algorithms.candidates import CandidateList, WithCandidates
from dpsu.algorithms.catalogue import CATALOGUE, build
from dpsu.algorithms.holders import LEAST_SHARE, counting_terms
from dpsu.algorithms.job import Promise, SingleJob, promise_of
from dpsu.algorithms.levels import Level, LevelsJob, plan_levels
from dpsu.algorithms.mechanism import Mechanism
from dpsu.algorithms.ranges import DELTA, EPSILON, FALSE_SHARE, OPTIONS, SMALLEST_SHARE
from dpsu.algorithms.request import Request
from dpsu.algorithms.series import PERIODS, calibrate_series
from dpsu.algorithms.series_job import promise_of_series
from dpsu.errors import InvalidArgument
from dpsu.outcome.statement import Statement
from dpsu.randomness.stream import Stream
from dpsu.run import Terms, state
from dpsu.sources.source import Source
from dpsu.sources.values import LARGEST, MOST_COLUMNS, SMALLEST
from experiments.lone_user import chance_alone, set_sizes

EPSILONS = [EPSILON.low, *(10.0**k for k in range(-4, 5)), 0.5, 3.0, 50.0, 400.0, 600.0]
DELTAS = [DELTA.low, 1e-15, 1e-12, 1e-9, 1e-6, 1e-5, 1e-3, 0.03, 0.3, DELTA.high]
ITEMS = [1, 2, 10, 100, 300, 10**3, 10**4, 10**5, 10**6]
CALIBRATIONS = ["exact", "paper"]

COLUMNS = Source.of("rows.parquet", user="user", item="item")

PROCESSES = 2
LONGEST = 60.0
FLOATS = 1e-9
"""Relative error that a lone user's chance may have in floats."""


def level(weights: Any, cutoff: float) -> Any:
    """A policy in ℓ1: every item below the cutoff gets the same."""
    return np.minimum(np.maximum(cutoff - weights, 0.0), 1.0 / weights.size)


def descent(weights: Any, cutoff: float) -> Any:
    """A policy in ℓ2: straight towards the cutoff."""
    gaps = np.maximum(cutoff - weights, 0.0)
    return gaps / max(math.sqrt((gaps * gaps).sum()), 1.0)


def first(weights: Any, cutoff: float) -> Any:
    """A policy that is not symmetric, and that does not stop at the cutoff: everything to the first item."""
    increments = np.zeros(weights.size)
    increments[0] = 1.0
    return increments


OWN = {
    "own ℓ1": dpsu.Policy(level, norm=1, symmetric=True),
    "own ℓ1, asymmetric": dpsu.Policy(first, norm=1),
    "own ℓ2": dpsu.Policy(descent, norm=2, symmetric=True),
    "own ℓ2, asymmetric": dpsu.Policy(first, norm=2),
}
PRIVATE = [name for name, entry in CATALOGUE.items() if entry.private]
BUILT = ["candidates", "counts, sums and others", "levels", "series"]
SUBJECTS = [*PRIVATE, *OWN, *BUILT]

SHARES = [(1.0,), (0.5, 0.5), (0.01,) * 100, (SMALLEST_SHARE, 1 - SMALLEST_SHARE), (1 - 1e-6, 1e-6)]
ORDERS = [[], ["a"], list(range(1000))]

SHARES_OF_COUNTS = [LEAST_SHARE, 0.01, 0.3, 0.9, 1 - LEAST_SHARE]
BOUNDS = [(0, 1), (0, 1 / 3), (-3, -1), (5, 6), (0, SMALLEST), (-SMALLEST, LARGEST), (-LARGEST, LARGEST)]
DOMAINS = [(0, 0), (1, 1), (1000, 10**6), (10**5, 2**50)]
"""Released n-grams of the level before, and valid n-grams made of them."""


@dataclass(frozen=True)
class Point:
    """One request."""

    subject: str
    epsilon: float
    delta: float
    max_items: int
    calibration: str
    options: dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """What came of it: "refused", "accepted" or why it failed, a lone user's chance against delta, and the time taken."""

    point: Point
    result: str
    ratio: float = 0.0
    calibrated: float = 0.0
    verified: float = 0.0


def points(count: int, seed: int, subjects: Sequence[str] = SUBJECTS) -> list[Point]:
    """As many points of every subject, drawn without repeats from its grid; every other one with options."""
    draw = random.Random(seed)
    grid = list(product(EPSILONS, DELTAS, ITEMS, CALIBRATIONS))
    found = []
    for subject in subjects:
        own = [place for place in grid if subject != "optimal-single" or place[2:] == (1, "exact")]
        if subject in BUILT:
            own = [place for place in grid if place[3] == "exact"]
        chosen = draw.sample(own, min(len(own), -(-count // len(subjects))))
        for k, (epsilon, delta, items, calibration) in enumerate(chosen):
            options = _options(subject, draw) if k % 2 else {}
            found.append(Point(subject, epsilon, delta, items, calibration, options))
    return found


def judge(point: Point) -> Outcome:
    """Calibrate, verify, and ask for the lone user."""
    began = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            statements, mechanisms = _made(point)
    except InvalidArgument:
        return Outcome(point, "refused", calibrated=time.perf_counter() - began)
    except Exception as error:
        return Outcome(point, f"{type(error).__name__}: {error}", calibrated=time.perf_counter() - began)
    calibrated, began = time.perf_counter() - began, time.perf_counter()
    made = {statement.to_json() for statement in statements}
    checks = [check for text in made for check in dpsu.verify(json.loads(text)).checks]
    failed = [check.name for check in checks if not check.ok]
    verified = time.perf_counter() - began
    ratio = math.fsum(map(_worst_alone, mechanisms)) / point.delta
    if ratio > 1 + FLOATS:
        failed.append("a lone user's chance")
    if calibrated > LONGEST:
        failed.append("time")
    result = f"rejected: {', '.join(failed)}" if failed else "accepted"
    return Outcome(point, result, ratio, calibrated, verified)


Made = tuple[list[Statement], list[Mechanism]]
"""Statements that a point can lead to, and the mechanisms that a lone user meets one after the other."""


def _made(point: Point) -> Made:
    """Calibrate."""
    if point.subject in BUILT:
        return MAKERS[point.subject](Request(point.epsilon, point.delta, point.max_items), **point.options)
    how: Any = point.calibration
    algorithm = build(OWN.get(point.subject, point.subject), **point.options)
    mechanism = algorithm.calibrate(Request(point.epsilon, point.delta, point.max_items, how))
    statement = _stated(promise_of(algorithm, mechanism))
    return [as_if_run(statement, mechanism, place) for place in (0, len(BINS) - 1)], [mechanism]


def _stated(promise: Promise, source: Source = COLUMNS) -> Statement:
    return state(promise, source, Terms(), Stream(bytes(32)), bytes(16))


def _listed(
    request: Request,
    length: int = 1000,
    false_share: float = 0.01,
    discover: bool = True,
    unequal: float = 1.0,
) -> Made:
    """A release with a list of this length, whose weights differ by this factor."""
    extremes = None if unequal == 1 else (1 / math.sqrt(unequal), min(math.sqrt(unequal), float(length)))
    listed = CandidateList(length, "ab" * 32, pl.DataFrame(), extremes=extremes)
    job = SingleJob(WithCandidates(dpsu.FocusedGaussian(), listed, false_share, discover), request)
    return [_stated(job.promise)], [job.mechanism()]


def _counted(
    request: Request, algorithm: str = "focused-gaussian", columns: int = 0, others: bool = False, **how: Any
) -> Made:
    """Counts, sums of so many columns and others beside an algorithm."""
    if algorithm == "optimal-single":
        request = replace(request, max_items=1)
    sums = {f"column {k}": BOUNDS[k % len(BOUNDS)] for k in range(columns)}
    job = SingleJob(build(algorithm), request, counting_terms(dpsu.Counts(**how), sums, others))
    mechanism, statements = job.mechanism(), []
    for place in (0, len(BINS) - 1):
        statement = as_if_run(_stated(job.promise), mechanism, place)
        if "sizes" in statement.parameters and job.counting is not None:
            told = job.counting.settled(mechanism, statement.parameters).stated
            statement = replace(statement, parameters={**statement.parameters, "counts": told})
        statements.append(statement)
    return statements, [mechanism]


def _in_levels(
    request: Request,
    longest: int = 2,
    method: Any = "focused-gaussian",
    false_share: float | None = None,
    share: float | None = None,
    uneven: bool = False,
) -> Made:
    """n-grams in levels, with this share for counts; uneven shares leave next to nothing to all levels but the last."""
    shares = [1e-6] * (longest - 1) + [1 - 1e-6 * (longest - 1)] if uneven else None
    counts = None if share is None else counting_terms(dpsu.Counts(share=share))
    levels, counting = plan_levels(request, longest, request.max_items, shares, method, counts, false_share)
    source = Source.of({}, text=True, ngrams=[*range(1, longest + 1)])
    assert source.text is not None
    promise = LevelsJob(levels, source.text, counting, false_share).promise
    statement = _stated(promise, source)
    unknown: list[Mechanism] = [level.focused() for level in levels if level.budget.delta_new > 0]
    statements = []
    for before, domain in DOMAINS:
        stated = [_level(level, before, domain) for level in levels]
        statements.append(replace(statement, parameters={**promise.parameters, "levels": stated}))
    return statements, unknown


def _level(level: Level, before: int, domain: int) -> dict[str, Any]:
    """What a statement says of a level, if the level before released so many n-grams."""
    told = {"size": level.size, "share": level.share, "max_items": level.request.max_items}
    if level.size > 1 and level.method == "dpne":
        known = level.known(before, domain)
        return {**told, "sigma": known.sigma, "threshold": known.threshold}
    if level.false_share is not None:
        listed = level.listed(before, domain)
        parameters = listed.parameters()
        return {**told, **parameters, "candidates": {**parameters["candidates"], "reach": listed.reach}}
    focused = level.focused()
    return {**told, **focused.parameters(), "delta_new": focused.delta_new}


def _in_periods(request: Request, periods: int = 12, shares: Any = "even", falling: bool = False) -> Made:
    """A series whose periods have this number of items, or one that falls to 1."""
    cuts = [max(1, request.max_items >> k) if falling else request.max_items for k in range(periods)]
    mechanism = calibrate_series(request.epsilon, request.delta, periods, cuts, shares)
    return [_stated(promise_of_series(mechanism, "ab" * 16, period)) for period in {1, periods}], [mechanism]


MAKERS: dict[str, Callable[..., Made]] = dict(
    zip(BUILT, (_listed, _counted, _in_levels, _in_periods), strict=True)
)

CHOICES: dict[str, dict[str, list[Any]]] = {
    "candidates": {
        "length": [1, 2, 10**7, MOST_LISTED],
        "false_share": [FALSE_SHARE.low, 0.05, FALSE_SHARE.high],
        "discover": [False],
        "unequal": [4.0, MOST_UNEQUAL],
    },
    "counts, sums and others": {
        "algorithm": PRIVATE,
        "columns": [1, 2, MOST_COLUMNS],
        "others": [True],
        "share": SHARES_OF_COUNTS,
        "sums_share": SHARES_OF_COUNTS,
        "others_share": SHARES_OF_COUNTS,
        "max_items": [1, 7, 10**6],
        "sums_max_items": [1, 7, 10**6],
    },
    "levels": {
        "longest": [1, 3, 5],
        "method": ["dpne"],
        "false_share": [FALSE_SHARE.low, 0.05, FALSE_SHARE.high],
        "share": SHARES_OF_COUNTS,
        "uneven": [True],
    },
    "series": {
        "periods": [1, 2, 30, PERIODS.high],
        "shares": ["front", "even"],
        "falling": [True],
    },
}
"""Options of what is built from algorithms."""


def as_if_run(statement: Statement, mechanism: Mechanism, place: int = 0) -> Statement:
    """The statement with what the private steps of `auto` add to it: here 10^9 users, all in one bin of sizes."""
    if not isinstance(mechanism, AutoMechanism) or mechanism.sizing is None:
        return statement
    users, scales = [10**9 * (k == place) for k in range(len(BINS))], mechanism.sizing.scales
    found = mechanism.told(Seen(users, 10**9, width_of(users, scales), scales), 3)
    return replace(statement, parameters={**statement.parameters, **found})


def report(outcomes: Iterable[Outcome]) -> tuple[str, list[Outcome]]:
    """A table with a row per subject, and the points that failed."""
    outcomes = list(outcomes)
    lines = [
        "| algorithm | points | refused | accepted | failures | worst chance/delta | slowest calibration | slowest verify |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    bad = [outcome for outcome in outcomes if outcome.result not in ("refused", "accepted")]
    for subject in SUBJECTS:
        own = [outcome for outcome in outcomes if outcome.point.subject == subject]
        if own:
            refused, accepted = (
                sum(outcome.result == kind for outcome in own) for kind in ("refused", "accepted")
            )
            worst = (max(getattr(o, name) for o in own) for name in ("ratio", "calibrated", "verified"))
            ratio, calibrated, verified = worst
            lines.append(
                f"| {subject} | {len(own)} | {refused} | {accepted} | {len(own) - refused - accepted} | {ratio:.6f} | "
                f"{calibrated:.1f} s | {verified:.1f} s |"
            )
    return "\n".join(lines), bad


def _worst_alone(mechanism: Mechanism) -> float:
    return max(chance_alone(mechanism, size) for size in set_sizes(mechanism.request.max_items))


def _options(subject: str, draw: random.Random) -> dict[str, Any]:
    """Options at the ends of their ranges and in between."""
    if subject == "focused-gaussian":
        return _constants(draw)
    if subject in BUILT:
        choices = CHOICES[subject]
        chosen = draw.sample(sorted(choices), draw.choice(range(1, len(choices) + 1)))
        return {name: draw.choice(choices[name]) for name in chosen}
    names = ["alpha"] if subject in OWN else [each.name for each in fields(CATALOGUE[subject])]
    choices = {name: _ends(OPTIONS[name]) for name in names if name in OPTIONS}
    if "shares" in names:
        choices["shares"] = [s for s in SHARES if subject == "dp-sips" or len(s) == 2]
    if "order" in names:
        choices["order"] = ORDERS
    # One or two at a time: all ends at once are refused nearly everywhere.
    chosen = draw.sample(sorted(choices), min(len(choices), draw.choice([1, 1, 2])))
    return {name: draw.choice(choices[name]) for name in chosen}


def _constants(draw: random.Random) -> dict[str, Any]:
    """Options of Focused Gaussian, one to three at a time."""
    known = sorted(each.name for each in fields(dpsu.FocusedGaussian))
    names = draw.sample(known, draw.choice([1, 1, 2, 3]))
    constants = {name: draw.choice(_ends(OPTIONS[name])) for name in names}
    if constants.get("rounds", 20) > 100:
        constants["growth"] = 1.0
    elif constants.get("growth") in (OPTIONS["growth"].low, OPTIONS["growth"].high):
        constants["rounds"] = draw.choice([2, 5])
    return constants


def _ends(allowed: Any) -> list[Any]:
    low, high = allowed.low, allowed.high
    middle = math.sqrt(low * high) if low > 0 else (low + high) / 2 if low < 0 else min(3.0, high / 2)
    return [low, round(middle) if allowed.whole else middle, high]


def main() -> int:
    """The table on stdout; 1 if a point failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--points", type=int, default=6000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=SUBJECTS)
    arguments = parser.parse_args()
    began = time.monotonic()
    chosen = points(arguments.points, arguments.seed, [arguments.only] if arguments.only else SUBJECTS)
    random.Random(arguments.seed).shuffle(chosen)
    with get_context("spawn").Pool(PROCESSES) as pool:
        table, bad = report(pool.imap_unordered(judge, chosen, chunksize=4))
    print(table)
    for outcome in bad:
        print(f"FAILED {outcome.result}: {outcome.point}")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**10
    print(f"{len(chosen)} points in {time.monotonic() - began:.0f} s, at most {peak:.0f} MiB in a process")
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
