"""What a release promises, in words and as data."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpsu.algorithms.base import Algorithm, Mechanism
from dpsu.errors import SourceError
from dpsu.stream import Stream
from dpsu.version import __version__

if TYPE_CHECKING:
    from dpsu.algorithms.counts import Counting

SCHEMA = "dpsu-statement/1"
"""The form of the JSON, described in docs/statement.md."""

UNIT = "one user, added or removed"

NOISE_SOURCE = (
    "ChaCha20 under a fresh 256-bit key of the operating system; every draw is rounded to a grid exactly as "
    "its ideal would be"
)

NOT_COVERED = (
    "replacing one user by another (two steps of the unit)",
    "anything about items that are not in the output, except that they are not in it",
    "other releases over the same users: their budgets add up",
    "users whose data says much about each other, unless they are one user in the column given",
    "time, memory and other traces of the machine that ran the release",
)

SEEDED = "the randomness was seeded for a test, so nothing is promised"


@dataclass(frozen=True)
class Statement:
    """The promise of one release: (epsilon, delta)-differential privacy for `unit`, and all that it rests on.

    `parameters` are noise, thresholds and the algorithm's constants; `budget` is the pair (mu, delta_new) that composes
    as Gaussian DP, where the algorithm has one. `released_sha256` is the digest of the file that it speaks of, once
    there is one. If `void` gives a reason, nothing is promised.
    """

    epsilon: float
    delta: float
    algorithm: str
    calibration: str
    max_items: int
    parameters: dict[str, Any]
    budget: dict[str, float] | None
    proof: str
    unit: str = UNIT
    noise_source: str = NOISE_SOURCE
    rests_on: tuple[str, ...] = ()
    not_covered: tuple[str, ...] = NOT_COVERED
    void: str | None = None
    released_sha256: str | None = None
    version: str = field(default=__version__)

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain data, with the schema and a digest over all of them."""
        fields = json.loads(json.dumps({"schema": SCHEMA, **asdict(self)}))
        return {**fields, "digest": content_digest(fields)}

    def to_json(self) -> str:
        """The same as JSON; floats keep every digit."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    def about(self, path: str | Path) -> "Statement":
        """This statement with the digest of the released file."""
        return replace(self, released_sha256=file_digest(path))

    @classmethod
    def from_json(cls, text: str) -> "Statement":
        """Read back what `to_json` wrote."""
        fields = json.loads(text)
        for derived in ("schema", "digest"):
            fields.pop(derived, None)
        return cls(
            **{**fields, "rests_on": tuple(fields["rests_on"]), "not_covered": tuple(fields["not_covered"])}
        )

    def save(self, path: str | Path) -> None:
        """Write the statement as JSON."""
        from dpsu.output import write_text

        write_text(self.to_json() + "\n", path)

    def __str__(self) -> str:
        promise = (
            f"VOID: {self.void}."
            if self.void
            else f"This output is ({self.epsilon:g}, {self.delta:g})-differentially private for {self.unit}."
        )
        # What has a value for every round is in the JSON.
        single = {
            name: value for name, value in self.parameters.items() if isinstance(value, str | int | float)
        }
        numbers = ", ".join(f"{name} {_short(value)}" for name, value in single.items())
        lines = [
            promise,
            f"Algorithm: {self.algorithm}, {self.calibration} calibration, at most {self.max_items} items of a user count.",
            f"Parameters: {numbers}.",
            f"Noise: {self.noise_source}.",
        ]
        if self.budget:
            lines.append(
                f"Composes as mu {self.budget['mu']:.6g} (Gaussian DP), delta_new {self.budget['delta_new']:.4g}."
            )
        lines += [f"Rests on the claim {claim}, which is the caller's." for claim in self.rests_on]
        lines += [
            "Not covered: " + "; ".join(self.not_covered) + ".",
            f"Proof: {self.proof}. dpsu {self.version}.",
        ]
        return "\n".join(lines)


def state(
    algorithm: Algorithm, mechanism: Mechanism, stream: Stream, counting: "Counting | None" = None
) -> Statement | None:
    """The statement of a release, or None where the algorithm has nothing to promise."""
    if not algorithm.private:
        return None
    request, parameters = mechanism.request, mechanism.parameters()
    budget, claim = mechanism.budget(), mechanism.claim()
    if counting:
        request, parameters = counting.request, {**parameters, "counts": counting.stated}
        budget = budget.compose(counting.budget) if budget else None
    return Statement(
        epsilon=request.epsilon,
        delta=request.delta,
        algorithm=algorithm.name,
        calibration=request.calibration,
        max_items=request.max_items,
        parameters=parameters,
        budget=asdict(budget) if budget else None,
        proof=algorithm.proof,
        rests_on=(claim,) if claim else (),
        void=SEEDED if stream.seeded else None,
    )


def content_digest(fields: Mapping[str, Any]) -> str:
    """SHA-256 over all fields but the digest itself, as JSON with sorted keys and no spaces."""
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


def _short(value: str | float) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
