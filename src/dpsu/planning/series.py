"""What a series gives period by period: by simulation on synthetic data, and for an item with given holders."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dpsu.algorithms.series import SeriesMechanism
from dpsu.algorithms.series_chance import chances_by_period
from dpsu.engines.local import LocalEngine
from dpsu.errors import InvalidArgument
from dpsu.planning.shape import Shape
from dpsu.planning.simulate import ENOUGH, MOST_PAIRS, PAIRS, ROOM, random_digests, runs_for, stream_of_run
from dpsu.sets.user_sets import Names, UserSets


@dataclass(frozen=True, repr=False)
class SeriesPlan:
    """What each choice of shares gives by the end of each period. It depends on public terms alone: no data is read."""

    mechanisms: Mapping[str, SeriesMechanism]

    def items(self, shape: Shape) -> pl.DataFrame:
        """A row per period: how many items are known by its end, with one column for each choice of shares.

        Every period has new users of this shape, and items stay as popular as they are. The figures are means of a few
        simulated series, the same at every call.
        """
        first = next(iter(self.mechanisms.values()))
        worst = max(_holders_for_sure(each, shape.items_per_user) for each in self.mechanisms.values())
        popular, pairs = ENOUGH * worst, shape.pairs * first.periods
        factor = max(1.0, min(pairs / PAIRS, shape.users / (ROOM * popular)), pairs / MOST_PAIRS)
        runs = runs_for(pairs / factor)
        known = {name: np.zeros(first.periods) for name in self.mechanisms}
        for run in range(runs):
            data = _Periods(shape, popular, factor, first.periods, run)
            for name, mechanism in self.mechanisms.items():
                known[name] += _known(mechanism, data) / runs
        return pl.DataFrame({"period": range(1, first.periods + 1), **known})

    def chances(self, holders: Sequence[int], set_size: int = 10) -> pl.DataFrame:
        """A row per choice and period: the chance that an item is out by its end, by its holders in every period.

        The holders have the same `set_size` items, which is the worst case.
        """
        if not all(isinstance(n, int) and 1 <= n < 2**40 for n in [*holders, set_size]):
            raise InvalidArgument("holders and set_size must be whole numbers from 1 on.")
        frames = []
        for name, mechanism in self.mechanisms.items():
            found = chances_by_period(mechanism, np.asarray(holders, np.int64), set_size)
            columns = {f"{n} holders": found[:, k] for k, n in enumerate(holders)}
            periods = range(1, mechanism.periods + 1)
            frames.append(pl.DataFrame({"shares": [name] * len(periods), "period": periods, **columns}))
        return pl.concat(frames)


class _Periods:
    """The sets of every period in one run, over one table of items."""

    def __init__(self, shape: Shape, popular: float, factor: float, periods: int, run: int) -> None:
        self.stream = stream_of_run(run)
        drawn = [
            shape.draw(np.random.default_rng([run, shape.users, period]), popular, factor)
            for period in range(periods)
        ]
        rng = np.random.default_rng([run, shape.users])
        count = len(drawn[0].stands_for)
        # A random number for each item: the order of the digests, in which items are sorted within a row.
        rank, digests = rng.permutation(count), random_digests(rng, count)
        self.stands_for = np.empty(count)
        self.stands_for[rank] = drawn[0].stands_for
        names = Names(pl.DataFrame({"item": np.arange(count)}), {"item": pl.Int64()})
        self.sets = []
        for each in drawn:
            users = len(each.sizes)
            pairs = np.sort(np.repeat(np.arange(users), each.sizes) * count + rank[each.items])
            indptr = np.concatenate([[0], np.cumsum(each.sizes)])
            own = (pairs % count).astype(np.uint32)
            self.sets.append(UserSets(indptr, own, random_digests(rng, users), digests, names))


def _known(mechanism: SeriesMechanism, data: _Periods) -> NDArray[np.float64]:
    """Items known by the end of each period.

    All items exist from the beginning, so that none needs back-filling. This changes nothing about items that come out
    after they are held; the others come out with a probability of at most delta.
    """
    known = []
    with LocalEngine() as engine:
        items = mechanism.begin(engine, data.sets[0], data.stream, 1, ())
        items = {**items, "exists": np.ones(len(items["digest"]), np.bool_)}
        for period, sets in enumerate(data.sets, 1):
            opened = engine.leave_out(sets, items["digest"][items["released"]])
            items = mechanism.play(engine, opened, items, data.stream, period)
            known.append(float(data.stands_for @ items["released"]))
    return np.array(known)


def _holders_for_sure(mechanism: SeriesMechanism, set_size: float) -> float:
    """Holders in every period whose equal weights alone reach the threshold by the end of any period."""
    last = slice(mechanism.focus.rounds - 1, None, mechanism.focus.rounds)
    spent, thresholds = (
        np.array(each)[last] for each in (mechanism.boundary.spent, mechanism.boundary.thresholds)
    )
    return float((thresholds / spent).max()) * math.sqrt(max(1.0, set_size))
