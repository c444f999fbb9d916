"""Worst cases of the built-in policies over small neighbouring databases, and the paper's counterexamples."""

import itertools
import json
import math
import re
from pathlib import Path

import example_policies as examples
import numba
import numpy as np
import pytest
from scipy.special import ndtr

from dpsu.kernels import descent
from dpsu.kernels.units import ONE
from dpsu.policies.check import check_policy

ROOT = Path(__file__).parents[2]
COUNTEREXAMPLE = ROOT / "tests" / "data" / "policy_gaussian_l1_counterexample.json"

ONE_ROW = np.zeros(1, np.int64)


def walk(kernel, users, cutoff, budget, dtype, *, items=8, passes=1):
    indptr = np.cumsum([0, *map(len, users)]).astype(np.int64)
    held = np.array([item for own in users for item in own], np.uint32)
    weights = np.zeros(items, dtype)
    for _ in range(passes):
        kernel(indptr, held, np.arange(len(users)), cutoff, budget, weights)
    return weights


def with_and_without(kernel, users, extra, *rest, **options):
    others = [own for k, own in enumerate(users) if k != extra]
    return walk(kernel, users, *rest, **options), walk(kernel, others, *rest, **options)


# Exhaustively: all databases of three users over three items, every one of them the extra user in turn.

SUBSETS = [own for size in (1, 2, 3) for own in itertools.combinations(range(3), size)]
DATABASES = [list(users) for users in itertools.product(SUBSETS, repeat=3)]


def worst(kernel, cutoff, budget, dtype, norm, passes=1):
    largest = 0
    for users in DATABASES:
        for extra in range(3):
            one, other = with_and_without(kernel, users, extra, cutoff, budget, dtype, passes=passes)
            apart = np.abs(one - other)
            largest = max(largest, apart.sum() if norm == 1 else math.sqrt((apart**2).sum()))
    return largest


@pytest.mark.parametrize("cutoff", [1.25, 1.75, 2.5])
@pytest.mark.parametrize("passes", [1, 3])
def test_integer_l1_descent_never_exceeds_one_budget_by_a_single_unit(cutoff, passes):
    largest = worst(descent.l1_descent, int(cutoff * ONE), ONE // passes, np.int64, 1, passes)
    assert largest == ONE // passes * passes


@pytest.mark.parametrize("cutoff", [1.25, 1.75, 2.5])
@pytest.mark.parametrize("passes", [1, 3])
def test_l2_descent_stays_at_one(cutoff, passes):
    largest = worst(descent.l2_descent, cutoff, 1 / passes, np.float64, 2, passes)
    assert largest == pytest.approx(1, abs=1e-9)


def test_l1_descent_in_l2_exceeds_one_on_three_users():
    assert worst(descent.l1_descent_in_l2, 1.75, 1.0, np.float64, 2) > 1.02


# By climbing: the search of `dpsu check-policy` on the very kernels that releases run.


@numba.njit
def integer_l1_descent(weights, cutoff):
    units = (weights * ONE).astype(np.int64)
    after = units.copy()
    row = np.arange(weights.size).astype(np.uint32)
    descent.l1_descent(np.array([0, weights.size]), row, ONE_ROW, np.int64(cutoff * ONE), ONE, after)
    return (after - units) / ONE


@numba.njit
def fill_in_order(weights, cutoff):
    units = (weights * ONE).astype(np.int64)
    after = units.copy()
    row = np.arange(weights.size).astype(np.uint32)
    descent.fill_in_order(np.array([0, weights.size]), row, ONE_ROW, np.int64(cutoff * ONE), ONE, after)
    return (after - units) / ONE


@numba.njit
def l2_descent(weights, cutoff):
    after = weights.copy()
    row = np.arange(weights.size).astype(np.uint32)
    descent.l2_descent(np.array([0, weights.size]), row, ONE_ROW, cutoff, 1.0, after)
    return after - weights


@numba.njit
def l1_descent_in_l2(weights, cutoff):
    after = weights.copy()
    row = np.arange(weights.size).astype(np.uint32)
    descent.l1_descent_in_l2(np.array([0, weights.size]), row, ONE_ROW, cutoff, 1.0, after)
    return after - weights


def test_no_climb_takes_integer_l1_descent_above_one():
    check = check_policy(examples.Example(integer_l1_descent, norm=1), seconds=2)
    assert check.ok, str(check)
    assert check.distance == 1  # exactly: weights of 2^-30 and sums of them are exact in floats


def test_no_climb_takes_filling_in_order_above_one():
    check = check_policy(examples.Example(fill_in_order, norm=1, symmetric=False), seconds=2)
    assert check.ok, str(check)
    assert check.distance == 1


def test_no_climb_takes_l2_descent_above_one():
    check = check_policy(examples.Example(l2_descent, norm=2), seconds=2)
    assert check.ok, str(check)
    assert check.distance <= 1 + 1e-9


def test_climbs_convict_l1_descent_in_l2():
    check = check_policy(examples.Example(l1_descent_in_l2, norm=2), seconds=2)
    assert not check.ok
    assert check.distance > 1.02
    assert check.budget is None  # each user alone keeps to the budget; it is the others that multiply it


# The counterexamples of docs/errata.md.


def test_three_users_by_hand():
    one, other = with_and_without(
        descent.l1_descent_in_l2, [[0], [0, 1, 2], [0, 1]], 1, 1.75, 1.0, np.float64, items=3
    )
    assert one == pytest.approx([1.75, 1.5623, 0.5774], abs=5e-5)
    assert other == pytest.approx([1.7071, 0.7071, 0], abs=5e-5)
    assert np.linalg.norm(one - other) == pytest.approx(1.0328, abs=5e-5)


def test_one_user_moves_one_item_by_seven():
    """The extra user fills 99 items that stand near the cutoff, which frees others' budget for the last."""
    near, low = range(99), 99
    fill = [[item] for item in near for _ in range(40)]
    after = [[3 * k, 3 * k + 1, 3 * k + 2, low] for k in range(33)]
    users = [*fill, [*near, low], *after]
    one, other = with_and_without(
        descent.l1_descent_in_l2, users, len(fill), 40.5, 1.0, np.float64, items=100
    )
    assert abs(one[low] - other[low]) == pytest.approx(7.40, abs=0.005)
    one, other = with_and_without(descent.l2_descent, users, len(fill), 40.5, 1.0, np.float64, items=100)
    assert np.linalg.norm(one - other) <= 1


def test_the_published_policy_breaks_its_promise_at_the_papers_own_parameters():
    case = json.loads(COUNTEREXAMPLE.read_text())
    one, other = with_and_without(
        descent.l1_descent_in_l2, case["users"], case["x"], case["cutoff"], 1.0, np.float64
    )
    missed_with, missed_without = (
        ndtr((case["rho"] - weights[case["item"]]) / case["sigma"]) for weights in (one, other)
    )
    assert missed_without == pytest.approx(0.02754, abs=5e-6)
    assert missed_with == pytest.approx(0.000833, abs=5e-7)
    assert math.log((missed_without - case["delta"]) / missed_with) == pytest.approx(3.496, abs=5e-4)
    assert missed_without - math.exp(case["eps"]) * missed_with == pytest.approx(
        238 * case["delta"], rel=0.005
    )


def test_the_snippets_of_the_errata_run():
    snippets = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "errata.md").read_text(), re.DOTALL)
    assert len(snippets) == 3
    for snippet in snippets:
        assert "assert " in snippet
        exec(snippet, {})
