"""A series under attack: every mistake that the proof forbids is caught, and the mechanism without mistakes is not.

`play` runs many small series at once. It equals the slow twin (tests/helpers/reference.py) on the same noise, with every
mistake as well; the twin equals the product (tests/algorithms/test_series.py, test_series_job.py).

    python -m pytest -s tests/audit/test_series_audit.py      # prints the figures of docs/series.md
"""

from dataclasses import replace

import numpy as np
import pytest
import reference
from attack import EPSILON, epsilon_at_least, share_at_least, with_boundary, with_noise

from dpsu.algorithms.focused_chance import divided
from dpsu.algorithms.mechanism import threshold_in_cells
from dpsu.algorithms.series import CONSTANTS, calibrate_series

RUNS = 200_000


def normals(seed, r, runs, count):
    """The noise of round r, one row per run: asked for again, it is the same."""
    return np.random.default_rng([seed, r]).standard_normal((runs, count))


def sets_in(period, out):
    """The (items, users) of a period: people may react to what is out, so that users may differ by run."""
    return period(out) if callable(period) else period


def play(
    mechanism, periods, count, runs, seed, back_fill=True, newcomers_at_focus=True, noise_while_unheld=True
):
    """For every run the period of each item's release, from 1 on, or 0; and the totals in cells.

    A period is a list of (items, users), a function from what is out to such a list, or None if it does not take
    place. The three switches are the mistakes of the twin.
    """
    boundary, rounds = mechanism.boundary, mechanism.focus.rounds
    totals, out = np.zeros((runs, count), np.int64), np.zeros((runs, count), np.int64)
    exists, took_place = np.zeros((runs, count), bool), []

    def cells(r, given):
        noise = boundary.scales[r] * normals(seed, r, runs, count)
        return np.floor((boundary.shares[r] * given + noise) / boundary.cell + 0.5).astype(np.int64)

    for number, period in enumerate(periods):
        if period is None:
            continue
        rows = [(list(own), np.broadcast_to(users, runs)) for own, users in sets_in(period, out)]
        held = np.zeros((runs, count), bool)
        for own, users in rows:
            held[:, own] |= (users > 0)[:, None]
        newcomers = held & ~exists
        if back_fill and newcomers.any():
            for r in took_place:
                totals += np.where(newcomers, cells(r, 0.0), 0)
        exists |= held
        first = number * rounds
        for r in range(first, first + rounds):
            priority = (
                mechanism.focused.priority(totals * boundary.cell, r - 1) if r else np.ones((runs, count))
            )
            if r == first and not newcomers_at_focus:
                priority[newcomers] = 1.0
            priority[out > 0] = 0.0
            given = np.zeros((runs, count))
            for own, users in rows:
                given[:, own] += users[:, None] * divided(priority[:, own], 1.0)
            receive = (exists if noise_while_unheld else held) & (out == 0)
            totals += np.where(receive, cells(r, given), 0)
            limit = threshold_in_cells(boundary.thresholds[r], boundary.cell, rounds=r + 1)
            out[(totals > limit) & (out == 0) & exists] = number + 1
            took_place.append(r)
    return out, totals


MISTAKES = ("back_fill", "newcomers_at_focus", "noise_while_unheld")


def some_periods(rng, count):
    """Random sets in four periods, one of which may be skipped, and one of which reacts to what is out."""

    def sets():
        picks = [rng.choice(count, rng.integers(1, count + 1), replace=False) for _ in range(3)]
        return [(tuple(map(int, own)), int(rng.integers(0, 9))) for own in picks]

    def reacting(out):
        return [((0, 1), np.where(out[:, 2] > 0, 7, 0)), ((1, 3), np.where(out[:, 0] > 0, 1, 4))]

    return [sets(), None if rng.random() < 0.3 else sets(), reacting, sets()]


@pytest.mark.parametrize("mistake", [None, *MISTAKES])
@pytest.mark.parametrize("seed", range(6))
def test_the_simulation_is_the_slow_twin(mistake, seed):
    """Outputs are equal. Totals differ by at most a cell per round: the twin has exact fractions."""
    rng, count, runs = np.random.default_rng([99, seed]), 4, 12
    mechanism, how = calibrate_series(EPSILON, 0.1, 4, count), {mistake: False} if mistake else {}
    periods = some_periods(rng, count)
    out, totals = play(mechanism, periods, count, runs, seed, **how)
    rounds = len(mechanism.boundary.shares)
    noise = np.array([normals(seed, r, runs, count) for r in range(rounds)])
    for run in range(runs):
        plain = []
        for number, period in enumerate(periods):
            before = np.where(out <= number, out, 0)[run : run + 1]
            sets = None if period is None else sets_in(period, before)
            users = None if sets is None else [(own, int(np.ravel(many)[0])) for own, many in sets]
            plain.append(None if users is None else [list(own) for own, many in users for _ in range(many)])
        told = [dict(enumerate(noise[r, run])) for r in range(rounds)]
        found, released = reference.series(plain, told, mechanism.boundary, mechanism.focus, **how)
        assert released == [{*np.flatnonzero(out[run] == number + 1)} for number in range(4)]
        assert all(abs(totals[run, item] - total) <= rounds for item, total in found.items())


def test_mistakes_change_the_simulation():
    """Otherwise the comparison with the twin would say nothing about them."""
    mechanism, rng = calibrate_series(EPSILON, 0.1, 4, 4), np.random.default_rng([99, 0])
    periods = [[((0,), 1)], [((1,), 3), ((0, 2), 2)], [((2,), 3)], some_periods(rng, 4)[0]]
    plain = play(mechanism, periods, 4, 12, 0)[1]
    for mistake in MISTAKES:
        assert (play(mechanism, periods, 4, 12, 0, **{mistake: False})[1] != plain).any()


def told(delta, what, found):
    """Print one figure, and give it back."""
    print(f"delta {delta}: {what}: {found:.3f}")
    return found


def codes(out, periods):
    """One number per run: the period of every item's release."""
    return out @ ((periods + 1) ** np.arange(out.shape[1]))


def attack(mechanism, periods, own, runs=RUNS, **how):
    """A lower bound on epsilon from a series with and without x, who holds `own[p]` in period p.

    `own[p]` may be a function from what is out to (items, which runs). All items of a series are watched.
    """
    count = mechanism.request.max_items
    with_x = [_joined(period, held) for period, held in zip(periods, own, strict=True)]
    sides = [
        play(mechanism, each, count, runs, seed, **how)[0] for seed, each in enumerate((with_x, periods))
    ]
    return epsilon_at_least(*(codes(side, len(periods)) for side in sides), mechanism.request.delta)


def _joined(period, held):
    """The period with x; one that does not take place has no x either."""
    if period is None:
        return None
    if not callable(held):
        held = lambda out, items=held: [(items, 1)] if items else []  # noqa: E731
    return lambda out: [*sets_in(period, out), *held(out)]


def calibrated(delta, periods=2, cut=2):
    return calibrate_series(EPSILON, delta, periods, cut)


def strongest(mechanism, case, crowds, **how):
    """The largest lower bound on epsilon over crowds of these sizes."""
    return max(attack(mechanism, *case(n), **how) for n in crowds)


LATE = 8
"""Number of periods of a series in which a crowd comes in the last one."""

CASES = {
    "with others": lambda n: ([[((0,), n)], [((0,), n)]], [(0,), (0,)]),
    "before others": lambda n: ([[], [((0,), 2 * n)]], [(0,), ()]),
    "after others": lambda n: ([[((0,), n + 1)], []], [(), (0,)]),
    "with a gap": lambda n: ([[((0,), n)], [], [((0,), n)]], [(0,), (), (0,)]),
    "with a skipped period": lambda n: ([[((0,), n)], None, [((0,), n)]], [(0,), (), (0,)]),
    "before a crowd with another item": lambda n: ([[], [((0, 1), 2 * n)]], [(0,), ()]),
}


@pytest.mark.parametrize("delta", [0.1, 0.03])
@pytest.mark.parametrize("name", CASES)
def test_a_user_stays_hidden(name, delta):
    case = CASES[name]
    mechanism = calibrated(delta, len(case(1)[0]))
    assert told(delta, name, strongest(mechanism, case, (2, 3, 4, 5))) <= EPSILON


@pytest.mark.parametrize("delta", [0.1, 0.03])
def test_too_little_noise_is_caught(delta):
    found = strongest(with_noise(calibrated(delta), 0.6), CASES["with others"], (2, 3, 4, 5))
    assert told(delta, "with others, 0.6 of the noise", found) > EPSILON


@pytest.mark.parametrize(("delta", "crowd"), [(0.1, 4), (0.03, 5)])
@pytest.mark.parametrize("factor", [1.0, 0.6])
def test_a_user_stays_hidden_for_twelve_periods(delta, crowd, factor):
    """x and a crowd hold the item in all of them; too little noise is caught."""
    mechanism = with_noise(calibrated(delta, 12), factor)
    found = max(attack(mechanism, [[((0,), n)]] * 12, [(0,)] * 12) for n in (crowd - 1, crowd))
    told(delta, f"twelve periods, {factor} of the noise", found)
    assert (found <= EPSILON) == (factor == 1.0)


@pytest.mark.parametrize("delta", [0.1, 0.03])
@pytest.mark.parametrize("back_fill", [True, False])
def test_newcomers_need_the_noise_of_earlier_rounds(back_fill, delta):
    """The noise of an item that x brought early and the missing noise of the others' newcomer tell them apart."""

    def early(n):
        return [*[[]] * (LATE - 1), [((0,), n)]], [(0,), *[()] * (LATE - 1)]

    found = strongest(calibrated(delta, LATE), early, (20, 30, 45), back_fill=back_fill)
    told(delta, f"newcomers, back-fill {back_fill}", found)
    assert found <= EPSILON if back_fill else found > 2 * EPSILON


@pytest.mark.parametrize("delta", [0.1, 0.03])
@pytest.mark.parametrize("at_focus", [True, False])
def test_newcomers_need_the_focus_of_their_totals(at_focus, delta):
    """With x item 0 exists early and has a low priority, so a crowd gives all to item 1; without x both come in at 1."""
    mechanism = calibrate_series(EPSILON, delta, 2, 2, (0.3, 0.7), replace(CONSTANTS, rounds=1))
    crowd = CASES["before a crowd with another item"]
    found = strongest(mechanism, crowd, (4, 7, 10), newcomers_at_focus=at_focus)
    told(delta, f"newcomers, at the focus {at_focus}", found)
    assert found <= EPSILON if at_focus else found > 2 * EPSILON


@pytest.mark.parametrize("delta", [0.1, 0.03])
@pytest.mark.parametrize("while_unheld", [True, False])
def test_items_need_noise_while_nobody_holds_them(while_unheld, delta):
    """x holds the item in the gap and so makes it receive noise that it does not receive without x."""

    def gap(n):
        return [[((0,), 1)], *[[]] * (LATE - 2), [((0,), n)]], [(), *[(0,)] * (LATE - 2), ()]

    found = strongest(calibrated(delta, LATE), gap, (20, 30, 45), noise_while_unheld=while_unheld)
    told(delta, f"a gap, noise while unheld {while_unheld}", found)
    assert found <= EPSILON if while_unheld else found > 2 * EPSILON


@pytest.mark.parametrize("delta", [0.1, 0.03])
@pytest.mark.parametrize("factor", [1.0, 0.8])
def test_own_items_come_out_as_rarely_as_promised(factor, delta):
    """x alone, with new items in every period; a boundary that is a fifth lower is caught."""
    mechanism = calibrated(delta, 3)
    own = [[((2 * p, 2 * p + 1), 1)] for p in range(3)]
    out, _ = play(with_boundary(mechanism, factor), own, 6, RUNS, 7)
    exposed = share_at_least(int((out > 0).any(axis=1).sum()), RUNS)
    told(delta, f"own items come out, {factor} of the boundary", exposed)
    assert (exposed <= mechanism.delta_new) == (factor == 1.0)


def reacting(n, crowd):
    """Users of item 0; once it is out, a crowd brings item 1 instead. x does as they do."""

    def where(out, before, after):
        known = out[:, 0] > 0
        return [((0,), np.where(known, 0, before)), ((1,), np.where(known, after, 0))]

    return [[((0,), n)], lambda out: where(out, n, crowd)], [(0,), lambda out: where(out, 1, 1)]


@pytest.mark.parametrize("delta", [0.1, 0.03])
@pytest.mark.parametrize("factor", [1.0, 0.6])
def test_a_user_stays_hidden_where_sets_react_to_outputs(delta, factor):
    mechanism = with_noise(calibrated(delta), factor)
    found = max(attack(mechanism, *reacting(n, crowd)) for n in (4, 7) for crowd in (7, 9, 11))
    told(delta, f"sets that react, {factor} of the noise", found)
    assert (found <= EPSILON) == (factor == 1.0)
