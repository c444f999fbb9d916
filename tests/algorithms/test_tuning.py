"""Which settings are tried, and what the tries may spend."""

import math

import numpy as np
import pytest

from dpsu.algorithms.request import Request
from dpsu.algorithms.tuning import (
    Candidate,
    composed_delta,
    draw_places,
    trials_for_selection,
    trials_on_part,
)
from dpsu.privacy.budget import Budget
from dpsu.privacy.selection import delta_of_best
from dpsu.randomness.stream import Stream


def test_settings_are_drawn_evenly_and_as_often_as_said():
    series = [list(draw_places(Stream(bytes([a, b] * 16)), 3, 4.0)) for a in range(50) for b in range(40)]
    lengths = np.array([len(places) for places in series])
    assert lengths.min() == 1
    assert abs(lengths.mean() - 4) < 5 * math.sqrt(12 / 2000)
    drawn = np.bincount(np.concatenate(series), minlength=3) / lengths.sum()
    assert np.abs(drawn - 1 / 3).max() < 5 * math.sqrt(0.25 / lengths.sum())


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
