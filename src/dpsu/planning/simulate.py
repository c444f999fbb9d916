"""Releases on synthetic or public data, simulated: how many items to expect, and how many holders an item needs."""

import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dpsu.algorithms.auto import AutoMechanism
from dpsu.algorithms.mechanism import Mechanism
from dpsu.engines.local import LocalEngine
from dpsu.errors import InvalidArgument
from dpsu.planning.shape import Shape
from dpsu.randomness.stream import Stream
from dpsu.sets.user_sets import Names, UserSets
from dpsu.sources.source import Source

Floats = NDArray[np.float64]

PAIRS = 800_000
"""Number of pairs that a simulated release has at most, unless an item then needs too large a share of all users."""

MOST_PAIRS = 20_000_000
"""Number of pairs that it has at most in any case."""

ENOUGH = 5
"""Popular items keep at least this many times the holders that give even odds in the worst case."""

ROOM = 4
"""A smaller shape has at least this many times the users that hold its popular items."""

RUNS = ((300_000, 5), (1_500_000, 3), (MOST_PAIRS, 2))
"""Number of simulated releases, by the number of their pairs; 2 for larger files."""

WIDTH = 2.0
"""Half of the band, in standard deviations."""


@dataclass(frozen=True)
class Outlook:
    """What a simulation found: it holds for data of this shape, not for other data.

    `items` is the mean number of items that a release has. `low` and `high` are two standard deviations away from it, of
    one release and of the simulation together. `by_max_items` has the mean for other values of `max_items`, and
    `by_algorithm`, for a plan of `auto`, the mean of a release that names the algorithm.
    """

    data: str
    items: float
    low: float
    high: float
    by_max_items: dict[int, float]
    by_algorithm: dict[str, float]
    runs: int
    factor: float
    _holders: NDArray[np.int64]
    _chances: Floats

    def chance(self, holders: int) -> float:
        """The chance that an item with so many holders is released, as simulated; 0 below all that were seen."""
        place = int(np.searchsorted(self._holders, holders, side="right"))
        return float(self._chances[place - 1]) if place else 0.0

    def holders_needed(self, chance: float = 0.5) -> int | None:
        """The fewest holders that give an item this chance, as simulated; None if no item had it."""
        place = int(np.searchsorted(self._chances, chance))
        return int(self._holders[place]) if place < len(self._holders) else None

    def curve(self, rungs: int = 10) -> list[tuple[int, float]]:
        """Numbers of holders from a small chance to near certainty, with their chances."""
        low, high = self.holders_needed(0.02), self.holders_needed(0.98)
        if low is None:
            return []
        high = int(self._holders[-1]) if high is None else high
        ladder = np.unique(np.geomspace(low, max(high, low), rungs).round().astype(np.int64))
        return [(int(holders), self.chance(int(holders))) for holders in ladder]

    def to_dict(self) -> dict[str, Any]:
        """The outlook as plain data."""
        return {
            "data": self.data,
            "items": self.items,
            "low": self.low,
            "high": self.high,
            "runs": self.runs,
            "simulated_share": 1 / self.factor,
            "holders_for_even_odds": self.holders_needed(),
            "chance": [{"holders": holders, "chance": chance} for holders, chance in self.curve()],
            "max_items": {str(limit): items for limit, items in self.by_max_items.items()},
            "algorithms": self.by_algorithm,
        }


@dataclass(frozen=True)
class Data:
    """The data of one run: sets, the number of holders of every item, how many items each stands for."""

    sets: UserSets
    stream: Stream
    stands_for: Floats

    @property
    def holders(self) -> NDArray[np.int64]:
        """The number of holders of every item."""
        return np.bincount(self.sets.items, minlength=self.sets.n_items)


@dataclass(frozen=True)
class Others:
    """What a plan compares with: the same algorithm with other values of `max_items`, and other algorithms."""

    limits: dict[int, Mechanism]
    named: dict[str, Mechanism]


def simulate_shape(shape: Shape, mechanism: Mechanism, others: Others, worst: int) -> Outlook:
    """Releases on synthetic data; `worst` is the number of holders that gives even odds in the worst case."""
    if mechanism.lists():
        raise InvalidArgument(
            "a shape has no items with names, so it cannot use a list of items: give like=."
        )
    popular = float(ENOUGH * worst)
    factor = max(1.0, min(shape.pairs / PAIRS, shape.users / (ROOM * popular)), shape.pairs / MOST_PAIRS)

    def draw(run: int) -> Data:
        return draw_data(shape, popular, factor, run)

    settle = settling(shape, factor)
    limits = {limit: settle(other) for limit, other in others.limits.items()}
    others = Others(limits, others.named)
    return _simulate(draw, runs_for(shape.pairs / factor), settle(mechanism), others, str(shape), factor)


def settling(shape: Shape, factor: float) -> Callable[[Mechanism], Mechanism]:
    """`auto` with the branch that the whole shape would choose: fewer users would choose another one."""
    if factor == 1.0:
        return lambda mechanism: mechanism
    sample = draw_data(shape, 0.0, factor)

    def settle(mechanism: Mechanism) -> Mechanism:
        if not isinstance(mechanism, AutoMechanism):
            return mechanism
        with LocalEngine(1) as engine:
            return mechanism.settled(engine, sample.sets, sample.stream, factor)

    return settle


def draw_data(shape: Shape, popular: float, factor: float, run: int = 0) -> Data:
    """Synthetic sets of this shape, with fewer users by `factor`; popular items keep at least `popular` holders."""
    rng = np.random.default_rng([run, shape.users])
    drawn = shape.draw(rng, popular, factor)
    numbers, codes = np.unique(drawn.items, return_inverse=True)
    # A random number for each item: the order of the digests, in which items are sorted within a row.
    rank = rng.permutation(len(numbers))
    users = len(drawn.sizes)
    pairs = np.sort(np.repeat(np.arange(users), drawn.sizes) * len(numbers) + rank[codes])
    stands_for = np.empty(len(numbers))
    stands_for[rank] = drawn.stands_for[numbers]
    sets = UserSets(
        np.concatenate([[0], np.cumsum(drawn.sizes)]),
        (pairs % len(numbers)).astype(np.uint32),
        random_digests(rng, users),
        random_digests(rng, len(numbers)),
        Names(pl.DataFrame({"item": np.arange(len(numbers))}), {"item": pl.Int64()}),
    )
    return Data(sets, stream_of_run(run), stands_for)


def simulate_like(source: Source, mechanism: Mechanism, others: Others) -> Outlook:
    """Releases on public data, all of it."""

    def read(run: int) -> Data:
        stream = stream_of_run(run)
        with LocalEngine() as engine:
            sets = engine.read(source, stream)
        return Data(sets, stream, np.ones(sets.n_items))

    first = read(0)
    users, pairs = first.sets.n_users, len(first.sets.items)
    about = f"data like the file: {users:,} users, {pairs / max(users, 1):.3g} items each on average"
    return _simulate(
        lambda run: first if run == 0 else read(run), runs_for(pairs), mechanism, others, about, 1.0
    )


def _simulate(
    draw: Callable[[int], Data],
    runs: int,
    mechanism: Mechanism,
    others: Others,
    about: str,
    factor: float,
) -> Outlook:
    with ThreadPoolExecutor(min(runs, os.cpu_count() or 1)) as pool:
        data = list(pool.map(draw, range(runs)))
        rivals = [*others.limits.values(), *others.named.values()]
        once = [pool.submit(released_by, other, data[0]) for other in rivals]
        released = list(pool.map(lambda each: released_by(mechanism, each), data))
        alone = [each.result() for each in once]
    counts = np.array([each.stands_for @ found for each, found in zip(data, released, strict=True)])
    holders, chances = chance_by_holders(
        np.concatenate([each.holders for each in data]),
        np.concatenate(released),
        np.concatenate([each.stands_for for each in data]),
    )
    varied = max(float(counts.var(ddof=1)), _coin_variance(data, holders, chances))
    # One item of a smaller shape stands for `factor` items, which differ from each other.
    half = WIDTH * math.sqrt(varied * (1 / factor + 1 / runs))
    mean = float(counts.mean())
    # On the data of the first run, as a ratio: what max_items or the algorithm changes is then not hidden by the data.
    means = [mean * float(data[0].stands_for @ found) / counts[0] if counts[0] else 0.0 for found in alone]
    return Outlook(
        about,
        mean,
        max(0.0, mean - half),
        mean + half,
        dict(zip(others.limits, means, strict=False)),
        dict(zip(others.named, means[len(others.limits) :], strict=True)),
        runs,
        factor,
        holders,
        chances,
    )


def chance_by_holders(
    holders: NDArray[np.int64], released: NDArray[np.bool_], weights: Floats
) -> tuple[NDArray[np.int64], Floats]:
    """The share of items that were released, by number of holders, as the nearest function that does not decrease."""
    from scipy.optimize import isotonic_regression

    if not len(holders):
        return np.zeros(0, np.int64), np.zeros(0)
    values, place = np.unique(holders, return_inverse=True)
    items = np.bincount(place, weights=weights)
    share = np.bincount(place, weights=weights * released) / items
    return values, np.asarray(isotonic_regression(share, weights=items).x, np.float64)


def _coin_variance(data: Sequence[Data], holders: NDArray[np.int64], chances: Floats) -> float:
    """The variance of the number of items in a run if items are released independently with these chances."""
    found = []
    for each in data:
        chance = chances[np.searchsorted(holders, each.holders)]
        found.append(float((each.stands_for**2 * chance * (1 - chance)).sum()))
    return float(np.mean(found))


def released_by(mechanism: Mechanism, data: Data) -> NDArray[np.bool_]:
    """Which items a simulated release has."""
    with LocalEngine(1) as engine:
        fitted = mechanism.fitted(engine, data.sets, data.stream)
        return np.asarray(fitted.select(engine, data.sets, data.stream)["released"], np.bool_)


def runs_for(pairs: float) -> int:
    """Number of simulated releases of data with so many pairs."""
    return next((runs for most, runs in RUNS if pairs <= most), RUNS[-1][1])


def stream_of_run(run: int) -> Stream:
    """Plans are public and repeatable, so their keys are fixed."""
    return Stream(np.random.default_rng([run]).bytes(32), seeded=True)


def random_digests(rng: np.random.Generator, size: int) -> NDArray[np.uint64]:
    """Random digests, sorted by their first word."""
    digests = rng.integers(0, 2**64, (size, 2), dtype=np.uint64)
    digests[:, 0].sort()
    return digests
