"""A true statement is accepted, and a forged one is not, whatever was changed and however well its digest was mended."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import iv
from scipy.special import ndtri

import dpsu
from dpsu.algorithms import CATALOGUE, calibrate, find
from dpsu.algorithms.focused import Focus
from dpsu.algorithms.request import Request
from dpsu.statement import Statement, content_digest, state
from dpsu.stream import Stream
from dpsu.verification.intervals import crossing_excess, delta_gaussian, exact, high, low, precision_for, tail
from dpsu.verify import verify
from example_policies import weighted_l2

EVEN = dpsu.Policy(weighted_l2, norm=2, symmetric=True, name="even")
PRIVATE = [name for name, entry in CATALOGUE.items() if entry.private]


def statement_of(
    algorithm: Any, epsilon: float = 1.0, delta: float = 1e-6, max_items: int = 40, **options: Any
) -> Statement:
    entry = find(algorithm)
    calibration = options.pop("calibration", "exact")
    items = 1 if entry.name == "optimal-single" else max_items
    mechanism = calibrate(entry, Request(epsilon, delta, items, calibration, options))
    statement = state(entry, mechanism, Stream.fresh())
    assert statement is not None
    return statement


def test_the_normal_tail_is_enclosed() -> None:
    with precision_for(1e-30), mpmath.workprec(600):
        for z in (-9.0, -0.5, 0.0, 0.1, 3.0, 11.5, 37.0):
            found = tail(exact(z))
            true = mpmath.erfc(mpmath.mpf(z) / mpmath.sqrt(2)) / 2
            assert low(found) <= true <= high(found)
            assert high(found) - low(found) <= true * mpmath.mpf(2) ** -100
        wide = tail(iv.mpf([1, 2]))
        assert low(wide) <= mpmath.ncdf(-2) < mpmath.ncdf(-1) <= high(wide)


def test_the_gaussian_delta_has_its_textbook_value() -> None:
    with precision_for(1e-9):
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


@pytest.mark.parametrize("algorithm", PRIVATE)
@pytest.mark.parametrize("calibration", ["exact", "paper"])
@pytest.mark.parametrize(
    ("epsilon", "delta", "max_items"), [(1.0, 1e-6, 40), (3.0, 4.5e-5, 100_000), (0.1, 1e-9, 1)]
)
def test_true_statements_are_accepted(
    algorithm: str, calibration: str, epsilon: float, delta: float, max_items: int
) -> None:
    found = verify(statement_of(algorithm, epsilon, delta, max_items, calibration=calibration))
    assert found.ok, str(found)


@pytest.mark.parametrize(
    ("algorithm", "options"),
    [
        ("focused-gaussian", {"focus": Focus(rounds=1)}),
        ("focused-gaussian", {"focus": Focus(rounds=5, cap=0.5, warmup=0.3)}),
        ("focused-gaussian", {"focus": Focus(cap=1.0), "delta": 0.2}),
        ("policy-gaussian", {"alpha": 0.0, "passes": 3}),
        ("policy-laplace", {"passes": 5, "calibration": "paper"}),
        ("dp-sips", {"shares": [0.5, 0.5]}),
        ("mad", {"d_max": 7}),
        ("mad2r", {"b_min": 0.3, "b_max": 4, "shares": [0.4, 0.6]}),
        (EVEN, {}),
        (dpsu.Policy(weighted_l2, norm=2, name="unequal"), {}),
        (dpsu.Policy(weighted_l2, norm=2, name="unequal"), {"calibration": "paper"}),
        (dpsu.Policy(weighted_l2, norm=1, name="weighted-gaussian"), {"calibration": "paper"}),
    ],
)
def test_options_and_own_policies_are_accepted(algorithm: Any, options: dict[str, Any]) -> None:
    found = verify(statement_of(algorithm, **options))
    assert found.ok, str(found)


@pytest.mark.parametrize("method", ["focused-gaussian", "dpne"])
def test_levels_of_ngrams_are_accepted(method: Any) -> None:
    release = dpsu.ngrams(
        {n: ["to be or not to be"] for n in range(300)},
        epsilon=3.0,
        delta=1e-6,
        longest=2,
        method=method,
        max_items=9,
    )
    assert release.statement is not None
    found = verify(release.statement)
    assert found.ok, str(found)
    forged = release.statement.to_dict()
    forged["parameters"]["levels"][1]["sigma"] *= 0.99
    assert not verify(mended(forged)).ok


def mended(fields: dict[str, Any]) -> dict[str, Any]:
    """With the digest that a careful forger would write."""
    return {**fields, "digest": content_digest(fields)}


def parameter(name: str, factor: float) -> Callable[[dict[str, Any]], None]:
    def change(fields: dict[str, Any]) -> None:
        fields["parameters"][name] *= factor

    return change


def entry(name: str, place: int, factor: float) -> Callable[[dict[str, Any]], None]:
    def change(fields: dict[str, Any]) -> None:
        fields["parameters"][name][place] *= factor

    return change


def field(name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(fields: dict[str, Any]) -> None:
        fields[name] = value

    return change


def one_round_more(fields: dict[str, Any]) -> None:
    for name in ("sigmas", "thresholds"):
        fields["parameters"][name].append(fields["parameters"][name][-1])


def a_share_moved_to_the_start(fields: dict[str, Any]) -> None:
    shares = fields["parameters"]["shares"]
    shares[0], shares[-1] = shares[0] + 0.05, shares[-1] - 0.05


def budget(name: str, factor: float) -> Callable[[dict[str, Any]], None]:
    def change(fields: dict[str, Any]) -> None:
        fields["budget"][name] *= factor

    return change


FORGERIES: list[tuple[str, Callable[[dict[str, Any]], None]]] = [
    *((name, field("delta", 0.99e-6)) for name in PRIVATE if name != "optimal-single"),
    *((name, field("epsilon", 0.99)) for name in PRIVATE if name != "optimal-single"),
    *((name, field("void", "seeded")) for name in ("weighted-gaussian",)),
    *((name, field("unit", "one row")) for name in ("weighted-gaussian",)),
    *((name, field("schema", "dpsu-statement/0")) for name in ("weighted-gaussian",)),
    *((name, field("algorithm", "k-anonymity")) for name in ("weighted-gaussian",)),
    *(
        (name, field("parameters", {}))
        for name in ("weighted-gaussian", "focused-gaussian", "policy-laplace")
    ),
    *((name, field("budget", None)) for name in ("weighted-gaussian", "focused-gaussian")),
    *(
        (name, parameter("sigma", 0.999))
        for name in ("count-gaussian", "weighted-gaussian", "policy-gaussian", "mad")
    ),
    *((name, parameter("sigma", 0.999)) for name in ("focused-gaussian",)),
    *((name, parameter("threshold", 0.999)) for name in ("count-gaussian", "weighted-gaussian", "mad")),
    *((name, parameter("threshold", 0.99)) for name in ("weighted-laplace", "policy-laplace")),
    *((name, field("max_items", 60)) for name in ("weighted-gaussian", "policy-gaussian", "mad", "mad2r")),
    ("dp-sips", field("max_items", 60)),
    ("focused-gaussian", field("max_items", 10**6)),
    *((name, entry("sigmas", 1, 0.999)) for name in ("dp-sips", "mad2r")),
    *((name, entry("thresholds", -1, 0.999)) for name in ("dp-sips", "mad2r")),
    *((name, one_round_more) for name in ("dp-sips", "mad2r")),
    ("focused-gaussian", entry("thresholds", -1, 0.99)),
    ("focused-gaussian", entry("shares", -1, 1.01)),
    ("focused-gaussian", a_share_moved_to_the_start),
    ("focused-gaussian", parameter("warmup", 0.01)),
    ("focused-gaussian", parameter("last_deal", 1.1)),
    ("focused-gaussian", parameter("capped_at", 1.01)),
    ("focused-gaussian", entry("thresholds", 7, 0.99)),
    ("policy-laplace", parameter("kappa", 1.001)),
    ("weighted-laplace", parameter("scale", 0.999)),
    ("optimal-single", parameter("threshold", 0.9)),
    ("optimal-single", parameter("certain_from", 0.9)),
    *((name, budget("mu", 0.999)) for name in ("weighted-gaussian", "dp-sips", "focused-gaussian")),
    *((name, budget("delta_new", 0.9)) for name in ("weighted-gaussian", "dp-sips", "focused-gaussian")),
]


@pytest.mark.parametrize(("algorithm", "change"), FORGERIES)
def test_forged_statements_are_rejected(algorithm: str, change: Callable[[dict[str, Any]], None]) -> None:
    fields = statement_of(algorithm).to_dict()
    change(fields)
    found = verify(mended(fields))
    assert not found.ok, str(found)


def test_a_digest_that_does_not_fit_is_rejected() -> None:
    fields = statement_of("weighted-gaussian").to_dict()
    assert verify(fields).ok
    assert not verify({**fields, "digest": "0" * 64}).ok
    assert not verify({**fields, "noise_source": "a coin"}).ok
    without = dict(fields)
    del without["digest"]
    assert not verify(without).ok


def test_a_seeded_release_is_rejected() -> None:
    with dpsu.testing.seeded(1):
        release = dpsu.release({n: ["a"] for n in range(300)}, epsilon=3.0, delta=1e-6)
    found = verify(release.statement)  # type: ignore[arg-type]
    assert not found.ok
    assert "seeded" in str(found)


def test_statement_and_released_file_belong_together(tmp_path: Path) -> None:
    release = dpsu.release({n: ["a", "b"] for n in range(300)}, epsilon=3.0, delta=1e-6, max_items=2)
    assert release.statement is not None
    release.save(tmp_path / "items.csv")
    release.statement.about(tmp_path / "items.csv").save(tmp_path / "statement.json")
    assert verify(tmp_path / "statement.json", tmp_path / "items.csv").ok
    (tmp_path / "items.csv").write_text("item\na\nb\nc\n")
    assert not verify(tmp_path / "statement.json", tmp_path / "items.csv").ok
    assert json.loads((tmp_path / "statement.json").read_text())["released_sha256"]


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "null"])
def test_what_is_no_statement_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "statement.json"
    path.write_text(text)
    with pytest.raises(dpsu.DpsuError, match="is not a statement"):
        verify(path)


@pytest.mark.parametrize(
    "fields", [{}, {"epsilon": float("inf")}, {"delta": float("nan")}, {"parameters": 3}]
)
def test_what_lacks_fields_is_rejected(fields: dict[str, Any]) -> None:
    assert not verify(fields).ok


def test_what_is_assumed_is_said() -> None:
    assert "proof" in str(verify(statement_of("weighted-gaussian")))
    assert "contractive" in str(verify(statement_of(EVEN)))
