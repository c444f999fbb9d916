"""`dpsu verify`: does (epsilon, delta) follow from the noise and thresholds of a statement?

The promise is recomputed from the statement alone, in interval arithmetic, by code that shares nothing with the
calibration. The result lists the assumptions: the proofs, and that the program ran as stated.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpsu.errors import SourceError
from dpsu.outcome.statement import Statement, content_digest, file_digest
from dpsu.verification.checks import Check, Fields
from dpsu.verification.intervals import precision_for
from dpsu.verification.levels import PROOF as LEVELS
from dpsu.verification.levels import in_levels
from dpsu.verification.mechanism import stated_in, with_counts
from dpsu.verification.schema_1 import SCHEMA_1
from dpsu.verification.schema_2 import SCHEMA_2
from dpsu.verification.schemas import Schema, form_of, require_plain
from dpsu.verification.series import PROOF as SERIES
from dpsu.verification.series import in_periods
from dpsu.verification.tuned import PROOF as TUNING
from dpsu.verification.tuned import tuned

PROOFS = {"levels": LEVELS, "tuned": TUNING, "series": SERIES}
"""Where the proof of each kind is that has several mechanisms or periods."""

SCHEMAS: dict[Any, Schema] = {"dpsu-statement/1": SCHEMA_1, "dpsu-statement/2": SCHEMA_2}

ASSUMED = (
    "the proof that the statement names, and the proof of the noise (docs/noise.md)",
    "that dpsu ran unchanged and as the statement says, with a key that stayed secret",
    "for policies at most 2^32 users, for MAD at most 2^26 users, and at most one budget per user for a custom policy; "
    "the program enforces these",
)

MALFORMED = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""Exceptions raised by malformed statements."""


@dataclass(frozen=True)
class Verification:
    """The result, with two verdicts: `ok`, whether the promise follows, and `file`, whether a file is the released one.

    `ok` is true if every check passed. `file` is None if no file was given; `file_found` explains it. `assumed` lists
    what cannot be checked from a statement.
    """

    checks: tuple[Check, ...]
    assumed: tuple[str, ...]
    file: bool | None = None
    file_found: str = ""

    @property
    def ok(self) -> bool:
        """Whether the promise of the statement follows."""
        return all(check.ok for check in self.checks)

    def _repr_html_(self) -> str:
        from dpsu.report.notebook import verification_html

        return verification_html(self)

    def __str__(self) -> str:
        lines = [f"{'ok  ' if check.ok else 'FAIL'}  {check.name}: {check.found}" for check in self.checks]
        lines += [f"assumed: {assumption}" for assumption in self.assumed]
        lines.append(
            "VERIFIED: the promise follows." if self.ok else "REJECTED: the promise does not follow."
        )
        if self.file is not None:
            lines.append(f"{'SAME FILE' if self.file else 'ANOTHER FILE'}: {self.file_found}.")
        return "\n".join(lines)


def verify(
    statement: Statement | Mapping[str, Any] | str | Path, released: str | Path | None = None
) -> Verification:
    """Recompute the promise of a statement: a `Statement`, its fields, or the path of a JSON file.

    `released`, the released file, is compared with the digest in the statement. A file that cannot be read raises a
    SourceError.

    >>> import dpsu
    >>> release = dpsu.release({n: ["bread", "milk"] for n in range(1000)}, epsilon=1, delta=1e-6)
    >>> dpsu.verify(release.statement).ok
    True
    """
    fields, checks = _read(statement)
    assumed = list(ASSUMED)
    try:
        schema, form = _form(fields)
        checks += form
        if schema is not None and all(check.ok for check in checks):
            promise, claims = schema.read(fields)
            assumed += [f"the caller guarantees: {claim}" for claim in claims]
            checks += _promise(fields, promise, claims)
    except MALFORMED as error:
        told = f"incomplete or out of range ({type(error).__name__}: {error})"
        checks.append(Check("parameters", False, told))
    same, found = _same_file(fields, released)
    return Verification(tuple(checks), tuple(assumed), same, found)


def _read(statement: Statement | Mapping[str, Any] | str | Path) -> tuple[dict[str, Any], list[Check]]:
    """The fields, and a failed check if the JSON is ambiguous."""
    if isinstance(statement, Statement):
        return statement.to_dict(), []
    if isinstance(statement, Mapping):
        return dict(statement), []
    ambiguous: list[str] = []

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        fields = dict(pairs)
        if len(fields) < len(pairs):
            ambiguous.append("a key occurs twice")
        return fields

    def constant(name: str) -> None:
        ambiguous.append(f"{name} is not a number")

    try:
        text = Path(statement).read_text(encoding="utf-8")
        fields = json.loads(text, object_pairs_hook=once, parse_constant=constant)
    except OSError as error:
        raise SourceError(f"cannot read {statement}: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{statement} is not a statement: it is not JSON ({error}).") from error
    if not isinstance(fields, dict):
        raise SourceError(f"{statement} is not a statement: it is JSON, but not an object.")
    return fields, [Check("JSON", False, told) for told in ambiguous]


def _form(fields: Fields) -> tuple[Schema | None, list[Check]]:
    """The checks of the form, before any number is used, and the schema if it is known."""
    require_plain(fields)
    schema = SCHEMAS.get(fields.get("schema"))
    checks = [
        Check("schema", schema is not None, str(fields.get("schema"))),
        Check("digest of the content", fields.get("digest") == content_digest(fields), "over all fields"),
    ]
    return schema, checks if schema is None else [*checks, *form_of(fields, schema)]


def _promise(fields: Fields, promise: Fields, claims: list[str]) -> list[Check]:
    """The claims are those that the release needs, and the checks of its kind pass at its epsilon and delta."""
    checks = [Check("claims", fields["rests_on"] == claims, f"{len(claims)} of the caller's")]
    if promise["kind"] == "single":
        stated_in(promise)
        with precision_for(promise["epsilon"], promise["delta"]):
            return [*checks, *with_counts(promise)]
    stated, proof = stated_in(promise), PROOFS[promise["kind"]]
    checks.append(Check("proof", promise["proof"] == proof, str(promise["proof"])))
    with precision_for(stated.epsilon, stated.delta):
        if promise["kind"] == "levels":
            return [*checks, *in_levels(stated, promise["ngrams"])]
        return [*checks, *(in_periods(stated) if promise["kind"] == "series" else tuned(stated))]


def _same_file(fields: Fields, released: str | Path | None) -> tuple[bool | None, str]:
    """Whether the file is the one in the statement, and a sentence about it."""
    if released is None:
        return None, ""
    found, named = file_digest(released), fields.get("released_sha256")
    if named is None:
        return (
            False,
            "the statement has no digest of a file: call release.save(path) before statement.save",
        )
    if found == named:
        return True, "this is the released file"
    return False, "this is not the file of the statement; its digest differs"
