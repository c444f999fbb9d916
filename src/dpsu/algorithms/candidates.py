"""Candidates: a public list of items that could come out, mixed with private discovery under one budget.

Every listed item exists in every data set: it gets noise and is tested whether or not anybody holds it. So it needs no
part of delta and no high threshold, only a limit on false items: listed items that come out although nobody holds them.
Items outside the list keep the rule of Focused Gaussian. Proof: docs/candidates.md.
"""

import math
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpsu.algorithms.algorithm import Algorithm
from dpsu.algorithms.auto import Auto
from dpsu.algorithms.focused import (
    ROUNDING,
    Boundary,
    FocusedGaussian,
    FocusedMechanism,
    bell,
    divided_shares,
)
from dpsu.algorithms.mechanism import Floats, Mechanism, drawn, threshold_in_cells
from dpsu.algorithms.ranges import FALSE_SHARE
from dpsu.algorithms.request import Request
from dpsu.engines.contract import SHOWN, Columns, Engine, Step, told_rounds
from dpsu.errors import InvalidArgument
from dpsu.kernels.units import ONE
from dpsu.outcome.columns import LISTED
from dpsu.privacy import false_share as limits
from dpsu.privacy import gaussian
from dpsu.privacy.budget import Budget
from dpsu.randomness.noise import gaussian_cells
from dpsu.randomness.stream import Purpose, Stream

if TYPE_CHECKING:
    import polars as pl

    from dpsu.sets.user_sets import Digests

NAME = "candidates"
"""The argument, the entry of the parameters and the name of the list in a statement."""

PROOF = "docs/candidates.md"

EXPECTED = 0.1
"""The share of a list that the focus expects to come out; a public constant."""


WEIGHT = "weight"
"""The column of a list, and of the table of items, with weights."""


@dataclass(frozen=True)
class CandidateList:
    """The list that the caller gives: its length, its digest and its items.

    `weights` has a weight for each item, with a mean of 1, and `extremes` are the smallest and the largest of them; None if
    there are none.
    """

    count: int
    sha256: str
    items: "pl.DataFrame" = field(compare=False, repr=False)
    notes: tuple[str, ...] = ()
    weights: Floats | None = field(default=None, compare=False, repr=False)
    extremes: tuple[float, float] | None = None

    def described(self) -> dict[str, Any]:
        """What the statement says of the list."""
        return {"count": self.count, "sha256": self.sha256}


@dataclass(frozen=True)
class WithCandidates(Algorithm):
    """Focused Gaussian with a list of candidates. Made by `with_candidates`; it is not in the catalogue."""

    focus: FocusedGaussian
    listed: CandidateList
    false_share: float
    discover: bool = True

    name = "focused-gaussian"
    family = "focused"
    summary = "Focused Gaussian with a public list of candidates"
    proof = PROOF

    def calibrate(self, request: Request) -> "CandidatesMechanism":
        """The noise, the boundary of new items if there can be any, and the early limits of listed ones."""
        focus = self.focus
        if self.discover:
            base = focus.calibrate(request)
        else:
            base = without_discovery(request, focus, gaussian.noise_scale(request.epsilon, request.delta))
        return calibrated(base, self.listed, self.false_share, self.discover)


def calibrated(
    base: FocusedMechanism,
    listed: CandidateList,
    false_share: float,
    discover: bool,
    expected: float = EXPECTED,
    reach: float | None = None,
) -> "CandidatesMechanism":
    """The mechanism with this noise, and with the early limits of listed items.

    `expected` is the share of the list that the focus expects to come out, `reach` the largest tail that the cut looks
    at; both are public. Without a reach it looks at tails of at most false_share, and estimates the share of nulls.
    """
    eta = limits.early_chance(false_share, listed.count, *(listed.extremes or (1.0, 1.0)), reach is None)
    shares, scales = np.array(base.boundary.shares), np.array(base.boundary.scales)
    noise = np.sqrt(np.cumsum(scales**2)) * (1 + ROUNDING)
    deal = shares**base.focus.delta_growth
    deal = deal / deal.sum() * (1 - ROUNDING)
    early = tuple(map(float, limits.early_limits(eta, deal, noise)))
    return CandidatesMechanism(
        base.request,
        base,
        listed,
        false_share,
        discover,
        eta,
        early,
        float(noise[-1]),
        expected,
        false_share if reach is None else reach,
        reach is None,
    )


def with_candidates(
    algorithm: Algorithm, listed: CandidateList, false_share: float | None, discover: bool
) -> WithCandidates:
    """The algorithm with its list; only Focused Gaussian takes one, and `auto` means it here."""
    if isinstance(algorithm, Auto):
        if algorithm.typical_items is not None:
            raise InvalidArgument(
                "typical_items= is for the choice of auto, and candidates always mean focused-gaussian: leave it out. "
                "max_items= sets how many items of a user count, 300 if you leave it out."
            )
        algorithm = FocusedGaussian()
    if not isinstance(algorithm, FocusedGaussian):
        raise InvalidArgument(
            f"candidates work with focused-gaussian, not with {algorithm.name}: leave algorithm= out."
        )
    if false_share is None:
        raise InvalidArgument(
            "candidates= need false_share=: the share of the released listed items that nobody holds, on average, at most. "
            "There is no default for wrong output; 0.01 is a common choice."
        )
    if not isinstance(discover, bool):
        raise InvalidArgument(f"discover must be True or False, not {discover!r}.")
    return WithCandidates(algorithm, listed, FALSE_SHARE.check("false_share", false_share), discover)


def require_candidates(false_share: Any, discover: Any) -> None:
    """Refuse options of a list where there is no list."""
    if false_share is not None or discover is not True:
        raise InvalidArgument("false_share and discover belong to candidates: pass candidates= too.")


@dataclass(frozen=True)
class CandidatesMechanism(Mechanism):
    """The calibrated mechanism: `base` is that of items outside the list, with the noise and the shares of all items.

    `early` are the limits of listed items before the last round is over, `noise` the scale of all noise of an item.
    `expected` and `reach` are those of `calibrated`; the cut is `adaptive` if it estimates the share of nulls.
    """

    request: Request
    base: FocusedMechanism
    listed: CandidateList
    false_share: float
    discover: bool
    eta: float
    early: tuple[float, ...]
    noise: float
    expected: float
    reach: float
    adaptive: bool

    def admit(self, engine: Engine, sets: Any, stream: Stream) -> Any:
        """The sets with the listed items in the union, held or not, but for unheld items that noise alone keeps out."""
        from dpsu.algorithms.lists import digests_of, typed

        types = engine.item_types(sets)
        if LISTED in types:
            raise InvalidArgument(
                f"whether an item is listed comes as the column {LISTED!r}, which the items have already: rename it."
            )
        weights = self.listed.weights
        if weights is not None and WEIGHT in types:
            raise InvalidArgument(
                f"the column {WEIGHT!r} of candidates has weights, and the items have a column of this name: rename that."
            )
        items = typed(self.listed.items, types, NAME, distinct=True)
        if weights is not None and items.height < self.listed.count:
            raise InvalidArgument(
                "entries of candidates become the same item in the type of the data: with weights, list every item once."
            )
        may_pass = partial(_may_pass, mechanism=self, stream=stream)
        return engine.admit(sets, items, digests_of(items, stream), may_pass, weights)

    def select(self, engine: Engine, sets: Any, stream: Stream) -> Any:
        """The rounds, then one cut over the totals of all listed items."""
        items = self.after_rounds(engine, sets, engine.items(sets), stream)
        tails, weights = (
            engine.collect(items, step) for step in (self.tails_within_reach, self.weights_within_reach)
        )
        return engine.update(engine.update(items, self.decision(tails, weights)), _show_listed)

    def after_rounds(self, engine: Engine, sets: Any, items: Any, stream: Stream) -> Any:
        """The items with their noisy totals after the last round, those that came out early marked as released.

        The column `listed` says which items are candidates.
        """
        items = engine.update(items, partial(begin, discover=self.discover))
        if not self.discover:
            sets = engine.restrict(sets, items)
        rows = engine.bound(sets, self.request.max_items, stream)
        for r in told_rounds(engine, self.base.focus.rounds):
            items = engine.weigh(rows, items, self.base.rule(r))
            items = engine.update(items, partial(one_round, mechanism=self, stream=stream, r=r))
            rows = engine.bound(rows, self.request.max_items, stream, keep=items)
        return items

    def tails_within_reach(self, columns: Columns) -> Floats:
        """The tails of listed items that the cut looks at, divided by their weights."""
        tails, weights = self.tails(columns), self.weights(columns)
        return np.asarray((tails / weights)[columns["listed"] & (tails <= self.reach)], np.float64)

    def weights_within_reach(self, columns: Columns) -> Floats:
        """The weights of the same items."""
        return self.weights(columns)[columns["listed"] & (self.tails(columns) <= self.reach)]

    def decision(self, tails: Floats, weights: Floats) -> Step:
        """The cut for all tails within reach, as a step that releases what is within it."""
        nulls, count, share = 1.0, self.listed.count, self.false_share
        if self.adaptive:
            # fsum does not depend on the order of the items.
            heaviest = self.listed.extremes[1] if self.listed.extremes else 1.0
            nulls = limits.nulls(math.fsum(weights), share, count, heaviest)
        return partial(_decide, mechanism=self, cut=limits.largest_tail(tails, count, share, nulls))

    def limits_in_cells(self, r: int) -> NDArray[np.int64]:
        """The last cells that are not released in round r: of items outside the list, and of listed items."""
        boundary = self.base.boundary
        early = threshold_in_cells(self.early[r], boundary.cell, rounds=r + 1)
        new = (
            threshold_in_cells(boundary.thresholds[r], boundary.cell, rounds=r + 1)
            if self.discover
            else early
        )
        return np.array([new, early], np.int64)

    def priority(self, totals: Floats, listed: NDArray[np.bool_], r: int) -> Floats:
        """The focus: of an item's own total, the round and whether it is listed."""
        base = self.base
        if base.boundary.spent[r] < base.focus.warmup:
            return np.ones_like(totals)
        found = bell(totals, *self.aim(r), base.focus.tail)
        if not self.discover:
            return found
        return np.where(listed, found, bell(totals, *base.aim(r), base.focus.tail))

    def aim(self, r: int) -> tuple[float, float]:
        """Where the focus of listed items is centred after round r, and its width."""
        goal = limits.aim(self.false_share, self.expected) * self.base.boundary.sigma
        return self.base.aim(r, goal)

    def tails(self, columns: Columns) -> Floats:
        """An upper bound on the chance that pure noise does as well as each item; eta for those released early."""
        cell = self.base.boundary.cell
        totals = (columns["noisy"] - self.base.focus.rounds / 2) * cell
        found = limits.tails(totals, self.noise, self.eta)
        return np.where(columns["released"], self.eta, found)

    def weights(self, columns: Columns) -> Floats:
        """The weights of the items: 1 if the list has none."""
        if self.listed.extremes is None:
            return np.ones(len(columns["released"]))
        return np.asarray(columns[WEIGHT], np.float64)

    def chance(self, holders: NDArray[np.int64], set_size: int) -> Floats:
        """For items outside the list; for listed ones if there are no others."""
        return self.base.chance(holders, set_size) if self.discover else self.listed_chance(holders, set_size)

    def listed_chance(self, holders: NDArray[np.int64], set_size: int) -> Floats:
        """For listed items of weight 1, if a tenth of the list comes out: by simulation of holders who share all items."""
        from dpsu.algorithms.focused_chance import simulate

        expected = float(gaussian.upper_quantile(self.false_share * self.expected)) * self.noise
        limit = (*self.early[:-1], min(self.early[-1], expected))
        boundary = replace(self.base.boundary, thresholds=limit)
        return simulate(_Simulated(self.request, self.base.focus, boundary, 0.0, self), holders, set_size)

    def parameters(self) -> dict[str, Any]:
        """Noise, the boundary of new items if there can be any, and what holds for listed ones."""
        told = self.base.parameters()
        if not self.discover:
            told = {name: value for name, value in told.items() if name not in OF_NEW_ITEMS}
        return {
            **told,
            NAME: {
                "count": self.listed.count,
                "false_share": self.false_share,
                "discover": self.discover,
                "early": self.eta,
                "early_thresholds": list(self.early),
                "expected": self.expected,
                **dict(zip(OF_WEIGHTS, self.listed.extremes or (), strict=False)),
            },
        }

    def budget(self) -> Budget:
        """One Gaussian sum of sensitivity 1 for listed and shared items; delta_new for new items outside the list."""
        return self.base.budget()

    def lists(self) -> dict[str, Any]:
        """The length and the digest of the list."""
        return {NAME: self.listed.described()}


OF_WEIGHTS = ("smallest_weight", "largest_weight")
"""Parameters that only a list with weights has."""

OF_NEW_ITEMS = ("threshold", "thresholds", "capped_at", "last_deal", "split", "cap")
"""Parameters that a release without discovery does not have."""


@dataclass(frozen=True)
class _Simulated(FocusedMechanism):
    """Focused Gaussian with the aim and the limits of listed items, for chances."""

    listed: CandidatesMechanism

    def aim(self, r: int, goal: float | None = None) -> tuple[float, float]:
        return self.listed.aim(r)


def without_discovery(request: Request, focus: FocusedGaussian, sigma: float) -> FocusedMechanism:
    """Rounds without a boundary: no item is new, so nothing limits what a user gives to one."""
    shares, spent, scales = divided_shares(focus, sigma)
    caps = np.ones(request.max_items + 1)
    rounds = [tuple(map(float, each)) for each in (shares, spent, scales)]
    boundary = Boundary(sigma, rounds[0], rounds[1], rounds[2], (), caps, 0.0, 0.0)
    return FocusedMechanism(request, focus, boundary, 0.0)


def _may_pass(digests: "Digests", mechanism: CandidatesMechanism, stream: Stream) -> NDArray[np.bool_]:
    """Whether noise alone could release each item: early, or with a tail that the cut could reach.

    The noise of a round is that of `one_round`, bounded from above by the first bits of its word. All other unheld items
    have tails beyond the reach, so nothing depends on them but their number.
    """
    from dpsu.kernels.noise import raise_bounds

    boundary, rounds = mechanism.base.boundary, mechanism.base.focus.rounds
    bounds, found = np.zeros(len(digests)), np.zeros(len(digests), np.bool_)
    above = limits.bounds_of_normals()
    for r in range(rounds):
        words = stream.words(Purpose.NOISE, r, digests)
        early = mechanism.limits_in_cells(r)[1]
        raise_bounds(words, above, boundary.scales[r] / boundary.cell, float(early), bounds, found)
    # Two cells of 2^-16 sigma move a tail by far more than the rounding of `tails`.
    cut = mechanism.noise * limits.smallest_normal(mechanism.reach) / boundary.cell + rounds / 2 - 2
    return found | (bounds > cut)


def begin(columns: Columns, discover: bool) -> Columns:
    """What items have before the first round."""
    size = len(columns["digest"])
    return {
        "noisy": np.zeros(size, np.int64),
        "released": np.zeros(size, np.bool_),
        "priority": np.ones(size, np.float64),
        **({} if discover else {"open": columns["listed"]}),
    }


def one_round(columns: Columns, mechanism: CandidatesMechanism, stream: Stream, r: int) -> Columns:
    """Fresh noise on every listed item and on every item that is held; the decision; the next priorities."""
    boundary, listed = mechanism.base.boundary, columns["listed"]
    among = listed if not mechanism.discover else columns["held"] | listed
    counts = among & ~columns["released"]
    how: dict[str, Any] = {
        "unit": boundary.shares[r] / ONE,
        "scale": boundary.scales[r],
        "cell": boundary.cell,
    }
    noisy = drawn(partial(gaussian_cells, stream=stream, round=r, **how), columns, counts)
    noisy += columns["noisy"]
    crossed = counts & (noisy > mechanism.limits_in_cells(r)[listed.astype(np.int64)])
    released = columns["released"] | crossed
    priority = mechanism.priority(noisy * boundary.cell, listed, r)
    priority *= counts & ~crossed
    opened = ~released if mechanism.discover else listed & ~released
    return {"noisy": noisy, "released": released, "priority": priority, "open": opened}


def _decide(columns: Columns, mechanism: CandidatesMechanism, cut: float) -> Columns:
    tails = mechanism.tails(columns)
    within = columns["listed"] & (tails <= mechanism.reach) & (tails / mechanism.weights(columns) <= cut)
    return {"released": columns["released"] | within}


def _show_listed(columns: Columns) -> Columns:
    return {SHOWN + LISTED: columns["listed"]}
