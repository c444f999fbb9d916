"""Auto: the distribution of its steps on small databases, computed exactly, with the worst rule that there could be.

The last tests run the private steps of the program many times and attack what they show.

One user more changes what is popular, the histogram, the demand and the branch. Outcomes are whether the item is popular,
the noisy size, the noisy demand, and what the branch shows: whether the item is released in the ℓ1 branch, a noisy sum in
the Gaussian one. Their probabilities are sums, so the excess over e^epsilon is computed instead of estimated.
"""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from attack import epsilon_at_least
from user_sets import sets_of

import dpsu
from dpsu.algorithms import auto, auto_rule
from dpsu.algorithms.request import Request
from dpsu.engines.local import LocalEngine
from dpsu.privacy.gaussian import delta_gaussian
from dpsu.randomness.stream import Stream

DELTA = 1e-3
MOST_HOLDERS = 40


def chances_of(mechanism, holders):
    """The chance of an item with so many holders, who have no other: of being popular, and in the ℓ1 branch."""
    branch = mechanism.branches[auto_rule.Branch(auto_rule.ORDERED, auto_rule.MAX_ITEMS, auto_rule.ALPHA)]
    popular = mechanism.sizing.curve.probability(np.array([float(holders)]))
    return float(popular[0]), float(branch.chance(np.array([holders]), 1)[0])


def sides(epsilon, own, other):
    """The chances of two-sided geometric noise around both numbers to be on either side between them: pairs for P and Q.

    They differ by one, and on each side the ratio of the chances is the same everywhere.
    """
    near = 1 / (1 + np.exp(-epsilon))
    return [(near, 1 - near), (1 - near, near)] if own != other else [(1.0, 1.0)]


def excess(mechanism, epsilon, own, other):
    """sup over rules and events of P - e^epsilon Q, for these numbers of holders of one item."""
    sizing = mechanism.sizing
    (popular, chance), (popular_q, chance_q) = (chances_of(mechanism, n) for n in (own, other))
    if popular == 1.0 or popular_q == 1.0:  # the other outcomes are possible on one side only
        return max(0.0, popular - np.exp(epsilon) * popular_q) + (1 - popular)
    filled = [min(n, int(sizing.filled)) for n in (own, other)]
    new = sizing.focused.delta_new if 0 in (own, other) else 0.0
    found = max(0.0, popular - np.exp(epsilon) * popular_q)
    for size, demand in itertools.product(
        sides(sizing.epsilon_sizes, own, other), sides(sizing.epsilon_demand, *filled)
    ):
        p, q = (1 - popular) * size[0] * demand[0], (1 - popular_q) * size[1] * demand[1]
        l1 = sum(
            max(p * one - np.exp(epsilon) * q * two, 0.0)
            for one, two in ((chance, chance_q), (1 - chance, 1 - chance_q))
        )
        shown = delta_gaussian(epsilon - np.log(p / q), sizing.focused.mu) + new
        found += max(l1, p * shown)
    return found


def worst_excess(mechanism, epsilon):
    """Over the numbers of holders, in both directions; without holders, the item is the added user's alone."""
    pairs = [(n, n + 1) for n in range(MOST_HOLDERS)]
    return max(excess(mechanism, epsilon, *pair) for low in pairs for pair in (low, low[::-1]))


def shown(mechanism, holders, runs, seed, between):
    """What the private steps show of users who all hold one item, a number per run: on which side of `between` the noisy
    size and the noisy demand are, and whether the item is popular."""
    rng, sets = np.random.default_rng(seed), sets_of([(0,)] * holders)
    found = np.empty(runs, np.int64)
    with LocalEngine(1) as engine:
        for run in range(runs):
            stream = Stream(rng.bytes(32))
            left, popular = mechanism.without_popular(engine, sets, stream)
            seen = mechanism.seen(engine, left, stream)
            found[run] = 4 * (seen.users[0] > between) + 2 * (seen.budgets > between) + popular
    return found


def attacked(mechanism, runs=8000):
    """A lower bound on the epsilon of the private steps: one user more, where the item is popular in half of the runs."""
    holders = round(mechanism.sizing.curve.midpoint)
    both = (
        shown(mechanism, number, runs, seed, holders) for seed, number in enumerate((holders, holders + 1), 1)
    )
    return epsilon_at_least(*both, mechanism.sizing.delta_popular)


def steps_of(mechanism):
    """The epsilon of all private steps."""
    sizing = mechanism.sizing
    return sizing.epsilon_popular + sizing.epsilon_sizes + sizing.epsilon_demand


def calibrated(epsilon):
    return dpsu.Auto().calibrate(Request(epsilon, DELTA, free=True))


@pytest.fixture
def large_steps(monkeypatch):
    """Private steps that matter: more than half of epsilon."""
    for step in ("POPULAR", "SIZES", "DEMAND"):
        monkeypatch.setattr(auto, f"EPSILON_{step}", 0.2)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
@pytest.mark.usefixtures("large_steps")
def test_one_user_more_stays_hidden(epsilon):
    assert 0.9 * DELTA < worst_excess(calibrated(epsilon), epsilon) <= DELTA


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_one_user_more_stays_hidden_with_the_shares_of_the_program(epsilon):
    assert 0.9 * DELTA < worst_excess(calibrated(epsilon), epsilon) <= DELTA


@pytest.mark.usefixtures("large_steps")
def test_too_little_noise_is_caught():
    """Half of the noise of popular items, of the histogram, of the demand, or of the branches."""
    mechanism = calibrated(1.0)
    sizing = mechanism.sizing
    weaker = [
        replace(sizing, epsilon_popular=sizing.epsilon_popular / 0.5, delta_popular=0.1),
        replace(sizing, epsilon_sizes=sizing.epsilon_sizes / 0.5),
        replace(sizing, epsilon_demand=sizing.epsilon_demand / 0.5),
        replace(sizing, focused=replace(sizing.focused, mu=sizing.focused.mu / 0.5)),
    ]
    for weak in weaker:
        assert worst_excess(replace(mechanism, sizing=weak), 1.0) > DELTA
    assert worst_excess(replace(calibrated(2.0), sizing=sizing), 1.0) > DELTA


@pytest.mark.usefixtures("large_steps")
def test_the_steps_of_the_program_show_no_more_than_their_share(monkeypatch):
    monkeypatch.setattr(auto, "LONGEST", 10)
    mechanism = calibrated(1.0)
    assert attacked(mechanism) <= steps_of(mechanism)


@pytest.mark.usefixtures("large_steps")
def test_the_attack_on_the_program_has_power(monkeypatch):
    """With half of the noise the same attack finds more than the share."""
    monkeypatch.setattr(auto, "LONGEST", 10)
    mechanism = calibrated(1.0)
    weak = replace(
        mechanism.sizing,
        epsilon_popular=2 * mechanism.sizing.epsilon_popular,
        epsilon_sizes=2 * mechanism.sizing.epsilon_sizes,
        epsilon_demand=2 * mechanism.sizing.epsilon_demand,
    )
    assert attacked(replace(mechanism, sizing=weak)) > steps_of(mechanism)
