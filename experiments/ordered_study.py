"""Ordered Laplace beside ℓ1-descent and Focused Gaussian, where users hold few items.

    python -m experiments.ordered_study [--runs 5] [shapes] [orders] [options]

Prints Markdown tables of mean items over runs, each with data and keys of its own (Debian's data is what it is). For the ℓ1
policies a run counts the expected number of items, the sum of the chances behind all coins; Focused Gaussian is run.
"""

import argparse
import math
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from dpsu.algorithms.catalogue import build
from dpsu.algorithms.mechanism import Mechanism
from dpsu.algorithms.ordered import OrderedLaplace, OrderedLaplaceMechanism
from dpsu.algorithms.policy import PolicyMechanism
from dpsu.algorithms.request import Request
from dpsu.datasets import draw_sets
from dpsu.engines.local import LocalEngine
from dpsu.randomness.stream import Stream
from dpsu.sources.source import Source

SHARED = Path(__file__).parents[1].parent / "shared" / "data"
DELTA, MAX_ITEMS = 1e-6, 100
USERS, ITEMS = 40_000, 20_000
EPSILONS = (1.0, 3.0, 10.0)
SHAPES = [(1, 1.0), (2, 1.0), (4, 1.0), (4, 0.8), (8, 1.0), (16, 1.0)]
"""Items per user and the exponent of Zipf's law."""

JUST_ENOUGH = 1.0
"""In cutoffs: items with more holders than this are worth to be filled first, the rarest of them before all others."""

RIVALS = ("policy-laplace", "ordered-laplace", "focused-gaussian")
SAMPLE = 1000
"""Added to the seed of the data, it draws other users of the same law."""

Draw = Callable[[int], pl.DataFrame]


def law(size: int, exponent: float, seed: int) -> pl.DataFrame:
    """Users with `size` distinct items each, drawn in turn by Zipf's law."""
    cumulative = np.cumsum(np.arange(1, ITEMS + 1) ** -exponent)
    drawn = draw_sets(np.full(USERS, size), cumulative, np.random.default_rng(seed))
    return pl.DataFrame({"user": np.repeat(np.arange(USERS), size), "item": drawn})


def by_holders(frame: pl.DataFrame) -> list[Any]:
    """The items, those with the fewest holders first."""
    return frame.group_by("item").len().sort("len", "item")["item"].to_list()


def just_enough_first(frame: pl.DataFrame, mechanism: Mechanism) -> list[Any]:
    """The items by their holders: those with just enough first, then more popular ones, hopeless ones last."""
    counts = frame.group_by("item").len().sort("len", "item")
    rare = counts["len"] < JUST_ENOUGH * mechanism.parameters()["cutoff"]
    return [*counts.filter(~rare)["item"], *counts.filter(rare)["item"].reverse()]


def expected(mechanism: Mechanism, frame: pl.DataFrame, seed: int) -> float:
    """The number of items that are released, on average over the coins if the mechanism is a policy in ℓ1."""
    stream = Stream(np.random.default_rng(seed).bytes(32), seeded=True)
    with LocalEngine(1) as engine:
        sets = engine.read(Source.of(frame, user="user", item="item"), stream)
        mechanism = mechanism.fitted(engine, sets, stream)
        if not isinstance(mechanism, OrderedLaplaceMechanism | PolicyMechanism):
            return float(mechanism.select(engine, sets, stream)["released"].sum())
        rows = engine.bound(sets, mechanism.request.max_items, stream)
        totals = engine.walk(rows, engine.items(sets), mechanism.walk, stream)["total"]
    return float(mechanism.selection.probability(totals * mechanism.walk.unit).sum())


def mean(
    draw: Draw, runs: int, algorithm: str, epsilon: float, max_items: int = MAX_ITEMS, **options: Any
) -> float:
    """The mean number of items over runs."""
    mechanism = build(algorithm, **options).calibrate(Request(epsilon, DELTA, max_items))
    return float(np.mean([expected(mechanism, draw(seed), seed) for seed in range(runs)]))


def mean_in_order(
    draw: Draw, runs: int, epsilon: float, arrange: Callable[[int, Mechanism], list[Any]]
) -> float:
    """The same of Ordered Laplace with a public order, which may be another one in every run."""
    request, found = Request(epsilon, DELTA, MAX_ITEMS), []
    for seed in range(runs):
        order = arrange(seed, OrderedLaplace().calibrate(request))
        mechanism = OrderedLaplace(order=order).calibrate(request)
        found.append(expected(mechanism, draw(seed), seed))
    return float(np.mean(found))


def corpora(sizes: Iterable[tuple[int, float]] = SHAPES) -> dict[str, Draw]:
    """Data by name: synthetic users, another draw in every run, and Debian's packages."""
    synthetic = {
        f"{size} items, exponent {exponent:g}": partial(law, size, exponent) for size, exponent in sizes
    }
    frame = pl.read_parquet(SHARED / "debian_depends.parquet")
    return {**synthetic, "Debian": lambda seed: frame}


def table(header: list[str], rows: Iterable[tuple[str, list[float]]]) -> Iterator[str]:
    """Markdown; whole numbers from 10 on, and nothing for NaN."""
    yield f"| {' | '.join(header)} |"
    yield "|---|" + "---:|" * (len(header) - 1)
    for name, found in rows:
        yield f"| {name} | {' | '.join(map(in_figures, found))} |"


def in_figures(value: float) -> str:
    """A number of items, or a ratio."""
    if math.isnan(value):
        return ""
    return f"{value:,.0f}".replace(",", " ") if value >= 10 else f"{value:.3f}"


def shapes(runs: int) -> Iterator[str]:
    """The two policies and Focused Gaussian at several epsilons."""

    def rows() -> Iterator[tuple[str, list[float]]]:
        for (name, draw), epsilon in product(corpora().items(), EPSILONS):
            policy, ordered, focused = (mean(draw, runs, algorithm, epsilon) for algorithm in RIVALS)
            ratios = [ordered / policy, ordered / focused]
            yield f"{name}, epsilon {epsilon:g}", [policy, ordered, focused, *ratios]

    return table(["data", *RIVALS, "ordered/policy", "ordered/focused"], rows())


def orders(runs: int) -> Iterator[str]:
    """What an order is worth at epsilon 3: from as many other users of the same law, or from the data itself.

    The latter is not private; it shows what there is to gain.
    """

    def rows() -> Iterator[tuple[str, list[float]]]:
        for name, draw in corpora([(4, 1.0), (4, 0.8), (8, 1.0)]).items():
            keyed = mean(draw, runs, "ordered-laplace", 3.0)
            popular = mean_in_order(draw, runs, 3.0, lambda seed, _, d=draw: by_holders(d(seed))[::-1])
            sample = mean_in_order(
                draw, runs, 3.0, lambda seed, m, d=draw: just_enough_first(d(SAMPLE + seed), m)
            )
            true = mean_in_order(draw, runs, 3.0, lambda seed, m, d=draw: just_enough_first(d(seed), m))
            yield name, [keyed, popular, math.nan if name == "Debian" else sample, true]

    return table(["data", "keyed", "true, popular first", "of a sample", "true, just enough first"], rows())


def options(runs: int) -> Iterator[str]:
    """What alpha, parts and max_items do at epsilon 3."""

    def rows() -> Iterator[tuple[str, list[float]]]:
        for name, draw in corpora([(4, 1.0), (8, 1.0)]).items():
            yield name, [mean(draw, runs, "ordered-laplace", 3.0, **variant) for variant in VARIANTS.values()]

    return table(["data", *VARIANTS], rows())


VARIANTS: dict[str, dict[str, Any]] = {
    **{f"alpha {alpha:g}": {"alpha": alpha} for alpha in (1.0, 2.0, 3.0, 4.0, 6.0)},
    **{f"{parts} parts": {"parts": parts} for parts in (4, 8, 32)},
    **{f"max_items {items}": {"max_items": items} for items in (3, 10, 30, 1000)},
}

STUDIES = {"shapes": shapes, "orders": orders, "options": options}


def main() -> None:
    """The tables on stdout."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("studies", nargs="*", help=f"of {', '.join(STUDIES)}; all of them if none is named")
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    for study in arguments.studies or STUDIES:
        for line in STUDIES[study](arguments.runs):
            print(line, flush=True)
        print()


if __name__ == "__main__":
    main()
