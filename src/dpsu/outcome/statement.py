"""The statement of a release, as text and as data."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from dpsu.errors import SourceError
from dpsu.privacy.budget import Budget
from dpsu.version import __version__

if TYPE_CHECKING:
    from dpsu.interop.accounting import Event

SCHEMA = "dpsu-statement/2"
"""The schema of the JSON, described in docs/statement.md. Version 2 may change until 0.2.0 is released."""

SCHEMA_1 = "dpsu-statement/1"

UNIT = "one user, added or removed"

NOISE_SOURCE = (
    "AES-256 under keys derived from 256 fresh bits of the operating system; every draw is rounded to a grid "
    "exactly as its ideal would be"
)

NOT_COVERED = (
    "replacing one user by another: that is two changes, a removal and an addition",
    "items that are not in the output: some users may have them all the same",
    "other releases about the same users: their budgets add up",
    "groups whose data says much about each other, such as a family: each user is protected, not the group",
    "people who can observe the machine during the release: run time, memory and other traces",
)

SEEDED = "the randomness was seeded for a test, so nothing is promised"

UNIT_OF_SERIES = "one user, added or removed, in all periods together"

OF_PERIOD = re.compile(r"one user in period (.+), added or removed")
"""The unit of a promise about one period alone."""

NOT_ACROSS_PERIODS = "the same user in other periods: every period has a promise of its own"

Kind = Literal["single", "levels", "tuned", "series"]
"""One mechanism; one per level of n-grams; one whose setting was chosen among trials; or one over several periods."""

ONLY_IN_2 = ("kind", "data", "lists", "date", "title", "note")
"""Fields that statements of schema 1 do not have."""


@dataclass(frozen=True, kw_only=True)
class Statement:
    """The promise of one release: (epsilon, delta)-differential privacy for `unit`, and the numbers that it depends on.

    `parameters` are noise, thresholds and the algorithm's constants; `budget` is the pair (mu, delta_new) that composes
    as Gaussian DP, where the algorithm has one. `data` names the columns of users and items, `lists` has digests of
    the caller's lists, and `rests_on` is what the caller must guarantee. `released_sha256` is the digest of the file that
    the statement speaks of, once there is one. If `void` gives a reason, nothing is promised.

    >>> import dpsu
    >>> statement = dpsu.release({n: ["bread"] for n in range(1000)}, epsilon=1, delta=1e-6).statement
    >>> statement.kind, statement.algorithm, statement.epsilon
    ('single', 'auto', 1.0)
    >>> dpsu.Statement.from_json(statement.to_json()) == statement
    True
    """

    epsilon: float
    delta: float
    kind: Kind
    algorithm: str
    calibration: str
    max_items: int
    parameters: dict[str, Any]
    budget: Budget | None
    proof: str
    data: dict[str, Any] | None = None
    lists: dict[str, Any] | None = None
    unit: str = UNIT
    noise_source: str = NOISE_SOURCE
    rests_on: tuple[str, ...] = ()
    not_covered: tuple[str, ...] = NOT_COVERED
    void: str | None = None
    date: str | None = None
    title: str | None = None
    note: str | None = None
    released_sha256: str | None = None
    version: str = __version__
    schema: str = SCHEMA

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain data, with the schema and a digest over all of them."""
        left_out = ONLY_IN_2 if self.schema == SCHEMA_1 else ()
        fields = {name: value for name, value in vars(self).items() if name not in left_out}
        fields["budget"] = None if self.budget is None else vars(self.budget)
        plain = json.loads(json.dumps({"schema": self.schema, **fields}))
        return {**plain, "digest": content_digest(plain)}

    def to_json(self) -> str:
        """The statement as JSON; floats keep every digit."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    def about(self, path: str | Path) -> "Statement":
        """This statement with the digest of the released file."""
        return replace(self, released_sha256=file_digest(path))

    @classmethod
    def from_json(cls, text: str) -> "Statement":
        """Read the output of `to_json`, in schema 1 or 2."""
        return cls.from_dict(json.loads(text))

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "Statement":
        """Read the output of `to_dict`, in schema 1 or 2."""
        known = {name: value for name, value in fields.items() if name != "digest"}
        if known.get("schema") == SCHEMA_1:
            known["kind"] = _kind_of_schema_1(known["parameters"])
        known["budget"] = None if known["budget"] is None else Budget(**known["budget"])
        for name in ("rests_on", "not_covered"):
            known[name] = tuple(known[name])
        return cls(**known)

    def save(self, path: str | Path) -> None:
        """Write the statement as JSON."""
        from dpsu.outcome.write import write_text

        write_text(self.to_json() + "\n", path)

    def to_dp_event(self) -> "Event":
        """The promise for dp_accounting: an `event` that its accountants compose, and a `delta` that adds to theirs.

        Ask the accountant at the total delta minus these deltas (docs/statement.md). This is meant for several releases
        together: of one release alone, the statement's own epsilon can be smaller. Needs dp-accounting.
        """
        from dpsu.interop.accounting import dp_event

        return dp_event(self)

    def to_registry(self) -> str:
        """An entry for the registry of deployments of OpenDP, YAML; what only the curator knows is left blank."""
        from dpsu.interop.registry import registry_entry

        return registry_entry(self)

    def _repr_html_(self) -> str:
        from dpsu.report.notebook import statement_html

        return statement_html(self)

    def __str__(self) -> str:
        from dpsu.report.text import statement_text

        return statement_text(self)


def unit_of(kind: Kind, period: str | None = None) -> str:
    """What is added or removed: a user, the user's data in all periods of a series, or the user's data in one period."""
    if period is not None:
        return f"one user in period {period}, added or removed"
    return UNIT_OF_SERIES if kind == "series" else UNIT


def claims(
    data: Mapping[str, Any],
    lists: Mapping[str, Any],
    policies: Mapping[str, Any] | None = None,
    typical_items: float | None = None,
    period: str | None = None,
    *,
    bounded: bool = False,
) -> tuple[str, ...]:
    """What the caller must guarantee: the promise holds only if all of it is true.

    `policies` are the custom policies by name, each with its `norm` and `symmetric`; `typical_items` is the hint of `auto`;
    `period` is the one that the promise is about; `bounded` says that sums have bounds of the caller's. Without a user's
    data in a period, data of other periods in the same file would remain: the user would be changed, not removed.
    """
    stated = [_user_claim(data)]
    if period is not None:
        stated.append(f"all of the data is from period {period}")
    tokenizer = data.get("tokenizer")
    if tokenizer is not None and tokenizer["kind"] == "function":
        stated.append(
            f"the tokenizer {tokenizer['name']!r} depends on the given text alone: "
            "it remembers no other text and was not trained on this data"
        )
    stated += [
        f"the list {name} was not made from this data"
        for name in ("public_items", "exclude", "order", "candidates")
        if name in lists
    ]
    stated += [
        f"the policy {name!r} is ℓ{own['norm']}-contractive" + (" and symmetric" if own["symmetric"] else "")
        for name, own in sorted((policies or {}).items())
    ]
    if typical_items is not None:
        stated.append(f"typical_items {typical_items!r} was not computed from this data")
    if bounded:
        stated.append("the bounds of the sums were not computed from this data")
    return tuple(stated)


def _user_claim(data: Mapping[str, Any]) -> str:
    form = data["form"]
    if form == "columns":
        columns = data["user"]
        named = f"column {columns[0]!r}" if len(columns) == 1 else f"columns {', '.join(map(repr, columns))}"
        return f"all rows of one person have the same value in the {named}"
    if form == "collection":
        return "all items of one person belong to one entry of the collection"
    return f"one person wrote one of the {form}"


def today() -> str:
    """The date of a statement, in UTC."""
    return datetime.now(UTC).date().isoformat()


def content_digest(fields: Mapping[str, Any]) -> str:
    """SHA-256 over all fields except the digest itself, as JSON with sorted keys and no spaces."""
    content = {name: value for name, value in fields.items() if name != "digest"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def file_digest(path: str | Path) -> str:
    """SHA-256 of a file."""
    try:
        with Path(path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise SourceError(f"cannot read {path}: {error.strerror}.") from error


def _kind_of_schema_1(parameters: Mapping[str, Any]) -> Kind:
    if "tuning" in parameters:
        return "tuned"
    return "levels" if "levels" in parameters else "single"
