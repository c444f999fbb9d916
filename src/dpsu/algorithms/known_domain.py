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

from dpsu.algorithms.mechanism import CELLS_PER_SIGMA, GaussianSelection, threshold_in_cells
from dpsu.algorithms.weighted import even_rule
from dpsu.engines.contract import Engine
from dpsu.privacy.gaussian import upper_quantile
from dpsu.randomness.stream import Purpose, Stream

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
