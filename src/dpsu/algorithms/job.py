"""A job: a promise that is fixed beforehand, and a selection that keeps it."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from dpsu.algorithms.algorithm import Algorithm
from dpsu.algorithms.holders import Counting, CountingTerms, share_with_counts
from dpsu.algorithms.mechanism import Mechanism
from dpsu.algorithms.request import Request
from dpsu.engines.contract import Engine
from dpsu.errors import InvalidArgument
from dpsu.outcome.statement import Kind
from dpsu.privacy.budget import Budget
from dpsu.randomness.stream import Stream

if TYPE_CHECKING:
    from dpsu.algorithms.public_items import Listed
    from dpsu.outcome.ledger import Ledger
    from dpsu.outcome.statement import Statement
    from dpsu.sources.source import Source

Tell = Callable[[str], None]
"""Called with the name of each stage as it begins. Stages are public, or follow from the statement, as the rounds of `auto`
do, but for the way that Spark takes (docs/cluster.md)."""


def silent(stage: str) -> None:
    """The `Tell` of a run whose progress nobody wants to see."""


def tell_round(tell: Tell, number: int, rounds: int) -> None:
    """Name the round that begins."""
    tell(f"round {number} of {rounds}")


UNSAFE = "This output carries no privacy promise and must not be published: {algorithm} is not differentially private."

NO_BUDGET = (
    "counts, sums and others take a share of the budget, and {algorithm} has none: it is not differentially private. Choose "
    "another algorithm or leave them out."
)

OWN_POLICY = "own-policy"
"""Name of the algorithm in statements about a custom policy."""


@dataclass(frozen=True)
class Promise:
    """What a run spends: public, and fixed before any data is read.

    `policies` are the caller's own policies by name, each with its `norm` and `symmetric`; `lists` are those that the
    algorithm itself uses, by name, as the statement describes them.
    """

    kind: Kind
    algorithm: str
    calibration: str
    epsilon: float
    delta: float
    max_items: int
    parameters: dict[str, Any]
    budget: Budget | None
    proof: str
    policies: Mapping[str, Any] = field(default_factory=dict)
    lists: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Chosen:
    """What a mechanism selected: the names of the released items, and the statement's fields that its private steps fixed.

    `users` is the noisy number of users and `others` what is said of all other items, where they were asked for. `notes`
    are for the curator. `seen` are notes on the user columns, if the job itself has read the data.
    """

    names: Any
    fields: Mapping[str, Any] = field(default_factory=dict)
    users: int | None = None
    others: dict[str, float] | None = None
    notes: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()


class Job(ABC):
    """A job: it knows its promise beforehand, reads the data and selects items."""

    promise: Promise

    stream: Stream | None = None
    """The randomness to continue with; None draws a fresh key, as every run but a series does."""

    def read(self, engine: Engine, source: "Source", lists: "Listed", stream: Stream) -> Any:
        """The user sets that `select` works on; lists that do not fit the data are refused here."""
        sets = engine.read(source, stream)
        lists.require_fit(engine, sets, stream)
        return sets

    @abstractmethod
    def select(self, engine: Engine, sets: Any, lists: "Listed", stream: Stream, tell: Tell) -> Chosen:
        """Select the released items. The budget is spent from here on."""

    @abstractmethod
    def mechanism(self) -> Mechanism:
        """The mechanism whose thresholds explain an empty release."""

    def commit(self, statement: "Statement | None", ledger: "Ledger | None", number: int) -> None:
        """Make the run final, before anything leaves: a series writes its state. Others have nothing to write."""
        return

    def when_empty(self) -> str:
        """The message for a release without items."""
        from dpsu.api.plan import Plan

        return Plan(self.promise.algorithm, self.mechanism()).when_empty()

    @property
    def unsafe(self) -> str | None:
        """Why nothing is promised, for algorithms that are not private."""
        return None


class SingleJob(Job):
    """One mechanism, with counts of what it releases if they are asked for."""

    def __init__(self, algorithm: Algorithm, request: Request, counting: CountingTerms | None = None) -> None:
        if counting is not None and not algorithm.private:
            raise InvalidArgument(NO_BUDGET.format(algorithm=algorithm.name))
        self._unsafe = None if algorithm.private else UNSAFE.format(algorithm=algorithm.name)
        self._counting: Counting | None = None
        if counting is None:
            self._mechanism = algorithm.calibrate(request)
        else:
            self._mechanism, self._counting = share_with_counts(algorithm, request, counting)
        self.promise = promise_of(algorithm, self._mechanism, self._counting)

    def read(self, engine: Engine, source: "Source", lists: "Listed", stream: Stream) -> Any:
        """The user sets, which the mechanism's own lists must fit as well."""
        sets = super().read(engine, source, lists, stream)
        sets = self._mechanism.admit(engine, sets, stream)
        lists.require_apart(engine, sets, stream)
        self._mechanism.fitted(engine, sets, stream)
        return sets

    def select(self, engine: Engine, sets: Any, lists: "Listed", stream: Stream, tell: Tell) -> Chosen:
        """Leave listed items out, select, count, name."""
        from dpsu.algorithms.measures import noisy_users  # a plan needs no frames

        tell("weighing and deciding")
        engine.on_round = partial(tell_round, tell)
        mechanism = self._mechanism.fitted(engine, sets, stream)
        items, fixed = mechanism.selected(engine, lists.leave_out(engine, sets, stream), stream)
        tell("decoding")
        counting = self._counting and self._counting.settled(mechanism, fixed)
        found = lists.names(engine, sets, items, counting, stream)
        users = (
            noisy_users(engine.users(sets), sigma=counting.sigma, stream=stream)
            if counting is not None and counting.with_users
            else None
        )
        if fixed and counting is not None:
            fixed = {**fixed, "counts": counting.stated}
        fields = {"parameters": {**self.promise.parameters, **fixed}} if fixed else {}
        return Chosen(found.names, fields, users, found.others, found.notes)

    @property
    def counting(self) -> Counting | None:
        """What is measured of the released items."""
        return self._counting

    def mechanism(self) -> Mechanism:
        """The mechanism itself."""
        return self._mechanism

    @property
    def unsafe(self) -> str | None:
        """Why nothing is promised, for algorithms that are not private."""
        return self._unsafe


def promise_of(algorithm: Algorithm, mechanism: Mechanism, counting: Counting | None = None) -> Promise:
    """What this mechanism promises, with its counts."""
    request, parameters, budget = mechanism.request, mechanism.parameters(), mechanism.budget()
    policies = own_policies(parameters)
    if counting is not None:
        request, parameters = counting.request, {**parameters, "counts": counting.stated}
        budget = budget.compose(counting.budget) if budget else None
    return Promise(
        kind="single",
        algorithm=OWN_POLICY if policies else algorithm.name,
        calibration=request.calibration,
        epsilon=request.epsilon,
        delta=request.delta,
        max_items=request.max_items,
        parameters=parameters,
        budget=budget,
        proof=algorithm.proof,
        policies=policies,
        lists=mechanism.lists(),
    )


def own_policies(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The policy of the caller's own that these parameters name, if any, with what is claimed of it."""
    if "policy" not in parameters:
        return {}
    return {parameters["policy"]: {name: parameters[name] for name in ("norm", "symmetric")}}
