"""A series under attack: the reference twin with its switches, and every switch that the proof forbids is caught.

The twin equals the product (tests/algorithms/test_series.py); here it is vectorised over runs for a few items.
"""

from dataclasses import replace

import numpy as np
import pytest
from attack import EPSILON, epsilon_at_least, share_at_least

from dpsu.algorithms.focused_chance import divided
from dpsu.algorithms.series import CONSTANTS, calibrate_series

RUNS = 400_000


def play(mechanism, periods, runs, seed, noise=1.0, back_fill=True, at_focus=True, while_unheld=True):
    """For every run the period of each item's release, from 1 on, or 0: `periods` has (set, users) pairs."""
    rng, boundary, rounds = np.random.default_rng(seed), mechanism.boundary, mechanism.focus.rounds
    count = 1 + max((max(own) for period in periods for own, _ in period), default=0)
    totals, out = np.zeros((runs, count)), np.zeros((runs, count), np.int64)
    exists = np.zeros(count, bool)
    for number, period in enumerate(periods):
        held = np.zeros(count, bool)
        for own, _ in period:
            held[list(own)] = True
        newcomers = held & ~exists
        first = number * rounds
        if back_fill and first:
            spread = noise * boundary.sigma * np.sqrt(sum(boundary.shares[:first]))
            totals[:, newcomers] = spread * rng.standard_normal((runs, newcomers.sum()))
        exists |= held
        for r in range(first, first + rounds):
            priority = mechanism.focused.priority(totals, r - 1) if r else np.ones_like(totals)
            if r == first and not at_focus:
                priority[:, newcomers] = 1.0
            priority = np.where(out > 0, 0.0, priority)
            for own, users in period:
                places = list(own)
                totals[:, places] += boundary.shares[r] * users * divided(priority[:, places], 1.0)
            noisy = exists if while_unheld else held
            scale = noise * boundary.scales[r]
            totals[:, noisy] += scale * rng.standard_normal((runs, noisy.sum()))
            out[(totals > boundary.thresholds[r]) & (out == 0) & exists] = number + 1
    return out


def codes(out, periods):
    """One number per run: the period of every item's release."""
    return out @ ((periods + 1) ** np.arange(out.shape[1]))


def attack(mechanism, periods, own, runs=RUNS, **how):
    """A lower bound on epsilon from a series with and without x, who holds `own[p]` in period p."""
    with_x = [[*period, *([(held, 1)] if held else [])] for period, held in zip(periods, own, strict=True)]
    width = 1 + max(max(held) for period in periods for held, _ in period)
    sides = [
        play(mechanism, each, runs, seed, **how)[:, :width] for seed, each in enumerate((with_x, periods))
    ]
    sides = [np.pad(side, ((0, 0), (0, width - side.shape[1]))) for side in sides]
    return epsilon_at_least(*(codes(side, len(periods)) for side in sides), mechanism.request.delta)


def calibrated(delta, periods=2, cut=2):
    return calibrate_series(EPSILON, delta, periods, cut)


def split(crowd, periods=2):
    """Nobody, and then a crowd that comes with item 0 and 1 in the last period."""
    return [*[[] for _ in range(periods - 1)], [((0, 1), crowd)]]


SHARED = [[((0,), 2)], [((0,), 2)]]
"""Users of one item in both periods; x holds it too."""

BEFORE = [[], [((0,), 5)]]
"""x brings an item before the others do: with back-fill its earlier noise is drawn either way."""

CASES = {
    "with others": (SHARED, [(0,), (0,)]),
    "before others": (BEFORE, [(0,), ()]),
    "after others": ([[((0,), 5)], []], [(), (0,)]),
    "with a gap": ([[((0,), 3)], [], [((0,), 3)]], [(0,), (), (0,)]),
    "before a crowd": (split(6), [(0,), ()]),
}


@pytest.mark.parametrize("delta", [0.1, 0.03])
@pytest.mark.parametrize("case", CASES)
def test_a_user_stays_hidden(case, delta):
    periods, own = CASES[case]
    assert attack(calibrated(delta, len(periods)), periods, own) <= EPSILON


@pytest.mark.parametrize("delta", [0.1, 0.03])
def test_too_little_noise_is_caught(delta):
    found = [
        attack(calibrated(delta), [[((0,), n)], [((0,), n)]], [(0,), (0,)], noise=0.6) for n in (1, 2, 4, 6)
    ]
    assert max(found) > EPSILON


def test_newcomers_without_the_noise_of_earlier_rounds_are_caught():
    """The noise of an item that x brought early and the missing noise of the others' newcomer tell them apart."""
    found = [
        attack(calibrated(0.1, 8), [*[[]] * 7, [((0,), n)]], [(0,), *[()] * 7], back_fill=False)
        for n in (10, 20, 30, 45)
    ]
    assert max(found) > 2 * EPSILON


def test_newcomers_at_priority_one_are_caught():
    """With x item 0 exists early and has a low priority, so a crowd gives all to item 1; without x both come in at 1."""
    mechanism = calibrate_series(EPSILON, 0.1, 2, 2, (0.3, 0.7), replace(CONSTANTS, rounds=1))
    found = [
        attack(mechanism, split(n), [(0,), ()], at_focus=at_focus)
        for at_focus in (False, True)
        for n in (8, 11, 15, 20)
    ]
    assert max(found[:4]) > EPSILON
    assert max(found[4:]) <= EPSILON


def test_items_without_noise_while_nobody_holds_them_are_caught():
    """x holds the item in the gap and so makes it receive noise that it does not receive without x."""
    periods = [[((0,), 1)], *[[]] * 6, [((0,), 30)]]
    found = [
        attack(calibrated(0.1, 8), [*periods[:-1], [((0,), n)]], [(), *[(0,)] * 6, ()], while_unheld=False)
        for n in (10, 20, 30, 45)
    ]
    assert max(found) > EPSILON


@pytest.mark.parametrize("factor", [1.0, 0.8])
def test_own_items_come_out_as_rarely_as_promised(factor):
    """x alone, with new items in every period; a boundary that is a fifth lower is caught."""
    mechanism = calibrated(0.1, 3)
    thresholds = tuple(factor * each for each in mechanism.boundary.thresholds)
    lowered = replace(mechanism, boundary=replace(mechanism.boundary, thresholds=thresholds))
    out = play(lowered, [[((0, 1), 1)], [((2, 3), 1)], [((4, 5), 1)]], RUNS, 7)
    exposed = share_at_least(int((out > 0).any(axis=1).sum()), RUNS)
    assert (exposed <= mechanism.delta_new) == (factor == 1.0)
