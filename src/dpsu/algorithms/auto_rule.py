"""The public rule of `auto`: which algorithm and which max_items, from a noisy histogram of set sizes or a hint.

The rule was fixed on synthetic data (docs/auto-study.md). The verifier has its own copy; a change here needs a new VERSION.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence

VERSION = "auto/1"

BINS = (1, 2, 3, 4, 6, 9, 17, 31, 101, 301, 1001)
"""The smallest size of each bin; the last bin has no end."""

MIDDLES = (1.0, 2.0, 3.0, 4.5, 7.0, 12.0, 23.0, 55.0, 170.0, 550.0, 2000.0)
"""The size that stands for each bin."""

FOCUSED, ORDERED, POLICY = "focused-gaussian", "ordered-laplace", "policy-laplace"

MAX_ITEMS = 300
"""The largest max_items of the rule, and that of a histogram that is too noisy to tell."""

CANDIDATES = (10, 30, 100, 300)

CLEAR = 4.0
"""How many standard deviations of its noise the number of all users must exceed."""

SEEN = 6.0
"""How many noise scales a bin must exceed to count."""

COVERED = 0.98
"""The share of the users whose sets the cut should leave whole."""

CONSTANT, MEAN, POPULAR, POPULAR_SQUARED, POPULAR_HARMONIC = 0.394, -0.42, 0.105, -0.0234, 0.0574
"""Coefficients of the score: the logarithm of what the ℓ1 family releases, divided by what Focused Gaussian releases."""

IN_PARTS = -0.18
"""What parts add to the score: they cost the ℓ1 family a sixth of its items."""

TURN, TURN_IN_PARTS = 4.2, 2.2
"""The typical size up to which a hint chooses the ℓ1 family."""

FEW, LARGE_EPSILON = 2.5, 6.0
"""Below this mean size and from this epsilon on, raising all items evenly releases more than filling them in order."""


def by_size(typical: float, epsilon: float, parts: int) -> str:
    """The algorithm for users of this typical number of items."""
    return FOCUSED if typical > (TURN if parts == 1 else TURN_IN_PARTS) else within_l1(typical, epsilon)


def within_l1(typical: float, epsilon: float) -> str:
    """The better of the ℓ1 family."""
    return POLICY if typical < FEW and epsilon >= LARGE_EPSILON else ORDERED


def score(clear: Sequence[int], popular: int, parts: int) -> float:
    """The expected logarithm of the ratio of the ℓ1 family to Focused Gaussian.

    Sizes count by their mean and, with many popular items, by their harmonic mean.
    """
    known = math.log1p(popular)
    total = (
        CONSTANT
        + MEAN * math.log(mean_size(clear))
        + POPULAR * known
        + POPULAR_SQUARED * known**2
        + POPULAR_HARMONIC * known * math.log(harmonic_size(clear))
    )
    return total if parts == 1 else total + IN_PARTS


def mean_size(clear: Sequence[int]) -> float:
    """The mean of the sizes."""
    return sum(count * size for count, size in zip(clear, MIDDLES, strict=True)) / sum(clear)


def harmonic_size(clear: Sequence[int]) -> float:
    """The harmonic mean of the sizes."""
    return sum(clear) / sum(count / size for count, size in zip(clear, MIDDLES, strict=True))


def seen(users: Sequence[int], scale: float) -> list[int]:
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
    return MAX_ITEMS


def choose(users: Sequence[int], popular: int, scale: float, epsilon: float, parts: int) -> tuple[str, int]:
    """The algorithm and max_items for this noisy histogram and this number of popular items."""
    clear = seen(users, scale)
    if not clear:
        return FOCUSED, MAX_ITEMS
    if score(clear, popular, parts) < 0:
        return FOCUSED, cut_of(clear)
    return within_l1(mean_size(clear), epsilon), MAX_ITEMS


def choose_by_set_size(size: int, epsilon: float, parts: int) -> str:
    """The algorithm for many users who all have this number of items, of which none is popular."""
    place = bisect_right(BINS, size) - 1
    return choose([int(bin == place) for bin in range(len(BINS))], 0, 0.0, epsilon, parts)[0]


def choose_by_hint(typical: float, epsilon: float, parts: int) -> tuple[str, int]:
    """The same for a typical number of items that the caller knows: room for users with ten times as many."""
    algorithm = by_size(typical, epsilon, parts)
    if algorithm != FOCUSED:
        return algorithm, MAX_ITEMS
    return algorithm, next((size for size in CANDIDATES if size >= 10 * typical), MAX_ITEMS)
