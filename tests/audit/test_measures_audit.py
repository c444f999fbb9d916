"""Counts, sums and others: what a user with many items, huge totals or only unreleased items gives away.

The totals are the product's, with and without the user, and so is the noise: the same totals under a new digest per run. The
attacker knows both databases and looks at the noisy numbers in the direction of the user.
"""

import math

import numpy as np
import polars as pl
import pytest
from attack import EPSILON, epsilon_at_least

from dpsu.algorithms.holders import Counts, count_beside, counting_terms
from dpsu.algorithms.measures import cell_of
from dpsu.algorithms.request import Request
from dpsu.engines.contract import Rule
from dpsu.engines.local import LocalEngine
from dpsu.kernels.measures import count_users_with, sum_values
from dpsu.privacy.gaussian import mu_for
from dpsu.randomness.noise import gaussian_cells
from dpsu.randomness.stream import Purpose, Stream
from dpsu.sources.pairs import read_sets

DELTA, RUNS, BINS = 0.05, 100_000, 400
RELEASED, BOUNDS, CUT, SUMS_CUT = 12, (-3, 50), 4, 3
TERMS = counting_terms(Counts(max_items=CUT, sums_max_items=SUMS_CUT), {"amount": BOUNDS}, others=True)
STREAM = Stream(bytes(range(32)))

OTHERS = [(user, item, 1.0) for user in range(20) for item in range(RELEASED + 3)]
USERS = {
    "many items": [(99, item, 1.0) for item in range(RELEASED)],
    "huge totals": [(99, item, 1e9) for item in range(RELEASED)] + [(99, 0, 1e12)] * 5,
    "huge negative totals": [(99, item, -1e9) for item in range(3)],
    "one item": [(99, 0, 50.0)],
    "others only": [(99, RELEASED + k, 1e9) for k in range(3)],
    "everything": [(99, item, 1e9) for item in range(RELEASED + 3)],
}


def exact_totals(rows, cut, sums_cut, bounded):
    """All exact numbers that get noise, in their own units: counts, sums, users of others, sum of others."""
    bounds = TERMS.sums["amount"]
    frame = pl.DataFrame(rows, schema=["user", "item", "amount"], orient="row")
    sets = read_sets(frame, user="user", item="item", stream=STREAM, sums={"amount": bounds})
    names = np.array([sets.names.decode(np.array([code])).item() for code in range(sets.n_items)])
    released, engine = names < RELEASED, LocalEngine(threads=1)
    items = {**engine.items(sets), "open": released}
    rule = Rule("weigh_by_root", unit=2.0**-30, table=np.array([cut], np.int64))
    counts = engine.weigh(engine.bound(sets, 1 << 40, STREAM, keep=items), items, rule)["total"] * 2.0**-30
    totals = np.zeros(len(names), np.int64)
    low, high = bounds.in_units if bounded else (-(2**31), 2**31)
    rest = sum_values(
        sets.indptr, sets.items, released, ~released, sets.values["amount"], low, high, sums_cut, totals
    )
    order = np.argsort(names[released])
    return (
        counts[released][order],
        totals[released][order] * bounds.unit,
        np.array([count_users_with(sets.indptr, sets.items, ~released)], float),
        np.array([rest * bounds.unit]),
    )


def attack(own, noise=1.0, cut=CUT, sums_cut=SUMS_CUT, bounded=True, only=slice(None)):
    """A lower bound on epsilon from all numbers together, or from some of the four kinds."""
    counting = count_beside(Request(EPSILON, DELTA, 40), TERMS, mu_for(EPSILON, DELTA), [40])
    scales = [counting.sigma, counting.sums["amount"], counting.others[""], counting.others["amount"]][only]
    sides = [exact_totals(rows, cut, sums_cut, bounded)[only] for rows in ([*OTHERS, *own], OTHERS)]
    scores = [np.zeros(RUNS), np.zeros(RUNS)]
    for kind, scale in enumerate(scales):
        first, second = sides[0][kind], sides[1][kind]
        for place in np.flatnonzero(first != second):
            for side, total in enumerate((first[place], second[place])):
                seen = noisy(total, noise * scale, seed=1000 * kind + 10 * int(place) + side)
                scores[side] += (seen - second[place]) * (first[place] - second[place]) / scale**2
    edges = np.quantile(np.concatenate(scores), np.linspace(0, 1, BINS + 1)[1:-1])
    return epsilon_at_least(*(np.searchsorted(edges, score) for score in scores), DELTA)


def noisy(total, scale, seed):
    """The total with the product's noise, once per run."""
    digests = np.random.default_rng(seed).integers(0, 2**64, (RUNS, 2), dtype=np.uint64)
    cell = cell_of(scale)
    how = {"round": 0, "unit": 1.0, "scale": scale, "cell": cell, "purpose": Purpose.COUNT}
    return cell * gaussian_cells(np.full(RUNS, total), digests, STREAM, **how)


@pytest.mark.parametrize("user", USERS)
def test_no_user_is_told_apart_beyond_epsilon(user):
    found = attack(USERS[user])
    print(f"{user}: epsilon {found:.3f}")
    assert found <= EPSILON


def test_the_attack_has_power():
    found = attack(USERS["everything"], noise=0.6)
    assert found > EPSILON


@pytest.mark.parametrize(
    ("user", "place", "share"),
    [
        ("many items", 0, TERMS.share),
        ("huge totals", 1, TERMS.sums_share),
        ("others only", 2, TERMS.others_share / 2),
        ("others only", 3, TERMS.others_share / 2),
    ],
    ids=["counts", "sums", "users of others", "sums of others"],
)
def test_too_little_noise_is_caught_in_each_measure(user, place, share):
    """The measure alone would spend the whole budget with this share of the noise; it has 0.6 of that."""
    noise, only = math.sqrt(share / TERMS.whole_share), slice(place, place + 1)
    assert attack(USERS[user], noise=noise, only=only) <= EPSILON
    assert attack(USERS[user], noise=0.6 * noise, only=only) > EPSILON


@pytest.mark.parametrize(
    ("user", "how"),
    [
        (
            "many items",
            {"cut": 40, "only": slice(0, 1), "noise": math.sqrt(TERMS.share / TERMS.whole_share)},
        ),
        (
            "huge totals",
            {"sums_cut": 40, "only": slice(1, 2), "noise": math.sqrt(TERMS.sums_share / TERMS.whole_share)},
        ),
        ("huge totals", {"bounded": False, "only": slice(1, 2)}),
        ("others only", {"bounded": False, "only": slice(3, 4)}),
    ],
    ids=["items not weighted", "totals not scaled", "totals not cut", "total of others not cut"],
)
def test_a_broken_measure_is_caught(user, how):
    how = {"noise": 1.0, **how}
    found = attack(USERS[user], **how)
    print(f"{user}, {how}: epsilon {found:.3f}")
    assert math.isfinite(found)
    assert found > EPSILON
