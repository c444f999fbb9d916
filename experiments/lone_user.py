"""The chance that a user whose items nobody else holds sees one of them released.

The weights come from the mechanism's own kernels, run on that user's row; the chance follows from the selection. It is
exact for one round, a sum over rounds for DP-SIPS and MAD2R, and for Focused Gaussian the bound of the boundary. In a series
the user brings as many new items in every period, each of which then gets a whole budget.
"""

import math
from fractions import Fraction
from functools import singledispatch
from typing import Any

import numpy as np
from scipy.special import ndtr

from dpsu.algorithms.auto import LONGEST, AutoMechanism
from dpsu.algorithms.candidates import CandidatesMechanism
from dpsu.algorithms.dp_sips import DpSipsMechanism
from dpsu.algorithms.focused import FocusedMechanism
from dpsu.algorithms.mad import UNIT, AdaptiveRound, Mad2rMechanism, MadMechanism
from dpsu.algorithms.mechanism import CurveSelection, Floats, GaussianSelection, Mechanism, OneRound
from dpsu.algorithms.optimal_single import OptimalSingleMechanism
from dpsu.algorithms.ordered import OrderedLaplaceMechanism
from dpsu.algorithms.policy import PolicyMechanism
from dpsu.algorithms.series import SeriesMechanism
from dpsu.algorithms.weighted import even_rule
from dpsu.engines.contract import Rule
from dpsu.engines.local import LocalEngine, Rows
from dpsu.kernels.units import ONE
from dpsu.randomness.stream import Stream

BITS = 400
"""Digits of a curve: enough for chances of 1e-60."""

STREAM = Stream(bytes(32))
"""For the order of users, of whom there is one; no noise is drawn."""

NODES = 1024
REACH = 40.0
"""Nodes of the integral over what exceeds a boundary, and how many tail lengths it reaches."""


def chance_alone(mechanism: Mechanism, items: int) -> float:
    """The chance that at least one of `items` own items comes out; `items` is at most max_items."""
    with LocalEngine(threads=1) as engine:
        return float(_chance(mechanism, engine, _rows(items)))


def set_sizes(max_items: int) -> list[int]:
    """Numbers of own items to look at, up to `max_items`."""
    return sorted({size for size in (1, 2, 3, 10, 100, 3000, max_items) if size <= max_items})


@singledispatch
def _chance(mechanism: Mechanism, engine: LocalEngine, rows: list[Rows]) -> float:
    raise TypeError(f"no lone user for {type(mechanism).__name__}")


@_chance.register
def _(mechanism: OneRound, engine: LocalEngine, rows: list[Rows]) -> float:
    return _any(mechanism.selection, mechanism.rule.unit * _weighed(engine, rows, mechanism.rule))


@_chance.register
def _(mechanism: PolicyMechanism | OrderedLaplaceMechanism, engine: LocalEngine, rows: list[Rows]) -> float:
    totals = engine.walk(rows, engine.items(rows), mechanism.walk, STREAM)["total"]
    return _any(mechanism.selection, mechanism.walk.unit * totals)


@_chance.register
def _(mechanism: DpSipsMechanism, engine: LocalEngine, rows: list[Rows]) -> float:
    rule = even_rule(mechanism.request.max_items, norm=2)
    totals = rule.unit * _weighed(engine, rows, rule)
    return math.fsum(_any(selection, totals) for selection in mechanism.rounds)


@_chance.register
def _(mechanism: MadMechanism, engine: LocalEngine, rows: list[Rows]) -> float:
    return _adaptive(mechanism.adaptive, engine, rows)


@_chance.register
def _(mechanism: Mad2rMechanism, engine: LocalEngine, rows: list[Rows]) -> float:
    size = len(rows[0].held)
    # What the first round may have said of the items: nothing, or that all but one are safe.
    biases = np.ones(size), np.concatenate([[1.0], np.zeros(size - 1)])
    second = max(_adaptive(mechanism.second, engine, rows, bias) for bias in biases)
    return _adaptive(mechanism.first, engine, rows) + second


@_chance.register
def _(mechanism: OptimalSingleMechanism, engine: LocalEngine, rows: list[Rows]) -> float:
    return float(mechanism.probabilities[1])


@_chance.register
def _(mechanism: AutoMechanism, engine: LocalEngine, rows: list[Rows]) -> float:
    """Popular items, then the worst of all branches; a branch of fewer items than the user holds is not the worst."""
    size = len(rows[0].held)
    worst = max(
        _chance(branch, engine, rows)
        for branch in mechanism.branches.values()
        if size <= branch.request.max_items
    )
    if mechanism.sizing is None:
        return worst
    totals = _weighed(engine, _rows(min(size, LONGEST)), even_rule(LONGEST, norm=1)) / ONE
    return _any(CurveSelection(mechanism.sizing.curve), totals) + worst


@_chance.register
def _(mechanism: FocusedMechanism, engine: LocalEngine, rows: list[Rows]) -> float:
    boundary, size = mechanism.boundary, len(rows[0].held)
    given, each = [], 0.0
    for r, share in enumerate(boundary.shares):
        rule = mechanism.rule(r)
        even = rule.loop != "weigh_proportionally"
        most = float(_weighed(engine, rows, rule).max()) / ONE if even else boundary.caps[size]
        if not even:
            favoured = np.concatenate([[1.0], np.full(size - 1, 1e-3)])
            assert _weighed(engine, rows, rule, priority=favoured).max() <= most * ONE
        each += share * most
        given.append(each)
    spent, noise = np.cumsum(boundary.shares), np.sqrt(np.cumsum(np.square(boundary.scales)))
    item = _crossing((np.array(boundary.thresholds) - np.array(given)) / noise, spent)
    return -math.expm1(size * math.log1p(-item))


@_chance.register
def _(mechanism: CandidatesMechanism, engine: LocalEngine, rows: list[Rows]) -> float:
    """Items outside the list; listed ones are known, and where nothing is discovered there are no others."""
    return _chance(mechanism.base, engine, rows) if mechanism.discover else 0.0


@_chance.register
def _(mechanism: SeriesMechanism, engine: LocalEngine, rows: list[Rows]) -> float:
    boundary, each = mechanism.boundary, mechanism.focus.rounds
    spent, noise = np.cumsum(boundary.shares), np.sqrt(np.cumsum(np.square(boundary.scales)))
    found = 0.0
    for period, most in enumerate(mechanism.max_items):
        begun = period * each
        given = spent[begun:] - (spent[begun - 1] if begun else 0.0)
        tails = ndtr(-(np.array(boundary.thresholds[begun:]) - given) / noise[begun:])
        found += min(most, len(rows[0].held)) * math.fsum(tails)
    return found


def _rows(items: int) -> list[Rows]:
    """One user with that many items."""
    digests = np.stack([np.arange(items, dtype=np.uint64), np.zeros(items, np.uint64)], axis=1)
    codes = np.arange(items, dtype=np.uint32)
    return [Rows(np.array([0, items]), codes, digests[:1], digests, np.ones(items, np.bool_), items)]


def _weighed(engine: LocalEngine, rows: list[Rows], rule: Rule, **columns: Any) -> Any:
    start = {"priority": np.ones(len(rows[0].held)), **columns}
    return engine.weigh(rows, {**engine.items(rows), **start}, rule)["total"]


def _adaptive(
    adaptive: AdaptiveRound, engine: LocalEngine, rows: list[Rows], bias: Floats | None = None
) -> float:
    items = {**engine.items(rows), **({} if bias is None else {"bias": bias})}
    return _any(adaptive.selection, UNIT * adaptive.totals(engine, rows, items)["total"])


def _any(selection: GaussianSelection | CurveSelection, totals: Floats) -> float:
    """The chance that some item comes out, each by noise or a coin of its own."""
    values, counts = np.unique(totals, return_counts=True)
    if isinstance(selection, CurveSelection):  # floats cancel at the foot of a curve
        chances = np.array([float(selection.curve.probability_mp(Fraction(x), BITS)) for x in values])
    else:
        chances = selection.probability(values)
    return 1.0 if chances.max() >= 1 else -math.expm1(float(counts @ np.log1p(-chances)))


def _crossing(levels: Floats, spent: Floats) -> float:
    """The chance that a sum of noise exceeds one of its levels, less what counts twice in neighbouring rounds."""
    total = math.fsum(ndtr(-levels))
    for r in range(len(levels) - 1):
        kept = math.sqrt(spent[r] / spent[r + 1])
        steps = (np.arange(NODES) + 0.5) / NODES * REACH / max(levels[r], 1.0)
        above = levels[r] + steps
        edges = ndtr(-np.append(above - steps[0], above[-1] + steps[0]))
        again = ndtr((kept * (above - steps[0]) - levels[r + 1]) / math.sqrt(max(1 - kept * kept, 1e-300)))
        total -= float((edges[:-1] - edges[1:]) @ again)  # each slice from its lower end: never too much
    return min(1.0, total)
