"""The compiled search behind `check_policy`: databases as arrays, hill climbing towards the largest distance.

A database is a *plan*, an array of three rows: the sets of users as bits, how many consecutive users hold each set, and
(number of rows, the position of the extra user, how often the rows after it are repeated).
"""

import math
from collections.abc import Callable
from typing import Any, Literal

import numba
import numpy as np
from numpy.typing import NDArray

from dpsu.kernels.compiled import kernel

ITEMS = 6
ROWS = 9
MAX_USERS = 400
LOWEST_CUTOFF, HIGHEST_CUTOFF = 1.1, 40.0

TOLERANCE = 1e-9
"""Tolerance for rounding errors of a distance, a spending or a difference."""

PROMISES = 3
"""The claims that `note_faults` checks, in this order: the budget, no weight decreases, symmetry."""

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]
Floats = NDArray[np.float64]
Update = Callable[[Floats, float], Floats]

SIZES = np.array([mask.bit_count() for mask in range(1 << ITEMS)])
MEMBERS = np.array(
    [sorted(range(ITEMS), key=lambda item: (not mask >> item & 1, item)) for mask in range(1 << ITEMS)]
)
"""`MEMBERS[mask, :SIZES[mask]]` are the items of a set in bit form."""


def compile_search(update: Update, norm: Literal[1, 2]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """`measure`: the distance of the two final weights of a database; `climb`: hill climbing from a random start."""
    compiled_update: Any = update if hasattr(update, "py_func") else numba.njit(update)

    def visit(weights: Any, mask: int, cutoff: float, faults: Any) -> None:
        before = weights_of(mask, weights)
        increments = compiled_update(before.copy(), cutoff)
        note_faults(before, increments, cutoff, norm, faults)
        add_to(mask, weights, increments)

    visit = numba.njit(visit)

    def measure(plan: Any, cutoff: float, weights: Any, faults: Any) -> float:
        masks, times = plan[0], plan[1]
        rows, extra, rounds = plan[2, 0], plan[2, 1], plan[2, 2]
        for side in range(2):
            current = np.zeros(ITEMS)
            for turn in range(rounds):
                for row in range(0 if turn == 0 else extra + 1, rows):
                    for _ in range(1 - side if row == extra else times[row]):
                        visit(current, masks[row], cutoff, faults)
            copy_into(weights[side], current)
        return distance_between(weights, norm)

    measure = numba.njit(measure)

    def climb(
        state: Any, tries: int, long: bool, plan: Any, weights: Any, faults: Any
    ) -> tuple[float, float]:
        cutoff = draw_database(state, long, plan)
        height = measure(plan, cutoff, weights, faults)
        kept = plan.copy()
        for _ in range(tries):
            changed = change_database(state, long, plan, cutoff)
            distance = measure(plan, changed, weights, faults)
            # Most databases have a distance of exactly 1: steps to an equal distance, up to rounding, must be accepted.
            if distance >= height - TOLERANCE:
                height, cutoff = distance, changed
                copy_into(kept, plan)
            else:
                copy_into(plan, kept)
        return height, cutoff

    return measure, numba.njit(climb)


@kernel
def weights_of(mask: int, weights: Floats) -> Floats:
    """The weights of a set's items."""
    own: Floats = weights[MEMBERS[mask, : SIZES[mask]]]
    return own


@kernel
def add_to(mask: int, weights: Floats, increments: Floats) -> None:
    """Add a user's increments to the weights of the user's items."""
    for k in range(increments.size):
        weights[MEMBERS[mask, k]] += increments[k]


@kernel
def distance_between(weights: Floats, norm: int) -> float:
    """The distance of the two rows."""
    apart = np.abs(weights[0] - weights[1])
    return float(apart.sum() if norm == 1 else math.sqrt((apart * apart).sum()))


@kernel
def copy_into(target: NDArray[Any], source: NDArray[Any]) -> None:
    """Overwrite an array with another of its shape."""
    target[:] = source


@kernel
def note_faults(weights: Floats, increments: Floats, cutoff: float, norm: int, faults: Floats) -> None:
    """Keep, for each claim, the update that violates it most."""
    if increments.size != weights.size:
        raise ValueError("it must return one increment for every weight that it is given")
    spent, lowest, unequal = 0.0, 0.0, 0.0
    for i in range(weights.size):
        spent += abs(increments[i]) if norm == 1 else increments[i] * increments[i]
        lowest = min(lowest, increments[i])
        for j in range(i):
            if weights[i] == weights[j]:
                unequal = max(unequal, abs(increments[i] - increments[j]))
    spent = spent if norm == 1 else math.sqrt(spent)
    over = np.inf if math.isnan(spent) else spent - 1.0
    amounts = (over, -lowest, unequal)
    for promise in range(PROMISES):
        if amounts[promise] > max(faults[promise, 0], TOLERANCE):
            faults[promise, 0] = amounts[promise]
            faults[promise, 1] = cutoff
            faults[promise, 2] = weights.size
            faults[promise, 3 : 3 + weights.size] = weights
            faults[promise, 3 + weights.size : 3 + 2 * weights.size] = increments


@kernel
def draw_database(state: Words, long: bool, plan: Ints) -> float:
    """A random start; returns its cutoff."""
    masks, times, shape = plan[0], plan[1], plan[2]
    rows = 2 + below(state, ROWS - 2)
    for row in range(rows):
        masks[row] = 1 + below(state, (1 << ITEMS) - 1)
        times[row] = 1 + below(state, 20) if long else 1
    extra = below(state, rows)
    times[extra] = 1
    shape[0], shape[1], shape[2] = rows, extra, 1
    # With small cutoffs a few users already fill an item, so most climbs start there.
    share = fraction(state)
    return float(LOWEST_CUTOFF * (HIGHEST_CUTOFF / LOWEST_CUTOFF) ** (share * share))


@kernel
def change_database(state: Words, long: bool, plan: Ints, cutoff: float) -> float:
    """Make one to three random changes to the database; returns its cutoff."""
    masks, times, shape = plan[0], plan[1], plan[2]
    for _ in range(1 + below(state, 3)):
        rows, extra = shape[0], shape[1]
        row, other = below(state, rows), below(state, rows)
        move = below(state, 8 if long else 6)
        if move <= 1:
            flipped = masks[row] ^ (1 << below(state, ITEMS))
            masks[row] = flipped if flipped else masks[row]
        elif move == 2 and rows < ROWS:
            for k in range(rows, row, -1):
                masks[k], times[k] = masks[k - 1], times[k - 1]
            masks[row], times[row] = 1 + below(state, (1 << ITEMS) - 1), 1
            shape[0], shape[1] = rows + 1, extra + (row <= extra)
        elif move == 3 and rows > 2 and row != extra:
            for k in range(row, rows - 1):
                masks[k], times[k] = masks[k + 1], times[k + 1]
            shape[0], shape[1] = rows - 1, extra - (row < extra)
        elif move == 4:
            masks[row], masks[other] = masks[other], masks[row]
            times[row], times[other] = times[other], times[row]
            shape[1] = other if extra == row else row if extra == other else extra
        elif move == 5:
            cutoff *= math.exp(0.3 * (fraction(state) - 0.5) * fraction(state))
            cutoff = min(max(cutoff, LOWEST_CUTOFF), HIGHEST_CUTOFF)
        elif move == 6 and row != extra:
            times[row] = max(1, times[row] + below(state, 9) - 4)
        elif move == 7:
            shape[2] = max(1, shape[2] + below(state, 5) - 2)
    while users_of(plan) > MAX_USERS:
        shape[2] = (shape[2] + 1) // 2
        for row in range(shape[0]):
            times[row] = (times[row] + 1) // 2
    return cutoff


@kernel
def users_of(plan: Ints) -> int:
    """How many users a database has."""
    times, rows, extra, rounds = plan[1], plan[2, 0], plan[2, 1], plan[2, 2]
    return int(times[: extra + 1].sum() + rounds * times[extra + 1 : rows].sum())


@kernel
def below(state: Words, bound: int) -> int:
    """A number from 0 to bound - 1 for the search; splitmix64, never used for the noise of a release."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    word = state[0]
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return int(np.int64((word ^ (word >> np.uint64(31))) >> np.uint64(11)) % bound)


@kernel
def fraction(state: Words) -> float:
    """A number from 0 to 1 for the search."""
    return below(state, 1 << 53) / float(1 << 53)
