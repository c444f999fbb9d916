"""At the edges of the ranges a calibration refuses, or its promise holds: counterexamples that were seen, and a sample."""

import math
import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from experiments.edges import judge as judged
from experiments.edges import points, report
from experiments.lone_user import chance_alone, set_sizes
from statements import stated
from user_sets import sets_of

import dpsu
from dpsu.algorithms.catalogue import build, find
from dpsu.algorithms.policy import rounding_slack
from dpsu.algorithms.request import Request
from dpsu.engines.local import LocalEngine
from dpsu.errors import InvalidArgument
from dpsu.kernels.descent import l1_descent
from dpsu.kernels.units import ONE
from dpsu.privacy.laplace import optimal_single
from dpsu.randomness.stream import Stream


def mechanism_for(algorithm, epsilon, delta, max_items=300, calibration="exact", **options):
    return build(algorithm, **options).calibrate(Request(epsilon, delta, max_items, calibration))


def verification_of(algorithm, *privacy, **options):
    return dpsu.verify(stated(find(algorithm), mechanism_for(algorithm, *privacy, **options)))


def is_quick(point):
    """Larger sets, more rounds and more passes take seconds; `python -m experiments.edges` takes them all."""
    rounds, passes = point.options.get("rounds", 20), point.options.get("passes", 1)
    return point.max_items <= 100 and rounds <= 20 and passes <= 100


def test_a_sample_of_all_ranges_is_refused_or_holds():
    sample = [point for point in points(1000, seed=5) if is_quick(point)]
    outcomes = [judged(point) for point in random.Random(5).sample(sample, 150)]
    _, bad = report(outcomes)
    assert not bad
    kinds = Counter(outcome.result for outcome in outcomes)
    assert min(kinds["accepted"], kinds["refused"]) >= 10


def test_the_cap_of_rounds_of_tiny_shares_is_verified_where_chances_are_tiny():
    """An error of 4e-9 in the tail of 1e-83, from which the verifier makes the cap, was more than the margin."""
    mechanism = mechanism_for("focused-gaussian", 0.1, 1e-50, 100, growth=0.01, warmup=0, rounds=5)
    assert dpsu.verify(stated(find("focused-gaussian"), mechanism)).ok


@pytest.mark.parametrize(
    ("privacy", "own_items", "options"),
    [((1e-4, 1e-6, 150_000), 150_000, {}), ((1.0, 1e-6, 300), 2, {"alpha": 8.5e9})],
)
def test_policy_laplace_refuses_cutoffs_whose_gaps_leave_64_bits(privacy, own_items, options):
    data = {"alone": [f"secret {k}" for k in range(own_items)]}
    with pytest.raises(InvalidArgument):
        dpsu.release(
            data,
            epsilon=privacy[0],
            delta=privacy[1],
            max_items=privacy[2],
            algorithm="policy-laplace",
            **options,
        )


@pytest.mark.parametrize(("items", "cutoff"), [(2, 2**62), (150_000, 2**47), (1, 2**62), (5, 2**61 + 7)])
def test_a_lone_user_of_l1_descent_never_spends_more_than_one_budget(items, cutoff):
    """Also where the sum of all gaps would wrap to less than the budget."""
    weights = np.zeros(items, np.int64)
    codes, order = np.arange(items, dtype=np.uint32), np.zeros(1, np.int64)
    l1_descent(np.array([0, items]), codes, order, np.int64(cutoff), np.int64(ONE), weights)
    assert weights.sum() == ONE
    assert weights.max() - weights.min() <= 1


@pytest.mark.parametrize(
    ("privacy", "options"),
    [
        ((0.5, 1e-9, 10**6, "exact"), {}),
        ((0.5, 1e-9, 10**6, "paper"), {}),
        ((1.0, 1e-6, 300, "exact"), {"passes": 500}),
        ((1.0, 1e-6, 10, "exact"), {"passes": 1000}),
        ((1.0, 1e-6, 10**6, "paper"), {}),
        ((1.0, 1e-6, 300, "exact"), {"alpha": 2000.0}),
    ],
)
def test_policy_gaussian_pays_for_the_rounding_of_its_cutoff(privacy, options):
    mechanism = mechanism_for("policy-gaussian", *privacy, **options)
    walk, max_items = mechanism.walk, privacy[2]
    slack = rounding_slack(walk.cutoff, max_items, 2, walk.passes, walk.parts)
    ideal = mechanism_for("weighted-gaussian", *privacy)
    assert mechanism.selection.sigma >= ideal.selection.sigma * (1 + slack) * (1 - 1e-12)
    assert verification_of("policy-gaussian", *privacy, **options).ok


@pytest.mark.parametrize(
    ("privacy", "options"), [((0.01, 1e-6, 10**5), {}), ((1.0, 1e-6, 300), {"alpha": 1e6})]
)
def test_policy_gaussian_refuses_where_rounding_would_double_the_noise(privacy, options):
    with pytest.raises(InvalidArgument, match="rounding"):
        mechanism_for("policy-gaussian", *privacy, **options)


def test_the_cutoff_of_a_policy_is_never_below_one_budget():
    """A user with a new item then spends the whole budget, as the threshold takes for granted."""
    for algorithm in ("policy-gaussian", "policy-laplace", "ordered-laplace"):
        walk = mechanism_for(algorithm, 50.0, 0.5, 10, alpha=0.0, parts=1000).walk
        assert walk.unit * walk.cutoff >= 1


@pytest.mark.parametrize("norm", [1, 2])
def test_weights_of_an_own_policy_stop_at_the_cutoff(norm):
    """Its rounding is paid for up to there."""

    def generous(weights, cutoff):
        return np.full(weights.size, 1.0 / weights.size)

    policy = dpsu.Policy(generous, norm=norm)
    mechanism = mechanism_for(policy, 2.0, 1e-6, 3)
    sets, engine = sets_of([[0, 1]] * 400), LocalEngine(1)
    items = engine.walk(
        engine.bound(sets, 3, Stream(bytes(32))), engine.items(sets), mechanism.walk, Stream(bytes(32))
    )
    assert items["total"].max() == mechanism.walk.cutoff


def test_an_own_policy_whose_rounding_is_too_much_is_refused():
    policies = [dpsu.Policy(lambda weights, cutoff: weights * 0.0, norm=norm) for norm in (1, 2)]
    for policy in policies:
        with pytest.raises(InvalidArgument, match="rounding"):
            mechanism_for(policy, 1e-3, 1e-6, 10**6)


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(1.0, 2.0**-52), (1e-3, 2.0**-52), (1e4, 2.0**-52), (1e-6, 0.01)]
)
def test_the_optimal_coin_reaches_certainty_and_says_where(epsilon, delta):
    mechanism = mechanism_for("optimal-single", epsilon, delta, 1)
    assert mechanism.probabilities[-1] == 1.0
    assert mechanism.probabilities[-2] < 1.0
    assert mechanism.parameters()["certain_from"] == len(mechanism.probabilities) - 1
    assert verification_of("optimal-single", epsilon, delta, 1).ok


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-16), (1e-6, 1e-15), (1e-5, 2.0**-52)])
def test_the_optimal_coin_refuses_what_its_table_cannot_hold(epsilon, delta):
    with pytest.raises(InvalidArgument):
        mechanism_for("optimal-single", epsilon, delta, 1)


def test_a_tiny_delta_stops_the_coin_below_certainty():
    """Hence the refusal: the last chance that doubles reach is not 1."""
    assert optimal_single(0.5, 1e-40)[-1] < 1


OUTSIDE = [
    ("policy-gaussian", {"alpha": -1.0}),
    ("policy-gaussian", {"alpha": 2e6}),
    ("policy-laplace", {"alpha": math.inf}),
    ("policy-laplace", {"alpha": True}),
    ("policy-laplace", {"passes": 1001}),
    ("policy-laplace", {"passes": True}),
    ("ordered-laplace", {"alpha": -1.0}),
    ("ordered-laplace", {"parts": 0}),
    ("ordered-laplace", {"parts": 1001}),
    ("ordered-laplace", {"passes": 2}),
    ("ordered-laplace", {"order": "words.txt"}),
    ("policy-gaussian", {"parts": 0}),
    ("policy-gaussian", {"parts": 1001}),
    ("dp-sips", {"shares": (1e-13, 1 - 1e-13)}),
    ("dp-sips", {"shares": (0.5, 0.5 + 1e-9)}),
    ("dp-sips", {"shares": (0.5, math.nan)}),
    ("mad", {"d_max": 10**6 + 1}),
    ("mad", {"beta": 1e300}),
    ("mad", {"beta": 1e5}),
    ("mad2r", {"b_min": 0.001}),
    ("mad2r", {"b_max": 101}),
    ("mad2r", {"c_lb": 1e300}),
    ("mad2r", {"c_ub": -math.inf}),
    ("mad2r", {"shares": (1e-12, 1 - 1e-12)}),
    ("k-anonymity", {"k": 0}),
    ("k-anonymity", {"k": 2**40}),
]


@pytest.mark.parametrize(("algorithm", "options"), OUTSIDE)
def test_options_outside_of_their_ranges_are_refused(algorithm, options):
    with pytest.raises(InvalidArgument):
        mechanism_for(algorithm, 1.0, 1e-6, **options)


@pytest.mark.parametrize(
    "privacy", [(1e-7, 1e-6, 10), (2e4, 1e-6, 10), (1.0, 1e-60, 10), (1.0, 0.6, 10), (1.0, 1e-6, 10**6 + 1)]
)
def test_privacy_outside_of_its_range_is_refused(privacy):
    with pytest.raises(InvalidArgument):
        Request(*privacy)


def test_the_lone_user_of_the_script_sees_a_threshold_that_is_too_low():
    """The figure that the script judges by has power: it rises above delta when a threshold falls."""
    mechanism = mechanism_for("weighted-gaussian", 1.0, 1e-5, 100)
    worst = max(chance_alone(mechanism, size) for size in set_sizes(100))
    assert 0.99e-5 < worst <= 1e-5
    lower = replace(mechanism.selection, threshold=0.99 * mechanism.selection.threshold)
    assert max(chance_alone(replace(mechanism, selection=lower), size) for size in set_sizes(100)) > 1.1e-5


def test_a_lone_user_of_auto_with_more_items_than_are_counted_for_popularity():
    """Longer sets are sampled before popular items are counted, in the script as in the program."""
    mechanism = dpsu.Auto().calibrate(Request(1.0, 1e-5, 10**6))
    assert chance_alone(mechanism, 10**6) <= 1e-5 * (1 + 1e-9)
