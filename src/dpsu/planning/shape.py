"""The shape of data: numbers that a curator knows beforehand, and synthetic sets of that shape.

Huge shapes are drawn smaller, with fewer users and fewer items. A group of rare items becomes one item, and the group is as
large as the factor by which the number of users is reduced. So a rare item keeps its number of holders, and a user's set
keeps its share of rare items. Popular items lose holders, but still have several times as many as a release needs.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpsu.algorithms.ranges import Range
from dpsu.errors import InvalidArgument
from dpsu.hints import known_arguments

Sizes = Literal["fixed", "heavy"]

USERS = Range(1, 10**7, "a larger number of users cannot be simulated in seconds", whole=True)
ITEMS = Range(1, 10**7, "a larger number of items cannot be simulated in seconds", whole=True)
ITEMS_PER_USER = Range(1, 1000, "it is the mean size of a user's set")
ZIPF = Range(0, 3, "it is the exponent of Zipf's law, about 1 for words")
PAIRS_PER_ITEM, FEWEST_ITEMS = 8, 1000
"""Defaults for the number of items that exist."""

SPREAD = 1.0
"""Standard deviation of the logarithm of heavy-tailed set sizes."""

ROOM = 0.02
"""Smallest share of the law that the items outside a user's set may have: items are drawn until enough of them differ."""


@dataclass(frozen=True)
class Shape:
    """The shape of data that a plan simulates; all of it is public knowledge or a guess, never computed from private data.

    `items_per_user` is the mean size of a user's set. With `sizes="fixed"` all sets have this size; with "heavy" the sizes
    are heavy-tailed (log-normal), as those of words per author. Items are drawn by Zipf's law: the item of rank r has a
    probability proportional to r^-zipf. `items` is how many items exist; the default is one per 8 pairs, at least 1000.

    >>> import dpsu
    >>> dpsu.Shape(users=40_000, items_per_user=4)
    Shape(users=40000, items_per_user=4.0, zipf=1.0, sizes='fixed', items=20000)
    """

    users: int
    items_per_user: float
    zipf: float = 1.0
    sizes: Sizes = "fixed"
    items: int | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "users", USERS.check("users", self.users))
        put(self, "items_per_user", ITEMS_PER_USER.check("items_per_user", self.items_per_user))
        put(self, "zipf", ZIPF.check("zipf", self.zipf))
        if self.sizes not in ("fixed", "heavy"):
            raise InvalidArgument(f"sizes must be 'fixed' or 'heavy', not {self.sizes!r}.")
        if self.items is None:
            least = max(FEWEST_ITEMS, 20 * math.ceil(self.items_per_user))
            put(self, "items", min(max(least, round(self.pairs) // PAIRS_PER_ITEM), int(ITEMS.high)))
        else:
            put(self, "items", ITEMS.check("items", self.items))
        if _largest_set(self._law()) < math.ceil(self.items_per_user):
            raise InvalidArgument(
                f"items_per_user={self.items_per_user:g} is too large for items={self.items} and zipf={self.zipf:g}: all "
                "users would hold the same items. Give more items, a smaller zipf or smaller sets."
            )

    @property
    def pairs(self) -> float:
        """The mean number of pairs (user, item)."""
        return self.users * self.items_per_user

    def draw(self, rng: np.random.Generator, popular: float, factor: float = 1.0) -> "Drawn":
        """Sets of this shape, with the number of users divided by `factor`.

        Items with more than `popular` expected holders may lose holders down to this number.
        """
        from dpsu.datasets import draw_sets

        law = self._law()
        holders = self.pairs * law
        group = np.clip(popular * factor / np.maximum(holders, 1e-9), 1.0, factor)
        number = np.floor(np.cumsum(1 / group) - 1e-9).astype(np.int64)
        count = np.bincount(number).astype(np.float64)
        # By the size that a group should have: of 1.25, some have 1 item and some 2, and none may gain or lose holders.
        shares = np.bincount(number, weights=law) * np.bincount(number, weights=group) / count**2
        shares /= shares.sum()
        sizes = self._draw_sizes(rng, max(1, round(self.users / factor)), _largest_set(shares))
        return Drawn(sizes, draw_sets(sizes, np.cumsum(shares), rng), count)

    def _law(self) -> NDArray[np.float64]:
        assert self.items is not None
        law = np.arange(1, self.items + 1, dtype=np.float64) ** -self.zipf
        return np.asarray(law / law.sum(), np.float64)

    def _draw_sizes(self, rng: np.random.Generator, users: int, largest: int) -> NDArray[np.int64]:
        """Sizes of at least 1 with the right mean; larger ones than can be drawn are cut."""
        more = np.full(users, self.items_per_user - 1)
        if self.sizes == "heavy":
            more *= np.exp(rng.normal(-(SPREAD**2) / 2, SPREAD, users))
        sizes = 1 + np.floor(more + rng.random(users)).astype(np.int64)
        return np.minimum(sizes, largest)

    def __str__(self) -> str:
        spread = "" if self.sizes == "fixed" else " on average (heavy-tailed)"
        return (
            f"{self.users:,} users, {self.items_per_user:g} item{'' if self.items_per_user == 1 else 's'} each{spread}, "
            f"of {self.items:,} items, Zipf {self.zipf:g}"
        )


Shape.__init__ = known_arguments()(Shape.__init__)  # type: ignore[method-assign]


@dataclass(frozen=True)
class Drawn:
    """Synthetic sets: the users' sizes, the items of all users one after the other, and how many items each stands for."""

    sizes: NDArray[np.int64]
    items: NDArray[np.int64]
    stands_for: NDArray[np.float64]


def _largest_set(law: NDArray[np.float64]) -> int:
    """The largest set that can be drawn: the law of all items outside the most popular ones is at least ROOM."""
    inside = np.cumsum(np.sort(law)[::-1])
    return max(1, int(np.searchsorted(inside, 1 - ROOM)))
