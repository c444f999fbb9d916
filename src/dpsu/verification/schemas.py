"""Code shared by the schemas: fixed texts, and a common form for statements of either schema."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dpsu.verification.checks import Check, Fields, is_number, only

HEX64 = re.compile(r"[0-9a-f]{64}")

Read = Callable[[Fields], tuple[Fields, list[str]]]
"""Converts the fields of a schema to those of schema 2 that the promise depends on, and the claims that must be stated."""


@dataclass(frozen=True)
class Schema:
    """The keys and fixed texts of one schema, further checks of its form, and how it is read.

    `varied` gives the unit and what is not covered, where they depend on the kind of the release.
    """

    names: tuple[str, ...]
    unit: str
    noise_source: str
    not_covered: tuple[str, ...]
    version: str
    form: Callable[[Fields], list[Check]]
    read: Read
    varied: Callable[[Fields], tuple[str, tuple[str, ...]]] | None = None

    def texts(self, fields: Fields) -> tuple[str, tuple[str, ...]]:
        """The texts of unit and not_covered that this statement must have."""
        return (self.unit, self.not_covered) if self.varied is None else self.varied(fields)


def form_of(fields: Fields, schema: Schema) -> list[Check]:
    """The statement has the keys and the fixed texts of its schema, and is not void."""
    only(fields, schema.names, "the statement")
    unit, not_covered = schema.texts(fields)
    return [
        _pinned("unit", fields["unit"], unit),
        _pinned("noise_source", fields["noise_source"], schema.noise_source),
        _pinned("not_covered", fields["not_covered"], [*not_covered]),
        Check("void", fields["void"] is None, "no" if fields["void"] is None else str(fields["void"])),
        _matching("version", fields["version"], schema.version),
        Check(
            "released_sha256",
            fields["released_sha256"] is None or is_sha256(fields["released_sha256"]),
            "a digest or null",
        ),
        *schema.form(fields),
    ]


def require_plain(value: Any, depth: int = 0) -> None:
    """Refuse values that JSON cannot represent, and numbers outside the range of doubles."""
    if depth > 20:
        raise ValueError("nested too deeply for a statement")
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if not isinstance(name, str):
                raise ValueError(f"the key {name!r} is not a string")
            require_plain(inner, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            require_plain(inner, depth + 1)
    elif not (value is None or isinstance(value, str | bool) or is_number(value)):
        raise ValueError(f"{value!r} is not a finite number or another plain value")


def is_sha256(value: Any) -> bool:
    """Whether this is a digest in the form used in statements."""
    return isinstance(value, str) and HEX64.fullmatch(value) is not None


def _pinned(name: str, found: Any, expected: Any) -> Check:
    same = found == expected
    return Check(name, same, "as required" if same else f"{found!r}, not {expected!r}")


def _matching(name: str, found: Any, pattern: str) -> Check:
    return Check(name, isinstance(found, str) and re.fullmatch(pattern, found) is not None, repr(found))
