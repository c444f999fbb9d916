"""The search convicts what is broken and finds nothing where there is a proof."""

import dataclasses
import sys

import example_policies as examples
import numba
import numpy as np
import pytest

from dpsu.errors import InvalidArgument
from dpsu.policies.check import Database, Row, check_policy, load


def final_distance(policy, users, extra, cutoff):
    """With plain Python, as a reader of a report would repeat it."""
    weights = np.zeros((2, 6))
    for side in range(2):
        for k, own in enumerate(users):
            if side == 0 or k != extra:
                weights[side, list(own)] += policy.update(weights[side, list(own)], cutoff)
    return np.linalg.norm(weights[0] - weights[1], policy.norm)


@pytest.fixture(scope="module")
def greedy_check():
    return check_policy(examples.GREEDY, seconds=2)


def test_greedy_is_convicted_by_a_database_that_anyone_can_replay(greedy_check):
    database = greedy_check.database
    assert not greedy_check.ok
    assert greedy_check.distance > 3
    assert database.users[database.position] == database.extra
    replayed = final_distance(examples.GREEDY, database.users, database.position, database.cutoff)
    assert replayed == pytest.approx(greedy_check.distance)
    assert replayed == pytest.approx(
        np.abs(np.subtract(greedy_check.weights_with, greedy_check.weights_without)).sum()
    )


def test_a_conviction_shows_the_database(greedy_check):
    text = str(greedy_check)
    assert "'greedy'" in text
    assert str(greedy_check.database) in text
    assert repr(greedy_check.database.cutoff) in text


def test_a_contractive_policy_is_left_alone():
    check = check_policy(examples.Example(examples.weighted_l2, norm=2), seconds=1)
    assert check.ok, str(check)
    assert check.distance == pytest.approx(1)
    assert "private" not in str(check)


def test_every_broken_promise_of_an_update_is_named():
    check = check_policy(examples.Example(examples.careless, norm=1), seconds=0.2)
    assert not check.ok
    assert sum(map(abs, check.budget.increments)) == pytest.approx(1 + check.budget.amount)
    assert min(check.sign.increments) == pytest.approx(-check.sign.amount)
    assert str(check.budget) in str(check)
    assert str(check.sign) in str(check)


def test_symmetry_matters_only_where_it_is_claimed():
    check = check_policy(examples.Example(examples.first_takes_all, norm=2, symmetric=False), seconds=0.2)
    assert check.ok
    assert check.symmetry.amount == 1
    assert len(set(check.symmetry.weights)) < len(check.symmetry.weights)
    claiming = dataclasses.replace(check, claims_symmetry=True)
    assert not claiming.ok
    assert str(check.symmetry) in str(claiming)


def test_databases_read_as_they_run():
    database = Database((Row((0,), 2),), (0, 1), (Row((1,)), Row((2, 3), 3)), 2, 1.5)
    assert database.position == 2
    after = [(1,), (2, 3), (2, 3), (2, 3)]
    assert database.users == [(0,), (0,), (0, 1), *after, *after]
    shown = str(database)
    assert "1.5" in shown
    places = [shown.index(held) for held in ("{0}", "{0, 1}", "{1}", "{2, 3}")]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("update", "message"),
    [
        (lambda weights, cutoff: np.ones(weights.size + 1), "increment"),
        (lambda weights, cutoff: undefined(weights), "name 'undefined' is not defined"),  # noqa: F821
    ],
    ids=["too-long", "not-compilable"],
)
def test_an_update_that_cannot_run_is_refused_in_one_line(update, message):
    with pytest.raises(InvalidArgument, match=message) as caught:
        check_policy(examples.Example(update, norm=1), seconds=0.1)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf")])
def test_a_search_without_end_or_beginning_is_refused(seconds):
    with pytest.raises(InvalidArgument, match="seconds"):
        check_policy(examples.GREEDY, seconds=seconds)


def test_policies_are_loaded_by_name(tmp_path, monkeypatch):
    (tmp_path / "my_own_policies.py").write_text(
        "import numpy as np\n"
        "def even(weights, cutoff):\n    return np.full(weights.size, 1 / weights.size)\n"
        "even.norm = 1\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])  # load() puts the current directory there
    policy = load("my_own_policies:even")
    assert (policy.name, policy.norm, policy.symmetric) == ("even", 1, False)
    assert policy.update(np.zeros(4), 3.0).tolist() == [0.25] * 4


def test_objects_and_functions_with_attributes_are_policies():
    assert load("example_policies:GREEDY") is examples.GREEDY
    loaded = load("example_policies:weighted_l2")
    assert (loaded.name, loaded.norm, loaded.symmetric) == ("weighted_l2", 2, True)
    assert isinstance(load("example_policies:half").update, numba.core.dispatcher.Dispatcher)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("example_policies", "module:name"),
        ("no_such_module_here:greedy", "no_such_module_here"),
        ("example_policies:gredy", "'gredy'"),
        ("example_policies:NOT_A_POLICY", "norm"),
        ("example_policies:greedy", "norm"),
    ],
)
def test_what_is_no_policy_is_refused(spec, message):
    with pytest.raises(InvalidArgument, match=message):
        load(spec)
