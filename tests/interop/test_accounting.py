"""Events for dp_accounting: its accountant finds what the statements and the ledger say."""

from pathlib import Path

import pytest

import dpsu
from dpsu.errors import InvalidArgument
from dpsu.outcome.statement import Statement

accounting = pytest.importorskip("dp_accounting", reason="needs dp-accounting")
pld = pytest.importorskip("dp_accounting.pld.pld_privacy_accountant", reason="needs dp-accounting")

DATA = {n: ["a", "b"] for n in range(400)}


def stated(algorithm: str, epsilon: float = 1.0, **more: object) -> Statement:
    made = dpsu.release(DATA, epsilon=epsilon, delta=1e-6, algorithm=algorithm, max_items=2, **more).statement  # type: ignore[arg-type]
    assert made is not None
    return made


@pytest.mark.parametrize("algorithm", ["focused-gaussian", "weighted-gaussian", "ordered-laplace"])
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_the_accountant_finds_the_epsilon_of_the_budget(algorithm: str, epsilon: float) -> None:
    statement = stated(algorithm, epsilon)
    event, chance = statement.to_dp_event()
    found = pld.PLDAccountant().compose(event).get_epsilon(statement.delta - chance)
    # The accountant rounds losses up to multiples of 1e-4. One weighted-gaussian alone has a better epsilon than its budget.
    expected = statement.budget.epsilon(statement.delta) if statement.budget else epsilon
    assert expected >= epsilon - 1e-9
    assert found == pytest.approx(expected, rel=1e-3)


def test_it_composes_like_the_ledger(tmp_path: Path) -> None:
    ledger = dpsu.Ledger.create(tmp_path / "spent.db", epsilon=9, delta=1e-5)
    accountant, left = pld.PLDAccountant(), 1e-5
    for algorithm in ("focused-gaussian", "weighted-gaussian", "dp-sips"):
        statement = stated(algorithm)
        ledger.record(statement)
        event, chance = statement.to_dp_event()
        accountant.compose(event)
        left -= chance
    assert accountant.get_epsilon(left) == pytest.approx(ledger.epsilon(), rel=1e-3)
    assert ledger.epsilon() < 2.5


def test_laplace_releases_compose_better_than_the_sum() -> None:
    """Ten of them: the accountant knows that worst losses rarely come together, the ledger adds them."""
    statement = stated("ordered-laplace", 0.3)
    event, chance = statement.to_dp_event()
    accountant = pld.PLDAccountant().compose(event, 10)
    assert 0.5 < accountant.get_epsilon(2e-5 - 10 * chance) < 3.0


def test_half_the_noise_is_seen() -> None:
    """The control: an event with half the noise has another epsilon."""
    statement = stated("weighted-gaussian")
    assert statement.budget is not None
    half = accounting.GaussianDpEvent(0.5 / statement.budget.mu)
    assert pld.PLDAccountant().compose(half).get_epsilon(statement.delta) > 1.5


def test_a_void_statement_has_no_event() -> None:
    with dpsu.testing.seeded(1):
        void = stated("weighted-gaussian")
    with pytest.raises(InvalidArgument, match="nothing"):
        void.to_dp_event()
    with pytest.raises(InvalidArgument, match="nothing"):
        void.to_registry()
