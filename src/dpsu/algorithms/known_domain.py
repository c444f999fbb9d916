"""A set union over a domain that is known beforehand: DPNE's levels above the first.

Kim, Gopi, Kulkarni and Yekhanin (2021). Who knows all that could come out needs no delta for what one user alone
holds, but must then let members of the domain that nobody holds come out as well, as often as noise alone lifts them
over the threshold. Proof: docs/ngrams.md.
"""

from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsu.algorithms.mechanism import CELLS_PER_SIGMA, GaussianSelection, threshold_in_cells
from dpsu.algorithms.weighted import even_rule
from dpsu.engines.contract import Engine
from dpsu.privacy.gaussian import upper_quantile
from dpsu.randomness.stream import Purpose, Stream
from dpsu.sets.user_sets import Digests, digest_order, places

SPURIOUS = 0.01
"""About the number of released absent n-grams per n-gram of the level before."""

BITS = 640
"""Precision of the draws below: uniforms of 512 bits, so that no chance is off by more than 2^-500."""


@dataclass(frozen=True)
class KnownDomain:
    """Weighted Gaussian with a threshold that absent members of the domain pass with a known chance."""

    sigma: float
    threshold: float
    max_items: int

    def select(self, engine: Engine, sets: Any, stream: Stream) -> Any:
        """The engine's table of items with the columns `released` and `held`."""
        rule = even_rule(self.max_items, norm=2)
        rows = engine.bound(sets, self.max_items, stream)
        items = engine.weigh(rows, engine.items(sets), rule)
        return engine.update(items, GaussianSelection(self.sigma, self.threshold).step(stream, rule.unit))

    def absent(self, domain: int, stream: Stream) -> list[int]:
        """The members of `range(domain)` that are released although nobody holds them, each by its own exact coin."""
        last_out = threshold_in_cells(self.threshold, self.sigma / CELLS_PER_SIGMA)
        return hits(domain, NormalTail(Fraction(2 * last_out + 1, 2 * CELLS_PER_SIGMA)), stream)


def known_domain(sigma: float, before: int, domain: int, max_items: int) -> KnownDomain:
    """The mechanism for a level whose domain was made from `before` released n-grams; both numbers are public."""
    chance = SPURIOUS * (min(1.0, before / domain) if domain else 1.0)
    return KnownDomain(sigma, sigma * float(upper_quantile(chance)), max_items)


@dataclass(frozen=True)
class NormalTail:
    """The chance P(N(0, 1) >= z)."""

    z: Fraction


def hits(domain: int, chance: Fraction | NormalTail, stream: Stream) -> list[int]:
    """The members of `range(domain)` that independent coins choose, each with this chance.

    One draw per member chosen: the gaps between them are geometric.
    """
    import mpmath

    context = mpmath.MPContext()
    context.prec = BITS
    if isinstance(chance, NormalTail):
        p = context.ncdf(-context.mpf(chance.z.numerator) / chance.z.denominator)
    else:
        p = context.mpf(chance.numerator) / chance.denominator
    if p == 0:
        return []
    if p == 1:
        return [*range(domain)]
    miss = context.log1p(-p)
    chosen: list[int] = []
    place = -1
    for draw in count():
        bits = stream.extension(Purpose.ABSENT, 0, np.array([draw, 0], np.uint64), 0)
        place += 1 + int(context.floor(context.log(context.mpf(2 * bits + 1) / 2**513) / miss))
        if place >= domain:
            return chosen
        chosen.append(place)
    raise AssertionError("unreachable")


class Joins:
    """All n-grams whose first and last n-1 words are in a set of (n-1)-grams: counted, and numbered without being listed.

    The numbers follow the digests of words, since the codes of words depend on the order in which the text was read.
    """

    def __init__(self, parts: NDArray[np.uint32], digests: Digests) -> None:
        used = np.unique(parts)
        order = digest_order(digests[used])
        self._codes: NDArray[np.uint32] = used[order]
        parts = places(order)[np.searchsorted(used, parts)]
        self._parts = parts = parts[np.lexsort(parts.T[::-1])]
        heads, tails = parts[:, :-1], parts[:, 1:]
        shared = np.unique(np.vstack([tails, heads]), axis=0, return_inverse=True)[1].reshape(-1)
        ends_in, begins_with = shared[: len(parts)], shared[len(parts) :]
        width = int(shared.max(initial=-1)) + 1
        self._left, self._right = np.argsort(ends_in, kind="stable"), np.argsort(begins_with, kind="stable")
        lefts, self._rights = np.bincount(ends_in, minlength=width), np.bincount(begins_with, minlength=width)
        self._first_left = np.cumsum(lefts) - lefts
        self._first_right = np.cumsum(self._rights) - self._rights
        self._ends = np.cumsum(lefts * self._rights)

    def __len__(self) -> int:
        return int(self._ends[-1]) if self._ends.size else 0

    def words(self, members: list[int]) -> NDArray[np.uint32]:
        """The words of the members with these numbers, a row for each."""
        numbers = np.array(members, np.int64)
        block = np.searchsorted(self._ends, numbers, side="right")
        inside = numbers - np.concatenate([[0], self._ends])[block]
        left, right = np.divmod(inside, self._rights[block])
        heads = self._parts[self._left[self._first_left[block] + left]]
        tails = self._parts[self._right[self._first_right[block] + right]]
        found: NDArray[np.uint32] = self._codes[np.hstack([heads, tails[:, -1:]])]
        return found
