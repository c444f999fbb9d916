"""`dpsu verify`: does (epsilon, delta) follow from the noise and thresholds that a statement gives?

Recomputed from the statement alone, in interval arithmetic, by code that shares nothing with the calibration. What it
takes for granted it says: the proofs, and that the program ran as it states.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mpmath import iv

from dpsu.errors import SourceError
from dpsu.outcome.statement import SCHEMA, UNIT, Statement, content_digest, file_digest
from dpsu.verification.checks import MOST_ITEMS, Check, Family, Fields, positive, whole
from dpsu.verification.families import family_of, well_formed
from dpsu.verification.intervals import at_most, delta_gaussian, exact, low, precision_for
from dpsu.verification.tuned import tuned

ASSUMED = (
    "the proof that the statement names, and the proof of the noise (docs/noise.md)",
    "that dpsu ran unchanged and as the statement says, with a key that stayed secret",
    "for policies at most 2^32 users, for MAD at most 2^26, which the program enforces",
)

MALFORMED = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What numbers and fields that no program wrote can lead to."""


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
    checks: list[Check] = []
    assumed = list(ASSUMED)
    try:
        checks += _form(fields)
        if all(check.ok for check in checks):
            assumed += [f"the caller's claim {claim}" for claim in fields["rests_on"]]
            with precision_for(fields["delta"]):
                checks += _promise(fields)
    except MALFORMED as error:
        checks.append(
            Check("parameters", False, f"incomplete or out of range ({type(error).__name__}: {error})")
        )
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
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{statement} is not a statement: it is not JSON ({error}).") from error
    if not isinstance(fields, dict):
        raise SourceError(f"{statement} is not a statement: it is JSON, but not an object.")
    return fields


def _form(fields: Fields) -> list[Check]:
    """What must hold before any number is looked at."""
    return [
        _same("schema", fields.get("schema"), SCHEMA),
        _same("digest of the content", fields.get("digest"), content_digest(fields)),
        _same("unit", fields.get("unit"), UNIT),
        Check("void", fields.get("void") is None, str(fields.get("void") or "no")),
        *well_formed(fields),
        Check("algorithm", _family(fields) is not None, str(fields.get("algorithm"))),
    ]


def _promise(fields: Fields) -> list[Check]:
    """What the algorithm's family must show, less what counts of holders take."""
    family = _family(fields)
    assert family is not None
    if "counts" not in fields["parameters"]:
        return family(fields, fields["epsilon"], fields["delta"], exact(0))
    counts = fields["parameters"]["counts"]
    sensitivity = exact(whole(counts["squared_sensitivity"], MOST_ITEMS + 1))
    if low(sensitivity) < fields["max_items"]:
        raise ValueError("counts have more items than their noise is for")
    shift = iv.sqrt(sensitivity) / positive(counts["sigma"])
    if "epsilon" not in counts:
        return family(fields, fields["epsilon"], fields["delta"], shift)
    epsilon, delta = positive(counts["epsilon"]), positive(counts["delta"])
    apart = delta_gaussian(epsilon, shift)
    left = low(exact(fields["epsilon"]) - epsilon), low(exact(fields["delta"]) - delta)
    return [
        Check(
            "counts",
            at_most(apart, counts["delta"]),
            f"({counts['epsilon']:g}, {counts['delta']:g}) of the promise",
        ),
        *family(fields, *left, exact(0)),
    ]


def _family(fields: Fields) -> Family | None:
    """How to check this release: as one mechanism, or as one that was chosen among trials."""
    parameters = fields.get("parameters")
    return tuned if isinstance(parameters, dict) and "tuning" in parameters else family_of(fields)


def _same(name: str, found: Any, expected: Any) -> Check:
    same = found == expected
    return Check(name, same, "as stated" if same else f"{found!r}, not {expected!r}")
