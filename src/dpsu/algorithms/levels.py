"""n-grams in levels: words first, then in every level the n-grams whose parts have been released.

A level looks at what those before it released, so users spend nothing on n-grams that could not come out. All levels
together make one promise: their budgets add as Gaussian DP. Proof: docs/ngrams.md.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
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
from dpsu.algorithms.domain import Domain
from dpsu.algorithms.focused import FocusedGaussian, FocusedMechanism
from dpsu.algorithms.holders import Counting, CountingTerms, count_beside
from dpsu.algorithms.job import Chosen, Job, Promise, Tell
from dpsu.algorithms.known_domain import KnownDomain, known_domain
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
from dpsu.sets.user_sets import Digests, among
from dpsu.sources.corpus import MOST_WORDS, TextRule
from dpsu.sources.source import Source

Method = Literal["focused-gaussian", "dpne"]

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
        rule: TextRule,
        counting: Counting | None = None,
        false_share: float | None = None,
    ) -> None:
        self._levels = levels
        self._rule = rule
        self._counting = counting
        self._false_share = false_share
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

    def read(self, engine: Engine, source: Source, lists: Listed, stream: Stream) -> Any:
        """All text as words."""
        if lists and self._levels[0].method == "dpne":
            raise InvalidArgument("the method dpne takes no public or excluded items; use focused-gaussian.")
        if lists and self._false_share is not None:
            raise InvalidArgument("levels with false_share= take no public or excluded items: leave one out.")
        return engine.read_corpus(source, stream)

    def select(self, engine: Engine, sets: Any, lists: Listed, stream: Stream, tell: Tell) -> Chosen:
        """Level by level, each on what those before it have released; public n-grams count as released."""
        corpus = sets
        found: Found | None = None
        names: list[pl.DataFrame] = []
        stated: list[dict[str, Any]] = []
        notes: dict[str, None] = {}
        for level in self._levels:
            tell(f"level {level.size} of {len(self._levels)}")
            own = engine.ngrams(corpus, None if found is None else (found.sets, found.items))
            if level.size > 1 and (level.method == "dpne" or level.false_share is not None):
                found = self._known_level(level, own, names[-1], engine, stream)
            else:
                found = self._level(level, own, engine, lists.of_size(level.size), stream)
            names.append(found.names)
            notes |= dict.fromkeys(found.notes)
            stated.append(_stated(level, found.thresholds))
        frame = pl.concat(names).sort(self._rule.name)
        told = {"parameters": {**self.promise.parameters, "levels": stated}}
        return Chosen(frame, told, notes=tuple(notes))

    def _level(self, level: Level, sets: Any, engine: Engine, lists: Listed, stream: Stream) -> "Found":
        """What a level releases of the n-grams that somebody holds."""
        focused = level.focused()
        items = focused.select(engine, lists.leave_out(engine, sets, stream), stream.step(level.size))
        thresholds = {**focused.parameters(), "delta_new": focused.delta_new}
        counting = self._counting_of(level)
        return _found(sets, items, lists, thresholds, counting and counting.beside(focused), engine, stream)

    def _known_level(
        self, level: Level, sets: Any, before: pl.DataFrame, engine: Engine, stream: Stream
    ) -> "Found":
        """What a level over a known domain releases: n-grams that somebody holds, and some that nobody holds."""
        own = stream.step(level.size)
        domain = Domain.of(
            engine.everywhere(before.select(self._rule.name)), level.size - 1, self._rule, stream
        )
        decide = _decide_listed if level.false_share is not None else _decide_known
        items, drawn, thresholds = decide(level, sets, domain, engine, own)
        return _found(sets, items, Listed(drawn), thresholds, self._counting_of(level), engine, stream)

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


@dataclass(frozen=True, repr=False)
class Found:
    """What a level released: sets and items for the next one, names, thresholds for the statement, curator's notes."""

    sets: Any
    items: Any
    names: pl.DataFrame
    thresholds: dict[str, Any]
    notes: tuple[str, ...] = ()


Decided = tuple[Any, pl.DataFrame, dict[str, Any]]
"""The items of a level, the released n-grams that nobody holds, and thresholds for the statement."""


def _decide_known(level: Level, sets: Any, domain: Domain, engine: Engine, own: Stream) -> Decided:
    """What DPNE releases; members of the domain that nobody holds come out by noise alone."""
    known = level.known(domain.before, len(domain))
    items = known.select(engine, sets, own)
    drawn = domain.members(known.absent(len(domain), own))
    held = _found_among(engine, items, drawn, domain, held=True)
    thresholds = {"sigma": known.sigma, "threshold": known.threshold}
    return items, drawn.filter(~pl.Series(held)), thresholds


def _decide_listed(level: Level, sets: Any, domain: Domain, engine: Engine, own: Stream) -> Decided:
    """What is released if all valid n-grams are candidates. The cut looks at those of the text and at all others."""
    mechanism = level.listed(domain.before, len(domain))
    items = engine.update(engine.items(sets), _all_listed)
    items = mechanism.after_rounds(engine, sets, items, own)
    unheld = draw_unheld(mechanism, len(domain), own)
    drawn = domain.members(unheld.members)
    others = ~_found_among(engine, items, drawn, domain)  # those of the text have noise of their own
    columns = {name: column[others] for name, column in unheld.columns.items()}
    tails, weights = (
        np.concatenate([engine.collect(items, step), step(columns)])
        for step in (mechanism.tails_within_reach, mechanism.weights_within_reach)
    )
    decide = mechanism.decision(tails, weights)
    parameters = mechanism.parameters()
    told = {**parameters, "candidates": {**parameters["candidates"], "reach": mechanism.reach}}
    released = decide(columns)["released"]
    return engine.update(items, decide), drawn.filter(pl.Series(others)).filter(pl.Series(released)), told


def _found_among(
    engine: Engine, items: Any, drawn: pl.DataFrame, domain: Domain, held: bool = False
) -> NDArray[np.bool_]:
    """Which of these n-grams are in the table of items, and held there if that is asked."""
    digests = domain.digests(drawn)
    return among(digests, engine.collect(items, partial(_those_of, digests=digests, held=held)))


def _those_of(columns: Columns, digests: Digests, held: bool) -> Digests:
    own: Digests = columns["digest"][columns["held"]] if held else columns["digest"]
    return own[among(own, digests)]


def _all_listed(columns: Columns) -> Columns:
    return {"listed": np.ones(len(columns["digest"]), np.bool_)}


def _found(
    sets: Any,
    items: Any,
    lists: Listed,
    thresholds: dict[str, Any],
    counting: Counting | None,
    engine: Engine,
    stream: Stream,
) -> Found:
    """The released n-grams with those of the list, which count as released in the next level, too."""
    made = lists.names(engine, sets, items, counting, stream, here=True)
    return Found(sets, made.items, made.names, thresholds, made.notes)


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


def _stated(level: Level, thresholds: dict[str, Any]) -> dict[str, Any]:
    return {
        "size": level.size,
        "share": level.share,
        "max_items": level.request.max_items,
        **thresholds,
    }
