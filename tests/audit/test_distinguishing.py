"""The one-round families and the policies: two neighbouring databases, their exact totals, the product's decisions.

Every item's decision is independent given its total, so many runs are one call: the same totals under as many digests.
"""

from dataclasses import replace

import numpy as np
import pytest
from attack import EPSILON, epsilon_at_least
from user_sets import sets_of

from dpsu.algorithms.catalogue import CATALOGUE
from dpsu.algorithms.mechanism import CurveSelection, OneRound
from dpsu.algorithms.request import Request
from dpsu.engines.local import LocalEngine
from dpsu.randomness.stream import Stream

DELTA = 0.05
RUNS = 200_000
ITEMS = 3
ALGORITHMS = [
    "count-laplace",
    "count-gaussian",
    "weighted-laplace",
    "weighted-gaussian",
    "policy-laplace",
    "policy-gaussian",
    "ordered-laplace",
]


def calibrate(name, calibration):
    return CATALOGUE[name]().calibrate(Request(EPSILON, DELTA, ITEMS, calibration))


def with_noise(mechanism, factor):
    """The mechanism with the noise of its decision scaled; a release curve gets as much steeper."""
    selection = mechanism.selection
    if isinstance(selection, CurveSelection):
        curve = replace(selection.curve, epsilon=selection.curve.epsilon / factor)
        return replace(mechanism, selection=CurveSelection(curve))
    return replace(mechanism, selection=replace(selection, sigma=factor * selection.sigma))


def totals_of(mechanism, rows, stream):
    """What all users together give to every item, and the unit it is counted in."""
    engine, sets = LocalEngine(threads=1), sets_of(rows)
    bounded = engine.bound(sets, ITEMS, stream)
    if isinstance(mechanism, OneRound):
        table, unit = engine.weigh(bounded, engine.items(sets), mechanism.rule), mechanism.rule.unit
    else:
        table, unit = engine.walk(bounded, engine.items(sets), mechanism.walk, stream), mechanism.walk.unit
    return table["total"], unit


def outcomes(mechanism, rows, stream, runs, seed):
    """Which items are out, as one number per run."""
    totals, unit = totals_of(mechanism, rows, stream)
    step = mechanism.selection.step(stream, unit)
    rng = np.random.default_rng(seed)
    seen = np.zeros(runs, np.int64)
    for item, total in enumerate(totals):
        digests = rng.integers(0, 2**64, (runs, 2), dtype=np.uint64)
        columns = {"total": np.full(runs, total), "held": np.ones(runs, np.bool_), "digest": digests}
        seen += step(columns)["released"].astype(np.int64) << item
    return seen


def attack(mechanism, others, own, runs=RUNS):
    """A lower bound on epsilon from a database with and without the user who holds `own`, in one order of users."""
    stream = Stream(bytes(range(32)))
    neighbour = outcomes(mechanism, [*others, own], stream, runs, seed=1)
    return epsilon_at_least(neighbour, outcomes(mechanism, others, stream, runs, seed=2), DELTA)


FULL = tuple(range(ITEMS))
CASES = [([FULL] * n, FULL) for n in range(1, 14)] + [
    ([FULL] * (n // 2) + [(0,)] * n + [(1, 2)] * n, (0, 1)) for n in range(1, 6)
]


def strongest(mechanism):
    """The bound from the most telling of all cases, screened with few runs."""
    case = max(CASES, key=lambda case: attack(mechanism, *case, runs=RUNS // 40))
    return attack(mechanism, *case)


@pytest.mark.parametrize("calibration", ["exact", "paper"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_one_user_cannot_be_told(algorithm, calibration):
    assert strongest(calibrate(algorithm, calibration)) <= EPSILON


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_attack_has_power(algorithm):
    """It catches the same mechanism with 0.6 of its noise."""
    assert strongest(with_noise(calibrate(algorithm, "exact"), 0.6)) > EPSILON
