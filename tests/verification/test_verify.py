"""True statements are accepted, files are told apart, and the verifier's own mathematics is right.

Forgeries are in test_forgeries.py, and random changes in test_verify_fuzz.py.
"""

import json
import subprocess
import sys
import warnings
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from example_policies import weighted_l2
from honest import EVEN, ON_PART, OWN_L1, UNEQUAL, honest, mended
from mpmath import iv
from scipy.special import ndtri
from statements import statement_of

import dpsu
from dpsu.algorithms.catalogue import CATALOGUE
from dpsu.outcome.statement import NOISE_SOURCE, NOT_COVERED, SCHEMA, UNIT, Statement, claims
from dpsu.privacy.budget import Budget
from dpsu.privacy.laplace import optimal_single
from dpsu.privacy.selection import delta_of_best, new_item_runs
from dpsu.verification import schema_2, tuned
from dpsu.verification.intervals import crossing_excess, delta_gaussian, exact, high, low, precision_for, tail
from dpsu.verification.single import turns
from dpsu.verification.verify import SCHEMAS, verify

PRIVATE = [name for name, entry in CATALOGUE.items() if entry.private]
SETTINGS = [name for name in PRIVATE if name != "auto"]


def test_the_normal_tail_is_enclosed() -> None:
    with precision_for(1.0, 1e-30), mpmath.workprec(600):
        for z in (-9.0, -0.5, 0.0, 0.1, 3.0, 11.5, 37.0):
            found = tail(exact(z))
            true = mpmath.erfc(mpmath.mpf(z) / mpmath.sqrt(2)) / 2
            assert low(found) <= true <= high(found)
            assert high(found) - low(found) <= true * mpmath.mpf(2) ** -100
        wide = tail(iv.mpf([1, 2]))
        assert low(wide) <= mpmath.ncdf(-2) < mpmath.ncdf(-1) <= high(wide)


def test_the_gaussian_delta_has_its_textbook_value() -> None:
    with precision_for(1.0, 1e-9):
        assert float(high(delta_gaussian(exact(1.0), exact(1.0)))) == pytest.approx(0.126936737507)
        assert float(high(delta_gaussian(exact(0.0), exact(0.0)))) == 0


def test_crossing_excess_is_what_simulation_finds_or_less() -> None:
    """The true factor by a million paths; the bound lies above the union's 1 and below the truth."""
    shares, deal, p = [0.2, 0.3, 0.5], [0.1, 0.3, 0.6], 0.02
    found = crossing_excess(deal, shares, least=p, most=p)
    rng = np.random.default_rng(1)
    sums = np.cumsum(rng.standard_normal((1_000_000, 3)) * np.sqrt(shares), axis=1)
    boundary = -ndtri(found * p * np.array(deal)) * np.sqrt(np.cumsum(shares))
    crossed = (sums > boundary).any(axis=1).mean()
    assert found > 1.05
    assert crossed <= p * 1.03


def test_one_round_has_no_excess() -> None:
    assert crossing_excess([1.0], [1.0], least=1e-9, most=1e-6) == 1.0


def test_chances_that_floats_cannot_resolve_have_no_excess() -> None:
    assert crossing_excess([0.0, 0.0, 1.0], [0.2, 0.3, 0.5], least=1e-9, most=1e-6) == 1.0


@pytest.mark.parametrize("algorithm", PRIVATE)
@pytest.mark.parametrize("calibration", ["exact", "paper"])
@pytest.mark.parametrize(
    ("epsilon", "delta", "max_items"), [(1.0, 1e-6, 40), (3.0, 4.5e-5, 100_000), (0.1, 1e-9, 1)]
)
def test_true_statements_are_accepted(
    algorithm: str, calibration: str, epsilon: float, delta: float, max_items: int
) -> None:
    if (algorithm, calibration) == ("auto", "paper"):
        with pytest.raises(dpsu.DpsuError):
            statement_of(algorithm, calibration=calibration)
        return
    found = verify(statement_of(algorithm, epsilon, delta, max_items, calibration=calibration))
    assert found.ok, str(found)


@pytest.mark.parametrize(
    ("algorithm", "options"),
    [
        ("focused-gaussian", {"rounds": 1}),
        ("focused-gaussian", {"rounds": 5, "cap": 0.5, "warmup": 0.3}),
        ("focused-gaussian", {"cap": 1.0, "delta": 0.2}),
        ("policy-gaussian", {"alpha": 0.0, "passes": 3}),
        ("policy-laplace", {"passes": 5, "calibration": "paper"}),
        ("dp-sips", {"shares": [0.5, 0.5]}),
        ("mad", {"d_max": 7}),
        ("mad2r", {"b_min": 0.3, "b_max": 4, "shares": [0.4, 0.6]}),
        (EVEN, {}),
        (UNEQUAL, {}),
        (UNEQUAL, {"calibration": "paper"}),
        (dpsu.Policy(weighted_l2, norm=1, name="weighted-gaussian"), {"calibration": "paper"}),
    ],
)
def test_options_and_own_policies_are_accepted(algorithm: Any, options: dict[str, Any]) -> None:
    found = verify(statement_of(algorithm, **options))
    assert found.ok, str(found)


@pytest.mark.parametrize("algorithm", PRIVATE)
@pytest.mark.parametrize(("epsilon", "delta"), [(1e4, 1e-15), (450.0, 0.3), (399.0, 1e-9), (1e-3, 1e-15)])
def test_extreme_privacy_is_decided(algorithm: str, epsilon: float, delta: float) -> None:
    """Where the program makes a promise it is accepted, and one that is a thousandth better is not."""
    try:
        fields = statement_of(algorithm, epsilon, delta).to_dict()
    except dpsu.DpsuError:
        return
    found = verify(fields)
    assert found.ok, str(found)
    if algorithm != "optimal-single":  # whose few numbers stay the same
        assert not verify(mended({**fields, "delta": 0.999 * delta})).ok


def test_a_product_of_a_large_factor_and_a_small_chance_keeps_its_digits() -> None:
    with precision_for(1e4, 1e-9), mpmath.workprec(900):
        for epsilon, mu in ((400.0, 22.0), (1e4, 130.0), (1e4, 141.0)):
            e, m = mpmath.mpf(epsilon), mpmath.mpf(mu)
            true = mpmath.erfc((e / m - m / 2) / mpmath.sqrt(2)) / 2
            true -= mpmath.exp(e) * mpmath.erfc((e / m + m / 2) / mpmath.sqrt(2)) / 2
            found = delta_gaussian(exact(epsilon), exact(mu))
            assert low(found) <= true <= high(found)
            assert high(found) - low(found) <= true * mpmath.mpf(2) ** -80


@pytest.mark.parametrize(("epsilon", "delta"), [*product((1e-2, 0.3, 1.0, 8.0, 700.0), (1e-12, 1e-6, 0.2))])
def test_the_coin_of_one_item_turns_where_its_table_does(epsilon: float, delta: float) -> None:
    table = optimal_single(epsilon, delta)
    assert table[-1] == 1.0
    with precision_for(epsilon, delta):
        found = turns(Fraction(epsilon), Fraction(delta))
    assert found == (int(np.searchsorted(table, 0.5)), len(table) - 1)


def test_a_coin_that_never_gets_there_is_not_certain() -> None:
    with precision_for(1e-3, 1e-20):
        assert turns(Fraction(1e-3), Fraction(1e-20))[1] is None


def test_pinned_words_are_those_that_statements_use() -> None:
    schema = SCHEMAS[SCHEMA]
    assert (schema.unit, schema.noise_source, schema.not_covered) == (UNIT, NOISE_SOURCE, NOT_COVERED)


TEXT_KEYS: dict[str, Any] = {"text": None, "tokenizer": {"kind": "function", "name": "split"}, "ngrams": [1]}


@pytest.mark.parametrize(
    "data",
    [
        {"form": "columns", "user": ["author"], "item": ["word"]},
        {"form": "columns", "user": ["country", "it's"], **TEXT_KEYS},
        {"form": "collection"},
        *({"form": form, **TEXT_KEYS} for form in ("collection", "lines", "files")),
    ],
)
def test_claims_are_those_that_statements_make(data: dict[str, Any]) -> None:
    lists = {"exclude": {}, "public_items": {}}
    policies = {"b": {"norm": 1, "symmetric": True}, "a": {"norm": 2, "symmetric": False}}
    told = [(name, own["norm"], own["symmetric"]) for name, own in sorted(policies.items())]
    assert schema_2.claims(data, lists, told, None) == [*claims(data, lists, policies)]
    assert schema_2.claims(data, {}, [], None) == [*claims(data, {})]
    assert schema_2.claims(data, {}, [], "2026-01") == [*claims(data, {}, period="2026-01")]


def test_the_verifier_shares_no_code_with_what_it_verifies() -> None:
    script = (
        "import sys, dpsu.verification.schema_1, dpsu.verification.schema_2, dpsu.verification.levels; "
        "print([name for name in sys.modules if name.startswith(('dpsu.privacy', 'dpsu.algorithms', 'dpsu.statement'))])"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_a_digest_that_does_not_fit_is_rejected() -> None:
    fields = honest("weighted-gaussian")
    assert verify(fields).ok
    assert not verify({**fields, "digest": "0" * 64}).ok
    del fields["digest"]
    assert not verify(fields).ok


def test_a_seeded_release_is_rejected() -> None:
    with dpsu.testing.seeded(1):
        release = dpsu.release({f"user {n}": ["a"] for n in range(300)}, epsilon=3.0, delta=1e-6)
    found = verify(release.statement)  # type: ignore[arg-type]
    assert [check.name for check in found.checks if not check.ok] == ["void"]


def test_what_releases_state_in_these_tests_is_watched(stated: Any) -> None:
    """The watch over all tests (conftest.py) sees what a release states, and would not let a wrong statement pass."""
    with dpsu.testing.seeded(1):
        release = dpsu.release({f"user {n}": ["a"] for n in range(300)}, epsilon=3.0, delta=1e-6, max_items=2)
    assert release.statement is not None
    assert stated.waiting[-1] is release.statement
    assert not stated.rejected()
    stated.waiting.append(replace(release.statement, delta=0.9e-6))
    assert "FAIL  promise" in stated.rejected()[0]


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A folder with a released file and its statement."""
    release = dpsu.release(
        {f"user {n}": ["a", "b"] for n in range(300)}, epsilon=3.0, delta=1e-6, max_items=2
    )
    assert release.statement is not None
    release.statement.save(tmp_path / "before.json")
    release.save(tmp_path / "items.csv")
    release.statement.save(tmp_path / "statement.json")
    return tmp_path


def test_statement_and_released_file_belong_together(saved: Path) -> None:
    found = verify(saved / "statement.json", saved / "items.csv")
    assert (found.ok, found.file) == (True, True)


def test_another_file_is_another_verdict_than_a_broken_promise(saved: Path) -> None:
    (saved / "items.csv").write_text("item\na\nb\nc\n")
    found = verify(saved / "statement.json", saved / "items.csv")
    assert (found.ok, found.file) == (True, False)
    fields = json.loads((saved / "statement.json").read_text())
    broken = verify(mended({**fields, "delta": 1e-9}), saved / "items.csv")
    assert (broken.ok, broken.file) == (False, False)


def test_both_verdicts_are_shown(saved: Path) -> None:
    same = str(verify(saved / "statement.json", saved / "items.csv")).splitlines()
    none = str(verify(saved / "statement.json")).splitlines()
    assert same[-2] == none[-1]
    assert "file" in same[-1]


def test_a_statement_without_a_file_says_how_to_get_one(saved: Path) -> None:
    found = verify(saved / "before.json", saved / "items.csv")
    assert (found.ok, found.file) == (True, False)
    assert "release.save(path)" in found.file_found


def test_no_file_no_verdict(saved: Path) -> None:
    assert verify(saved / "statement.json").file is None


def test_files_that_cannot_be_read_are_errors(saved: Path) -> None:
    with pytest.raises(dpsu.errors.SourceError, match=r"nothing\.json"):
        verify(saved / "nothing.json")
    with pytest.raises(dpsu.errors.SourceError, match=r"nothing\.csv"):
        verify(saved / "statement.json", saved / "nothing.csv")


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "null", pytest.param("[" * 10**6, id="deep")])
def test_what_is_no_statement_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "statement.json"
    path.write_text(text)
    with pytest.raises(dpsu.errors.SourceError, match=r"statement\.json"):
        verify(path)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"epsilon": float("inf")},
        {"delta": float("nan")},
        {"parameters": 3},
        {"unit": "\ud800"},
        {"schema": SCHEMA},
        {"schema": ["dpsu-statement/2"]},
        {"schema": SCHEMA, 7: "a key that is no string"},
    ],
)
def test_what_lacks_fields_is_rejected(fields: dict[Any, Any]) -> None:
    assert not verify(fields).ok


def test_what_is_assumed_is_said() -> None:
    assert "proof" in str(verify(statement_of("weighted-gaussian")))
    assert "contractive" in str(verify(statement_of(EVEN)))


# Tuned releases.

SHORT = {f"user {n}": [f"item {k}" for k in range(6)] for n in range(60)}
FOR_SELECTION = [ON_PART[0], ON_PART[2]]


def statement_of_tuned(way: Any, settings: Any, **how: Any) -> Statement:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dpsu.EmptyRelease)
        warnings.simplefilter("ignore", dpsu.errors.WeakPrivacy)
        made = dpsu.tune(SHORT, settings=settings, method=way, **{"epsilon": 3.0, "delta": 1e-6, **how})
    assert made.release.statement is not None
    return made.release.statement


@pytest.mark.parametrize(
    ("way", "settings", "how"),
    [
        ("part", [{"max_items": 1}, {"max_items": 30}], {}),
        ("part", [{}], {"tuning_share": 0.5}),
        ("part", ON_PART, {"epsilon": 0.3, "delta": 1e-9}),
        ("part", [{"algorithm": name, "max_items": 1} for name in SETTINGS], {"epsilon": 9.0}),
        ("part", [{"algorithm": "optimal-single", "max_items": 1}] * 2, {}),
        ("part", [{"algorithm": "count-laplace"}, {"algorithm": dpsu.PolicyLaplace(passes=3)}] * 2, {}),
        ("part", [{"algorithm": name, "calibration": "paper", "max_items": 7} for name in SETTINGS[:6]], {}),
        ("part", [{"algorithm": EVEN, "max_items": 5}, {"algorithm": OWN_L1, "max_items": 9}], {}),
        ("part", [{"algorithm": OWN_L1, "calibration": "paper", "max_items": 9}, {"max_items": 9}], {}),
        (
            "part",
            [{"algorithm": dpsu.FocusedGaussian(rounds=4)}, {"algorithm": dpsu.DpSips(shares=(1.0,))}],
            {},
        ),
        ("selection", [{"max_items": 1}, {"max_items": 30}], {}),
        ("selection", FOR_SELECTION, {"tries": 1.5, "epsilon": 0.3, "delta": 1e-9}),
        ("selection", FOR_SELECTION, {"tries": 40}),
        ("selection", [{"algorithm": name} for name in ("mad", "mad2r", "policy-gaussian")], {}),
        ("selection", [{"algorithm": "count-gaussian", "calibration": "paper"}], {"delta": 0.1}),
        ("selection", [{"algorithm": EVEN}, {"algorithm": dpsu.PolicyGaussian(passes=2)}], {"epsilon": 8}),
    ],
)
def test_tuned_statements_are_accepted(way: Any, settings: Any, how: dict[str, Any]) -> None:
    found = verify(statement_of_tuned(way, settings, **how))
    assert found.ok, str(found)


def test_claims_of_all_trials_are_said() -> None:
    stated = statement_of_tuned("part", [{"algorithm": EVEN, "max_items": 5}, {"algorithm": OWN_L1}])
    assert {"'even'" in line or "'own in l1'" in line for line in verify(stated).assumed[-2:]} == {True}


SELECTIONS = [
    (epsilon, part * epsilon, tries)
    for epsilon in (0.5, 1.0, 3.0, 8.0)
    for part in (0.05, 0.1, 0.2)
    for tries in (1.2, 4, 30)
]


@pytest.mark.parametrize(("epsilon", "mu", "tries"), SELECTIONS)
def test_the_best_of_tries_costs_what_the_calibration_says(epsilon: float, mu: float, tries: float) -> None:
    """The calibration tries orders on a grid, so that its delta is slightly larger."""
    theirs = delta_of_best(epsilon, Budget(mu, 0.0), tries)
    with precision_for(epsilon, 1e-300):
        ours = tuned.delta_of_best(exact(epsilon), exact(mu), exact(0), exact(tries))
    if theirs < 1:
        assert 0.99 * theirs < float(high(ours)) <= theirs * (1 + 1e-11)
        assert high(ours) - low(ours) <= high(ours) * mpmath.mpf(2) ** -100
    else:
        assert high(ours) > 0.99


@pytest.mark.parametrize(("epsilon", "mu", "tries"), SELECTIONS)
def test_the_best_of_tries_has_the_delta_of_the_best_order(epsilon: float, mu: float, tries: float) -> None:
    with mpmath.workprec(200):
        e, m, n = (mpmath.mpf(value) for value in (epsilon, mu, tries))
        back = max(mpmath.mpf(1), mpmath.sqrt(2 * mpmath.log(n)) / m)

        def delta(place: Any) -> Any:
            order = 1 + mpmath.exp(place)
            loss = (
                order * m**2 / 2 + mpmath.log(n) / (order - 1) + (back - 1) * m**2 + 2 * mpmath.log(n) / back
            )
            return mpmath.exp((order - 1) * (loss - e)) / (order - 1) * (1 - 1 / order) ** order

        best = mpmath.findroot(
            lambda place: mpmath.diff(delta, place) / delta(place), mpmath.log(e) - 2 * mpmath.log(m)
        )
        least = delta(best)
    with precision_for(epsilon, 1e-300):
        ours = tuned.delta_of_best(exact(epsilon), exact(mu), exact(0), exact(tries))
    assert least <= high(ours) <= least * (1 + mpmath.mpf(10) ** -12)


@pytest.mark.parametrize("tries", [1.01, 2, 4, 7.5, 1000.0])
@pytest.mark.parametrize("epsilon", [0.01, 0.7, 3, 20.0])
def test_new_items_count_as_often_as_the_calibration_says(epsilon: float, tries: float) -> None:
    with precision_for(epsilon, 1e-9):
        with_new, without = (
            tuned.delta_of_best(exact(epsilon), exact(0.1), exact(new), exact(tries)) for new in (1, 0)
        )
        runs = high(with_new - without)
    assert float(runs) == pytest.approx(new_item_runs(epsilon, tries), abs=1e-9)
