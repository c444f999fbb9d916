"""The loops inside: nanoseconds per pair and per draw, on one core and on two."""

from functools import partial
from typing import Any

import numpy as np

from benchmarks import rivals
from benchmarks.cores import CORES
from benchmarks.corpus import Corpus
from benchmarks.measure import Facts, ceiling, interleaved
from benchmarks.ours import mechanism
from benchmarks.quiet import Run
from benchmarks.settings import MAX_ITEMS, Settings
from dpsu.algorithms.focused import FocusedMechanism
from dpsu.algorithms.mechanism import CELLS_PER_SIGMA, OneRound
from dpsu.algorithms.policy import PolicyMechanism
from dpsu.engines.contract import Columns, Rule
from dpsu.engines.local import LocalEngine
from dpsu.kernels.loops import find_loop
from dpsu.kernels.units import ONE
from dpsu.kernels.weights import weigh_proportionally
from dpsu.randomness.noise import gaussian_cells
from dpsu.randomness.stream import open_stream
from dpsu.sources.pairs import read_sets

DRAWS = 10**6
QUICK_DRAWS = 10**5


def measure(settings: Settings, corpus: Corpus) -> Facts:
    """What each loop takes for all pairs that are left after the cut to max_items."""
    stream = open_stream()
    divided = {cores: LocalEngine(cores).bound(corpus.sets, MAX_ITEMS, stream) for cores in CORES}
    (rows,) = divided[1]
    size = len(corpus.sets.item_digests)
    priority = np.random.default_rng(0).random(size)
    items: Columns = {**LocalEngine(1).items(corpus.sets), "priority": priority}
    no_cap = np.ones(MAX_ITEMS + 1)
    totals, users = np.zeros(size, np.int64), len(rows.indptr) - 1
    even = mechanism("weighted-gaussian")
    policies = {"ℓ1-descent": mechanism("policy-laplace"), "ℓ2-descent": mechanism("policy-gaussian")}
    assert isinstance(even, OneRound)
    rules = {
        "focused round": Rule(weigh_proportionally, unit=1 / ONE, table=no_cap, reads="priority"),
        "even weights": even.rule,
    }
    contestants: dict[str, Run] = {
        _alone("focused round"): partial(
            weigh_proportionally,
            rows.indptr,
            rows.items,
            priority,
            no_cap,
            totals,
            np.empty_like(no_cap),
        )
    }
    for name, rule in rules.items():
        for cores in CORES:
            contestants[_on(name, cores)] = partial(LocalEngine(cores).weigh, divided[cores], items, rule)
    for name, policy in policies.items():
        assert isinstance(policy, PolicyMechanism)
        walk, order = policy.walk, np.arange(users)
        weights = np.zeros(size, walk.dtype)
        contestants[_alone(name)] = partial(
            _walk_afresh,
            find_loop(walk.loop),
            rows.indptr,
            rows.items,
            order,
            walk.cutoff,
            walk.budget,
            weights,
        )
        contestants[_on(name, 1)] = partial(LocalEngine(1).walk, [rows], items, walk, stream)
    focused = mechanism("focused-gaussian")
    assert isinstance(focused, FocusedMechanism)
    in_a_row = len(focused.boundary.shares)
    timings = interleaved({**contestants, **ceiling()}, settings.repetitions, in_a_row)
    return {"pairs": int(rows.indptr[-1]), "in_a_row": in_a_row, "timings": timings}


def measure_noise(settings: Settings, corpus: Corpus) -> Facts:
    """Gaussian noise on a grid: ours on one core and on two, NumPy's on one."""
    draws = QUICK_DRAWS if settings.quick else DRAWS
    rng, stream, scale = np.random.default_rng(0), open_stream(), 2.0
    totals = rng.integers(0, 100 * ONE, draws)
    digests = rng.integers(0, 2**64, (draws, 2), np.uint64)
    how: dict[str, Any] = {"unit": 1 / ONE, "scale": scale, "cell": scale / CELLS_PER_SIGMA}

    def step(columns: Columns) -> Columns:
        return {"noisy": gaussian_cells(columns["total"], columns["digest"], stream, round=0, **how)}

    items = {"total": totals, "digest": digests}
    ours = {_on("dpsu", cores): partial(LocalEngine(cores).update, items, step) for cores in CORES}
    theirs = {
        "NumPy, rounded to the grid": lambda: rivals.draw_cells(totals, **how),
        "NumPy, draws alone": lambda: rivals.draw_normals(draws, scale),
    }
    return {"draws": draws, "timings": interleaved({**ours, **theirs}, settings.repetitions)}


def measure_encoding(settings: Settings, corpus: Corpus) -> Facts:
    """From the file to users' rows of item numbers, against Polars' dictionary alone."""
    contestants: dict[str, Run] = {
        "dpsu, to users' rows": lambda: read_sets(
            corpus.path, user="user", item="item", stream=open_stream()
        ),
        "Polars, items as Categorical": lambda: rivals.read_and_encode(corpus.path),
        "Polars, strings": lambda: rivals.read(corpus.path),
    }
    return {"pairs": corpus.pairs, "timings": interleaved(contestants, settings.repetitions)}


def _walk_afresh(kernel: Any, *given: Any) -> None:
    """A policy from the beginning: weights that have reached the cutoff would be another task."""
    given[-1].fill(0)
    kernel(*given)


def _alone(name: str) -> str:
    return f"{name}, the loop alone"


def _on(name: str, cores: int) -> str:
    return f"{name}, {cores} core{'s' * (cores > 1)}"
