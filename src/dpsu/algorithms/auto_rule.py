"""The public rule of `auto`: which algorithm and which max_items, from a noisy histogram of set sizes or a hint.

The rule was fitted on synthetic data (docs/auto-study.md). The verifier has its own copy; a change here needs a new VERSION.
`middle` is the midpoint of the release curve of the ℓ1 family, in budgets: about as many users an item needs at least.
"""

import math
from collections.abc import Sequence

VERSION = "auto/1"

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
"""Larger sizes count as this in the mean, so that a bin of noise moves it little."""

COVERED = 0.98
"""The share of the users whose sets the cut should leave whole."""

CONSTANT, MEAN, POPULAR, USERS, MIDDLE = 0.733, -0.226, 0.068, -0.049, 0.028
"""Coefficients of the score: near 0 it is about the logarithm of what the ℓ1 family releases, divided by what Focused
Gaussian releases."""

MOST_USERS = 10**6
"""More users than in any shape of the study count as this in the score."""

IN_PARTS, MIDDLE_IN_PARTS = -0.248, 0.058
"""What parts add to the score, at most 0: they cost the ℓ1 family a fifth of its items where an item needs two budgets, and
hardly any where it needs fifty."""

FEW, MANY = 2.5, 8.0
"""Below the first mean size the ℓ1 family released more in all shapes of the study, above the last it hardly ever did."""

TURN, TURN_IN_PARTS = 4.2, 3.7
"""The typical size up to which a hint chooses the ℓ1 family."""

EVEN_FROM, EVEN_TO = 2.15, 2.48
"""With a midpoint between these and a mean size below FEW, raising all items of a user evenly releases more than filling
them in order: two whole budgets are too little then, and five half ones are enough."""


def by_size(typical: float, middle: float, parts: int) -> str:
    """The algorithm for users of this typical number of items."""
    return FOCUSED if typical > (TURN if parts == 1 else TURN_IN_PARTS) else within_l1(typical, middle)


def within_l1(typical: float, middle: float) -> str:
    """The better of the ℓ1 family."""
    return POLICY if typical < FEW and EVEN_FROM <= middle <= EVEN_TO else ORDERED


def score(clear: Sequence[int], popular: int, middle: float, parts: int) -> float:
    """Above 0 the ℓ1 family is expected to release more than Focused Gaussian."""
    total = (
        CONSTANT
        + MEAN * math.log(mean_size(clear))
        + POPULAR * math.log1p(popular)
        + USERS * math.log(min(sum(clear), MOST_USERS))
        + MIDDLE * math.log(middle)
    )
    return total if parts == 1 else total + min(0.0, IN_PARTS + MIDDLE_IN_PARTS * math.log(middle))


def mean_size(clear: Sequence[int]) -> float:
    """The mean of the sizes, with large ones cut."""
    return sum(count * min(size, LARGE) for count, size in zip(clear, MIDDLES, strict=True)) / sum(clear)


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
    return CANDIDATES[-1]


def choose(
    users: Sequence[int], popular: int, scale: float, middle: float, parts: int, counted: bool = False
) -> tuple[str, int]:
    """The algorithm and max_items for this noisy histogram and this number of popular items.

    Beside counts only small sets mean the ℓ1 family: counts have about 2.5 times the noise there.
    """
    clear = seen(users, scale)
    if not clear:
        return FOCUSED, UNKNOWN
    mean = mean_size(clear)
    if mean < FEW or (not counted and mean <= MANY and score(clear, popular, middle, parts) >= 0):
        return within_l1(mean, middle), MAX_ITEMS
    return FOCUSED, cut_of(clear)


def choose_by_hint(typical: float, middle: float, parts: int) -> tuple[str, int]:
    """The same for a typical number of items that the caller knows: room for users with ten times as many."""
    algorithm = by_size(typical, middle, parts)
    if algorithm != FOCUSED:
        return algorithm, MAX_ITEMS
    return algorithm, next((size for size in CANDIDATES if size >= 10 * typical), MAX_ITEMS)
