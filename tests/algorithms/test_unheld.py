"""Members that nobody holds: counted exactly, and drawn with the law of held ones."""

from fractions import Fraction
from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpsu.algorithms.candidates import CandidateList, begin, calibrated, one_round, without_discovery
from dpsu.algorithms.focused import FocusedGaussian
from dpsu.algorithms.request import Request
from dpsu.algorithms.unheld import Round, Sequences, draw_unheld, sequences
from dpsu.privacy.gaussian import noise_scale
from dpsu.randomness.stream import Stream

ROUNDS = FocusedGaussian().rounds


def over_domain(count, share=0.4, reach=None):
    base = without_discovery(Request(1.0, 0.1, 6), FocusedGaussian(), noise_scale(1.0, 0.1))
    return calibrated(base, CandidateList(count, "", pl.DataFrame()), share, False, 0.1, reach)


@st.composite
def some_rounds(draw):
    words = draw(st.integers(2, 6))
    rounds = [
        Round(
            sorted(draw(st.lists(st.integers(0, words), min_size=1, max_size=5))),
            draw(st.integers(-4, 1)),
            draw(st.integers(0, 5)),
        )
        for _ in range(draw(st.integers(1, 4)))
    ]
    return rounds, words, draw(st.integers(-6, 0))


def passes(rounds, floor, sequence):
    total = 0
    for each, word in zip(rounds, sequence, strict=True):
        steps = [each.first + j for j, end in enumerate(each.ends) if word < end]
        if not steps or total + steps[0] > each.limit:
            return True
        total = max(floor, total + steps[0])
    return False


@settings(max_examples=200, deadline=None)
@given(some_rounds())
def test_sequences_that_pass_are_counted_and_numbered(drawn):
    rounds, words, floor = drawn
    possible = Sequences(rounds, floor, words)
    slowly = {each for each in product(range(words), repeat=len(rounds)) if passes(rounds, floor, each)}
    assert possible.count == len(slowly)
    assert possible.chance == Fraction(len(slowly), words ** len(rounds))
    assert {tuple(possible[number]) for number in range(possible.count)} == slowly


def after_rounds(mechanism, members, seed):
    """Members with words of their own, one by one: their columns after all rounds, and their words."""
    rng, stream = np.random.default_rng(seed), Stream(seed.to_bytes(32, "little"))
    digests = rng.integers(0, 2**64, (members, 2), dtype=np.uint64)
    columns = {
        "digest": digests,
        "total": np.zeros(members, np.int64),
        "held": np.zeros(members, np.bool_),
        "listed": np.ones(members, np.bool_),
    }
    columns |= begin(columns, discover=False)
    for r in range(ROUNDS):
        columns |= one_round(columns, mechanism, stream, r)
    return columns, np.stack([stream.words(0x3, r, digests) for r in range(ROUNDS)], axis=1)


@pytest.mark.parametrize(("count", "share", "reach"), [(1, 0.5, 0.5), (40, 0.4, 0.2), (10**5, 0.05, 1e-3)])
def test_whatever_matters_is_among_the_sequences(count, share, reach):
    mechanism, members = over_domain(count, share, reach), 50_000
    columns, words = after_rounds(mechanism, members, 3)
    matters = columns["released"] | (mechanism.tails(columns) <= reach)
    found, total = np.zeros(members, np.bool_), np.zeros(members, np.int64)
    for r, each in enumerate(sequences(mechanism)._rounds):
        bins = np.searchsorted(np.array(each.ends, np.uint64), words[:, r], side="right")
        total += each.first + bins
        found |= (bins == len(each.ends)) | (total > each.limit)
    assert found[matters].all()
    assert matters.sum() > 0.3 * found.sum() > 0


@pytest.mark.parametrize(("count", "share", "reach"), [(1, 0.5, 0.5), (40, 0.4, 0.2)])
def test_drawn_members_have_the_law_of_those_that_are_run_one_by_one(count, share, reach):
    mechanism, members = over_domain(count, share, reach), 20_000
    one_by_one, _ = after_rounds(mechanism, members, 5)
    drawn = draw_unheld(mechanism, members, Stream(bytes(range(32)))).columns
    scale = mechanism.base.boundary.sigma / mechanism.base.boundary.cell

    def table(columns):
        """How many came out early and how many are within reach, by their totals, and all others."""
        early, within = columns["released"], mechanism.tails(columns) <= reach
        bins = [0, 1, 1.5, 2, 2.5, 3, 9]
        counts = [np.histogram(columns["noisy"][each] / scale, bins)[0] for each in (early, within & ~early)]
        return [*counts[0], *counts[1], members - (early | within).sum()]

    both = np.array([table(one_by_one), table(drawn)])
    both = both[:, both.sum(axis=0) > 20]
    assert both.shape[1] >= 5
    assert stats.chi2_contingency(both).pvalue > 1e-9


def test_the_cut_does_not_look_beyond_its_reach():
    """Six tails within the reach would move the cut to 0.3, where tails are that nobody drew."""
    mechanism = over_domain(10, 0.5, 0.1)
    sigma = mechanism.noise / mechanism.base.boundary.cell
    columns = {
        "noisy": np.array([1.2, 3]) * sigma,
        "released": np.zeros(2, np.bool_),
        "listed": np.ones(2, np.bool_),
    }
    columns["noisy"] = columns["noisy"].astype(np.int64)
    tails = mechanism.tails(columns)
    assert 0.1 < tails[0] < 0.3
    assert tails[1] < 0.1
    assert mechanism.tails_within_reach(columns).tolist() == [tails[1]]
    decide = mechanism.decision(np.array([0.04, 0.06, 0.07, 0.09, 0.099, 0.0999]), np.ones(6))
    assert decide(columns)["released"].tolist() == [False, True]
