"""n-grams in levels: words first, then in every level the n-grams whose parts have been released.

A level looks at what those before it released, so users spend nothing on n-grams that could not come out. All levels
together make one promise: their budgets add as Gaussian DP. Proof: docs/ngrams.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dpsu.algorithms.base import Mechanism
from dpsu.algorithms.focused import FocusedGaussian
from dpsu.algorithms.job import Chosen, Job, Promise, Tell
from dpsu.algorithms.known_domain import Joins, KnownDomain, known_domain
from dpsu.algorithms.request import DEFAULT_MAX_ITEMS, Request
from dpsu.algorithms.within import focused_within, noise_for, whole_budget
from dpsu.engines import Engine
from dpsu.errors import InvalidArgument
from dpsu.listed import Listed
from dpsu.privacy.budget import Budget
from dpsu.sets.ngrams import NgramNames, Ngrams, longer, ngram_sets, spell, unigrams
from dpsu.sets.text import MOST_WORDS, Corpus
from dpsu.sets.user_sets import UserSets
from dpsu.sources import Source
from dpsu.stream import Stream, open_stream

Method = Literal["focused-gaussian", "dpne"]
Codes = NDArray[np.int64]

PROOF = "docs/ngrams.md"


@dataclass(frozen=True)
class Level:
    """What one level may spend: public, and fixed before any data is touched."""

    size: int
    share: float
    budget: Budget
    request: Request
    method: Method

    def focused(self) -> FocusedGaussian:
        """The set union of this level where its domain is not known."""
        return focused_within(self.request, self.budget)

    def known(self, before: int, domain: int) -> KnownDomain:
        """The set union of this level over the domain that what came before makes."""
        return known_domain(noise_for(self.budget.mu), before, domain, self.request.max_items)


class LevelsJob(Job):
    """All levels as one run."""

    def __init__(self, levels: list[Level], column: str) -> None:
        self._levels = levels
        self._column = column
        first = levels[0]
        self.promise = Promise(
            kind="levels",
            algorithm=first.method,
            calibration="exact",
            epsilon=first.request.epsilon,
            delta=first.request.delta,
            max_items=max(level.request.max_items for level in levels),
            parameters={"noise": "gaussian"},
            budget=first.budget.compose(*(level.budget for level in levels[1:])),
            proof=PROOF,
        )

    def read(self, engine: Engine, source: Source, lists: Listed, stream: Stream) -> Corpus:
        """All text as words."""
        corpus: Corpus = engine.read_corpus(source, stream)
        return corpus

    def select(self, engine: Engine, sets: Corpus, lists: Listed, stream: Stream, tell: Tell) -> Chosen:
        """Level by level, each on what those before it have released."""
        spelling = sets.vocabulary.spelling()
        part = unigrams(sets)
        released: Codes = np.zeros(0, np.int64)
        names: list[str] = []
        stated: list[dict[str, Any]] = []
        for level in self._levels:
            tell(f"level {level.size} of {len(self._levels)}")
            before = part.words_of(released)
            if level.size > 1:
                part = longer(sets, part, _among(len(part), released))
            released, thresholds = _select(level, sets, part, before, engine)
            names += spell(part.words_of(released), spelling)
            stated.append(_stated(level, thresholds))
        frame = pl.DataFrame({self._column: pl.Series(sorted(names), dtype=pl.String)})
        return Chosen(frame, {"parameters": {**self.promise.parameters, "levels": stated}})

    def mechanism(self) -> Mechanism:
        """That of the first level: if it is empty, all are."""
        return self._levels[0].focused()


def plan_levels(
    request: Request,
    longest: int,
    max_items: int | Sequence[int] = DEFAULT_MAX_ITEMS,
    shares: Sequence[float] | None = None,
    method: Method = "focused-gaussian",
) -> list[Level]:
    """The levels and what each may spend, so that all of them together keep the request's promise."""
    if not (isinstance(longest, int) and 1 <= longest <= MOST_WORDS):
        raise InvalidArgument(f"longest must be a whole number from 1 to {MOST_WORDS}, not {longest!r}.")
    if method not in ("focused-gaussian", "dpne"):
        raise InvalidArgument(f"method must be 'focused-gaussian' or 'dpne', not {method!r}.")
    dealt = [1 / longest] * longest if shares is None else [*shares]
    bounds = [max_items] * longest if isinstance(max_items, int) else [*max_items]
    for name, values in (("shares", dealt), ("max_items", bounds)):
        if len(values) != longest:
            raise InvalidArgument(f"{name} must have one number per level, {longest}, not {len(values)}.")
    whole = whole_budget(request)
    budgets = whole.split(dealt)
    if method == "dpne":
        # Only the first level has items that are not known beforehand, so it gets all of delta_new.
        budgets = [Budget(part.mu, 0.0 if k else whole.delta_new) for k, part in enumerate(budgets)]
    return [
        Level(k + 1, dealt[k], budgets[k], Request(request.epsilon, request.delta, bounds[k]), method)
        for k in range(longest)
    ]


def _select(
    level: Level, corpus: Corpus, part: Ngrams, before: NDArray[np.uint32], engine: Engine
) -> tuple[Codes, dict[str, Any]]:
    """The codes of what the level releases, and its thresholds."""
    sets = ngram_sets(corpus, [part], "ngram")
    numbers = _numbers(sets)
    # Every level draws under a key of its own, so that no noise is met twice.
    stream = open_stream()
    if level.size == 1 or level.method == "focused-gaussian":
        focused = level.focused()
        items = focused.select(engine, sets, stream)
        return numbers[np.flatnonzero(items["released"])], {
            **focused.parameters(),
            "delta_new": focused.delta_new,
        }
    domain = Joins(before)
    known = level.known(len(before), len(domain))
    items = known.select(engine, sets, stream)
    drawn = part.add(domain.words(known.absent(len(domain), stream)))
    absent = drawn[~_among(len(part), numbers[items["held"]])[drawn]]
    codes = np.concatenate([numbers[np.flatnonzero(items["released"])], absent])
    return codes, {"sigma": known.sigma, "threshold": known.threshold}


def _numbers(sets: UserSets) -> Codes:
    """The code of each item of sets of one size."""
    assert isinstance(sets.names, NgramNames)
    return sets.names.numbers


def _among(size: int, codes: Codes) -> NDArray[np.bool_]:
    members = np.zeros(size, np.bool_)
    members[codes] = True
    return members


def _stated(level: Level, thresholds: dict[str, Any]) -> dict[str, Any]:
    return {
        "size": level.size,
        "share": level.share,
        "max_items": level.request.max_items,
        **thresholds,
    }
