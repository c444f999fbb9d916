"""Many runs of Focused Gaussian with candidates at once, in plain numpy, with the switches that the proofs forbid.

`play` with the product's normals is the product (tests/algorithms/test_candidates.py).
"""

import numpy as np
from attack import epsilon_at_least

from dpsu.algorithms.focused_chance import divided

OWN, NEVER_EARLY, WITHOUT_NOISE = "as held items", "not tested early", "without noise"
"""How listed items that nobody holds are treated; only the first is allowed."""


def play(mechanism, groups, listed, normals, noise=1.0, unheld=OWN):
    """For every run the round of each item's release, from 1 on, one round more for the cut, or 0; and the totals in cells.

    `groups` are pairs of a set and its number of users; `normals` has the axes run, round and item.
    """
    boundary = mechanism.base.boundary
    runs, rounds, count = normals.shape
    is_listed, held = np.zeros(count, bool), np.zeros(count, bool)
    is_listed[list(listed)] = True
    for own, _ in groups:
        held[list(own)] = True
    noisy = held | is_listed if unheld != WITHOUT_NOISE else held
    tested = held | is_listed if unheld != NEVER_EARLY else held
    cells, out = np.zeros((runs, count), np.int64), np.zeros((runs, count), np.int64)
    priority = np.ones((runs, count))
    for r in range(rounds):
        given = np.zeros((runs, count))
        for own, users in groups:
            places = list(own)
            given[:, places] += users * _weights(priority[:, places], out[:, places] == 0, boundary.caps)
        drawn = noise * boundary.scales[r] * normals[:, r] * noisy
        step = np.floor((boundary.shares[r] * given + drawn) / boundary.cell + 0.5).astype(np.int64)
        cells += np.where(out > 0, 0, step)
        limits = mechanism.limits_in_cells(r)[is_listed.astype(int)]
        out[(out == 0) & tested & (cells > limits)] = r + 1
        priority = np.where(out > 0, 0.0, mechanism.priority(cells * boundary.cell, is_listed, r))
    tails = mechanism.tails({"noisy": cells, "released": out > 0})
    weights = np.ones(count)
    if mechanism.listed.weights is not None:
        weights[is_listed] = mechanism.listed.weights
    ratios = np.where(tails <= mechanism.reach, tails / weights, np.inf)
    cuts = _cuts(tails[:, is_listed], ratios[:, is_listed], weights[is_listed], mechanism)
    out[(out == 0) & is_listed & (ratios <= cuts)] = rounds + 1
    return out, cells


def _weights(priority, opened, caps):
    """One budget per run, divided among the items that are still open; the cap is that of their number."""
    weights = np.zeros_like(priority)
    for size in range(1, priority.shape[1] + 1):
        rows = opened.sum(axis=1) == size
        if rows.any():
            weights[rows] = divided(priority[rows], float(caps[size]))
    return weights


def _cuts(tails, ratios, weights, mechanism):
    """The cut of Benjamini and Hochberg in each run, with the estimate of the share of nulls."""
    share, count = mechanism.false_share, mechanism.listed.count
    steps = np.full(len(tails), share / count)
    if mechanism.adaptive:
        steps *= count * (1 - share) / (weights.max() + (weights * (tails > share)).sum(axis=1))
    passing = np.sort(ratios, axis=1) <= np.arange(1, tails.shape[1] + 1) * steps[:, None]
    last = tails.shape[1] - np.argmax(passing[:, ::-1], axis=1)
    return np.where(passing.any(axis=1), last * steps, 0.0)[:, None]


def normals_of(runs, mechanism, count, seed):
    return np.random.default_rng(seed).standard_normal((runs, mechanism.base.focus.rounds, count))


def outcomes(mechanism, groups, listed, count, runs, seed, **how):
    """One number per run: when each item came out, early or by the cut."""
    out, _ = play(mechanism, groups, listed, normals_of(runs, mechanism, count, seed), **how)
    last = mechanism.base.focus.rounds
    seen = 1 * (out > 0) + (out > last // 2) + (out > last)
    return seen @ 4 ** np.arange(count)


def attack(mechanism, groups, own, listed, count, runs, seed=0, **how):
    """A lower bound on epsilon from watching a database with and without x, who holds `own`."""
    sides = [
        outcomes(mechanism, each, listed, count, runs, 2 * seed + k, **how)
        for k, each in enumerate(([*groups, (own, 1)], groups))
    ]
    return epsilon_at_least(*sides, mechanism.request.delta)


def false_shares(mechanism, groups, listed, count, runs, seed=0, **how):
    """The share of nulls among the released listed items in each run."""
    held = {item for own, _ in groups for item in own}
    out, _ = play(mechanism, groups, listed, normals_of(runs, mechanism, count, seed), **how)
    nulls = [item for item in listed if item not in held]
    return (out[:, nulls] > 0).sum(axis=1) / np.maximum(1, (out[:, list(listed)] > 0).sum(axis=1))
