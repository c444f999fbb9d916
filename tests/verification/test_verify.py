"""A true statement is accepted, and a forged one is not, whatever was changed and however well its digest was mended."""

import json
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from example_policies import weighted_l2
from fixed_keys import keys_of
from mpmath import iv
from scipy.special import ndtri
from statements import statement_of

import dpsu
from dpsu.algorithms.catalogue import CATALOGUE
from dpsu.algorithms.focused import Focus
from dpsu.outcome.statement import Statement, content_digest
from dpsu.privacy.budget import Budget
from dpsu.privacy.selection import delta_of_best, new_item_runs
from dpsu.verification import tuned
from dpsu.verification.intervals import crossing_excess, delta_gaussian, exact, high, low, precision_for, tail
from dpsu.verification.verify import verify

EVEN = dpsu.Policy(weighted_l2, norm=2, symmetric=True, name="even")
PRIVATE = [name for name, entry in CATALOGUE.items() if entry.private]


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
    for change in (
        at("parameters", "levels", 1, "sigma", to=lambda sigma: 0.99 * sigma),
        at("parameters", "levels", 0, to=lambda level: {"sigma": level["sigma"], "max_items": 9}),
        at("parameters", "levels", 0, "delta_new", to=-1e-7),
        at("parameters", "levels", to=lambda levels: levels[:1]),
        at("max_items", to=3),
    ):
        forged = release.statement.to_dict()
        change(forged)
        assert not verify(mended(forged)).ok


Change = Callable[[dict[str, Any]], None]


def mended(fields: dict[str, Any]) -> dict[str, Any]:
    """With the digest that a careful forger would write."""
    return {**fields, "digest": content_digest(fields)}


def at(*path: Any, to: Any) -> Change:
    """What is found there becomes `to`, or what `to` makes of it."""

    def change(fields: dict[str, Any]) -> None:
        inner: Any = fields
        for step in path[:-1]:
            inner = inner[step]
        inner[path[-1]] = to(inner[path[-1]]) if callable(to) else to

    return change


def parameter(name: str, factor: float) -> Change:
    return at("parameters", name, to=lambda value: factor * value)


def entry(name: str, place: int, factor: float) -> Change:
    return at("parameters", name, place, to=lambda value: factor * value)


def field(name: str, value: Any) -> Change:
    return at(name, to=value)


def one_round_more(fields: dict[str, Any]) -> None:
    for name in ("sigmas", "thresholds"):
        fields["parameters"][name].append(fields["parameters"][name][-1])


def a_share_moved_to_the_start(fields: dict[str, Any]) -> None:
    shares = fields["parameters"]["shares"]
    shares[0], shares[-1] = shares[0] + 0.05, shares[-1] - 0.05


def budget(name: str, factor: float) -> Change:
    return at("budget", name, to=lambda value: factor * value)


def all_of(*changes: Change) -> Change:
    def change(fields: dict[str, Any]) -> None:
        for each in changes:
            each(fields)

    return change


CHEAP = {"mu": 1e-9, "delta_new": 0.0}
NEGATIVE_CURVE = all_of(
    at("parameters", "kappa", to=-100.0), at("parameters", "threshold", to=float(np.log(1 - 1 / 200)))
)

FORGERIES: list[tuple[str, Change]] = [
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
    # What would cost less than it does.
    *((name, field("budget", CHEAP)) for name in ("weighted-laplace", "policy-laplace", "optimal-single")),
    *((name, budget("delta_new", -1.0)) for name in ("weighted-gaussian", "focused-gaussian")),
    # Numbers turned around, or none at all.
    *(
        (name, all_of(parameter("sigma", -1), parameter("threshold", -1)))
        for name in ("count-gaussian", "weighted-gaussian", "policy-gaussian", "mad")
    ),
    ("weighted-gaussian", at("parameters", "sigma", to=str)),
    ("weighted-gaussian", at("parameters", "sigma", to=float("inf"))),
    ("weighted-gaussian", at("parameters", "threshold", to=float("nan"))),
    ("weighted-gaussian", at("parameters", "threshold", to=10**400)),
    ("weighted-gaussian", field("epsilon", 10**400)),
    ("weighted-gaussian", field("epsilon", True)),
    ("weighted-gaussian", field("max_items", True)),
    ("weighted-gaussian", at("parameters", "noise", to="uniform")),
    ("policy-gaussian", at("parameters", "passes", to=-(10**6))),
    ("policy-laplace", NEGATIVE_CURVE),
    ("mad2r", all_of(at("parameters", "b_max", to=-5.0), entry("thresholds", 1, 0.8))),
    ("mad2r", all_of(at("parameters", "b_max", to=0.1), entry("thresholds", 1, 0.8))),
    (
        "dp-sips",
        all_of(
            at("parameters", "sigmas", to=[]), at("parameters", "thresholds", to=[]), field("budget", CHEAP)
        ),
    ),
    # What belongs to other releases.
    (
        "weighted-gaussian",
        all_of(at("parameters", "levels", to=[{"sigma": 100.0, "max_items": 40}]), field("budget", CHEAP)),
    ),
    ("weighted-laplace", at("parameters", "counts", to={"sigma": -1e-3, "squared_sensitivity": 40})),
    ("weighted-gaussian", field("rests_on", [""])),
]


@pytest.mark.parametrize(("algorithm", "change"), FORGERIES)
def test_forged_statements_are_rejected(algorithm: str, change: Change) -> None:
    fields = statement_of(algorithm).to_dict()
    change(fields)
    found = verify(mended(fields))
    assert not found.ok, str(found)


def test_a_policy_of_the_callers_cannot_hide_that_it_is_not_symmetric() -> None:
    own = dpsu.Policy(weighted_l2, norm=1, name="unequal")
    fields = statement_of(own, max_items=1000, calibration="paper").to_dict()
    del fields["parameters"]["passes"], fields["parameters"]["symmetric"]
    fields["parameters"]["threshold"] *= 0.999
    assert not verify(mended(fields)).ok


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


def test_what_releases_state_in_these_tests_is_watched(stated: Any) -> None:
    """The watch over all tests (conftest.py) sees what a release states, and would not let a wrong statement pass."""
    with dpsu.testing.seeded(1):
        release = dpsu.release({n: ["a"] for n in range(300)}, epsilon=3.0, delta=1e-6, max_items=2)
    assert release.statement is not None
    assert stated.waiting[-1] is release.statement
    assert not stated.rejected()
    stated.waiting.append(replace(release.statement, delta=0.9e-6))
    assert "FAIL  promise" in stated.rejected()[0]


def test_statement_and_released_file_belong_together(tmp_path: Path) -> None:
    release = dpsu.release({n: ["a", "b"] for n in range(300)}, epsilon=3.0, delta=1e-6, max_items=2)
    assert release.statement is not None
    release.save(tmp_path / "items.csv")
    release.statement.about(tmp_path / "items.csv").save(tmp_path / "statement.json")
    assert verify(tmp_path / "statement.json", tmp_path / "items.csv").ok
    (tmp_path / "items.csv").write_text("item\na\nb\nc\n")
    assert not verify(tmp_path / "statement.json", tmp_path / "items.csv").ok
    assert json.loads((tmp_path / "statement.json").read_text())["released_sha256"]


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "null", pytest.param("[" * 10**6, id="deep")])
def test_what_is_no_statement_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "statement.json"
    path.write_text(text)
    with pytest.raises(dpsu.DpsuError, match="is not a statement"):
        verify(path)


@pytest.mark.parametrize(
    "fields",
    [{}, {"epsilon": float("inf")}, {"delta": float("nan")}, {"parameters": 3}, {"unit": "\ud800"}],
)
def test_what_lacks_fields_is_rejected(fields: dict[str, Any]) -> None:
    assert not verify(fields).ok


def test_what_is_assumed_is_said() -> None:
    assert "proof" in str(verify(statement_of("weighted-gaussian")))
    assert "contractive" in str(verify(statement_of(EVEN)))


# Tuned releases.

SHORT = {f"user {n}": [f"item {k}" for k in range(6)] for n in range(60)}
OWN_L1 = dpsu.Policy(
    lambda weights, cutoff: np.minimum(cutoff - weights, 1 / weights.size), norm=1, name="even in l1"
)
ON_PART = [
    {"algorithm": "weighted-gaussian", "max_items": 5},
    {"algorithm": "policy-laplace", "max_items": 4},
    {"algorithm": "dp-sips", "max_items": 3},
]
FOR_SELECTION = [
    {"algorithm": "weighted-gaussian", "max_items": 5},
    {"algorithm": "dp-sips", "max_items": 3},
]


def statement_of_tuned(way: Any, settings: Any, **how: Any) -> Statement:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dpsu.EmptyRelease)
        made = dpsu.tune(SHORT, settings=settings, way=way, **{"epsilon": 3.0, "delta": 1e-6, **how})
    assert made.release.statement is not None
    return made.release.statement


@pytest.mark.parametrize(
    ("way", "settings", "how"),
    [
        ("part", [{"max_items": 1}, {"max_items": 30}], {}),
        ("part", [{}], {"share": 0.5}),
        ("part", ON_PART, {"epsilon": 0.3, "delta": 1e-9}),
        ("part", [{"algorithm": name, "max_items": 1} for name in PRIVATE], {"epsilon": 9.0}),
        ("part", [{"algorithm": "optimal-single", "max_items": 1}] * 2, {}),
        ("part", [{"algorithm": "count-laplace"}, {"algorithm": "policy-laplace", "passes": 3}] * 2, {}),
        ("part", [{"algorithm": name, "calibration": "paper", "max_items": 7} for name in PRIVATE[:6]], {}),
        ("part", [{"algorithm": EVEN, "max_items": 5}, {"algorithm": OWN_L1, "max_items": 9}], {}),
        ("part", [{"algorithm": OWN_L1, "calibration": "paper", "max_items": 9}, {"max_items": 9}], {}),
        ("selection", [{"max_items": 1}, {"max_items": 30}], {}),
        ("selection", FOR_SELECTION, {"tries": 1.5, "epsilon": 0.3, "delta": 1e-9}),
        ("selection", FOR_SELECTION, {"tries": 40}),
        ("selection", [{"algorithm": name} for name in ("mad", "mad2r", "policy-gaussian")], {}),
        ("selection", [{"algorithm": "count-gaussian", "calibration": "paper"}], {"delta": 0.1}),
        ("selection", [{"algorithm": EVEN}, {"algorithm": "policy-gaussian", "passes": 2}], {"epsilon": 8}),
    ],
)
def test_tuned_statements_are_accepted(way: Any, settings: Any, how: dict[str, Any]) -> None:
    found = verify(statement_of_tuned(way, settings, **how))
    assert found.ok, str(found)


def test_claims_of_all_trials_are_said() -> None:
    stated = statement_of_tuned("part", [{"algorithm": EVEN, "max_items": 5}, {"algorithm": OWN_L1}])
    assert {"'even'" in line or "'even in l1'" in line for line in verify(stated).assumed[-2:]} == {True}


def tuning(*path: Any, to: Any) -> Change:
    return at("parameters", "tuning", *path, to=to)


def trial(place: int, *path: Any, to: Any) -> Change:
    return tuning("trials", place, *path, to=to)


def times(factor: float) -> Callable[[float], float]:
    return lambda value: factor * value


def a_dearer_trial_each(fields: dict[str, Any]) -> None:
    """Trials that keep what they state, but of which there are more than the promise can pay."""
    told = fields["parameters"]["tuning"]
    told["epsilon_of_a_try"] *= 1.2
    for each in told["trials"]:
        dearer = statement_of(
            each["algorithm"], told["epsilon_of_a_try"], each["delta"], each["max_items"]
        ).to_dict()
        each.update({name: dearer[name] for name in each})
    chosen = next(each for each in told["trials"] if f"{each['algorithm']}, tuned" == fields["algorithm"])
    if told["way"] == "selection":
        fields["parameters"] = {**chosen["parameters"], "tuning": told}
        told["release"] = {name: chosen[name] for name in ("budget", "rests_on")}


def the_first_trial_left_out(fields: dict[str, Any]) -> None:
    del fields["parameters"]["tuning"]["trials"][0]


def a_setting_that_was_not_tried(fields: dict[str, Any]) -> None:
    fields["parameters"]["tuning"]["chosen"] = {**fields["parameters"]["tuning"]["chosen"], "max_items": 2}


def another_setting_chosen(fields: dict[str, Any]) -> None:
    """The release is not that of the setting which it says was chosen."""
    told = fields["parameters"]["tuning"]
    told["chosen"] = next(setting for setting in told["settings"] if setting != told["chosen"])


def a_claim_that_is_not_told(fields: dict[str, Any]) -> None:
    own = statement_of(EVEN, fields["parameters"]["tuning"]["epsilon_of_a_try"], 1e-9, max_items=5).to_dict()
    told = fields["parameters"]["tuning"]
    told["trials"].append({name: own[name] for name in told["trials"][0]})
    told["settings"].append({"algorithm": "even", "max_items": 5})


NUMBERS = (0, -1.0, 1.5, float("nan"), float("inf"), True, None, "1e-7", 10**400)

NOTHING = ([], {}, 3, "ab", None)

TUNED_EITHER_WAY: list[Change] = [
    field("epsilon", 2.7),
    field("delta", 0.9e-6),
    field("budget", CHEAP),
    field("algorithm", "mad"),
    field("algorithm", "mad, tuned"),
    field("algorithm", "weighted-gaussian"),
    at("max_items", to=lambda items: items + 1),
    at("parameters", "counts", to={"sigma": 1e9, "squared_sensitivity": 5}),
    at("parameters", "sigma", to=times(0.9)),
    a_dearer_trial_each,
    the_first_trial_left_out,
    a_setting_that_was_not_tried,
    another_setting_chosen,
    a_claim_that_is_not_told,
    *(tuning("way", to=wrong) for wrong in ("guess", ["part"], *NOTHING)),
    *(tuning(name, to=wrong) for name in ("trials", "settings", "release", "chosen") for wrong in NOTHING),
    *(tuning(to=wrong) for wrong in NOTHING),
    tuning("epsilon_of_a_try", to=times(1.01)),
    tuning("release", "budget", to=CHEAP),
    tuning("release", "rests_on", to=["a claim"]),
    # One trial says that it costs less than it does.
    *(trial(0, to=wrong) for wrong in NOTHING),
    *(trial(0, "epsilon", to=wrong) for wrong in NUMBERS),
    *(trial(0, "delta", to=wrong) for wrong in (-1e-7, *NUMBERS)),
    *(trial(0, "max_items", to=wrong) for wrong in (0, 1, -5, 5.5, True)),
    *(trial(0, "budget", to=wrong) for wrong in (False, CHEAP, *NOTHING)),
    *(trial(0, "budget", name, to=wrong) for name in ("mu", "delta_new") for wrong in (-1e-9, *NUMBERS)),
    *(trial(0, "algorithm", to=wrong) for wrong in ("mad", "k-anonymity", "weighted-gaussian, tuned", None)),
    *(trial(0, "rests_on", to=wrong) for wrong in (["trust me"], [""], "", None)),
    *(trial(0, "parameters", to=wrong) for wrong in NOTHING),
    trial(0, "delta", to=times(0.9)),
    trial(0, "budget", "mu", to=times(0.999)),
    trial(0, "budget", "delta_new", to=times(0.9)),
    trial(0, "parameters", "sigma", to=times(0.999)),
    trial(0, "parameters", "sigma", to=times(-1)),
    trial(0, "parameters", "threshold", to=times(0.999)),
    # Or that it was something else.
    trial(0, "parameters", "levels", to=[{"sigma": 9.0, "max_items": 5}]),
    trial(0, "parameters", "counts", to={"sigma": 1e9, "squared_sensitivity": 5}),
    trial(0, "parameters", "tuning", to={}),
]

TUNED_ON_PART: list[Change] = [
    *(tuning("share", to=wrong) for wrong in (1, *NUMBERS)),
    *(tuning("release", "budget", "mu", to=times(factor)) for factor in (0.9, -1)),
    # The trial without Gaussian noise pays with its epsilon and delta, and with nothing less.
    trial(1, "budget", to=CHEAP),
    *(trial(1, "delta", to=wrong) for wrong in (-1e-7, 0.5, *NUMBERS)),
    all_of(trial(1, "epsilon", to=times(-1)), trial(1, "parameters", "scale", to=times(-1))),
    all_of(trial(1, "epsilon", to=times(0.1)), trial(1, "parameters", "scale", to=times(10))),
]

TUNED_BY_SELECTION: list[Change] = [
    *(tuning("mean_tries", to=wrong) for wrong in (1, 0.5, 6.0, 1e30, 1e300)),
    *(tuning("mean_tries", to=wrong) for wrong in NUMBERS if wrong != 1.5),
    tuning("scores", to=[6, 5]),
]

TUNED_FORGERIES: list[tuple[str, Change]] = [
    *product(("part", "selection"), TUNED_EITHER_WAY),
    *product(("part",), TUNED_ON_PART),
    *product(("selection",), TUNED_BY_SELECTION),
]


@cache
def tuned_once(way: str) -> str:
    """A release by Weighted Gaussian, so that all forgeries know where to find its numbers."""
    settings = ON_PART if way == "part" else FOR_SELECTION
    with keys_of(f"tuned by {way}"):  # whichever test asks first
        while True:
            stated = statement_of_tuned(way, settings)
            if stated.algorithm == "weighted-gaussian, tuned":
                assert verify(stated).ok
                return stated.to_json()


@pytest.mark.parametrize(("way", "change"), TUNED_FORGERIES)
def test_forged_tuned_statements_are_rejected(way: str, change: Change) -> None:
    fields = json.loads(tuned_once(way))
    change(fields)
    found = verify(mended(fields))
    assert not found.ok, str(found)


@pytest.mark.parametrize(
    ("way", "fails"), [("part", "all trials together"), ("selection", "the best of all tries")]
)
def test_trials_that_are_true_but_too_dear_fail_as_a_whole(way: str, fails: str) -> None:
    fields = json.loads(tuned_once(way))
    a_dearer_trial_each(fields)
    assert [check.name for check in verify(mended(fields)).checks if not check.ok] == [fails]


def test_a_plain_release_cannot_pass_as_tuned() -> None:
    fields = statement_of("weighted-gaussian").to_dict()
    fields["parameters"]["tuning"] = json.loads(tuned_once("part"))["parameters"]["tuning"]
    assert not verify(mended(fields)).ok


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
    with precision_for(1e-300):
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
    with precision_for(1e-300):
        ours = tuned.delta_of_best(exact(epsilon), exact(mu), exact(0), exact(tries))
    assert least <= high(ours) <= least * (1 + mpmath.mpf(10) ** -12)


@pytest.mark.parametrize("tries", [1.01, 2, 4, 7.5, 1000.0])
@pytest.mark.parametrize("epsilon", [0.01, 0.7, 3, 20.0])
def test_new_items_count_as_often_as_the_calibration_says(epsilon: float, tries: float) -> None:
    with precision_for(1e-9):
        with_new, without = (
            tuned.delta_of_best(exact(epsilon), exact(0.1), exact(new), exact(tries)) for new in (1, 0)
        )
        runs = high(with_new - without)
    assert float(runs) == pytest.approx(new_item_runs(epsilon, tries), abs=1e-9)
