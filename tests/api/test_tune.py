"""Choosing settings: the price of it, and that it is paid."""

from dataclasses import replace

import numpy as np
import pytest
from command import dpsu as command
from example_policies import weighted_l2

import dpsu
from dpsu.errors import InvalidArgument, NotPrivate
from dpsu.testing import seeded

PRIVACY = {"epsilon": 3.0, "delta": 1e-6}
BOUNDS = [{"max_items": 1}, {"max_items": 30}]
WORDS = [f"word {n:02}" for n in range(30)]


def failing(statement):
    """The names of the checks of `dpsu verify` that this statement does not pass."""
    return [check.name for check in dpsu.verify(statement).checks if not check.ok]


def crowd(users=2000):
    """Everybody holds thirty words, so that a bound of 1 leaves a thirtieth of the holders to each."""
    return {f"user {n}": WORDS for n in range(users)} | {"loner": ["secret"]}


def test_the_better_setting_is_found_on_a_part():
    with seeded(1):
        tuned = dpsu.tune(crowd(), settings=BOUNDS, tuning_share=0.2, **PRIVACY)
    assert tuned.setting == {"max_items": 30}
    assert tuned.scores[0] < tuned.scores[1] == 30
    assert tuned.release.items == WORDS
    assert failing(replace(tuned.release.statement, void=None)) == []


def test_users_of_the_tuning_part_are_left_out():
    with seeded(2), pytest.warns(dpsu.EmptyRelease, match="users"):
        tuned = dpsu.tune(crowd(), settings=BOUNDS, tuning_share=0.999, **PRIVACY)
    assert max(tuned.scores) == 30
    assert len(tuned.release) == 0


def test_selection_releases_the_best_of_its_tries():
    with seeded(3):
        tuned = dpsu.tune(crowd(600), settings=BOUNDS, method="selection", tries=20, **PRIVACY)
    assert tuned.setting == {"max_items": 30}
    assert tuned.release.items == WORDS
    assert tuned.scores is None
    assert failing(replace(tuned.release.statement, void=None)) == []


@pytest.mark.parametrize("way", ["part", "selection"])
def test_the_statement_says_how_the_setting_was_chosen(way):
    statement = dpsu.tune(crowd(), settings=BOUNDS, method=way, **PRIVACY).release.statement
    assert (statement.epsilon, statement.delta, statement.budget) == (3.0, 1e-6, None)
    assert (statement.kind, statement.algorithm) == ("tuned", "focused-gaussian")
    assert statement.proof == "docs/tuning.md"
    assert statement.void is None
    told = statement.parameters["tuning"]
    assert [setting["max_items"] for setting in told["settings"]] == [1, 30]
    assert told["chosen"] in told["settings"]
    assert told["way"] == way
    assert [trial["epsilon"] for trial in told["trials"]] == [told["epsilon_of_a_try"]] * 2
    assert [trial["max_items"] for trial in told["trials"]] == [1, 30]
    assert told["epsilon_of_a_try"] < 3
    assert ("scores" in told) is (way == "part")
    assert failing(statement) == []
    assert dpsu.Statement.from_json(statement.to_json()).to_dict() == statement.to_dict()


def test_numbers_of_numpy_are_told_as_plain_ones():
    choices = [{"max_items": np.int64(1)}, {"max_items": np.int32(30)}]
    statement = dpsu.tune(crowd(), settings=choices, epsilon=np.float32(3), delta=1e-6).release.statement
    assert [setting["max_items"] for setting in statement.parameters["tuning"]["settings"]] == [1, 30]
    assert failing(statement) == []


def test_a_seed_voids_the_statement():
    with seeded(4):
        statement = dpsu.tune(crowd(), settings=BOUNDS, **PRIVACY).release.statement
    assert statement.void
    assert failing(statement) == ["void"]


def test_claims_of_all_settings_are_in_the_statement():
    own = dpsu.Policy(
        lambda weights, cutoff: np.minimum(cutoff - weights, 1 / weights.size), norm=1, name="mine"
    )
    choices = [{"max_items": 6}, {"algorithm": own, "max_items": 6}]
    statement = dpsu.tune(crowd(300), settings=choices, tuning_share=0.5, **PRIVACY).release.statement
    assert "'mine'" in str(statement.rests_on)
    assert failing(statement) == []
    assert "'mine'" in dpsu.verify(statement).assumed[-1]


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"settings": []}, InvalidArgument, "settings"),
        ({"settings": {"max_items": 3}}, InvalidArgument, "settings"),
        ({"settings": [{"max_item": 3}]}, InvalidArgument, "'max_items'"),
        ({"settings": [{"algorithm": "policy-gaussian-l1"}]}, NotPrivate, "policy-gaussian-l1"),
        (
            {"settings": [{"algorithm": "count-laplace"}], "method": "selection"},
            InvalidArgument,
            "count-laplace",
        ),
        ({"method": "guess"}, InvalidArgument, "'part' or 'selection'"),
        ({"tuning_share": 1.0}, InvalidArgument, "tuning_share"),
        ({"method": "selection", "tries": 1}, InvalidArgument, "tries"),
        ({"epsilon": 0.0}, InvalidArgument, "epsilon"),
        ({"way": "part"}, InvalidArgument, "method"),
        ({"settings": [{"alpha": 2}]}, InvalidArgument, "PolicyGaussian"),
    ],
)
def test_wrong_calls_are_refused(change, error, says):
    with pytest.raises(error, match=says):
        dpsu.tune(crowd(10), **{"settings": BOUNDS, **PRIVACY, **change})


def test_the_command_tunes(tmp_path):
    lines = [f"{user},{item}" for user, items in crowd(2000).items() for item in items]
    (tmp_path / "data.csv").write_text("\n".join(["user,item", *lines]) + "\n")
    call = ["tune", "data.csv", "--user", "user", "--item", "item", "-o", "out.txt", "--epsilon", "3"]
    call += ["--delta", "1e-12", "--tuning-share", "0.2", "--statement", "statement.json"]
    refused = command(*call, cwd=tmp_path)
    assert (refused.returncode, (tmp_path / "out.txt").exists()) == (2, False)
    assert b"--max-items" in refused.stderr
    done = command(*call, "--max-items", "1", "--max-items", "30", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert b"max_items 30" in done.stderr
    assert (tmp_path / "out.txt").read_text().splitlines() == WORDS
    assert dpsu.verify(tmp_path / "statement.json", tmp_path / "out.txt").ok


def test_two_policies_of_one_name_must_claim_the_same():
    settings = [
        {"algorithm": dpsu.Policy(weighted_l2, norm=2, symmetric=claim, name="mine")}
        for claim in (True, False)
    ]
    with pytest.raises(InvalidArgument, match="mine"):
        dpsu.tune(crowd(), settings=settings, **PRIVACY)
