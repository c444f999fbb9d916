"""Choosing settings: the price of it, and that it is paid."""

import math
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from example_policies import weighted_l2
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from user_sets import sets_of

import dpsu
from dpsu.algorithms.request import Request
from dpsu.algorithms.tuning import (
    Candidate,
    composed_delta,
    draw_places,
    trials_for_selection,
    trials_on_part,
)
from dpsu.errors import InvalidArgument, NotPrivate
from dpsu.privacy.budget import Budget
from dpsu.privacy.selection import delta_of_best, new_item_runs
from dpsu.randomness.stream import Stream
from dpsu.sets.split import split_users
from dpsu.testing import seeded

ROOT = Path(__file__).parents[2]
PRIVACY = {"epsilon": 3.0, "delta": 1e-6}
BOUNDS = [{"max_items": 1}, {"max_items": 30}]
WORDS = [f"word {n:02}" for n in range(30)]


def failing(statement):
    """The names of the checks of `dpsu verify` that this statement does not pass."""
    return [check.name for check in dpsu.verify(statement).checks if not check.ok]


def crowd(users=2000):
    """Everybody holds thirty words, so that a bound of 1 leaves a thirtieth of the holders to each."""
    return {f"user {n}": WORDS for n in range(users)} | {"loner": ["secret"]}


# The mathematics of private selection.


def exact_delta_of_largest(epsilon, mu, tries):
    """The delta of showing the largest of a geometric number of values N(mu, 1), against N(0, 1), by integration."""
    g = 1 / tries

    def density(x, shift):
        return g / (1 - (1 - g) * norm.cdf(x - shift)) ** 2 * norm.pdf(x - shift)

    x = np.linspace(-12, 16, 200_001)
    excess = [
        np.maximum(0, density(x, one) - math.exp(epsilon) * density(x, other)).sum() * (x[1] - x[0])
        for one, other in ((mu, 0.0), (0.0, mu))
    ]
    return max(excess)


@pytest.mark.parametrize(
    ("mu", "tries", "epsilon"), [(0.2, 2, 1.0), (0.2, 10, 1.5), (0.4, 4, 2.0), (0.6, 4, 4.0)]
)
def test_selection_pays_for_showing_the_largest(mu, tries, epsilon):
    exact = exact_delta_of_largest(epsilon, mu, tries)
    assert exact <= delta_of_best(epsilon, Budget(mu, 0.0), tries) < 1
    assert exact > Budget(mu, 0.0).delta(epsilon), "one run's delta does not cover the largest of several"


@given(tries=st.floats(1.5, 50), epsilon=st.floats(0.1, 8))
@settings(max_examples=50, deadline=None)
def test_new_items_count_as_in_the_longest_series(tries, epsilon):
    g, share = 1 / tries, math.exp(-epsilon)
    k = np.arange(1, 40_000)
    tail = (1 - g) ** (k - 1)  # P(J >= k)
    # The mean of J over its longest e^-epsilon is the integral of min(share, P(J >= k)) over k, divided by the share.
    longest = np.minimum(tail, share).sum() / share
    assert longest <= new_item_runs(epsilon, tries) <= longest + 2
    assert new_item_runs(epsilon, tries) > tries


def test_delta_new_counts_for_every_run():
    without = delta_of_best(3.0, Budget(0.2, 0.0), 4)
    assert delta_of_best(3.0, Budget(0.2, 1e-7), 4) - without == pytest.approx(new_item_runs(3.0, 4) * 1e-7)


def test_settings_are_drawn_evenly_and_as_often_as_said():
    series = [list(draw_places(Stream(bytes([a, b] * 16)), 3, 4.0)) for a in range(50) for b in range(40)]
    lengths = np.array([len(places) for places in series])
    assert lengths.min() == 1
    assert abs(lengths.mean() - 4) < 5 * math.sqrt(12 / 2000)
    drawn = np.bincount(np.concatenate(series), minlength=3) / lengths.sum()
    assert np.abs(drawn - 1 / 3).max() < 5 * math.sqrt(0.25 / lengths.sum())


# What tries may spend.


def candidates(*names, **setting):
    return [Candidate.of({"algorithm": name, **setting}) for name in names]


def test_gaussian_tries_compose_by_their_budgets():
    made = [candidate.at(1.0, 1e-6) for candidate in candidates("policy-gaussian", "weighted-gaussian")]
    whole = made[0].budget().compose(made[1].budget())
    assert composed_delta(made, 1.3) == pytest.approx(whole.delta(1.3))
    assert composed_delta(made, 1.3) < composed_delta(made, 1.2)


def test_other_tries_add_epsilon_and_delta():
    made = [candidate.at(1.0, 1e-6) for candidate in candidates("count-laplace", "weighted-laplace")]
    assert composed_delta(made, 2.0) == pytest.approx(2e-6)
    assert composed_delta(made, 1.99) == 1.0
    mixed = [*made, candidates("focused-gaussian")[0].at(0.5, 1e-7)]
    assert composed_delta(mixed, 2.5) == pytest.approx(2e-6 + mixed[2].budget().delta(0.5))


@pytest.mark.parametrize("names", [["focused-gaussian"] * 3, ["policy-gaussian", "count-laplace"], ["mad2r"]])
def test_all_tries_on_a_part_together_keep_the_promise_and_waste_little(names):
    request = Request(2.0, 1e-6)
    made = trials_on_part(candidates(*names, max_items=50), request)
    assert composed_delta(made, 2.0) <= 1e-6
    assert composed_delta(made, 1.98) > 1e-6


def test_the_best_of_all_tries_keeps_the_promise():
    request = Request(2.0, 1e-6)
    made = trials_for_selection(candidates("policy-gaussian", "dp-sips", max_items=50), request, 4.0)
    dearest = Budget(max(m.budget().mu for m in made), max(m.budget().delta_new for m in made))
    assert delta_of_best(2.0, dearest, 4.0) <= 1e-6
    assert made[0].request.epsilon < 2.0


# Parts.


@given(
    rows=st.lists(st.sets(st.integers(0, 9), min_size=1).map(sorted), min_size=1, max_size=12),
    chosen=st.lists(st.booleans(), min_size=12, max_size=12),
)
@settings(deadline=None)
def test_parts_hold_their_own_users_and_items_only(rows, chosen):
    sets = sets_of(rows)
    for part, mask in zip(split_users(sets, np.array(chosen[: len(rows)])), (True, False), strict=True):
        own = [row for row, heads in zip(rows, chosen, strict=False) if heads is mask]
        names = [part.names.decode(np.array([code]))["item"][0] for code in range(part.n_items)]
        found = [
            sorted(names[code] for code in part.items[first:last])
            for first, last in zip(part.indptr[:-1], part.indptr[1:], strict=True)
        ]
        assert found == own
        assert (
            sorted(names)
            == sorted(set().union(*own))
            == part.names.decode(np.arange(len(names)))["item"].to_list()
        )
        assert (part.item_digests == sets.item_digests[names]).all()


# The whole.


def test_the_better_setting_is_found_on_a_part():
    with seeded(1):
        tuned = dpsu.tune(crowd(), settings=BOUNDS, tuning_share=0.2, **PRIVACY)
    assert tuned.setting == {"max_items": 30}
    assert tuned.scores[0] < tuned.scores[1] == 30
    assert tuned.release.items == WORDS
    assert failing(replace(tuned.release.statement, void=None)) == []


def test_users_of_the_tuning_part_are_left_out():
    with seeded(2), pytest.warns(dpsu.EmptyRelease, match="users share it"):
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
        ({"settings": []}, InvalidArgument, "must be a list"),
        ({"settings": {"max_items": 3}}, InvalidArgument, "must be a list"),
        ({"settings": [{"max_item": 3}]}, InvalidArgument, "Did you mean 'max_items'"),
        ({"settings": [{"algorithm": "policy-gaussian-l1"}]}, NotPrivate, "cannot be a setting"),
        (
            {"settings": [{"algorithm": "count-laplace"}], "method": "selection"},
            InvalidArgument,
            "Gaussian noise",
        ),
        ({"method": "guess"}, InvalidArgument, "'part' or 'selection'"),
        ({"tuning_share": 1.0}, InvalidArgument, "between 0 and 1"),
        ({"method": "selection", "tries": 1}, InvalidArgument, "above 1"),
        ({"epsilon": 0.0}, InvalidArgument, "epsilon"),
        ({"way": "part"}, InvalidArgument, "method"),
        ({"settings": [{"alpha": 2}]}, InvalidArgument, "PolicyGaussian"),
    ],
)
def test_wrong_calls_are_refused(change, error, says):
    with pytest.raises(error, match=says):
        dpsu.tune(crowd(10), **{"settings": BOUNDS, **PRIVACY, **change})


def test_the_command_tunes(tmp_path):
    """The command draws real noise.

    With this delta the loner's secret is released with a probability of at most 4e-13. A word has 13 holders where
    max_items is 1 and needs 25, and where it is 30 it exceeds the threshold by 25 sigma in the first six rounds.
    """
    lines = [f"{user},{item}" for user, items in crowd(2000).items() for item in items]
    (tmp_path / "data.csv").write_text("\n".join(["user,item", *lines]) + "\n")
    call = [str(Path(sys.executable).parent / "dpsu")]
    call += ["tune", "data.csv", "--user", "user", "--item", "item", "-o", "out.txt", "--epsilon", "3"]
    call += ["--delta", "1e-12", "--tuning-share", "0.2", "--statement", "statement.json"]
    refused = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (refused.returncode, (tmp_path / "out.txt").exists()) == (2, False)
    assert "nothing to choose from" in refused.stderr
    done = subprocess.run(
        [*call, "--max-items", "1", "--max-items", "30"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "max_items 30" in done.stderr
    assert (tmp_path / "out.txt").read_text().splitlines() == WORDS
    assert dpsu.verify(tmp_path / "statement.json", tmp_path / "out.txt").ok


def test_the_snippet_of_the_page_runs():
    snippets = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "tuning.md").read_text(), re.DOTALL)
    for snippet in snippets:
        exec(snippet, {})
    assert len(snippets) == 1


def test_two_policies_of_one_name_must_claim_the_same():
    settings = [
        {"algorithm": dpsu.Policy(weighted_l2, norm=2, symmetric=claim, name="mine")}
        for claim in (True, False)
    ]
    with pytest.raises(InvalidArgument, match="different names"):
        dpsu.tune(crowd(), settings=settings, **PRIVACY)
