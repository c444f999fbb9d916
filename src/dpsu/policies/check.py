"""A search for neighbouring databases on which a policy violates its claims.

A policy is private only if adding one user moves the final weights by at most 1 in its norm, whatever the other users
hold. `check_policy` searches small databases, and long ones that repeat a few rows, for the largest distance. A
counterexample proves that the policy is not private. Finding none proves nothing: the sensitivity needs a proof
(docs/policies.md).
"""

import importlib
import math
import re
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Protocol, cast

import numpy as np

from dpsu.errors import InvalidArgument
from dpsu.policies.search import (
    ITEMS,
    LOWEST_CUTOFF,
    MEMBERS,
    PROMISES,
    ROWS,
    SIZES,
    TOLERANCE,
    Floats,
    Ints,
    Update,
    compile_search,
)

TRIES = 400
"""Number of steps of one hill climb."""


class PolicyLike(Protocol):
    """The policy to check: a `dpsu.Policy`, or any object with these attributes."""

    @property
    def update(self) -> Update:
        """(weights, cutoff) -> increments, for the items of one user."""

    @property
    def norm(self) -> Literal[1, 2]:
        """The norm of the budget."""

    @property
    def symmetric(self) -> bool:
        """Whether items of equal weight are claimed to get equal increments."""

    @property
    def name(self) -> str:
        """The name in reports."""


@dataclass(frozen=True)
class Row:
    """A number of consecutive users who hold the same items."""

    items: tuple[int, ...]
    times: int = 1

    def __str__(self) -> str:
        count = f"{self.times} ×" if self.times > 1 else ""
        return f"{count:>5} {{{', '.join(map(str, self.items))}}}"


@dataclass(frozen=True)
class Database:
    """Two neighbouring databases: users in order, with and without the one who holds `extra`.

    The rows of `after` are repeated `rounds` times.
    """

    before: tuple[Row, ...]
    extra: tuple[int, ...]
    after: tuple[Row, ...]
    rounds: int
    cutoff: float

    @property
    def users(self) -> list[tuple[int, ...]]:
        """The items of every user, in order, including the extra user."""
        before = [row.items for row in self.before for _ in range(row.times)]
        after = [row.items for row in self.after for _ in range(row.times)]
        return [*before, self.extra, *after * self.rounds]

    @property
    def position(self) -> int:
        """The position of the extra user in `users`."""
        return sum(row.times for row in self.before)

    def __str__(self) -> str:
        lines = [f"cutoff {self.cutoff!r}; users in this order, by the items they hold:"]
        lines += [str(row) for row in self.before]
        lines += [f"{Row(self.extra)}   <- the extra user"]
        if self.after and self.rounds > 1:
            lines += [f"  then repeated {self.rounds} times:"]
        return "\n".join(lines + [str(row) for row in self.after])


@dataclass(frozen=True)
class Breach:
    """One update that violates a claim, and by how much."""

    promise: str
    amount: float
    weights: tuple[float, ...]
    cutoff: float
    increments: tuple[float, ...]

    def __str__(self) -> str:
        return (
            f"{self.promise}, by {self.amount:.6g}: update({list(self.weights)}, {self.cutoff!r}) "
            f"gives {list(self.increments)}"
        )


@dataclass(frozen=True)
class PolicyCheck:
    """The result of the search: the largest distance, the database that shows it, and violated claims.

    `symmetry` is a violation only if the policy claims symmetry; `ok` takes this into account.
    """

    name: str
    norm: Literal[1, 2]
    claims_symmetry: bool
    tries: int
    distance: float
    database: Database
    weights_with: tuple[float, ...]
    weights_without: tuple[float, ...]
    budget: Breach | None
    sign: Breach | None
    symmetry: Breach | None

    @property
    def ok(self) -> bool:
        """Whether no violation was found. This does not prove that there is none."""
        asymmetric = self.claims_symmetry and self.symmetry is not None
        return self.distance <= 1 + TOLERANCE and not (self.budget or self.sign or asymmetric)

    def __str__(self) -> str:
        verdict = "found no violation" if self.ok else "VIOLATION found"
        lines = [f"policy {self.name!r}: {verdict} in {self.tries:,} tries"]
        lines += [f"it {breach}" for breach in (self.budget, self.sign) if breach]
        if self.symmetry:
            claim = "although it claims symmetry" if self.claims_symmetry else "and claims no symmetry"
            lines.append(f"it {self.symmetry} ({claim})")
        lines.append(f"largest ℓ{self.norm} distance caused by one user: {self.distance:.9g} (1 is allowed)")
        if self.distance > 1 + TOLERANCE:
            lines += [
                str(self.database),
                f"weights with the extra user:    {_rounded(self.weights_with)}",
                f"weights without the extra user: {_rounded(self.weights_without)}",
            ]
        if self.ok:
            lines.append(
                "Finding no violation is not a proof: the sensitivity of the policy still needs one."
            )
        return "\n".join(lines)


COLOURS = re.compile(r"\x1b\[[0-9;]*m")
"""Colour codes that numba adds to its messages if the package colorama is installed."""


def check_policy(policy: PolicyLike, *, seconds: float = 20, seed: int = 0) -> PolicyCheck:
    """Search for `seconds` for databases and weights on which `policy` violates its claims.

    Use it before a policy of your own is used on data; it works on made-up databases only. `seed` chooses where
    the search starts.

    >>> import dpsu, numpy
    >>> greedy = dpsu.Policy(lambda weights, cutoff: numpy.full(len(weights), 1.0), norm=1)
    >>> dpsu.check_policy(greedy, seconds=1).ok
    False
    """
    if not (math.isfinite(seconds) and seconds > 0):
        raise InvalidArgument(f"seconds must be a positive number, not {seconds!r}.")
    try:
        return _search(policy, seconds, seed)
    except Exception as error:  # the update is the caller's code and may raise anything
        lines = [
            line for line in COLOURS.sub("", str(error)).splitlines() if not line.startswith("Failed in")
        ]
        reason = lines[0] if lines else type(error).__name__
        raise InvalidArgument(
            f"the update of policy {policy.name!r} does not compile or run: {reason}. "
            "It must be a function (weights, cutoff) -> increments that numba can compile."
        ) from error


def load(spec: str) -> PolicyLike:
    """The policy `module:name`; the module is also searched in the current directory.

    It is a `dpsu.Policy`, or an update function with the attribute `norm` (and `symmetric`, if it is).
    """
    module_name, colon, name = spec.partition(":")
    if not (module_name and colon and name):
        raise InvalidArgument(f"{spec!r} does not name a policy; write it as module:name.")
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise InvalidArgument(
            f"there is no module {error.name!r} in the current directory or the environment."
        ) from error
    if not hasattr(module, name):
        raise InvalidArgument(f"the module {module_name!r} has no {name!r}.")
    found = getattr(module, name)
    policy: Any = found if hasattr(found, "update") else _Function(found, name)
    if getattr(policy, "norm", None) not in (1, 2) or not callable(policy.update):
        raise InvalidArgument(
            f"{spec} is not a policy: it needs an attribute norm, 1 or 2, and an update function."
        )
    return cast(PolicyLike, policy)


class _Function:
    """An update function that has the attributes of the policy itself."""

    def __init__(self, update: Any, name: str) -> None:
        self.update = update
        self.norm = getattr(update, "norm", None)
        self.symmetric = bool(getattr(update, "symmetric", False))
        self.name = name


def _search(policy: PolicyLike, seconds: float, seed: int) -> PolicyCheck:
    measure, climb = compile_search(policy.update, policy.norm)
    state = np.array([seed % 2**64], np.uint64)
    faults = np.zeros((PROMISES, 3 + 2 * ITEMS))
    weights = np.zeros((2, ITEMS))
    plan = np.zeros((3, ROWS), np.int64)
    climb(state, 0, False, plan, weights, faults)  # compiles before the time starts

    def distance_of(database: Database) -> float:
        return float(measure(_encoded(database), database.cutoff, weights, faults))

    climbs, worst, found = 0, -1.0, Database((), (0,), (), 1, LOWEST_CUTOFF)
    deadline = time.monotonic() + seconds
    while climbs == 0 or time.monotonic() < deadline:
        long = climbs % 3 == 2
        distance, cutoff = climb(state, TRIES, long, plan, weights, faults)
        climbs += 1
        if distance > worst:
            worst, found = distance, _decoded(plan, cutoff)
    found = _trimmed(found, distance_of)
    worst = distance_of(found)
    return PolicyCheck(
        policy.name,
        policy.norm,
        policy.symmetric,
        climbs * TRIES,
        worst,
        found,
        tuple(weights[0].tolist()),
        tuple(weights[1].tolist()),
        _breach("spends more than one budget", faults[0]),
        _breach("lowers a weight", faults[1]),
        _breach("gives items of equal weight unequal increments", faults[2]),
    )


def _encoded(database: Database) -> Ints:
    """A plan: the sets as bits, how often each occurs, and (number of rows, the extra row, rounds)."""
    rows = [*database.before, Row(database.extra), *database.after]
    plan = np.zeros((3, ROWS), np.int64)
    plan[0, : len(rows)] = [sum(1 << item for item in row.items) for row in rows]
    plan[1, : len(rows)] = [row.times for row in rows]
    plan[2, :3] = len(rows), len(database.before), database.rounds
    return plan


def _decoded(plan: Ints, cutoff: float) -> Database:
    (masks, times, (count, extra, rounds, *_)) = plan.tolist()
    rows = [Row(tuple(MEMBERS[masks[k], : SIZES[masks[k]]].tolist()), times[k]) for k in range(count)]
    return Database(tuple(rows[:extra]), rows[extra].items, tuple(rows[extra + 1 :]), rounds, cutoff)


def _trimmed(database: Database, distance_of: Callable[[Database], float]) -> Database:
    """The database without all parts that can be removed without reducing the distance."""
    goal = distance_of(database) - 1e-12
    smaller = next((d for d in _smaller(database) if distance_of(d) >= goal), None)
    while smaller is not None:
        database = smaller
        smaller = next((d for d in _smaller(database) if distance_of(d) >= goal), None)
    return database


def _smaller(database: Database) -> Iterator[Database]:
    if database.rounds > 1:
        yield replace(database, rounds=database.rounds - 1)
    for before in _smaller_rows(database.before):
        yield replace(database, before=before)
    for after in _smaller_rows(database.after):
        yield replace(database, after=after)


def _smaller_rows(rows: tuple[Row, ...]) -> Iterator[tuple[Row, ...]]:
    for k, row in enumerate(rows):
        yield rows[:k] + rows[k + 1 :]
        if row.times > 1:
            yield (*rows[:k], replace(row, times=row.times - 1), *rows[k + 1 :])
        for item in row.items if len(row.items) > 1 else ():
            fewer = tuple(other for other in row.items if other != item)
            yield (*rows[:k], replace(row, items=fewer), *rows[k + 1 :])


def _breach(promise: str, fault: Floats) -> Breach | None:
    amount, cutoff, size = float(fault[0]), float(fault[1]), int(fault[2])
    if amount == 0:
        return None
    values = fault[3:].tolist()
    return Breach(promise, amount, tuple(values[:size]), cutoff, tuple(values[size : 2 * size]))


def _rounded(weights: tuple[float, ...]) -> str:
    return "(" + ", ".join(f"{weight:.6g}" for weight in weights) + ")"
