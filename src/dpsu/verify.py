"""`dpsu verify`: does (epsilon, delta) follow from the noise and thresholds that a statement gives?

Recomputed from the statement alone, in interval arithmetic, by code that shares nothing with the calibration. What it
takes for granted it says: the proofs, and that the program ran as it states.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from mpmath import iv

from dpsu.errors import SourceError
from dpsu.statement import SCHEMA, UNIT, Statement, content_digest, file_digest
from dpsu.verification.checks import Check, Family, Fields
from dpsu.verification.curves import curve, single
from dpsu.verification.focused import focused, levels
from dpsu.verification.gaussian import dp_sips, gaussian, mad2r, mad_slack, one_sum, policy
from dpsu.verification.intervals import at_most, delta_gaussian, exact, low, precision_for

ASSUMED = (
    "the proof that the statement names, and the proof of the noise (docs/noise.md)",
    "that dpsu ran unchanged and as the statement says, with a key that stayed secret",
    "for policies at most 2^32 users, for MAD at most 2^26, which the program enforces",
)

FAMILIES: dict[str, Family] = {
    "count-gaussian": partial(gaussian, lambda fields: one_sum(fields, "count", exact(0))),
    "weighted-gaussian": partial(gaussian, lambda fields: one_sum(fields, "all", exact(0))),
    "policy-gaussian": partial(gaussian, policy),
    "mad": partial(gaussian, lambda fields: one_sum(fields, "all", mad_slack(fields))),
    "mad2r": partial(gaussian, mad2r),
    "dp-sips": partial(gaussian, dp_sips),
    "focused-gaussian": partial(gaussian, focused),
    "count-laplace": curve,
    "weighted-laplace": curve,
    "policy-laplace": curve,
    "optimal-single": single,
}


@dataclass(frozen=True)
class Verification:
    """The outcome: `ok` if every check passed; `assumed` is what no recomputation from a statement can show."""

    checks: tuple[Check, ...]
    assumed: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether the statement's promise follows."""
        return all(check.ok for check in self.checks)

    def __str__(self) -> str:
        lines = [f"{'ok  ' if check.ok else 'FAIL'}  {check.name}: {check.found}" for check in self.checks]
        lines += [f"assumed: {assumption}" for assumption in self.assumed]
        verdict = "VERIFIED: the promise follows." if self.ok else "REJECTED: the promise does not follow."
        return "\n".join([*lines, verdict])


def verify(
    statement: Statement | Mapping[str, Any] | str | Path, released: str | Path | None = None
) -> Verification:
    """Recompute a statement's promise; `statement` is one, its fields, or a JSON file with them.

    `released`, the released file, is held against the digest that the statement has of it.
    """
    fields = _fields(statement)
    checks, assumed = [*_form(fields)], list(ASSUMED)
    if all(check.ok for check in checks):
        try:
            with precision_for(fields["delta"]):
                checks += _promise(fields)
        except (KeyError, TypeError, ValueError, ZeroDivisionError, IndexError) as error:
            checks.append(
                Check("parameters", False, f"incomplete or out of range ({type(error).__name__}: {error})")
            )
        assumed += [*(f"the caller's claim {claim}" for claim in fields["rests_on"])]
    if released is not None:
        checks.append(_same("the released file", file_digest(released), fields.get("released_sha256")))
    return Verification(tuple(checks), tuple(assumed))


def _fields(statement: Statement | Mapping[str, Any] | str | Path) -> dict[str, Any]:
    if isinstance(statement, Statement):
        return statement.to_dict()
    if isinstance(statement, Mapping):
        return dict(statement)
    try:
        fields = json.loads(Path(statement).read_text(encoding="utf-8"))
    except OSError as error:
        raise SourceError(f"cannot read {statement}: {error.strerror}.") from error
    except ValueError as error:
        raise SourceError(f"{statement} is not a statement: it is not JSON ({error}).") from error
    if not isinstance(fields, dict):
        raise SourceError(f"{statement} is not a statement: it is JSON, but not an object.")
    return fields


def _form(fields: Fields) -> list[Check]:
    """What must hold before any number is looked at."""
    epsilon, delta, items = (fields.get(name, math.nan) for name in ("epsilon", "delta", "max_items"))
    positive = (
        all(_is_number(value) and value > 0 for value in (epsilon, delta)) and epsilon < 1e6 and delta < 1
    )
    return [
        _same("schema", fields.get("schema"), SCHEMA),
        _same("digest of the content", fields.get("digest"), content_digest(fields)),
        _same("unit", fields.get("unit"), UNIT),
        Check("void", fields.get("void") is None, str(fields.get("void") or "no")),
        Check("epsilon and delta", bool(positive), f"({epsilon}, {delta})"),
        Check("max_items", isinstance(items, int) and 1 <= items <= 10**6, str(items)),
        Check("algorithm", _family(fields) is not None, _named(fields)),
    ]


def _named(fields: Fields) -> str:
    parameters = fields.get("parameters")
    tuned = isinstance(parameters, dict) and "tuning" in parameters
    return f"{fields.get('algorithm')}{', whose trials the statement does not have' if tuned else ''}"


def _promise(fields: Fields) -> list[Check]:
    """What the algorithm's family must show, less what counts of holders take."""
    family = _family(fields)
    assert family is not None
    counts = fields["parameters"].get("counts")
    if counts is None:
        return family(fields, fields["epsilon"], fields["delta"], exact(0))
    if counts["squared_sensitivity"] < fields["max_items"]:
        raise ValueError("counts have more items than their noise is for")
    shift = iv.sqrt(exact(counts["squared_sensitivity"])) / exact(counts["sigma"])
    if "epsilon" not in counts:
        return family(fields, fields["epsilon"], fields["delta"], shift)
    apart = delta_gaussian(exact(counts["epsilon"]), shift)
    left = low(exact(fields["epsilon"]) - counts["epsilon"]), low(exact(fields["delta"]) - counts["delta"])
    return [
        Check(
            "counts",
            at_most(apart, counts["delta"]),
            f"({counts['epsilon']:g}, {counts['delta']:g}) of the promise",
        ),
        *family(fields, *left, exact(0)),
    ]


def _family(fields: Fields) -> Family | None:
    """How to check this algorithm; what rests on a claim of the caller's is a policy of their own."""
    parameters = fields.get("parameters")
    if not isinstance(parameters, dict) or not isinstance(fields.get("rests_on"), list):
        return None
    if fields["rests_on"]:
        return partial(gaussian, policy) if parameters.get("noise") == "gaussian" else curve
    if "levels" in parameters:
        return partial(gaussian, levels)
    return FAMILIES.get(str(fields.get("algorithm")))


def _same(name: str, found: Any, expected: Any) -> Check:
    same = found == expected
    return Check(name, same, "as stated" if same else f"{found!r}, not {expected!r}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
