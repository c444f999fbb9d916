import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsu.errors import InvalidArgument
from dpsu.privacy.budget import Budget
from dpsu.privacy.gaussian import delta_gaussian, noise_scale

mus = st.floats(1e-6, 10)
chances = st.just(0.0) | st.floats(1e-30, 1e-3)


def test_compose_adds_squares_and_chances():
    whole = Budget(0.3, 1e-6).compose(Budget(0.4, 2e-6), Budget(1.2, 0.0))
    assert whole.mu == pytest.approx(1.3)
    assert whole.delta_new == pytest.approx(3e-6)


@given(mus, chances, mus, chances)
def test_composition_is_never_below_the_exact_sum(mu, chance, other_mu, other_chance):
    whole = Budget(mu, chance).compose(Budget(other_mu, other_chance))
    assert Fraction(whole.mu) ** 2 >= Fraction(mu) ** 2 + Fraction(other_mu) ** 2
    assert Fraction(whole.delta_new) >= Fraction(chance) + Fraction(other_chance)


@given(mus, chances, st.lists(st.floats(0.01, 1), min_size=1, max_size=8))
def test_the_parts_of_a_split_compose_to_the_whole(mu, chance, sizes):
    whole = Budget(mu, chance)
    shares = [size / math.fsum(sizes) for size in sizes]
    first, *others = whole.split(shares)
    again = first.compose(*others)
    assert again.mu <= whole.mu
    assert again.delta_new <= whole.delta_new
    assert again.mu == pytest.approx(whole.mu, rel=1e-13)
    assert again.delta_new == pytest.approx(whole.delta_new, rel=1e-13)


def test_delta_is_the_sum_of_both_parts():
    budget = Budget(0.5, 1e-6)
    assert budget.delta(1.0) == pytest.approx(delta_gaussian(1.0, 0.5) + 1e-6, rel=1e-14)


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 20.0])
def test_epsilon_is_the_inverse_of_delta(epsilon):
    budget = Budget(1 / noise_scale(epsilon, 1e-6), 1e-6)
    back = budget.epsilon(2e-6)
    assert back == pytest.approx(epsilon, rel=1e-9)
    assert budget.delta(back) <= 2e-6


def test_epsilon_at_the_edges():
    assert Budget(0.5, 1e-6).epsilon(1e-6) == math.inf
    assert Budget(0.5, 1e-6).epsilon(math.nextafter(1e-6, 1)) == math.inf
    assert Budget(0.5, 0.0).epsilon(0.0) == math.inf
    assert Budget(0.0, 1e-6).epsilon(1e-5) == 0.0
    assert Budget(0.5, 0.0).epsilon(0.999) == 0.0


@pytest.mark.parametrize("wrong", [(-1.0, 0.0), (math.nan, 0.0), (math.inf, 0.0), (1.0, -1e-9), (1.0, 1.5)])
def test_a_budget_that_is_none_is_refused(wrong):
    with pytest.raises(InvalidArgument):
        Budget(*wrong)


@pytest.mark.parametrize("shares", [[], [0.5, 0.6], [1.0, 0.0], [0.5, -0.1]])
def test_shares_that_do_not_divide_a_budget_are_refused(shares):
    with pytest.raises(InvalidArgument):
        Budget(1.0, 1e-6).split(shares)
