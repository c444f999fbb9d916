"""What was tried to release more than Ordered Laplace: python -m experiments.ordered_ideas

A part of every budget evenly, before the rest goes in order; and orders by noisy totals, paid for with a part of epsilon.
The weights are plain floats, which is good enough for expected numbers of items.
"""

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
from numpy.typing import NDArray

from dpsu.algorithms.policy import DEFAULT_ALPHA
from dpsu.kernels.compiled import kernel
from dpsu.privacy.laplace import ReleaseCurve
from experiments.auto_study import drawn

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DELTA, RUNS = 1e-6, 3
POPULAR, JUST = 4.0, 1.0
"""In cutoffs: above the first an item counts as popular, below the second as hopeless."""


@kernel
def give_evenly(
    indptr: Ints, items: Ints, users: Ints, cutoff: float, budget: float, weights: Floats
) -> None:
    """Users raise all their open items at one pace until the budget is spent, as policy-laplace does."""
    for user in users:
        own = items[indptr[user] : indptr[user + 1]]
        gaps = np.sort(cutoff - weights[own])
        level, left = 0.0, budget
        for place in range(len(gaps)):
            step = (gaps[place] - level) * (len(gaps) - place)
            if step >= left:
                level += left / (len(gaps) - place)
                left = 0.0
                break
            left -= step
            level = gaps[place]
        for item in own:
            weights[item] = min(cutoff, weights[item] + level)


@kernel
def give_in_order(
    indptr: Ints, items: Ints, users: Ints, cutoff: float, budget: float, weights: Floats
) -> None:
    """Users fill their items one after the other, as ordered-laplace does."""
    for user in users:
        left = budget
        for item in items[indptr[user] : indptr[user + 1]]:
            given = min(left, cutoff - weights[item])
            weights[item] += given
            left -= given


class Ideas:
    """The sets of one shape, small sets first, for variants of ordered-laplace in plain floats."""

    def __init__(self, size: float, exponent: float, epsilon: float, seed: int) -> None:
        shape = {"users": 40_000, "size": size, "zipf": exponent, "spread": 0.0, "topics": 0, "items": 20_000}
        frame = drawn(shape, np.random.default_rng([6, seed]))
        self._rng, self._epsilon = np.random.default_rng([7, seed]), epsilon
        items = frame["item"].to_numpy()
        self._items = self._rng.permutation(items.max() + 1)[items]
        self._user = frame["user"].to_numpy()
        self._indptr = np.searchsorted(self._user, np.arange(shape["users"] + 1))
        sizes = np.diff(self._indptr)
        self._turns = np.lexsort((self._rng.random(len(sizes)), sizes))
        self._even = np.bincount(self._items, weights=1 / sizes[self._user])

    def noisy(self, share: float) -> Floats:
        """Totals of evenly divided units with the Laplace noise of this share of epsilon."""
        return self._even + self._rng.laplace(scale=1 / (share * self._epsilon), size=len(self._even))

    def curve(self, spent: float) -> tuple[ReleaseCurve, float]:
        """The release curve of what is left of epsilon, and the cutoff."""
        curve = ReleaseCurve(self._epsilon * (1 - spent), DELTA)
        return curve, curve.midpoint + DEFAULT_ALPHA / curve.epsilon

    def expected(self, evenly: float = 0.0, spent: float = 0.0, rank: Floats | None = None) -> float:
        """The expected items; a part of each budget is given evenly first, the rest in the order of `rank`."""
        curve, cutoff = self.curve(spent)
        order = np.arange(len(self._even), dtype=np.float64) if rank is None else rank
        items = self._items[np.lexsort((order[self._items], self._user))]
        weights = np.zeros(len(self._even))
        if evenly:
            give_evenly(self._indptr, items, self._turns, cutoff, evenly, weights)
        give_in_order(self._indptr, items, self._turns, cutoff, 1 - evenly, weights)
        return float(curve.probability(weights).sum())


def _popular_last(idea: Ideas, share: float) -> float:
    """Items that a noisy look finds popular come last: they are filled anyway."""
    _, cutoff = idea.curve(share)
    noisy = idea.noisy(share)
    return idea.expected(spent=share, rank=np.where(noisy > POPULAR * cutoff, noisy, 0.0))


def _just_enough_first(idea: Ideas, share: float) -> float:
    """Items that a noisy look finds to have just enough weight come first, hopeless ones last."""
    _, cutoff = idea.curve(share)
    noisy = idea.noisy(share)
    return idea.expected(spent=share, rank=np.where(noisy < JUST * cutoff, 1e9 - noisy, noisy))


IDEAS: dict[str, Callable[[Ideas], float]] = {
    "ordered-laplace": lambda idea: idea.expected(),
    "evenly": lambda idea: idea.expected(evenly=1.0),
    "10 % evenly first": lambda idea: idea.expected(evenly=0.1),
    "30 % evenly first": lambda idea: idea.expected(evenly=0.3),
    "popular last, 2 %": lambda idea: _popular_last(idea, 0.02),
    "popular last, 10 %": lambda idea: _popular_last(idea, 0.1),
    "just enough first, 5 %": lambda idea: _just_enough_first(idea, 0.05),
    "just enough first, 20 %": lambda idea: _just_enough_first(idea, 0.2),
}


def table() -> Iterator[str]:
    """Variants of ordered-laplace with 40 000 users, in expected items, by what they change in percent."""
    yield "| data, epsilon | " + " | ".join(IDEAS) + " |"
    yield "|---|" + "---:|" * len(IDEAS)
    for (size, exponent), epsilon in product([(2, 1.0), (4, 1.0), (4, 0.8), (8, 1.0)], (1.0, 3.0, 10.0)):
        found = [
            float(np.mean([run(Ideas(size, exponent, epsilon, seed)) for seed in range(RUNS)]))
            for run in IDEAS.values()
        ]
        changes = [f"{100 * (items / found[0] - 1):+.1f} %" for items in found[1:]]
        yield (
            f"| {size} items, exponent {exponent:g}, {epsilon:g} | {found[0]:,.0f} | "
            + " | ".join(changes)
            + " |"
        )


if __name__ == "__main__":
    for line in table():
        print(line, flush=True)
