"""Choosing settings without breaking the promise.

Trying settings and showing the best spends privacy like anything else that looks at the data. Two ways are paid for here:
trying on a random part of the users, who are then left out of the release; and private selection on all of them, where
every try is a release of its own, with more noise, and the largest leaves. Proofs and costs: docs/tuning.md.
"""

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Literal

import numpy as np

from dpsu.algorithms import DEFAULT, calibrate, find
from dpsu.algorithms.base import Algorithm, Mechanism
from dpsu.algorithms.request import DEFAULT_MAX_ITEMS, Request
from dpsu.engines.local import LocalEngine
from dpsu.errors import InvalidArgument, NotPrivate
from dpsu.plan import Plan
from dpsu.privacy.budget import Budget
from dpsu.privacy.selection import delta_of_best, new_item_runs
from dpsu.release import EmptyRelease
from dpsu.result import Release
from dpsu.sets import ColumnNames, Tokenizer, UserPer, UserSets, read_sets, read_text, text_rule
from dpsu.sets.parts import split_users
from dpsu.statement import Statement, state
from dpsu.stream import Purpose, Stream, open_stream

Way = Literal["part", "selection"]
Setting = Mapping[str, Any]
Tell = Callable[[str], None]

PROOF = "docs/tuning.md"
BISECTIONS = 11
NO_DIGEST = np.zeros((1, 2), np.uint64)
OF_THE_REQUEST = ("algorithm", "max_items", "calibration")

HOW: dict[Way, str] = {
    "part": "settings were tried on a random part of the users, who are left out of the release",
    "selection": "private selection: the largest of a random number of releases, each with a setting drawn at random",
}

OF_A_TRIAL = ("algorithm", "calibration", "max_items", "parameters", "epsilon", "delta", "budget", "rests_on")
"""What a statement says of every trial, so that it can be verified as a release of its own."""


@dataclass(frozen=True)
class Tuned:
    """The chosen setting, and the release made with it.

    `scores` are the sizes of the private releases that the settings were tried with, in their order; private selection
    may not show them and has none.
    """

    setting: dict[str, Any]
    scores: list[int] | None
    release: Release


@dataclass(frozen=True)
class Candidate:
    """A setting that can be calibrated to any privacy."""

    setting: dict[str, Any]
    entry: Algorithm

    @classmethod
    def of(cls, setting: Setting) -> "Candidate":
        """The candidate of this setting; algorithms that are not private are refused."""
        entry = find(setting.get("algorithm", DEFAULT))
        if not entry.private:
            raise NotPrivate(
                f"{entry.name} is not differentially private ({entry.proof}), so it cannot be a setting to choose from."
            )
        return cls(dict(setting), entry)

    def at(self, epsilon: float, delta: float) -> Mechanism:
        """The mechanism of this setting at this privacy."""
        options = {key: value for key, value in self.setting.items() if key not in OF_THE_REQUEST}
        max_items = self.setting.get("max_items", DEFAULT_MAX_ITEMS)
        calibration = self.setting.get("calibration", "exact")
        return calibrate(self.entry, Request(epsilon, delta, max_items, calibration, options))

    def stated(self, mechanism: Mechanism, stream: Stream) -> Statement:
        """The statement of this setting's mechanism alone."""
        made = state(self.entry, mechanism, stream)
        assert made is not None
        return made

    def described(self) -> dict[str, Any]:
        """The setting as plain data."""
        return {key: _plain(value) for key, value in {"algorithm": self.entry.name, **self.setting}.items()}


def tune(
    source: Any,
    *,
    settings: Sequence[Setting],
    epsilon: float,
    delta: float,
    user: ColumnNames | None = None,
    item: ColumnNames | None = None,
    text: str | bool | None = None,
    ngrams: int | Sequence[int] = 1,
    tokenizer: Tokenizer = "words",
    user_per: UserPer | None = None,
    way: Way = "part",
    share: float = 0.1,
    tries: float = 4.0,
    drop_nulls: bool = False,
    format: str | None = None,
    progress: Tell | None = None,
) -> Tuned:
    """Choose among `settings` and release with the best, the whole (epsilon, delta)-private for every user.

    A setting is what `release` takes: {"max_items": 100}, {"algorithm": "policy-gaussian", "alpha": 2}. With the way
    "part", every user goes to the tuning part with probability `share`; all settings are tried there, and the others'
    items are released with the best. With "selection", settings drawn at random are tried on all users, `tries` times on
    average, and the largest release leaves; it needs algorithms with Gaussian noise. The source and the other arguments
    are those of `release`. Either way costs more than a good default gives away: docs/tuning.md has the figures.
    """
    tell = progress or (lambda stage: None)
    if way not in ("part", "selection"):
        raise InvalidArgument(f"way must be 'part' or 'selection', not {way!r}.")
    if isinstance(settings, Mapping | str) or not settings:
        raise InvalidArgument("settings must be a list, such as [{'max_items': 30}, {'max_items': 300}].")
    if not (isinstance(share, int | float) and 0 < share < 1):
        raise InvalidArgument(f"share, of the users to tune on, must lie between 0 and 1, not {share!r}.")
    tell("calibrating")
    request = Request(epsilon, delta)
    candidates = [Candidate.of(setting) for setting in settings]
    trials = (
        trials_on_part(candidates, request)
        if way == "part"
        else trials_for_selection(candidates, request, tries)
    )
    words = text_rule(text, item=item, ngrams=ngrams, tokenizer=tokenizer, user_per=user_per)
    stream = open_stream()

    tell("reading")
    how: dict[str, Any] = {"user": user, "stream": stream, "drop_nulls": drop_nulls, "format": format}
    sets = read_text(source, words, **how) if words else read_sets(source, item=item, **how)
    tuned = (
        _release_the_others(sets, stream, request, candidates, trials, share, tell)
        if way == "part"
        else _release_the_best(sets, stream, request, candidates, trials, tries, tell)
    )
    if len(tuned.release) == 0:
        chosen = Candidate.of(tuned.setting)
        note = Plan(chosen.entry.name, chosen.at(epsilon, delta)).when_empty()
        warnings.warn(note, EmptyRelease, stacklevel=2)
    return tuned


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
                f"private selection needs Gaussian noise, which {candidate.entry.name} has not; tune on a part instead."
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
    """What covers a try with any of the settings."""
    spent = [budget for budget in (trial.budget() for trial in trials) if budget is not None]
    return Budget(max(budget.mu for budget in spent), max(budget.delta_new for budget in spent))


def _release_the_others(
    sets: UserSets,
    stream: Stream,
    request: Request,
    candidates: Sequence[Candidate],
    trials: Sequence[Mechanism],
    share: float,
    tell: Tell,
) -> Tuned:
    """Try every setting on the users whose coin says so, and release the others' items with the best."""
    coins = stream.words(Purpose.TUNE, 0, sets.user_digests)
    tuning, others = split_users(sets, coins < np.uint64(int(share * 2**64)))
    engine = LocalEngine()
    scores = []
    for place, trial in enumerate(trials, 1):
        tell(f"setting {place} of {len(trials)}")
        scores.append(int(trial.select(engine, tuning, open_stream())["released"].sum()))
    chosen = candidates[int(np.argmax(scores))]
    mechanism = chosen.at(request.epsilon, request.delta)
    tell("releasing")
    names = engine.names(others, mechanism.select(engine, others, open_stream()))
    story = {"way": "part", "share": share, "scores": scores}
    statement = _state(chosen, mechanism, stream, request, candidates, trials, story)
    return Tuned(chosen.setting, scores, Release(names, statement))


def _release_the_best(
    sets: UserSets,
    stream: Stream,
    request: Request,
    candidates: Sequence[Candidate],
    trials: Sequence[Mechanism],
    tries: float,
    tell: Tell,
) -> Tuned:
    """Try settings at random until a coin says stop, and keep the largest release; nobody learns how many there were."""
    engine = LocalEngine()
    tell("trying settings")
    best: tuple[int, int, Any] = (-1, 0, None)
    for place in draw_places(open_stream(), len(trials), tries):
        items = trials[place].select(engine, sets, open_stream())
        best = max(best, (int(items["released"].sum()), place, items), key=lambda run: run[0])
    _, place, items = best
    story = {"way": "selection", "mean_tries": tries}
    statement = _state(candidates[place], trials[place], stream, request, candidates, trials, story)
    return Tuned(candidates[place].setting, None, Release(engine.names(sets, items), statement))


def draw_places(stream: Stream, settings: int, tries: float) -> Iterator[int]:
    """Places of settings, each drawn evenly, until a coin says stop: `tries` of them on average, at least one."""
    # Rounded up: stopping early is the safe side.
    stop = np.uint64(math.ceil(2**64 / tries))
    for turn in count():
        place, coin = stream.words(Purpose.TUNE, turn, NO_DIGEST, count=2)[0]
        yield int(place % np.uint64(settings))
        if coin < stop:
            return


def _state(
    chosen: Candidate,
    mechanism: Mechanism,
    stream: Stream,
    request: Request,
    candidates: Sequence[Candidate],
    trials: Sequence[Mechanism],
    story: dict[str, Any],
) -> Statement:
    """The statement of the whole: the request's promise, how the setting was chosen, and what every trial spent."""
    made = chosen.stated(mechanism, stream)
    tried = [candidate.stated(trial, stream) for candidate, trial in zip(candidates, trials, strict=True)]
    tuning = {
        **story,
        "how": HOW[story["way"]],
        "epsilon_of_a_try": trials[0].request.epsilon,
        "settings": [candidate.described() for candidate in candidates],
        "chosen": chosen.described(),
        "release": _told(made, "budget", "rests_on"),
        "trials": [_told(trial, *OF_A_TRIAL) for trial in tried],
    }
    return replace(
        made,
        epsilon=request.epsilon,
        delta=request.delta,
        algorithm=f"{chosen.entry.name}, tuned",
        parameters={**made.parameters, "tuning": tuning},
        budget=None,
        rests_on=tuple(dict.fromkeys(claim for stated in (*tried, made) for claim in stated.rests_on)),
        proof=f"{PROOF}, {made.proof}",
    )


def _plain(value: Any) -> Any:
    """A value of a setting as JSON can hold it: policies and the like by their names."""
    if isinstance(value, np.generic):
        return value.item()
    return value if isinstance(value, int | float | str) else getattr(value, "name", repr(value))


def _told(statement: Statement, *names: str) -> dict[str, Any]:
    """These fields of a statement, as plain data."""
    plain = statement.to_dict()
    return {name: plain[name] for name in names}
