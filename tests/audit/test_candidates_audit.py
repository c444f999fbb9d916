"""Candidates under attack: x's items listed, unlisted and mixed; every shortcut that the proof forbids is caught.

The simulation equals the product (tests/algorithms/test_candidates.py).
"""

from functools import lru_cache

import numpy as np
import polars as pl
import pytest
from attack import EPSILON, epsilon_at_least
from listed_play import NEVER_EARLY, WITHOUT_NOISE, attack, outcomes

from dpsu.algorithms.candidates import CandidateList, WithCandidates
from dpsu.algorithms.candidates import calibrated as again
from dpsu.algorithms.focused import FocusedGaussian
from dpsu.algorithms.request import Request
from dpsu.algorithms.unheld import draw_unheld
from dpsu.randomness.stream import Stream

RUNS = 100_000

# The other users as (set, number of users), the set of x, the list, and the number of items.
CASES = {
    "listed, with others": ([((0,), 2)], (0,), (0,), 1),
    "listed, alone": ([], (0,), (0,), 1),
    "one of two listed alone": ([((1,), 3)], (0, 1), (0, 1), 2),
    "unlisted, with others": ([((0,), 3)], (0,), (1,), 2),
    "unlisted, alone": ([((0,), 3)], (1,), (0,), 2),
    "listed and unlisted": ([((0, 1), 4)], (0, 1), (0,), 2),
    "tips others from unlisted to listed": ([((0, 1), 6)], (0,), (1,), 2),
    "tips others between three": ([((0, 1, 2), 5)], (0,), (0, 1), 3),
}


@lru_cache
def calibrated(count, delta, discover=True):
    listed = CandidateList(count, "00" * 32, pl.DataFrame())
    return WithCandidates(FocusedGaussian(), listed, 0.2, discover).calibrate(Request(EPSILON, delta, 3))


def found(case, delta, discover=True, **how):
    groups, own, listed, count = CASES[case]
    return attack(calibrated(len(listed), delta, discover), groups, own, listed, count, RUNS, **how)


@pytest.mark.parametrize("delta", [0.1, 0.03])
@pytest.mark.parametrize("case", CASES)
def test_a_user_stays_hidden(case, delta):
    assert found(case, delta) <= EPSILON


@pytest.mark.parametrize("delta", [0.1, 0.03])
@pytest.mark.parametrize("case", list(CASES)[:3])
def test_a_user_stays_hidden_if_only_listed_items_come_out(case, delta):
    assert found(case, delta, discover=False) <= EPSILON


@pytest.mark.parametrize("delta", [0.1, 0.03])
@pytest.mark.parametrize("discover", [True, False])
def test_too_little_noise_is_caught(delta, discover):
    assert found("listed, alone", delta, discover, noise=0.6) > EPSILON


@pytest.mark.parametrize("delta", [0.1, 0.03])
@pytest.mark.parametrize("shortcut", [WITHOUT_NOISE, NEVER_EARLY])
def test_another_law_for_listed_items_that_nobody_holds_is_caught(shortcut, delta):
    assert found("listed, alone", delta, unheld=shortcut) > 4 * EPSILON


def found_by_gaps(delta, early_tests):
    """x holds the only member of a known domain alone, or nobody does and the program draws it by gaps: a run per member."""
    base = calibrated(1, delta, False)
    mechanism = again(base.base, base.listed, base.false_share, False, reach=base.reach)
    unheld = draw_unheld(mechanism, RUNS, Stream(bytes(range(32))))
    early = unheld.columns["released"] & early_tests
    # The only member of a list is within the cut if its tail is at most the false share.
    out = early | (mechanism.tails({**unheld.columns, "released": early}) <= mechanism.reach)
    without_x = np.zeros(RUNS, np.int64)
    without_x[np.array(unheld.members)[out]] = np.where(early[out], EARLY, BY_THE_CUT)
    with_x = outcomes(mechanism, [((0,), 1)], (0,), 1, RUNS, 1)
    with_x = np.where(with_x == 0, 0, np.where(with_x == BY_THE_CUT, BY_THE_CUT, EARLY))
    return epsilon_at_least(with_x, without_x, delta)


EARLY, BY_THE_CUT = 1, 3
"""How outcomes are told apart: in a round, or after the last."""


@pytest.mark.parametrize("delta", [0.1, 0.03])
def test_a_user_stays_hidden_in_a_known_domain(delta):
    assert found_by_gaps(delta, early_tests=True) <= EPSILON


@pytest.mark.parametrize("delta", [0.1, 0.03])
def test_members_drawn_without_early_tests_are_caught(delta):
    assert found_by_gaps(delta, early_tests=False) > 4 * EPSILON
