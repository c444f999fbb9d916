"""n-grams in levels: words first, then in every level the n-grams whose parts have been released.

A level looks at what those before it released, so users spend nothing on n-grams that could not come out. All levels
together make one promise: their budgets add as Gaussian DP. Proof: docs/ngrams.md.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dpsu.algorithms.focused import FocusedGaussian
from dpsu.algorithms.known_domain import Joins, KnownDomain, known_domain
from dpsu.algorithms.request import DEFAULT_MAX_ITEMS, Request
from dpsu.algorithms.within import focused_within, noise_for, whole_budget
from dpsu.engines.local import LocalEngine
from dpsu.errors import InvalidArgument
from dpsu.ledger import Ledger, open_ledger
from dpsu.plan import Plan
from dpsu.privacy.budget import Budget
from dpsu.release import EmptyRelease
from dpsu.result import Release
from dpsu.sets.columns import ColumnNames
from dpsu.sets.ngrams import NgramNames, Ngrams, longer, ngram_sets, spell, unigrams
from dpsu.sets.text import MOST_WORDS, Corpus, Tokenizer, UserPer, read_corpus, text_rule
from dpsu.sets.user_sets import UserSets
from dpsu.statement import SEEDED, Statement
from dpsu.stream import open_stream

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


def ngrams(
    source: Any,
    *,
    epsilon: float,
    delta: float,
    user: ColumnNames | None = None,
    text: str | bool | None = None,
    longest: int = 3,
    max_items: int | Sequence[int] = DEFAULT_MAX_ITEMS,
    shares: Sequence[float] | None = None,
    method: Method = "focused-gaussian",
    tokenizer: Tokenizer = "words",
    user_per: UserPer | None = None,
    drop_nulls: bool = False,
    format: str | None = None,
    ledger: Ledger | str | Path | None = None,
    progress: Callable[[str], None] | None = None,
) -> Release:
    """Release words and n-grams of up to `longest` words, level by level, under one (epsilon, delta).

    An n-gram can come out only if its first and its last n-1 words have. At most `max_items` n-grams of a user count
    in a level; several numbers are one per level. `shares` divides the budget between levels, evenly if it is not
    given. With the method "dpne" the levels above the first also release some n-grams that nobody wrote, made of
    released parts; "focused-gaussian" does not. The source and the other arguments are those of `release`.
    """
    tell = progress or (lambda stage: None)
    tell("calibrating")
    book = open_ledger(ledger)
    levels = plan_levels(Request(epsilon, delta), longest, max_items, shares, method)
    rule = text_rule(
        text if user_per else text or True,
        ngrams=[*range(1, longest + 1)],
        tokenizer=tokenizer,
        user_per=user_per,
    )
    assert rule is not None
    stream, engine = open_stream(), LocalEngine()

    tell("reading")
    corpus = read_corpus(source, rule, user=user, stream=stream, drop_nulls=drop_nulls, format=format)
    spelling = corpus.vocabulary.spelling()
    part = unigrams(corpus)
    released: Codes = np.zeros(0, np.int64)
    names: list[str] = []
    stated: list[dict[str, Any]] = []
    for level in levels:
        tell(f"level {level.size} of {longest}")
        before = part.words_of(released)
        if level.size > 1:
            part = longer(corpus, part, _among(len(part), released))
        released, thresholds = _select(level, corpus, part, before, engine)
        names += spell(part.words_of(released), spelling)
        stated.append(_stated(level, thresholds))

    if not names:
        warnings.warn(Plan("focused-gaussian", levels[0].focused()).when_empty(), EmptyRelease, stacklevel=2)
    spent = levels[0].budget.compose(*(level.budget for level in levels[1:]))
    statement = Statement(
        epsilon=levels[0].request.epsilon,
        delta=levels[0].request.delta,
        algorithm=f"{method} in {longest} levels of n-grams",
        calibration="exact",
        max_items=max(level.request.max_items for level in levels),
        parameters={"noise": "gaussian", "levels": stated},
        budget=asdict(spent),
        proof=PROOF,
        void=SEEDED if stream.seeded else None,
    )
    if book:
        book.record(statement)
    return Release(pl.DataFrame({rule.name: pl.Series(sorted(names), dtype=pl.String)}), statement)


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
    level: Level, corpus: Corpus, part: Ngrams, before: NDArray[np.uint32], engine: LocalEngine
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
