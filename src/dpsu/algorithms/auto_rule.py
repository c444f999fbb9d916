"""The public rule of `auto`: which algorithm and which max_items, from noisy sizes and a noisy demand, or from a hint.

The rule was fitted on synthetic data (docs/auto-study.md). The verifier has its own copy; a change here needs a new VERSION.
`middle` is the midpoint of the release curve of the ℓ1 family, in budgets: about as many users an item needs at least.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

VERSION = "auto/2"

BINS = (1, 2, 3, 4, 6, 9, 17, 31, 101, 301, 1001)
"""The smallest size of each bin; the last bin has no end."""

MIDDLES = (1.0, 2.0, 3.0, 4.5, 7.0, 12.0, 23.0, 55.0, 170.0, 550.0, 2000.0)
"""The size that stands for each bin."""

FOCUSED, ORDERED, POLICY = "focused-gaussian", "ordered-laplace", "policy-laplace"

CANDIDATES = (3, 10, 30, 100, 300, 1000)
"""The values of max_items for Focused Gaussian."""

MAX_ITEMS = CANDIDATES[-1]
"""The max_items of the ℓ1 family, whose noise does not depend on it."""

UNKNOWN = CANDIDATES[-1]
"""The max_items of Focused Gaussian if the histogram is too noisy to tell: few users only share many items if their sets are
large."""

CLEAR = 5.0
"""How many standard deviations of its noise the number of all users must exceed."""

SEEN = 3.5
"""How many noise scales a bin must exceed to count."""

LARGE = 55.0
"""Larger sizes count as this in the mean that finds small sets, so that a bin of noise moves it little."""

COVERED = 0.98
"""The share of the users whose sets the cut should leave whole."""

FEW, FEW_IN_PARTS = 3.0, 2.5
"""With a smaller mean size the ℓ1 family released more in nearly all shapes of the study."""

DEMAND = 2.0
"""With at most this demand it released more in most of the other shapes, if all sets have one size."""

LOW_DEMAND = 0.8
"""With at most this demand there are budgets for a higher cutoff, which leaves out fewer items that many users hold."""

ALPHA, ALPHA_IF_LOW = 4.0, 8.0
"""Noise scales from the threshold to the cutoff of the ℓ1 family. 0.9 % of the items that many users hold are left out by
chance, and 0.02 % if the demand is low."""

FEW_TYPICAL = 2.0
"""The demand counts as low up to this hint."""

CUTOFFS = 2.0
"""An item is filled in the demand when it has this many times the cutoff of ALPHA."""

WIDTHS = (1, 2, 3, 5, 8, 12, 20, 30, 50, 100, 300, 1000)
"""How many items of a user can count in full in the demand."""

BLURRED = 0.2
"""The largest standard deviation of the demand's noise, unless that means less than half of the mean size."""

LEAST_DEMAND = 1e-6
"""A smaller demand is noise, and counts as this."""

CAUTION = 0.5
"""Standard deviations of its noise that are added to the demand."""

IN_PARTS, MIDDLE_IN_PARTS = -0.93, 0.3
"""What parts add to the logarithm of the largest demand, at most 0: they cost the ℓ1 family a fifth of its items where an
item needs two budgets, and hardly any where it needs fifty."""

TURN, TURN_IN_PARTS = 4.2, 3.7
"""The typical size up to which a hint chooses the ℓ1 family."""

EVEN_FROM, EVEN_TO = 2.15, 2.48
"""With a midpoint between these and a mean size below FEW, raising all items of a user evenly releases more than filling
them in order: two whole budgets are too little then, and five half ones are enough."""


class Branch(NamedTuple):
    """An algorithm, its max_items and, in the ℓ1 family, its alpha."""

    algorithm: str
    max_items: int
    alpha: float | None = None


@dataclass(frozen=True)
class Seen:
    """What the private steps show: noisy numbers of users by size, and the noisy budgets that fill the items.

    `scales` are the noise scales of both. A user gave 1 / max(size, `width`) of a budget to each of their items.
    """

    users: Sequence[int]
    budgets: int
    width: int
    scales: tuple[float, float]

    @property
    def clear(self) -> list[int]:
        """The histogram without bins that its noise explains."""
        return clear_of(self.users, self.scales[0])

    @property
    def demand(self) -> float:
        """Budgets per user that would fill every item, noise and the items beyond the width estimated on the high side."""
        noise = CAUTION * math.sqrt(2) * self.scales[1]
        beyond = mean_size(self.clear) / mean_size(self.clear, self.width)
        return self.width * (self.budgets + noise) / sum(self.clear) * math.sqrt(beyond)


def by_size(typical: float, middle: float, parts: int) -> str:
    """The algorithm for users of this typical number of items."""
    return FOCUSED if typical > (TURN if parts == 1 else TURN_IN_PARTS) else within_l1(typical, middle)


def within_l1(typical: float, middle: float) -> str:
    """The better of the ℓ1 family."""
    return POLICY if typical < FEW and EVEN_FROM <= middle <= EVEN_TO else ORDERED


def largest_demand(middle: float, parts: int) -> float:
    """The demand of equal sets up to which the ℓ1 family is expected to release more than Focused Gaussian."""
    return DEMAND * (1.0 if parts == 1 else math.exp(min(0.0, IN_PARTS + MIDDLE_IN_PARTS * math.log(middle))))


def mean_size(clear: Sequence[int], largest: float = math.inf) -> float:
    """The mean of the sizes; larger ones than `largest` count as that."""
    return sum(count * min(size, largest) for count, size in zip(clear, MIDDLES, strict=True)) / sum(clear)


def gain(clear: Sequence[int], demand: float) -> float:
    """How much more users can give if their squares are bounded, as in Focused Gaussian, than if their sums are.

    Every user has the part d of the demand that belongs to their size, and can give min(d, √d) or min(d, 1).
    """
    each = max(demand, LEAST_DEMAND) / mean_size(clear)
    parts = [(count, each * size) for count, size in zip(clear, MIDDLES, strict=True)]
    squares = sum(count * min(part, math.sqrt(part)) for count, part in parts)
    return squares / sum(count * min(part, 1.0) for count, part in parts)


def clear_of(users: Sequence[int], scale: float) -> list[int]:
    """The histogram without bins that noise of this scale explains; empty if there are too few users to tell."""
    clear = [count if count > SEEN * scale else 0 for count in users]
    told = sum(users) >= CLEAR * math.sqrt(2 * len(users)) * scale and any(clear)
    return clear if told else []


def cut_of(clear: Sequence[int]) -> int:
    """The smallest of the candidates that leaves COVERED of the users whole."""
    ends = [first - 1 for first in BINS[1:]]
    for candidate in CANDIDATES[:-1]:
        within = sum(count for count, end in zip(clear, ends, strict=False) if end <= candidate)
        if within >= COVERED * sum(clear):
            return candidate
    return CANDIDATES[-1]


def width_of(users: Sequence[int], scales: tuple[float, float]) -> int:
    """The width of the demand for this noisy histogram: all of most sets, if the noise then hides little."""
    clear = clear_of(users, scales[0])
    if not clear:
        return WIDTHS[0]
    quiet = BLURRED * sum(clear) / (math.sqrt(2) * scales[1])
    wanted = max(mean_size(clear) / 2, min(cut_of(clear), quiet))
    return max((width for width in WIDTHS if width <= wanted), default=WIDTHS[0])


def choose(seen: Seen, middle: float, parts: int, counted: bool = False) -> Branch:
    """The branch for what the private steps show.

    Beside counts only small sets mean the ℓ1 family: counts have about 2.5 times the noise there.
    """
    clear = seen.clear
    if not clear:
        return Branch(FOCUSED, UNKNOWN)
    mean = mean_size(clear, LARGE)
    few = FEW if parts == 1 else FEW_IN_PARTS
    # For equal sets this is: a demand of at most the largest one.
    little = gain(clear, seen.demand * DEMAND / largest_demand(middle, parts)) <= math.sqrt(DEMAND)
    if mean < few or (little and not counted):
        alpha = ALPHA_IF_LOW if seen.demand <= LOW_DEMAND else ALPHA
        return Branch(within_l1(mean, middle), MAX_ITEMS, alpha)
    return Branch(FOCUSED, cut_of(clear))


def choose_by_hint(typical: float, middle: float, parts: int) -> Branch:
    """The same for a typical number of items that the caller knows: room for users with ten times as many."""
    algorithm = by_size(typical, middle, parts)
    if algorithm != FOCUSED:
        return Branch(algorithm, MAX_ITEMS, ALPHA_IF_LOW if typical <= FEW_TYPICAL else ALPHA)
    return Branch(algorithm, next((size for size in CANDIDATES if size >= 10 * typical), MAX_ITEMS))
