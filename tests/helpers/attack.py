"""Attacks: what two neighbouring databases tell apart, bounded from below with a confidence.

`simulate` plays the rounds of Focused Gaussian on a small database many times: the product's rules for
weights, rows and focus, its constants and its grid, but numpy's normals and plain floats for the noise.
"""

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numba
import numpy as np
import polars as pl
from scipy.stats import beta
from user_sets import sets_of

from dpsu.algorithms.focused import FocusedGaussian, bell
from dpsu.algorithms.mechanism import threshold_in_cells
from dpsu.algorithms.request import Request
from dpsu.engines.local import LocalEngine
from dpsu.kernels.compiled import kernel
from dpsu.kernels.rows import keep_open
from dpsu.kernels.units import ONE
from dpsu.kernels.weights import weigh_proportionally
from dpsu.randomness.stream import Stream
from dpsu.sets.user_sets import Names, UserSets

EPSILON = 1.0
CONFIDENCE = 1 - 1e-6


def share_at_least(hits, runs, confidence=CONFIDENCE):
    """The lower limit of Clopper and Pearson for a chance that came true in `hits` of `runs`."""
    return float(beta.ppf(1 - confidence, hits, runs - hits + 1)) if hits else 0.0


def share_at_most(hits, runs, confidence=CONFIDENCE):
    """The upper limit of Clopper and Pearson."""
    return float(beta.ppf(confidence, hits + 1, runs - hits)) if hits < runs else 1.0


def epsilon_at_least(first, second, delta):
    """A lower bound on epsilon from outcomes under two databases, at the given delta and with confidence.

    The first halves choose the event that speaks loudest, the second halves judge it; either database may be
    the one that makes it likely.
    """
    width = 1 + max(first.max(), second.max())
    halves = [
        [np.bincount(half, minlength=width) for half in np.array_split(sample, 2)]
        for sample in (first, second)
    ]
    return max(_judge(halves[0], halves[1], delta), _judge(halves[1], halves[0], delta))


def _judge(likely, unlikely, delta):
    ratio = (likely[0] + 0.5) / (unlikely[0] + 0.5)
    order = np.argsort(-ratio, kind="stable")
    runs = [part.sum() for part in (*likely, *unlikely)]
    gained = np.cumsum(likely[0][order]) / runs[0] - delta
    noise = np.sqrt(gained.clip(0) / runs[0])
    risked = (np.cumsum(unlikely[0][order]) + 10) / runs[2]
    event = order[: 1 + int(np.argmax((gained - 4 * noise) / risked))]
    sure = share_at_least(likely[1][event].sum(), runs[1]) - delta
    return math.log(sure / share_at_most(unlikely[1][event].sum(), runs[3])) if sure > 0 else -math.inf


@dataclass(frozen=True)
class Database:
    """Distinct sets of items, and how many users hold each of them."""

    sets: tuple[tuple[int, ...], ...]
    users: tuple[int, ...]

    def plus(self, own):
        """The neighbour: one user more."""
        return Database((*self.sets, tuple(own)), (*self.users, 1))

    @property
    def rows(self):
        indptr = np.cumsum([0, *map(len, self.sets)]).astype(np.int64)
        return indptr, np.array([item for own in self.sets for item in own], np.uint32)


def calibrate(delta, max_items, **options):
    """Focused Gaussian as the product calibrates it, at the epsilon of the audit."""
    return FocusedGaussian(**options).calibrate(Request(EPSILON, delta, max_items))


def with_noise(mechanism, factor):
    """The mechanism with its noise scaled and all thresholds as they were."""
    scales = tuple(factor * scale for scale in mechanism.boundary.scales)
    return replace(mechanism, boundary=replace(mechanism.boundary, scales=scales))


def with_boundary(mechanism, factor):
    """The mechanism with its thresholds scaled."""
    thresholds = tuple(factor * threshold for threshold in mechanism.boundary.thresholds)
    return replace(mechanism, boundary=replace(mechanism.boundary, thresholds=thresholds))


def rounds_of(mechanism):
    """A row per round: share, noise, the last cell not released, centre and width of the focus (0 if even)."""
    boundary = mechanism.boundary
    rounds = np.empty((len(boundary.shares), 5))
    for r, (share, scale, threshold) in enumerate(
        zip(boundary.shares, boundary.scales, boundary.thresholds, strict=True)
    ):
        limit = threshold_in_cells(threshold, boundary.cell, rounds=r + 1)
        aim = (0.0, 0.0) if boundary.spent[r] < mechanism.focus.warmup else mechanism.aim(r)
        rounds[r] = share, scale, limit, *aim
    return rounds


def attack(mechanism, database, own, runs, focus_on_exact=False, seed=0):
    """A lower bound on epsilon from watching a database with and without one more user, who holds `own`."""
    watched = 1 + max(map(max, database.sets))
    with ThreadPoolExecutor(2) as pool:
        sides = [
            pool.submit(outcomes, mechanism, side, watched, runs, 2 * seed + k, focus_on_exact)
            for k, side in enumerate((database.plus(own), database))
        ]
    return epsilon_at_least(*(side.result() for side in sides), mechanism.request.delta)


def outcomes(mechanism, database, watched, runs, seed, focus_on_exact=False):
    """What is seen of the first items, one number per run: which of them are out, and the first since when."""
    seen = simulate(
        *database.rows,
        np.array(database.users, np.int64),
        rounds_of(mechanism),
        mechanism.boundary.cell,
        mechanism.focus.tail,
        mechanism.boundary.caps,
        focus_on_exact,
        runs,
        np.random.default_rng(seed),
    )
    others = (seen[:, 1:watched] > 0) @ (1 << np.arange(watched - 1))
    return seen[:, 0] + (1 + len(mechanism.boundary.shares)) * others


def exposed_users(mechanism, users, set_size, seed):
    """How many users, none of whose items anybody else holds, see one of them released by the product."""
    rng = np.random.default_rng(seed)
    pairs = users * set_size
    sets = UserSets(
        np.arange(0, pairs + 1, set_size),
        np.arange(pairs, dtype=np.uint32),
        rng.integers(0, 2**64, (users, 2), dtype=np.uint64),
        rng.integers(0, 2**64, (pairs, 2), dtype=np.uint64),
        Names(pl.DataFrame({"item": []}), {"item": pl.Null()}),
    )
    released = mechanism.select(LocalEngine(threads=1), sets, Stream(rng.bytes(32)))["released"]
    return int(released.reshape(users, set_size).any(axis=1).sum())


def as_sets(database, seed):
    """The database as the product reads it, every user with a row of their own."""
    rows = [own for own, users in zip(database.sets, database.users, strict=True) for _ in range(users)]
    return sets_of(rows, seed)


compiled_bell, compiled_keep_open = numba.njit(bell), numba.njit(keep_open)


@kernel
def simulate(indptr, items, users, rounds, cell, tail, caps, focus_on_exact, runs, rng):
    """For every run and item the round of its release, from 1 on, or 0."""
    count = items.max() + 1
    seen = np.empty((runs, count), np.int64)
    normals = np.empty((rounds.shape[0], count))
    for run in range(runs):
        for r in range(rounds.shape[0]):
            for item in range(count):
                normals[r, item] = rng.standard_normal()
        seen[run], _ = play(indptr, items, users, rounds, cell, tail, caps, focus_on_exact, normals)
    return seen


@kernel
def play(indptr, items, users, rounds, cell, tail, caps, focus_on_exact, normals):
    """One run: the round of every item's release (0 for none), and the noisy totals in cells.

    With `focus_on_exact` users look at totals without noise, which the proof forbids.
    """
    count = normals.shape[1]
    released = np.zeros(count, np.int64)
    noisy, exact, priority = np.zeros(count, np.int64), np.zeros(count), np.ones(count)
    given = np.zeros(count, np.int64)
    totals, room = np.zeros(count, np.int64), np.empty(caps.size)
    for r in range(rounds.shape[0]):
        share, scale, limit, centre, width = rounds[r]
        totals[:] = 0
        for row in range(users.size):
            given[:] = 0
            if weigh_proportionally(indptr[row : row + 2], items, priority, caps, given, room):
                raise ArithmeticError("the weights of a user exceed one budget")
            for item in range(count):
                totals[item] += users[row] * given[item]
        crossed = False
        for item in range(count):
            if released[item] == 0:
                value = share / ONE * totals[item]
                exact[item] += value
                noisy[item] += np.int64(math.floor((value + scale * normals[r, item]) / cell + 0.5))
                if noisy[item] > limit:
                    released[item] = r + 1
                    crossed = True
        if width > 0.0:
            priority = compiled_bell(exact if focus_on_exact else noisy * cell, centre, width, tail)
        if crossed:
            indptr, items, busy = compiled_keep_open(indptr, items, released == 0)
            users = users[busy]
    return released, noisy
