"""Private choice among settings.

Trying settings and showing the best spends privacy like anything else that looks at the data. Two ways are paid for here:
trying on a random part of the users, who are then left out of the release; and private selection on all of them, where
every try is a release of its own, with more noise, and the largest leaves. Proofs and costs: docs/tuning.md.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import count
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dpsu.algorithms.algorithm import Algorithm
from dpsu.algorithms.catalogue import find
from dpsu.algorithms.focused import FocusedGaussian
from dpsu.algorithms.holders import Counting, CountingTerms, share_with_counts
from dpsu.algorithms.job import Chosen, Job, Promise, Tell, promise_of
from dpsu.algorithms.mechanism import Mechanism
from dpsu.algorithms.ordered import OrderedLaplace
from dpsu.algorithms.public_items import Listed
from dpsu.algorithms.request import DEFAULT_MAX_ITEMS, Request
from dpsu.engines.contract import Columns, Engine
from dpsu.errors import InvalidArgument, NotPrivate
from dpsu.hints import did_you_mean, moved_option
from dpsu.privacy.budget import Budget
from dpsu.privacy.selection import delta_of_best, new_item_runs
from dpsu.randomness.stream import Purpose, Stream

Method = Literal["part", "selection"]
Setting = Mapping[str, Any]

PROOF = "docs/tuning.md"
BISECTIONS = 11
NO_DIGEST = np.zeros((1, 2), np.uint64)
KEYS = ("algorithm", "max_items", "calibration")
"""The keys of a setting."""

HOW: dict[Method, str] = {
    "part": "settings were tried on a random part of the users, who are left out of the release",
    "selection": "private selection: the largest of a random number of releases, each with a setting drawn at random",
}


@dataclass(frozen=True)
class Candidate:
    """A setting that can be calibrated to any privacy."""

    setting: dict[str, Any]
    algorithm: Algorithm

    @classmethod
    def of(cls, setting: Setting) -> "Candidate":
        """The candidate of this setting; algorithms that are not private are refused."""
        if not isinstance(setting, Mapping):
            raise InvalidArgument(f"a setting is a dictionary such as {{'max_items': 30}}, not {setting!r}.")
        for key in setting:
            if key not in KEYS:
                hint = moved_option(key) or did_you_mean(key, KEYS)
                raise InvalidArgument(f"a setting has no key {key!r}; it has {', '.join(KEYS)}.{hint}")
        algorithm = find(setting.get("algorithm", FocusedGaussian.name))
        if algorithm.name == "auto":
            raise InvalidArgument("auto chooses by itself, so it cannot be a setting to choose from.")
        if not algorithm.private:
            raise NotPrivate(
                f"{algorithm.name} is not differentially private ({algorithm.proof}), so it cannot be a setting to choose "
                "from."
            )
        if isinstance(algorithm, OrderedLaplace) and algorithm.order is not None:
            raise InvalidArgument(
                "an algorithm with an order cannot be a setting to choose from: the statement has no room for its list."
            )
        return cls(dict(setting), algorithm)

    def for_engine(self, parts: int) -> "Candidate":
        """The candidate with the options that depend on the engine filled in."""
        return replace(self, algorithm=self.algorithm.for_engine(parts))

    def at(self, epsilon: float, delta: float) -> Mechanism:
        """The mechanism of this setting at this privacy."""
        return self.algorithm.calibrate(self._request(epsilon, delta))

    def counted_at(
        self, epsilon: float, delta: float, counts: CountingTerms | None
    ) -> tuple[Mechanism, Counting | None]:
        """The mechanism at this privacy, and counts of what it releases if they are asked for."""
        if counts is None:
            return self.at(epsilon, delta), None
        return share_with_counts(self.algorithm, self._request(epsilon, delta), counts)

    def _request(self, epsilon: float, delta: float) -> Request:
        max_items = self.setting.get("max_items", DEFAULT_MAX_ITEMS)
        return Request(epsilon, delta, max_items, self.setting.get("calibration", "exact"))

    def promise(self, mechanism: Mechanism) -> Promise:
        """What this setting's mechanism promises alone."""
        return promise_of(self.algorithm, mechanism)

    def described(self) -> dict[str, Any]:
        """The setting as plain data."""
        asked = {key: _plain(value) for key, value in self.setting.items() if key != "algorithm"}
        return {"algorithm": self.algorithm.name, **asked, **self.algorithm.options()}


class TuneJob(Job):
    """Settings to choose from, and how; `setting` and `scores` are known once it has run."""

    way: Method

    def __init__(
        self, request: Request, candidates: Sequence[Candidate], trials: Sequence[Mechanism]
    ) -> None:
        self.request = request
        self.candidates = candidates
        self.trials = trials
        self.setting: dict[str, Any] = {}
        self.scores: list[int] | None = None
        tried = [candidate.promise(trial) for candidate, trial in zip(candidates, trials, strict=True)]
        self._tried = [_told(promise) for promise in tried]
        self.promise = Promise(
            kind="tuned",
            algorithm="tuned",
            calibration="exact",
            epsilon=request.epsilon,
            delta=request.delta,
            max_items=max(promise.max_items for promise in tried),
            parameters={},
            budget=None,
            proof=PROOF,
            policies=_policies(tried),
        )

    def mechanism(self) -> Mechanism:
        """The mechanism of the chosen setting."""
        return Candidate.of(self.setting).at(self.request.epsilon, self.request.delta)

    def _chosen(self, names: Any, place: int, made: Promise, story: dict[str, Any]) -> Chosen:
        """The release with the parameters of the mechanism that made it, and how its setting was chosen."""
        chosen = self.candidates[place]
        self.setting = chosen.setting
        tuning = {
            "way": self.way,
            **story,
            "how": HOW[self.way],
            "epsilon_of_a_try": self.trials[0].request.epsilon,
            "settings": [candidate.described() for candidate in self.candidates],
            "chosen": chosen.described(),
            "release": _told(made),
            "trials": self._tried,
        }
        fields = {name: getattr(made, name) for name in ("algorithm", "calibration", "max_items")}
        return Chosen(names, {**fields, "parameters": {"tuning": tuning}})


class TuneOnPart(TuneJob):
    """Try every setting on a random part of the users, and release the other users' items with the best."""

    way = "part"

    def __init__(
        self,
        request: Request,
        candidates: Sequence[Candidate],
        share: float,
        counts: CountingTerms | None = None,
    ) -> None:
        super().__init__(request, candidates, trials_on_part(candidates, request))
        self._counts = counts
        if not (isinstance(share, int | float) and 0 < share < 1):
            raise InvalidArgument(
                f"tuning_share, of the users to tune on, must lie between 0 and 1, not {share!r}."
            )
        self._share = float(share)

    def select(self, engine: Engine, sets: Any, lists: Listed, stream: Stream, tell: Tell) -> Chosen:
        """Trials on one part, the release on the other."""
        tuning, others = engine.split(sets, self._share, stream)
        tried_on = lists.leave_out(engine, tuning, stream)
        scores = []
        for place, trial in enumerate(self.trials, 1):
            tell(f"setting {place} of {len(self.trials)}")
            scores.append(_size(engine, trial.select(engine, tried_on, stream.step(place))))
        best = int(np.argmax(scores))
        chosen = self.candidates[best]
        mechanism, counting = chosen.counted_at(self.request.epsilon, self.request.delta, self._counts)
        tell("releasing")
        items = mechanism.select(engine, lists.leave_out(engine, others, stream), stream.step(0))
        found = lists.names(engine, others, items, counting and counting.beside(mechanism), stream)
        self.scores = scores
        made = promise_of(chosen.algorithm, mechanism, counting)
        released = self._chosen(found.names, best, made, {"share": self._share, "scores": scores})
        return replace(released, notes=found.notes)


class TuneBySelection(TuneJob):
    """Try random settings until a coin says stop, and keep the largest release. The number of tries stays secret."""

    way = "selection"

    def __init__(self, request: Request, candidates: Sequence[Candidate], tries: float) -> None:
        super().__init__(request, candidates, trials_for_selection(candidates, request, tries))
        self._tries = float(tries)

    def select(self, engine: Engine, sets: Any, lists: Listed, stream: Stream, tell: Tell) -> Chosen:
        """The best of a random number of trials."""
        tell("trying settings")
        tried_on = lists.leave_out(engine, sets, stream)
        best: tuple[int, int, Any] = (-1, 0, None)
        places = draw_places(stream.step(0), len(self.trials), self._tries)
        for number, place in enumerate(places, 1):
            items = self.trials[place].select(engine, tried_on, stream.step(number))
            best = max(best, (_size(engine, items), place, items), key=lambda run: run[0])
        _, place, items = best
        names, story = lists.names(engine, sets, items, None, stream).names, {"mean_tries": self._tries}
        return self._chosen(names, place, self.candidates[place].promise(self.trials[place]), story)


def _size(engine: Engine, items: Any) -> int:
    """The number of items that a try releases."""
    return int(engine.collect(items, _number_released).sum())


def _number_released(columns: Columns) -> NDArray[np.int64]:
    return np.array([np.count_nonzero(columns["released"])])


def trials_on_part(candidates: Sequence[Candidate], request: Request) -> list[Mechanism]:
    """Every candidate, calibrated such that releases with all of them together keep the request's promise."""
    return _calibrate_trials(
        candidates, request, len(candidates), lambda trials: composed_delta(trials, request.epsilon)
    )


def trials_for_selection(candidates: Sequence[Candidate], request: Request, tries: float) -> list[Mechanism]:
    """Every candidate, calibrated such that the best of a random number of tries keeps the request's promise."""
    for candidate in candidates:
        if candidate.at(request.epsilon, request.delta).budget() is None:
            raise InvalidArgument(
                f"private selection needs Gaussian noise, which {candidate.algorithm.name} has not; tune on a part instead."
            )
    if not (isinstance(tries, int | float) and 1 < tries < math.inf):
        raise InvalidArgument(f"tries, the mean number of runs, must be a number above 1, not {tries!r}.")
    runs = new_item_runs(request.epsilon, tries)
    return _calibrate_trials(
        candidates, request, runs, lambda trials: delta_of_best(request.epsilon, _dearest(trials), tries)
    )


def composed_delta(mechanisms: Sequence[Mechanism], epsilon: float) -> float:
    """The delta that holds together with `epsilon` if all these mechanisms run on the same users.

    Gaussian mechanisms compose by their budgets; the others add their epsilon and delta.
    """
    budgets = [(mechanism.request, mechanism.budget()) for mechanism in mechanisms]
    others = [request for request, budget in budgets if budget is None]
    left = epsilon - math.fsum(request.epsilon for request in others)
    if left < 0:
        return 1.0
    whole = Budget(0.0, 0.0).compose(*(budget for _, budget in budgets if budget is not None))
    return min(1.0, whole.delta(left) + math.fsum(request.delta for request in others))


def _calibrate_trials(
    candidates: Sequence[Candidate],
    request: Request,
    runs: float,
    whole_delta: Callable[[list[Mechanism]], float],
) -> list[Mechanism]:
    """All candidates at the largest common epsilon for which the whole stays within delta.

    New items of one user get a chance in each of `runs` runs, which may take half of delta.
    """

    def at(fraction: float) -> list[Mechanism]:
        return [
            candidate.at(fraction * request.epsilon, request.delta / (2 * runs)) for candidate in candidates
        ]

    low, high = 0.0, 2.0
    trials: list[Mechanism] = []
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        made = at(middle)
        if whole_delta(made) <= request.delta:
            low, trials = middle, made
        else:
            high = middle
    if not trials:
        raise InvalidArgument(
            f"{len(candidates)} settings leave no privacy for a single try; give fewer settings or a larger delta."
        )
    return trials


def _dearest(trials: Sequence[Mechanism]) -> Budget:
    """A budget that covers a try with any of the settings."""
    spent = [budget for budget in (trial.budget() for trial in trials) if budget is not None]
    return Budget(max(budget.mu for budget in spent), max(budget.delta_new for budget in spent))


def draw_places(stream: Stream, settings: int, tries: float) -> Iterator[int]:
    """Uniformly drawn places of settings, until a coin says stop: at least one, `tries` on average."""
    # Rounded up: stopping early is the safe side.
    stop = np.uint64(math.ceil(2**64 / tries))
    for turn in count():
        place, coin = stream.words(Purpose.TUNE, turn, NO_DIGEST, count=2)[0]
        yield int(place % np.uint64(settings))
        if coin < stop:
            return


def _policies(promises: Sequence[Promise]) -> dict[str, Any]:
    """The caller's own policies of all trials; two that are called alike must claim the same."""
    policies: dict[str, Any] = {}
    for promise in promises:
        for name, claimed in promise.policies.items():
            if policies.setdefault(name, claimed) != claimed:
                raise InvalidArgument(
                    f"two policies are called {name!r} but claim different things; give them different names."
                )
    return policies


def _plain(value: Any) -> Any:
    """A value of a setting as JSON can hold it."""
    return value.item() if isinstance(value, np.generic) else value


def _told(promise: Promise) -> dict[str, Any]:
    """What a statement says of a trial, so that it can be verified as a release of its own."""
    return {
        "kind": promise.kind,
        "algorithm": promise.algorithm,
        "calibration": promise.calibration,
        "max_items": promise.max_items,
        "parameters": promise.parameters,
        "epsilon": promise.epsilon,
        "delta": promise.delta,
        "budget": asdict(promise.budget) if promise.budget else None,
        "proof": promise.proof,
    }
