"""Auto: the distribution of its steps on small databases, computed exactly, with the worst rule that there could be.

The last tests run the private steps of the program many times and attack what they show.

One user more changes what is popular, the histogram and the branch. Outcomes are whether the item is popular, the noisy
size, and what the branch shows: whether the item is released in the ℓ1 branch, a noisy sum in the Gaussian one. Their
probabilities are sums, so the excess over e^epsilon is computed instead of estimated.
"""

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
REACH = 40
"""In scales of the noise: sizes further away are left out, which loses less than e^-40."""


def chances_of(mechanism, holders):
    """The chance of an item with so many holders, who have no other: of being popular, and in the ℓ1 branch."""
    branch = mechanism.branches[auto_rule.ORDERED, auto_rule.MAX_ITEMS]
    popular = mechanism.sizing.curve.probability(np.array([float(holders)]))
    return float(popular[0]), float(branch.chance(np.array([holders]), 1)[0])


def excess(mechanism, epsilon, own, other):
    """sup over rules and events of P - e^epsilon Q, for these numbers of holders of one item."""
    sizing = mechanism.sizing
    reach = int(REACH / sizing.epsilon_sizes)
    size = np.arange(-reach, reach + MOST_HOLDERS)
    (popular, chance), (popular_q, chance_q) = (chances_of(mechanism, n) for n in (own, other))
    if popular == 1.0 or popular_q == 1.0:  # the other outcomes are possible on one side only
        return max(0.0, popular - np.exp(epsilon) * popular_q) + (1 - popular)
    p, q = (
        (1 - share) * np.tanh(sizing.epsilon_sizes / 2) * np.exp(-sizing.epsilon_sizes * np.abs(size - n))
        for share, n in ((popular, own), (popular_q, other))
    )
    l1 = sum(
        np.maximum(p * one - np.exp(epsilon) * q * two, 0.0)
        for one, two in ((chance, chance_q), (1 - chance, 1 - chance_q))
    )
    # ln(p / q) takes few values: the noise is two-sided geometric.
    noise = sizing.epsilon_sizes * (np.abs(size - other) - np.abs(size - own))
    losses, place = np.unique(
        np.round(np.log((1 - popular) / (1 - popular_q)) + noise, 12), return_inverse=True
    )
    new = sizing.focused.delta_new if 0 in (own, other) else 0.0
    shown = np.array([delta_gaussian(epsilon - loss, sizing.focused.mu) + new for loss in losses])
    branches = np.maximum(l1, p * shown[place])
    return max(0.0, popular - np.exp(epsilon) * popular_q) + float(branches.sum())


def worst_excess(mechanism, epsilon):
    """Over the numbers of holders, in both directions; without holders, the item is the added user's alone."""
    pairs = [(n, n + 1) for n in range(MOST_HOLDERS)]
    return max(excess(mechanism, epsilon, *pair) for low in pairs for pair in (low, low[::-1]))


def shown(mechanism, holders, runs, seed):
    """What the private steps show of users who all hold one item, a number per run: is it popular, and the noisy size."""
    rng, sets = np.random.default_rng(seed), sets_of([(0,)] * holders)
    found = np.empty(runs, np.int64)
    with LocalEngine(1) as engine:
        for run in range(runs):
            _, sizes, popular = mechanism.sized(engine, sets, Stream(rng.bytes(32)))
            found[run] = 2 * np.clip(sizes[0] + REACH, 0, 4 * REACH) + popular
    return found


def attacked(mechanism, runs=8000):
    """A lower bound on the epsilon of the private steps: one user more, where the item is popular in half of the runs."""
    holders = round(mechanism.sizing.curve.midpoint)
    sides = shown(mechanism, holders, runs, seed=1), shown(mechanism, holders + 1, runs, seed=2)
    return epsilon_at_least(*sides, mechanism.sizing.delta_popular)


def calibrated(epsilon):
    return dpsu.Auto().calibrate(Request(epsilon, DELTA, free=True))


@pytest.fixture
def large_steps(monkeypatch):
    """Private steps that matter: half of epsilon."""
    monkeypatch.setattr(auto, "EPSILON_POPULAR", 0.2)
    monkeypatch.setattr(auto, "EPSILON_SIZES", 0.3)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
@pytest.mark.usefixtures("large_steps")
def test_one_user_more_stays_hidden(epsilon):
    assert 0.9 * DELTA < worst_excess(calibrated(epsilon), epsilon) <= DELTA


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_one_user_more_stays_hidden_with_the_shares_of_the_program(epsilon):
    assert 0.9 * DELTA < worst_excess(calibrated(epsilon), epsilon) <= DELTA


@pytest.mark.usefixtures("large_steps")
def test_too_little_noise_is_caught():
    """Half of the noise of popular items, of the histogram, or of the branches."""
    mechanism = calibrated(1.0)
    sizing = mechanism.sizing
    weaker = [
        replace(sizing, epsilon_popular=sizing.epsilon_popular / 0.5, delta_popular=0.1),
        replace(sizing, epsilon_sizes=sizing.epsilon_sizes / 0.5),
        replace(sizing, focused=replace(sizing.focused, mu=sizing.focused.mu / 0.5)),
    ]
    for weak in weaker:
        assert worst_excess(replace(mechanism, sizing=weak), 1.0) > DELTA
    assert worst_excess(replace(calibrated(2.0), sizing=sizing), 1.0) > DELTA


@pytest.mark.usefixtures("large_steps")
def test_the_steps_of_the_program_show_no_more_than_their_share(monkeypatch):
    monkeypatch.setattr(auto, "LONGEST", 10)
    mechanism = calibrated(1.0)
    assert attacked(mechanism) <= mechanism.sizing.epsilon_popular + mechanism.sizing.epsilon_sizes


@pytest.mark.usefixtures("large_steps")
def test_the_attack_on_the_program_has_power(monkeypatch):
    """With half of the noise the same attack finds more than the share."""
    monkeypatch.setattr(auto, "LONGEST", 10)
    mechanism = calibrated(1.0)
    share = mechanism.sizing.epsilon_popular + mechanism.sizing.epsilon_sizes
    weak = replace(
        mechanism.sizing,
        epsilon_popular=2 * mechanism.sizing.epsilon_popular,
        epsilon_sizes=2 * mechanism.sizing.epsilon_sizes,
    )
    assert attacked(replace(mechanism, sizing=weak)) > share
