"""n-grams in levels: words first, then in every level the n-grams whose parts have been released.

A level looks at what those before it released, so users spend nothing on n-grams that could not come out. All levels
together make one promise: their budgets add as Gaussian DP. Proof: docs/ngrams.md.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dpsu.algorithms.candidates import (
    EXPECTED,
    CandidateList,
    CandidatesMechanism,
    calibrated,
    without_discovery,
)
from dpsu.algorithms.focused import FocusedGaussian, FocusedMechanism
from dpsu.algorithms.holders import Counting, CountingTerms, count_beside
from dpsu.algorithms.job import Chosen, Job, Promise, Tell
from dpsu.algorithms.known_domain import Joins, KnownDomain, known_domain
from dpsu.algorithms.mechanism import Mechanism
from dpsu.algorithms.public_items import Listed
from dpsu.algorithms.ranges import FALSE_SHARE
from dpsu.algorithms.request import DEFAULT_MAX_ITEMS, Request
from dpsu.algorithms.share import focused_within, noise_for, whole_budget
from dpsu.algorithms.unheld import draw_unheld
from dpsu.engines.contract import Columns, Engine
from dpsu.errors import InvalidArgument
from dpsu.privacy.budget import Budget
from dpsu.randomness.stream import Stream
from dpsu.sets.user_sets import UserSets
from dpsu.sources.corpus import MOST_WORDS
from dpsu.sources.ngrams import Corpus, NgramNames, Ngrams, longer, ngram_sets, spell, unigrams
from dpsu.sources.source import Source

Method = Literal["focused-gaussian", "dpne"]
Codes = NDArray[np.int64]

PROOF = "docs/ngrams.md"

MOST_PER_PART = 10
"""The cut of a level counts this many n-grams at most for each n-gram of the level before; a public constant."""


@dataclass(frozen=True)
class Level:
    """The budget of one level: public, and fixed before any data is read.

    A level with a `false_share` decides on all valid n-grams as candidates.
    """

    size: int
    share: float
    budget: Budget
    request: Request
    method: Method
    false_share: float | None = None

    def focused(self) -> FocusedMechanism:
        """The set union of this level where its domain is not known."""
        return focused_within(self.request, self.budget)

    def known(self, before: int, domain: int) -> KnownDomain:
        """The set union of this level over the domain that the level before defines."""
        return known_domain(noise_for(self.budget.mu), before, domain, self.request.max_items)

    def listed(self, before: int, domain: int) -> CandidatesMechanism:
        """The set union of this level if all valid n-grams are candidates; both numbers are public."""
        assert self.false_share is not None
        size = max(1, domain)
        base = without_discovery(self.request, FocusedGaussian(), noise_for(self.budget.mu))
        return calibrated(
            base,
            CandidateList(size, "", pl.DataFrame()),
            self.false_share,
            discover=False,
            expected=min(EXPECTED, max(1, before) / size),
            reach=self.false_share * min(1.0, MOST_PER_PART * max(1, before) / size),
        )


class LevelsJob(Job):
    """All levels as one run, with counts of what they release if they are asked for."""

    def __init__(
        self,
        levels: list[Level],
        column: str,
        counting: Counting | None = None,
        false_share: float | None = None,
    ) -> None:
        self._levels = levels
        self._column = column
        self._counting = counting
        self._false_share = false_share
        # A domain that is known has n-grams of all released words, and only one process has all words.
        self.divided = false_share is None and levels[0].method != "dpne"
        first, budgets = levels[0], [level.budget for level in levels]
        if counting is not None:
            budgets.append(counting.budget)
        self.promise = Promise(
            kind="levels",
            algorithm=first.method,
            calibration="exact",
            epsilon=first.request.epsilon,
            delta=first.request.delta,
            max_items=max(level.request.max_items for level in levels),
            parameters={
                "noise": "gaussian",
                **({"false_share": false_share} if false_share else {}),
                **({"counts": counting.stated} if counting else {}),
            },
            budget=budgets[0].compose(*budgets[1:]),
            proof=PROOF,
        )

    def read(self, engine: Engine, source: Source, lists: Listed, stream: Stream) -> Corpus:
        """All text as words."""
        if lists and self._levels[0].method == "dpne":
            raise InvalidArgument("the method dpne takes no public or excluded items; use focused-gaussian.")
        if lists and self._false_share is not None:
            raise InvalidArgument("levels with false_share= take no public or excluded items: leave one out.")
        corpus: Corpus = engine.read_corpus(source, stream)
        return corpus

    def select(self, engine: Engine, sets: Corpus, lists: Listed, stream: Stream, tell: Tell) -> Chosen:
        """Level by level, each on what those before it have released; public n-grams count as released."""
        part = unigrams(sets)
        released: Codes = np.zeros(0, np.int64)
        names: list[pl.DataFrame] = []
        stated: list[dict[str, Any]] = []
        notes: dict[str, None] = {}
        for level in self._levels:
            tell(f"level {level.size} of {len(self._levels)}")
            before = part.words_of(released)
            if level.size > 1:
                part = longer(sets, part, _among(len(part), released))
            found = self._level(level, sets, part, before, engine, lists.of_size(level.size), stream)
            released, thresholds = found.codes, found.thresholds
            names.append(found.names)
            notes |= dict.fromkeys(found.notes)
            stated.append(_stated(level, thresholds))
        frame = pl.concat(names).sort(self._column)
        told = {"parameters": {**self.promise.parameters, "levels": stated}}
        return Chosen(frame, told, notes=tuple(notes))

    def _level(
        self,
        level: Level,
        corpus: Corpus,
        part: Ngrams,
        before: NDArray[np.uint32],
        engine: Engine,
        lists: Listed,
        stream: Stream,
    ) -> "Found":
        """What one level releases."""
        made_here = ngram_sets(corpus, [part], self._column)
        if level.size > 1 and level.method == "dpne":
            return self._known_level(level, corpus, made_here, part, before, engine, stream)
        if level.false_share is not None:
            return self._listed_level(level, corpus, made_here, part, before, engine, stream)
        focused, sets = level.focused(), engine.adopt(made_here)
        items = focused.select(engine, lists.leave_out(engine, sets, stream), stream.step(level.size))
        shown = lists.with_public(engine, sets, items, stream)
        counting = self._counting_of(level)
        made = lists.names(engine, sets, items, counting and counting.beside(focused), stream)
        codes = _numbers(made_here)[engine.released(sets, shown)]
        thresholds = {**focused.parameters(), "delta_new": focused.delta_new}
        return Found(codes, made.names, thresholds, made.notes)

    def _known_level(
        self,
        level: Level,
        corpus: Corpus,
        sets: UserSets,
        part: Ngrams,
        before: NDArray[np.uint32],
        engine: Engine,
        stream: Stream,
    ) -> "Found":
        """What a level over a known domain releases: held n-grams, and some that nobody holds."""
        domain, own = Joins(before, corpus.vocabulary.digests), stream.step(level.size)
        known = level.known(len(before), len(domain))
        items = known.select(engine, sets, own)
        drawn = domain.words(known.absent(len(domain), own))
        thresholds = {"sigma": known.sigma, "threshold": known.threshold}
        return self._found(level, corpus, sets, part, items, drawn, thresholds, engine, stream)

    def _listed_level(
        self,
        level: Level,
        corpus: Corpus,
        sets: UserSets,
        part: Ngrams,
        before: NDArray[np.uint32],
        engine: Engine,
        stream: Stream,
    ) -> "Found":
        """What a level releases whose candidates are all valid n-grams. The cut looks at held ones and at all others."""
        domain, own = Joins(before, corpus.vocabulary.digests), stream.step(level.size)
        mechanism = level.listed(len(before), len(domain))
        everything = replace(sets, listed=np.ones(sets.n_items, np.bool_))
        items = mechanism.after_rounds(engine, everything, own)
        unheld = draw_unheld(mechanism, len(domain), own)
        words = domain.words(unheld.members)
        codes = part.add(words)
        # Members of the text have noise of their own.
        others = ~_among(len(part), _numbers(sets))[codes]
        columns = {name: column[others] for name, column in unheld.columns.items()}
        tails, weights = (
            np.concatenate([engine.collect(items, step), step(columns)])
            for step in (mechanism.tails_within_reach, mechanism.weights_within_reach)
        )
        decide = mechanism.decision(tails, weights)
        items = engine.update(items, decide)
        drawn = words[others][decide(columns)["released"]]
        shown = {name: column for name, column in items.items() if name != "listed"}
        parameters = mechanism.parameters()
        told = {**parameters, "candidates": {**parameters["candidates"], "reach": mechanism.reach}}
        return self._found(level, corpus, sets, part, shown, drawn, told, engine, stream)

    def _found(
        self,
        level: Level,
        corpus: Corpus,
        sets: UserSets,
        part: Ngrams,
        items: Columns,
        drawn: NDArray[np.uint32],
        thresholds: dict[str, Any],
        engine: Engine,
        stream: Stream,
    ) -> "Found":
        """The released n-grams of the text, and those that were `drawn` and are not in the text."""
        numbers, codes = _numbers(sets), part.add(drawn)
        absent = codes[~_among(len(part), numbers[items["held"]])[codes]]
        spelt = spell(part.words_of(absent), corpus.vocabulary.spelling())
        unheld = Listed(pl.DataFrame({self._column: pl.Series(spelt, dtype=pl.String)}))
        made = unheld.names(engine, sets, items, self._counting_of(level), stream)
        codes = np.concatenate([numbers[np.flatnonzero(items["released"])], absent])
        return Found(codes, made.names, thresholds, made.notes)

    def _counting_of(self, level: Level) -> Counting | None:
        """The counts of one level: each user counts for as many n-grams as the level allows."""
        if self._counting is None:
            return None
        most = level.request.max_items
        cut = min(self._counting.terms.max_items or most, most)
        return replace(self._counting, request=level.request, cut=cut)

    def mechanism(self) -> Mechanism:
        """The mechanism of the first level: if that level is empty, all levels are."""
        return self._levels[0].focused()


@dataclass(frozen=True)
class Found:
    """What a level released: codes for the next level, names, thresholds for the statement, notes for the curator."""

    codes: Codes
    names: pl.DataFrame
    thresholds: dict[str, Any]
    notes: tuple[str, ...] = ()


def plan_levels(
    request: Request,
    longest: int,
    max_items: int | Sequence[int] = DEFAULT_MAX_ITEMS,
    level_shares: Sequence[float] | None = None,
    method: Method = "focused-gaussian",
    counts: CountingTerms | None = None,
    false_share: float | None = None,
) -> tuple[list[Level], Counting | None]:
    """The levels and their counts, and what each may spend, so that all together keep the request's promise."""
    if isinstance(longest, bool) or not (isinstance(longest, int) and 1 <= longest <= MOST_WORDS):
        raise InvalidArgument(f"longest must be a whole number from 1 to {MOST_WORDS}, not {longest!r}.")
    if method not in ("focused-gaussian", "dpne"):
        raise InvalidArgument(f"method must be 'focused-gaussian' or 'dpne', not {method!r}.")
    dealt = (
        [1 / longest] * longest
        if level_shares is None
        else _one_per_level("level_shares", level_shares, longest)
    )
    bounds = (
        [max_items] * longest
        if isinstance(max_items, int)
        else _one_per_level("max_items", max_items, longest)
    )
    whole = whole_budget(request)
    counting = None
    if counts is not None:
        for_items, for_counts = whole.split([1 - counts.whole_share, counts.whole_share])
        counting = count_beside(request, counts, for_counts.mu, bounds)
        whole = Budget(for_items.mu, whole.delta_new)
    budgets = whole.split(dealt)
    listed = _false_share_of_a_level(false_share, longest, method)
    if method == "dpne" or listed is not None:
        # Only the first level has items that are not known beforehand, so it gets all of delta_new.
        budgets = [Budget(part.mu, 0.0 if k else whole.delta_new) for k, part in enumerate(budgets)]
    levels = [
        Level(
            k + 1,
            dealt[k],
            budgets[k],
            Request(request.epsilon, request.delta, bounds[k]),
            method,
            listed if k else None,
        )
        for k in range(longest)
    ]
    return levels, counting


def _one_per_level(name: str, values: Any, longest: int) -> list[Any]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InvalidArgument(f"{name} must have one number per level, {longest}, not {values!r}.")
    found = [*values]
    if len(found) != longest:
        raise InvalidArgument(f"{name} must have one number per level, {longest}, not {len(found)}.")
    if not all(isinstance(value, Real) for value in found):
        raise InvalidArgument(f"{name} must be numbers, not {found!r}.")
    return found


def _false_share_of_a_level(false_share: float | None, longest: int, method: Method) -> float | None:
    """An even part for each level above the first: shares of levels add up, and words are never false."""
    if false_share is None:
        return None
    if method != "focused-gaussian" or longest == 1:
        raise InvalidArgument(
            "false_share= is for levels of focused-gaussian with n-grams of at least two words: leave it out, or choose "
            "this method and a longest of 2 or more."
        )
    share: float = FALSE_SHARE.check("false_share", false_share)
    return share / (longest - 1)


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
