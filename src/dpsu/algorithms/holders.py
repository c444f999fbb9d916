"""Counts, sums and others beside a release: what is asked for, its share of the budget, and its noise.

A user who holds s released items gives min(1, sqrt(C/s)) to the count of each, so all counts together have an ℓ2-sensitivity
of sqrt(C), where C is `max_items` of the counts; with the number of users beside them of sqrt(C + 1). What a user adds to
all sums of a column is scaled down to the ℓ2-norm B sqrt(S), where B is the largest value and S `sums_max_items`. All noise
composes as Gaussian DP. Proof: docs/counts.md.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dpsu.algorithms.algorithm import Algorithm
from dpsu.algorithms.auto import Auto
from dpsu.algorithms.focused import FocusedGaussian, FocusedMechanism
from dpsu.algorithms.mechanism import Mechanism, fewest_users
from dpsu.algorithms.ranges import MAX_ITEMS
from dpsu.algorithms.request import Request
from dpsu.algorithms.share import focused_within, whole_budget
from dpsu.errors import InvalidArgument
from dpsu.hints import known_arguments
from dpsu.outcome.columns import HOLDERS
from dpsu.privacy import gaussian
from dpsu.privacy.budget import Budget
from dpsu.sources.values import Bounds, checked_bounds

SHARE, SHARE_BESIDE_SUMS = 0.15, 0.1
"""Default share of the budget for counts, alone and beside sums."""

SUMS_SHARE, OTHERS_SHARE = 0.25, 0.02
"""Default shares of the budget: for all sums together, for all that is said of others."""

LEAST_SHARE = 1e-6
"""A smaller share of counts would be lost in the rounding of all shares together, and its statement would be rejected."""

EPSILON_MARGIN = 2.0**-36
"""Relative margin on the epsilon that has a given mu, far above the rounding of both."""

DEFAULT_CUT = 5
HALF_WIDTH = 1.96
"""95 % of normal noise lies within this many noise scales."""


def half_width(sigma: float) -> float:
    """The 95 % half-width of this noise: three digits, rounded up."""
    half = HALF_WIDTH * sigma
    digits = 2 - math.floor(math.log10(half))
    return round(math.ceil(half * 10.0**digits) / 10.0**digits, max(digits, 0))


BESIDE = "It is an argument of dpsu.release, beside counts."


@dataclass(frozen=True)
class Counts:
    """How holders are counted: `share` of the budget, and up to which number of released items a user counts in full.

    `share` is 0.15 unless given, and 0.1 beside sums. A user with s released items counts as min(1, sqrt(max_items/s)) for
    each of them. A smaller `max_items` means less noise and counts that are too low for items of users with many items.
    `sums_share` is for all sums together, `others_share` for what is said of all items that were not released. A user's
    totals are scaled down if their squares exceed `sums_max_items` squares of the largest total within the bounds; half of
    `max_items` unless given. Counts are compared with those of items that came out alike, rounded, not negative, and not
    below the holders that an item needs to be released; with `raw=True` they are as drawn.

    >>> import dpsu
    >>> data = {n: ["bread", "milk"] for n in range(5000)}
    >>> release = dpsu.release(data, epsilon=1, delta=1e-6, counts=dpsu.Counts(share=0.3, max_items=2))
    >>> all(4900 < count < 5100 for count in release.counts.values())
    True
    """

    share: float | None = None
    max_items: int | None = None
    sums_share: float = SUMS_SHARE
    others_share: float = OTHERS_SHARE
    raw: bool = False
    sums_max_items: int | None = None

    def __post_init__(self) -> None:
        for name in ("share", "sums_share", "others_share"):
            value = getattr(self, name)
            if name == "share" and value is None:
                continue
            number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
            if not number or not LEAST_SHARE <= value < 1:
                raise InvalidArgument(
                    f"{name} of counts must be at least {LEAST_SHARE:g} and below 1, not {value!r}."
                )
            object.__setattr__(self, name, float(value))
        for name in ("max_items", "sums_max_items"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, MAX_ITEMS.check(f"{name} of counts", value))


Counts.__init__ = known_arguments(sums=BESIDE, others=BESIDE)(Counts.__init__)  # type: ignore[method-assign]


@dataclass(frozen=True)
class CountingTerms:
    """All that is measured of a release, with its shares; `max_items` None means that of the release.

    `free` says that `auto` may replace max_items by one that fits the sizes that it finds. `notes` are for the curator;
    `advice` names the arguments that make counts less noisy.
    """

    share: float = SHARE
    with_users: bool = False
    max_items: int | None = None
    free: bool = False
    sums: Mapping[str, Bounds] = field(default_factory=dict)
    sums_share: float = SUMS_SHARE
    others: bool = False
    others_share: float = OTHERS_SHARE
    sums_max_items: int | None = None
    raw: bool = True
    notes: tuple[str, ...] = ()
    advice: str = "counts=dpsu.Counts(share=…, max_items=…) (--counts-share, --counts-max-items)"

    def __post_init__(self) -> None:
        if not LEAST_SHARE <= self.share < 1:
            raise InvalidArgument(
                f"the share of counts must be at least {LEAST_SHARE:g} and below 1, not {self.share!r}."
            )
        if not self.whole_share < 1:
            raise InvalidArgument(
                f"counts, sums and others take {self.whole_share:g} of the budget: nothing is left for the items."
            )

    @property
    def whole_share(self) -> float:
        """The share of all parts together."""
        return math.fsum(
            [self.share, *([self.sums_share] if self.sums else []), self.others * self.others_share]
        )


DEFAULT_TERMS = CountingTerms()

DEFAULT_NOTE = (
    f"Counts use the default cut: a user with more than {DEFAULT_CUT} released items (max_items, if that is smaller) counts "
    "for less than 1 in each. If users hold more, counts are too low; if they hold fewer, a smaller cut has less noise: "
    "counts=dpsu.Counts(max_items=…) (--counts-max-items)."
)


def counting_terms(
    counts: "bool | Counts", sums: Mapping[str, Any] | None = None, others: bool = False
) -> CountingTerms | None:
    """The terms for the arguments of a public function; None if nothing is measured."""
    if not isinstance(counts, bool | Counts):
        raise InvalidArgument(f"counts must be True, False or dpsu.Counts(…), not {counts!r}.")
    if not isinstance(others, bool):
        raise InvalidArgument(f"others must be True or False, not {others!r}.")
    bounds = checked_bounds(sums or {})
    if not counts and not bounds and not others:
        return None
    asked = counts if isinstance(counts, Counts) else Counts()
    return CountingTerms(
        share=asked.share or (SHARE_BESIDE_SUMS if bounds else SHARE),
        max_items=asked.max_items or DEFAULT_CUT,
        free=asked.max_items is None,
        sums=bounds,
        sums_share=asked.sums_share,
        others=others,
        others_share=asked.others_share,
        sums_max_items=asked.sums_max_items,
        raw=asked.raw,
        notes=() if asked.max_items else (DEFAULT_NOTE,),
    )


@dataclass(frozen=True)
class Counting:
    """Counts of a release: the whole request, the budget of all parts, their noise, and their entry in the statement.

    `cut` is the squared ℓ2-norm of what one user gives to all counts, `sums_cut` that of what one user adds to all sums of a
    column, in squares of its largest value. `sums` and `others` have a noise scale per name; that of the number of users
    among the others has the name "". Counts of items that the mechanism selected are not below `floor`. `totals` says that
    its noisy totals are a second measurement of them.
    """

    request: Request
    budget: Budget
    sigma: float
    stated: dict[str, Any]
    terms: CountingTerms
    cut: int
    sums_cut: int
    sums: Mapping[str, float] = field(default_factory=dict)
    others: Mapping[str, float] = field(default_factory=dict)
    floor: int = 0
    totals: bool = False

    def beside(self, mechanism: Mechanism) -> "Counting":
        """These counts with the `floor` that the release itself implies and with its totals, unless they are raw.

        A holder gives an item most if it is the holder's only one. Items with fewer holders than the floor have a chance of
        less than 50 % even then. The floor is public: it follows from the calibration.
        """
        if self.terms.raw:
            return self
        alone = fewest_users(lambda users: float(mechanism.chance(np.array([users]), 1)[0]), 0.5)
        return replace(self, floor=alone or 0, totals=isinstance(mechanism, FocusedMechanism))

    def settled(self, mechanism: Mechanism, fixed: Mapping[str, Any]) -> "Counting":
        """These counts after the mechanism has selected: `fixed` are the parameters that its private steps fixed."""
        return self.beside(mechanism)

    def recut(self, max_items: int, told: Mapping[str, Any]) -> "Counting":
        """The same budget and shares with another cut, of which the statement says what is `told`."""
        terms = replace(self.terms, max_items=max_items, notes=())
        made = count_beside(self.request, terms, self.budget.mu, [self.request.max_items])
        apart = {name: value for name, value in self.stated.items() if name in ("epsilon", "delta")}
        return replace(made, stated={**made.stated, **apart, **told})

    @property
    def depends(self) -> str:
        """What the errors depend on that is not known before the run, for plans."""
        return ""

    @property
    def with_users(self) -> bool:
        """Whether the users are counted, too."""
        return self.terms.with_users

    def errors(self) -> dict[str, Any]:
        """The cuts, the floor, and the 95 % half-widths of all noise: public, and known before data is read."""
        return {
            "max_items": self.cut,
            "half_width": half_width(self.sigma),
            "floor": self.floor,
            **({"sums_max_items": self.sums_cut} if self.sums else {}),
            "sums": {name: half_width(sigma) for name, sigma in self.sums.items()},
            "others": {name or HOLDERS: half_width(sigma) for name, sigma in self.others.items()},
        }


def share_with_counts(
    algorithm: Algorithm, request: Request, terms: CountingTerms = DEFAULT_TERMS
) -> tuple[Mechanism, Counting]:
    """The algorithm and counts of what it releases, which together keep the request's promise.

    Counts take their share of the squared mu beside Focused Gaussian, with options or candidates too, and of epsilon and
    delta beside all others; beside `auto`, each branch does as it would by itself.
    """
    if isinstance(algorithm, Auto):
        from dpsu.algorithms.branch_counts import share_in_branches

        return share_in_branches(algorithm.calibrate(request), terms)
    if algorithm == FocusedGaussian():
        return share_mu(request, request.max_items, whole_budget(request), terms)
    if algorithm.name == FocusedGaussian.name:
        return _share_mu_of(algorithm, request, terms)
    return share_apart(algorithm, request, terms)


def share_mu(
    request: Request, max_items: int, whole: Budget, terms: CountingTerms
) -> tuple[Mechanism, Counting]:
    """Focused Gaussian with this max_items, and counts that share the squared mu of a budget with it."""
    items, counts = whole.split([1 - terms.whole_share, terms.whole_share])
    mechanism = focused_within(replace(request, max_items=max_items), Budget(items.mu, whole.delta_new))
    return mechanism, count_beside(request, terms, counts.mu, [request.max_items])


def _share_mu_of(algorithm: Algorithm, request: Request, terms: CountingTerms) -> tuple[Mechanism, Counting]:
    """The same for Focused Gaussian with options or candidates.

    Its noise takes a fixed part of delta, so it has a smaller mu and the same chance of new items at a smaller epsilon.
    """
    whole = algorithm.calibrate(request).budget()
    assert whole is not None
    items, counts = whole.split([1 - terms.whole_share, terms.whole_share])
    delta_noise = gaussian.delta_gaussian(request.epsilon, whole.mu)
    low, high = 0.0, request.epsilon
    while low < (middle := (low + high) / 2) < high:
        low, high = (
            (middle, high) if gaussian.delta_gaussian(middle, items.mu) > delta_noise else (low, middle)
        )
    epsilon = low * (1 - EPSILON_MARGIN)
    mechanism = algorithm.calibrate(replace(request, epsilon=epsilon))
    spent = mechanism.budget()
    assert spent is not None
    assert spent.mu <= items.mu
    assert spent.delta_new <= whole.delta_new
    return mechanism, count_beside(request, terms, counts.mu, [request.max_items])


def share_apart(algorithm: Algorithm, request: Request, terms: CountingTerms) -> tuple[Mechanism, Counting]:
    """The algorithm and counts with an epsilon and a delta of their own."""
    share = terms.whole_share
    taken = {"epsilon": share * request.epsilon, "delta": share * request.delta}
    epsilon, delta = request.epsilon - taken["epsilon"], request.delta - taken["delta"]
    left = replace(request, epsilon=math.nextafter(epsilon, 0), delta=math.nextafter(delta, 0))
    counting = count_beside(request, terms, gaussian.mu_for(**taken), [request.max_items])
    return algorithm.calibrate(left), replace(counting, stated={**counting.stated, **taken})


def count_beside(request: Request, terms: CountingTerms, mu: float, bounds: Sequence[int]) -> Counting:
    """Counts, sums and others that are mu-Gaussian private together.

    `bounds` are the most items of a user in each table that is counted, one per level. A cut that the caller did not choose
    is at most that. The parts share the squared mu.
    """
    cut = terms.max_items or max(bounds)
    if terms.free or len(bounds) > 1:
        cut = min(cut, max(bounds))
    squared = (cut if len(bounds) == 1 else sum(min(cut, most) for most in bounds)) + terms.with_users
    sums_cut = terms.sums_max_items or max(1, cut // 2)

    def scale(share: float, squared_sensitivity: float, bound: float = 1.0) -> float:
        own = mu * math.sqrt(share / terms.whole_share) * (1 - 2**-50)
        return counting_noise(own, squared_sensitivity) * bound * (1 + 2**-50)

    sigma = scale(terms.share, squared)
    stated: dict[str, Any] = {
        "sigma": sigma,
        "squared_sensitivity": squared,
        "max_items": cut,
        "share": terms.whole_share,
    }
    sums, others = {}, {}
    if terms.sums:
        share = terms.sums_share / len(terms.sums)
        sums = {name: scale(share, sums_cut, bounds.largest) for name, bounds in terms.sums.items()}
        stated["sums"] = [
            {
                "column": name,
                "low": each.low,
                "high": each.high,
                "max_items": sums_cut,
                "share": share,
                "sigma": sums[name],
            }
            for name, each in terms.sums.items()
        ]
    if terms.others:
        share = terms.others_share / (1 + len(terms.sums))
        others = {"": scale(share, 1)}
        others |= {name: scale(share, 1, bounds.largest) for name, bounds in terms.sums.items()}
        stated["others"] = {
            "share": share,
            "sigma": others[""],
            "sums": [{"column": name, "sigma": others[name]} for name in terms.sums],
        }
    return Counting(request, Budget(mu, 0.0), sigma, stated, terms, cut, sums_cut, sums, others)


def counting_noise(mu: float, squared_sensitivity: float) -> float:
    """The noise that makes counts mu-Gaussian private, if what one user adds to all of them has this squared ℓ2-norm."""
    return math.sqrt(squared_sensitivity) / mu * (1 + 2**-50)
