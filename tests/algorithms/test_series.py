"""A series: equal to its oracle, with a boundary that holds to the last digit."""

from functools import lru_cache

import mpmath
import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from normals import computed_normals
from user_sets import sets_of

from dpsu.algorithms.series import CONSTANTS, calibrate_series, period_shares
from dpsu.engines.local import LocalEngine
from dpsu.errors import InvalidArgument
from dpsu.randomness.stream import Purpose, Stream

ITEMS = 5
REQUESTS = [(3.0, 1e-5, 12, 100), (1.0, 1e-6, 3, (5, 300, 20)), (0.1, 1e-9, 2, 1), (10.0, 0.2, 1, 7)]

calibrate = lru_cache(calibrate_series)


def played(mechanism, periods, stream):
    """The product, period by period, with the carrying between periods done plainly; items keep their numbers."""
    full = sets_of([[*range(ITEMS)]])
    totals, out, released, done = {}, set(), [], []
    for period, rows in enumerate(periods, 1):
        released.append(set())
        if rows is None:
            continue
        sets = sets_of([[*range(ITEMS)], *rows])
        digests = full.item_digests
        sets = type(sets)(sets.indptr[1:], sets.items, sets.user_digests[1:], digests, sets.names)
        with LocalEngine() as engine:
            items = mechanism.begin(engine, sets, stream, period, done)
            held = sorted({item for own in rows for item in own})
            known = [item for item in totals if item in held]
            items = mechanism.bring(
                items, np.array(known, np.int64), np.array([totals[item] for item in known], np.int64)
            )
            opened = engine.leave_out(sets, digests[sorted(out | (set(range(ITEMS)) - set(held)))])
            items = mechanism.play(engine, opened, items, stream, period)
        resting = [item for item in totals if item not in held and item not in out]
        rest = mechanism.rest(
            digests[resting], np.array([totals[item] for item in resting], np.int64), stream, period
        )
        for item in held:
            if items["exists"][item] and item not in out:
                totals[item] = int(items["noisy"][item])
                released[-1] |= {item} if items["released"][item] else set()
        for place, item in enumerate(resting):
            totals[item] = int(rest["noisy"][place])
            released[-1] |= {item} if rest["released"][place] else set()
        out |= released[-1]
        done.append(period)
    return totals, released


some_rows = st.lists(st.sets(st.integers(0, ITEMS - 1), min_size=1).map(sorted), max_size=8)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.none() | some_rows, min_size=4, max_size=4), st.binary(min_size=32, max_size=32))
def test_a_series_is_the_oracles(periods, key):
    mechanism, stream = calibrate(2.0, 0.2, 4, ITEMS), Stream(key)
    digests = sets_of([[*range(ITEMS)]]).item_digests
    normals = [
        dict(enumerate(computed_normals(stream.words(Purpose.NOISE, r, digests))[0]))
        for r in range(len(mechanism.boundary.shares))
    ]
    totals, released = reference.series(periods, normals, mechanism.boundary, mechanism.focus)
    found, found_released = played(mechanism, periods, stream)
    assert found_released == released
    assert found.keys() == totals.keys()
    assert all(abs(found[item] - total) <= 1 for item, total in totals.items())


@pytest.mark.parametrize("request_", REQUESTS)
@pytest.mark.parametrize("shares", ["even", "front"])
def test_the_boundary_is_that_of_the_proof(request_, shares):
    """At 40 digits the sum over rounds and periods of D_s Q(...) is at most delta_new, and nearly so."""
    mechanism = calibrate(*request_, shares)
    boundary, rounds = mechanism.boundary, mechanism.focus.rounds
    with mpmath.workdps(40):
        spent, total, before = mpmath.mpf(0), mpmath.mpf(0), [mpmath.mpf(0)]
        for r, (share, threshold) in enumerate(zip(boundary.shares, boundary.thresholds, strict=True)):
            spent += mpmath.mpf(share)
            noise = boundary.sigma * mpmath.sqrt(spent)
            for cut, earlier in zip(mechanism.max_items, before, strict=False):
                total += cut * mpmath.ncdf(-(threshold - spent + earlier) / noise)
            if (r + 1) % rounds == 0:
                before.append(spent)
        assert spent <= 1
    assert mechanism.delta_new * (1 - 1e-6) < total <= mechanism.delta_new
    assert mechanism.budget().delta(request_[0]) <= request_[1]


def test_the_boundary_by_the_beginning_is_lower_than_that_of_all_items_at_once():
    mechanism = calibrate(1.0, 1e-6, 12, 100)
    alone = calibrate(1.0, 1e-6, 1, 1200)
    assert mechanism.boundary.thresholds[-1] < 1.1 * alone.boundary.thresholds[-1]


@pytest.mark.parametrize(
    "wrong",
    [
        {"periods": 0},
        {"periods": 367},
        {"shares": "back"},
        {"shares": [0.5, 0.4]},
        {"shares": [1.0, 0.0]},
        {"shares": [1.0]},
        {"shares": None},
        {"shares": 0.5},
        {"max_items": [3]},
        {"max_items": 0},
        {"epsilon": -1.0},
    ],
)
def test_terms_that_make_no_sense_are_refused(wrong):
    with pytest.raises(InvalidArgument):
        calibrate_series(**{"epsilon": 1.0, "delta": 1e-6, "periods": 2, "max_items": 10, **wrong})


def test_shares_sum_to_one():
    for shares in ("even", "front"):
        for periods in (1, 12, 366):
            found = period_shares(shares, periods)
            assert abs(sum(found) - 1) < 1e-12
            assert min(found) > 0
    assert period_shares("front", 12)[0] > 2 * period_shares("front", 12)[-1]
    assert CONSTANTS.rounds > 1
