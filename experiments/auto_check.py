"""`auto` against the best of all private algorithms at their best max_items.

    python -m experiments.auto_check [--runs 10] [--data NAME …] [--epsilon 0.1 0.3 1 3 10] [--parts 1] [--known FILE]

Every cell is a data set and an epsilon. Two runs of every algorithm with every max_items find the best setting; then `auto`,
that setting and the best one of Focused Gaussian run afresh, and a line of JSON on stdout has their numbers of items.
`--parts 8` runs policies and `auto` in parts, as Spark does. `--table FILE` prints such lines as a Markdown table. `--known
FILE` takes the rivals' figures from such lines, so that only `auto` runs. Files of the shared data that are not there are
left out.
"""

import argparse
import json
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from dpsu.algorithms.catalogue import CATALOGUE, build
from dpsu.algorithms.mechanism import Mechanism
from dpsu.algorithms.request import Request
from dpsu.datasets import draw_sets, load, words
from dpsu.engines.local import LocalEngine
from dpsu.randomness.stream import Stream
from dpsu.sources.source import Source
from experiments.auto_shapes import baskets, common_and_rare, geometric_law, two_kinds

SHARED = Path(__file__).parents[1].parent / "shared" / "data"
DELTA = 1e-6
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
LIMITS = (3, 10, 30, 100, 300, 1000)
"""Values of max_items."""

SEARCH_RUNS = 2
FAR = 0.85
"""Algorithms below this share of the best one at the first max_items are not run with the others."""

LEFT_OUT = {"auto", "optimal-single"}
"""`optimal-single` is for sets of one item, where policy-laplace has the same curve."""

ENOUGH = 200
"""Cells whose best setting releases fewer items have no goal."""

GOAL, GOAL_FOCUSED = 0.96, 0.985

Draw = Callable[[], pl.DataFrame]


def zipf(users: int, size: int, exponent: float = 1.0, items: int = 20_000) -> pl.DataFrame:
    """Users with `size` distinct items each, drawn in turn by Zipf's law."""
    cumulative = np.cumsum(np.arange(1, items + 1) ** -exponent)
    drawn = draw_sets(np.full(users, size), cumulative, np.random.default_rng(7))
    return pl.DataFrame({"user": np.repeat(np.arange(users), size), "item": drawn})


def _words_of(frame: pl.DataFrame, user: str) -> pl.DataFrame:
    return words(frame, user=user, text="text").rename({user: "user", "word": "item"})


def _shared(name: str) -> pl.DataFrame:
    frame = pl.read_parquet(SHARED / f"{name}.parquet")
    return _words_of(frame, "author") if "text" in frame.columns else frame


DATA: dict[str, Draw] = {
    "40k users, 1 item": partial(zipf, 40_000, 1),
    "40k users, 2 items": partial(zipf, 40_000, 2),
    "40k users, 3 items": partial(zipf, 40_000, 3),
    "40k users, 4 items": partial(zipf, 40_000, 4),
    "40k users, 4 items, exponent 1.3": partial(zipf, 40_000, 4, 1.3),
    "40k users, 4 items, exponent 0.8": partial(zipf, 40_000, 4, 0.8),
    "40k users, 8 items": partial(zipf, 40_000, 8),
    "400k users, 3 items, exponent 1.1": partial(zipf, 400_000, 3, 1.1, 200_000),
    "60k users, 1 or 300 items": two_kinds,
    "30k users, 60 common and 2 rare items": common_and_rare,
    "50k users, geometric law": geometric_law,
    "88k baskets": baskets,
    "Shakespeare": lambda: _words_of(load("shakespeare_speakers"), "uid"),
    "arXiv, 25k authors": lambda: _words_of(load("arxiv_titles_small"), "author"),
    **{
        title: partial(_shared, name)
        for title, name in (
            ("Debian", "debian_depends"),
            ("arXiv", "arxiv_titles"),
            ("Reddit-like", "reddit_like"),
        )
        if (SHARED / f"{name}.parquet").exists()
    },
}


class Cell:
    """One data set, read once; every run has noise of its own."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self._engine = LocalEngine(1)
        stream = Stream(np.random.default_rng(1).bytes(32), seeded=True)
        self._sets = self._engine.read(Source.of(frame, user="user", item="item"), stream)
        self.longest = int(np.diff(self._sets.indptr).max())

    def released(self, mechanism: Mechanism, seed: int) -> int:
        """The number of items of one release."""
        stream = Stream(np.random.default_rng([2, seed]).bytes(32), seeded=True)
        return int(mechanism.select(self._engine, self._sets, stream)["released"].sum())

    def chosen(self, auto: Mechanism, seed: int) -> tuple[int, str]:
        """The number of items of one release of `auto`, and its choice."""
        stream = Stream(np.random.default_rng([2, seed]).bytes(32), seeded=True)
        items, told = auto.selected(self._engine, self._sets, stream)
        choice = told["chosen"]
        return int(items["released"].sum()), f"{choice['algorithm']}, {choice['max_items']}"

    def limits(self) -> list[int]:
        """The values of max_items that differ on this data."""
        smaller = [limit for limit in LIMITS if limit < self.longest]
        return [*smaller, *LIMITS[len(smaller) : len(smaller) + 1]]


def calibrated(name: str, epsilon: float, limit: int | str, parts: int = 1) -> Mechanism:
    """The algorithm at this privacy, in parts if it is a policy or `auto`."""
    options = {"parts": parts} if hasattr(build(name), "parts") else {}
    return build(name, **options).calibrate(Request.asked(epsilon, DELTA, limit))  # type: ignore[arg-type]


def search(cell: Cell, epsilon: float, parts: int) -> dict[tuple[str, int], float]:
    """The mean items of two runs by algorithm and max_items; algorithms far behind run with one max_items only."""
    limits = cell.limits()
    first = min(limits, key=lambda limit: abs(math.log(limit / 100)))
    private = [name for name, kind in CATALOGUE.items() if kind.private and name not in LEFT_OUT]

    def mean(name: str, limit: int) -> float:
        mechanism = calibrated(name, epsilon, limit, parts)
        return float(np.mean([cell.released(mechanism, seed) for seed in range(SEARCH_RUNS)]))

    found = {(name, first): mean(name, first) for name in private}
    near = [name for name in private if found[name, first] >= FAR * max(found.values())]
    for name in near:
        found |= {(name, limit): mean(name, limit) for limit in limits if limit != first}
    return found


def rivals(name: str, cell: Cell, epsilon: float, runs: int, parts: int) -> dict[str, Any]:
    """The best setting of all and that of Focused Gaussian, with the items of their runs."""
    found = search(cell, epsilon, parts)
    best = max(found, key=lambda key: found[key])
    focused = max((key for key in found if key[0] == "focused-gaussian"), key=lambda key: found[key])
    told: dict[str, Any] = {"data": name, "epsilon": epsilon, "best": best, "focused": focused}
    for title, (algorithm, limit) in (("best", best), ("focused", focused)):
        if title == "focused" and focused == best:
            told["focused_items"] = told["best_items"]
        else:
            mechanism = calibrated(algorithm, epsilon, limit, parts)
            told[f"{title}_items"] = [cell.released(mechanism, 100 + seed) for seed in range(runs)]
    return told


def with_auto(told: dict[str, Any], cell: Cell, epsilon: float, runs: int, parts: int) -> dict[str, Any]:
    """The line of a cell, with the items of `auto` and what it chose most often."""
    auto = calibrated("auto", epsilon, "auto", parts)
    found = [cell.chosen(auto, 200 + seed) for seed in range(runs)]
    choices = Counter(choice for _, choice in found)
    (chosen, times), *others = choices.most_common()
    most = f"{chosen} ({times} of {runs})" if others else chosen
    return {**told, "chosen": most, "auto_items": [items for items, _ in found]}


def ratio(above: list[int], below: list[int]) -> tuple[float, float]:
    """The ratio of two means and its standard error."""
    a, b = np.array(above, float), np.array(below, float)
    if not b.mean() or not a.mean():
        return math.nan, math.nan
    relative = (a.var(ddof=1) / len(a) / a.mean() ** 2) + (b.var(ddof=1) / len(b) / b.mean() ** 2)
    value = float(a.mean() / b.mean())
    return value, value * math.sqrt(relative)


def table(lines: list[dict[str, Any]]) -> Iterator[str]:
    """Markdown, cells with a goal first missed."""
    yield "| data | epsilon | best setting | items | auto chose | auto / best | auto / focused |"
    yield "|---|---:|---|---:|---|---:|---:|"
    missed = goals = 0
    for line in lines:
        best, focused = (ratio(line["auto_items"], line[key]) for key in ("best_items", "focused_items"))
        items = float(np.mean(line["best_items"]))
        goal = items >= ENOUGH
        mine = line["best"][0] == "focused-gaussian"
        miss = goal and (best[0] < GOAL or (mine and focused[0] < GOAL_FOCUSED))
        goals, missed = goals + goal, missed + miss
        yield (
            f"| {line['data']} | {line['epsilon']:g} | {line['best'][0]}, {line['best'][1]} | {items:,.0f} | "
            f"{line['chosen']} | {best[0]:.3f} ± {best[1]:.3f}{' **missed**' if miss else ''} | "
            f"{focused[0]:.3f} ± {focused[1]:.3f} |"
        )
    yield ""
    yield f"{goals} cells with a goal, {missed} missed."


def main() -> None:
    """Lines of JSON, or the table of a file with such lines."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--data", nargs="*", default=[*DATA])
    parser.add_argument("--epsilon", nargs="*", type=float, default=EPSILONS)
    parser.add_argument("--parts", type=int, default=1)
    parser.add_argument("--known", type=Path)
    parser.add_argument("--table", type=Path)
    arguments = parser.parse_args()
    if arguments.table:
        lines = [json.loads(line) for line in arguments.table.read_text().splitlines()]
        print("\n".join(table(lines)))
        return
    lines = arguments.known.read_text().splitlines() if arguments.known else []
    known = {(line["data"], line["epsilon"]): line for line in map(json.loads, lines)}
    for name in arguments.data:
        cell = Cell(DATA[name]())
        for epsilon in arguments.epsilon:
            how = cell, epsilon, arguments.runs, arguments.parts
            told = known.get((name, epsilon)) or rivals(name, *how)
            json.dump(with_auto(told, *how), sys.stdout)
            print(flush=True)


if __name__ == "__main__":
    main()
