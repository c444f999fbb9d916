"""One mechanism of a statement: its keys, its family and its counts."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

from dpsu.verification.auto import PROOF as AUTO
from dpsu.verification.auto import auto
from dpsu.verification.branch_counts import Beside, cut_follows, without_cut
from dpsu.verification.candidates import CANDIDATES, names_of, with_candidates
from dpsu.verification.candidates import PROOF as CANDIDATES_PROOF
from dpsu.verification.checks import (
    INFORMED,
    Check,
    Counts,
    Fields,
    Stated,
    close,
    is_number,
    only,
    positive,
    whole,
)
from dpsu.verification.counts import counts_shift
from dpsu.verification.curves import curve
from dpsu.verification.focused import NAMES as FOCUSED
from dpsu.verification.focused import focused
from dpsu.verification.gaussian import gaussian, one_sum
from dpsu.verification.intervals import Interval, at_most, delta_gaussian, exact
from dpsu.verification.policies import ORDERED, OWN, own_gaussian, policy_gaussian
from dpsu.verification.rounds import dp_sips, mad, mad2r
from dpsu.verification.single import single

LARGEST_EPSILON = 1e4

SUM = ("noise", "sigma", "threshold")
CURVE = ("noise", "scale", "threshold", "kappa")
THRESHOLD = ("noise", "scale", "threshold")
WALK = ("alpha", "cutoff", "passes", "parts", "symmetric")
IN_ORDER = ("alpha", "cutoff", "parts", "item_order")
CLAIMED = (*WALK, "policy", "norm")
ROUNDS = ("noise", "sigma", "shares", "sigmas", "thresholds")

OF_COUNTS, TAKEN = ("sigma", "squared_sensitivity", "share"), ("epsilon", "delta")
MEASURED = ("max_items", "sums", "others")

SMALL = (
    "kind",
    "algorithm",
    "calibration",
    "max_items",
    "parameters",
    "epsilon",
    "delta",
    "budget",
    "proof",
)
"""The keys of a small statement, which describes a trial, or a tuned release without the choice."""

CALIBRATIONS = ("exact", "paper")


@dataclass(frozen=True)
class Family:
    """How an algorithm is checked, which parameters it states, and where its proof is."""

    check: Callable[[Stated, Counts], list[Check]]
    names: tuple[str, ...]
    proof: str


def _by_curve(more: tuple[str, ...], proof: str) -> dict[str, Family]:
    """The two calibrations of the ℓ1 family, by their noise."""
    return {
        "truncated laplace": Family(curve, (*CURVE, *more), proof),
        "laplace": Family(curve, (*THRESHOLD, *more), proof),
    }


WEIGHTED, POLICIES, MAD = "docs/weighted.md", "docs/policies.md", "docs/mad.md"

FAMILIES: dict[str, dict[str, Family]] = {
    "count-laplace": _by_curve((), WEIGHTED),
    "weighted-laplace": _by_curve((), WEIGHTED),
    "policy-laplace": _by_curve(WALK, POLICIES),
    ORDERED: _by_curve(IN_ORDER, "docs/ordered-laplace.md"),
    "count-gaussian": {
        "gaussian": Family(partial(gaussian, partial(one_sum, spending="count")), SUM, WEIGHTED)
    },
    "weighted-gaussian": {
        "gaussian": Family(partial(gaussian, partial(one_sum, spending="all")), SUM, WEIGHTED)
    },
    "policy-gaussian": {"gaussian": Family(partial(gaussian, policy_gaussian), (*SUM, *WALK), POLICIES)},
    "mad": {"gaussian": Family(partial(gaussian, mad), (*SUM, "cutoff", "d_max", "alpha"), MAD)},
    "mad2r": {
        "gaussian": Family(
            partial(gaussian, mad2r),
            (*ROUNDS, "cutoffs", "d_max", "b_min", "b_max", "c_lb", "c_ub"),
            MAD,
        )
    },
    "dp-sips": {"gaussian": Family(partial(gaussian, dp_sips), ROUNDS, "docs/dp-sips.md")},
    "focused-gaussian": {"gaussian": Family(partial(gaussian, focused), FOCUSED, "docs/focused-gaussian.md")},
    "optimal-single": {
        "optimal coin": Family(single, ("noise", "threshold", "certain_from"), "docs/optimal-single.md")
    },
    OWN: {
        "gaussian": Family(partial(gaussian, own_gaussian), (*SUM, *CLAIMED), POLICIES),
        **_by_curve(CLAIMED, POLICIES),
    },
}
"""Every private algorithm, by its possible noise."""


def family_of(algorithm: str, noise: object) -> Family:
    """How to check this algorithm with this noise."""
    found = FAMILIES.get(algorithm, {}).get(noise) if isinstance(noise, str) else None
    if found is None:
        raise ValueError(f"there is no private algorithm {algorithm!r} with the noise {noise!r}")
    return found


def stated_in(fields: Fields) -> Stated:
    """The mechanism that these fields describe; its privacy and max_items must be in their ranges."""
    epsilon, delta = fields["epsilon"], fields["delta"]
    if not (is_number(epsilon) and is_number(delta) and 0 < epsilon <= LARGEST_EPSILON and 0 < delta < 1):
        raise ValueError(f"({epsilon!r}, {delta!r}) is not a valid privacy promise")
    if fields["calibration"] not in CALIBRATIONS:
        raise ValueError(f"there is no calibration {fields['calibration']!r}")
    if not isinstance(fields["algorithm"], str):
        raise ValueError("the algorithm is not named")
    items, parameters = whole(fields["max_items"]), fields["parameters"]
    if not isinstance(parameters, dict):
        raise ValueError("parameters are not an object")
    return Stated(
        fields["algorithm"], fields["calibration"], items, parameters, epsilon, delta, fields["budget"]
    )


def alone(fields: Fields, where: str) -> list[Check]:
    """The checks of a small statement without counts, at its own epsilon and delta."""
    stated = _small(fields, where)
    return _family(stated, fields["proof"]).check(stated, Counts())


def counted(fields: Fields, where: str) -> list[Check]:
    """The checks of a small statement that may have counts."""
    _small(fields, where)
    return with_counts(fields)


def _small(fields: Fields, where: str) -> Stated:
    stated = stated_in(only(fields, SMALL, where))
    if fields["kind"] != "single":
        raise ValueError(f"{where} is of the kind {fields['kind']!r}, not a single mechanism")
    if CANDIDATES in stated.parameters or stated.parameters.get("item_order", "keyed") != "keyed":
        raise ValueError(f"{where} has a list of the caller's, and only a whole statement names lists")
    return stated


def with_counts(fields: Fields) -> list[Check]:
    """The checks of a mechanism and of its counts, if there are any."""
    stated = stated_in(fields)
    if stated.algorithm == "auto":
        return _auto(stated, fields["proof"])
    if "counts" not in stated.parameters:
        return _family(stated, fields["proof"]).check(stated, Counts())
    told = stated.parameters["counts"]
    stated = without_counts(stated)
    family, shift = _family(stated, fields["proof"]), counts_shift(told, [stated.max_items])
    if not {*TAKEN} & {*told}:
        return [shared_mu(stated, told, shift), *family.check(stated, Counts(shift))]
    only(told, (*OF_COUNTS, *TAKEN), "counts", optional=MEASURED)
    rest, check = _apart(stated, told, shift)
    return [check, *family.check(rest, Counts(shift, apart=True))]


def _auto(stated: Stated, proof: object) -> list[Check]:
    """The checks of `auto`, whose branch shares its part of the budget with counts if there are any."""
    checks = [Check("proof", proof == AUTO, str(proof))]
    if "counts" not in stated.parameters:
        return [*checks, *auto(stated, alone)]
    told, cut = without_cut(stated.parameters["counts"])
    shift = counts_shift(told, [stated.max_items])
    return [
        *checks,
        *cut_follows(stated.parameters, told, cut),
        *auto(without_counts(stated), alone, Beside(told, shift)),
    ]


def without_counts(stated: Stated) -> Stated:
    """The mechanism without its counts."""
    parameters = {name: value for name, value in stated.parameters.items() if name != "counts"}
    return replace(stated, parameters=parameters)


def _family(stated: Stated, proof: object) -> Family:
    """The family of a mechanism; its keys and its proof must be those of the family."""
    family = family_of(stated.algorithm, stated.parameters.get("noise"))
    if stated.algorithm == "focused-gaussian" and CANDIDATES in stated.parameters:
        names = names_of(stated.parameters)
        family = Family(partial(gaussian, with_candidates), names, CANDIDATES_PROOF)
    only(stated.parameters, family.names, "parameters")
    if proof != family.proof:
        raise ValueError(f"the proof of {stated.algorithm} is in {family.proof}, not {proof!r}")
    return family


def shared_mu(stated: Stated, told: Fields, shift: Interval) -> Check:
    """Counts that share mu with a mechanism have the stated share of mu^2."""
    mu = positive(only(stated.budget, ("mu", "delta_new"), "the budget")["mu"])
    share = close((shift / mu) ** 2, positive(told["share"]), INFORMED)
    return Check("counts", share, f"{told['share']} of the squared mu")


def _apart(stated: Stated, told: Fields, shift: Interval) -> tuple[Stated, Check]:
    """The rest for the mechanism if counts have a separate epsilon and delta, and the check of the counts."""
    left: dict[str, Any] = {}
    for name in TAKEN:
        taken, whole_value = positive(told[name]), getattr(stated, name)
        left[name] = math.nextafter(whole_value - told[name], 0)
        if left[name] <= 0 or Fraction(left[name]) + Fraction(told[name]) > Fraction(whole_value):
            raise ValueError(f"counts leave no {name} to the mechanism")
        if not close(taken, positive(told["share"]) * exact(whole_value)):
            raise ValueError(f"counts do not take their share of {name}")
    delta = delta_gaussian(exact(told["epsilon"]), shift)
    found = f"({told['epsilon']:g}, {told['delta']:g}) of the promise"
    return replace(stated, **left), Check("counts", at_most(delta, told["delta"]), found)
