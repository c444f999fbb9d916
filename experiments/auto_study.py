"""How the rule of `auto` was fitted: synthetic shapes, every algorithm that it can choose, and what the private steps see.

    python -m experiments.auto_study scan [--quick] [--first 0] [--shapes 150] > lines.jsonl
    python -m experiments.auto_study fit lines.jsonl …
    python -m experiments.auto_study losses lines.jsonl …
    python -m experiments.auto_study parts lines.jsonl …
    python -m experiments.auto_study lattice

`scan` draws shapes of three kinds at random and writes a line of JSON for every shape and two values of epsilon. `fit`
prints what rules lose that choose the ℓ1 family for a small mean size, demand or gain. `losses` divides what `auto` loses
into the cost of its private steps, a wrong algorithm and a wrong max_items. `parts` compares the demand up to which the ℓ1
family is better, with and without parts. `lattice` compares policy-laplace and ordered-laplace at large epsilon.
"""

import argparse
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dpsu.algorithms import auto_rule as rule
from dpsu.algorithms.auto import Auto, units_given
from dpsu.algorithms.catalogue import build
from dpsu.algorithms.request import Request
from dpsu.datasets import draw_sets
from dpsu.engines.local import LocalEngine
from dpsu.kernels.units import ONE
from dpsu.privacy.laplace import ReleaseCurve
from dpsu.randomness.stream import Stream
from dpsu.sources.source import Source

Floats = NDArray[np.float64]
Line = dict[str, Any]

MOST_PAIRS, QUICK_PAIRS, QUICK_SHAPES = 600_000, 60_000, 4
EPSILONS, ODDS = (0.1, 0.3, 1.0, 3.0, 10.0), (0.1, 0.15, 0.25, 0.25, 0.25)
DELTAS = (1e-5, 1e-6, 1e-7, 1e-9)
PER_SHAPE = 2
"""Values of epsilon for every shape."""

TOPICS, WITH_TOPICS = (10, 300), 0.6
"""Range of the number of topics, and the share of the shapes that have any: real data mostly does."""
WIDEST = 0.97
"""Largest share of the law that a user's set may cover."""

ENOUGH = 150
"""Shapes whose best algorithm releases fewer items do not count."""

BEHIND = 0.6
"""Focused Gaussian with other max_items runs only if it is not this far behind."""

CUTOFFS = (0.5, 1.0, 2.0, 4.0)
"""How many cutoffs fill an item: what `fit` compares. The rule has rule.CUTOFFS."""

LARGEST = (1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.2, 2.4, 2.7, 3.0)
"""Values of the largest demand for the ℓ1 family."""

LARGEST_IN_PARTS = (0.5, 0.7, *(0.1 * each for each in range(8, 25)))
"""The same for `parts`."""

PARTS = 8
MIDPOINTS = (1.0, 2.8, 4.0, 9.0, 25.0, 1000.0)
"""Bounds of the midpoints that `parts` looks at."""
NEAR = 0.25
"""`parts` leaves out shapes where the ℓ1 family is further behind, in logarithms of the number of items."""


def shape_of(rng: np.random.Generator, most: int) -> Line:
    """Users, mean set size, exponent of Zipf's law, spread of the log-normal sizes (0: fixed), topics, items."""
    users, size = 10 ** rng.uniform(3, 6), 1.0 if rng.random() < 0.12 else 10 ** rng.uniform(0, 2.48)
    users = int(min(users, most / size))
    items = int(max(1000, 40 * size, users * size / 10 ** rng.uniform(0.4, 1.3)))
    return {
        "users": users,
        "size": size,
        "zipf": rng.uniform(0.7, 1.5),
        "spread": 0.0 if rng.random() < 0.35 else rng.uniform(0.4, 1.4),
        "topics": round(np.exp(rng.uniform(*np.log(TOPICS)))) if rng.random() < WITH_TOPICS else 0,
        "items": items,
    }


def dense_shape_of(rng: np.random.Generator, most: int) -> Line:
    """The same with 2 to 30 items per user and up to 200 pairs per item; half of the laws are flat up to rank `shift`."""
    shape = shape_of(rng, most)
    size = 10 ** rng.uniform(0.2, 1.5)
    users = int(min(10 ** rng.uniform(3.7, 5.5), most / size))
    items = int(max(200, 40 * size, users * size / 10 ** rng.uniform(0.4, 2.3)))
    shift = 0.0 if rng.random() < 0.5 else 10 ** rng.uniform(0, np.log10(items) - 1)
    topics = min(shape["topics"], max(2, items // 50))
    return {**shape, "users": users, "size": size, "items": items, "shift": shift, "topics": topics}


def mixed_shape_of(rng: np.random.Generator, most: int) -> Line:
    """The same with 1 to 8 items per user, and some of 30 to 2000 common items as well."""
    shape, users = shape_of(rng, most), 10 ** rng.uniform(3.7, 5.3)
    size, common = 10 ** rng.uniform(0, 0.9), int(10 ** rng.uniform(1.5, 3.3))
    of_common = min(10 ** rng.uniform(0.2, 1.7), common / 3)
    users = int(min(users, most / (size + of_common)))
    items = int(max(500, users * size / 10 ** rng.uniform(0.4, 1.5)))
    told = {"users": users, "size": size, "items": items, "topics": 0}
    return {
        **shape,
        **told,
        "common": common,
        "of_common": of_common,
        "common_zipf": rng.uniform(0, 0.8),
    }


KINDS: dict[str, Callable[[np.random.Generator, int], Line]] = {
    "sparse": shape_of,
    "dense": dense_shape_of,
    "mixed": mixed_shape_of,
}


def drawn(shape: Line, rng: np.random.Generator) -> pl.DataFrame:
    """Users and items; with topics, half of a user's items are from the one topic of the user."""
    users = shape["users"]
    more = np.full(users, shape["size"] - 1.0)
    if shape["spread"]:
        more *= np.exp(rng.normal(-(shape["spread"] ** 2) / 2, shape["spread"], users))
    law = (np.arange(1, shape["items"] + 1) + shape.get("shift", 0.0)) ** -shape["zipf"]
    sizes = np.minimum(1 + np.floor(more + rng.random(users)).astype(np.int64), _widest(law))
    if "common" in shape:
        common_law = np.arange(1.0, shape["common"] + 1) ** -shape["common_zipf"]
        of_common = np.minimum(rng.poisson(shape["of_common"], users), _widest(common_law))
        shared = len(law) + draw_sets(of_common, np.cumsum(common_law), rng)
        return pl.concat([_frame(sizes, draw_sets(sizes, np.cumsum(law), rng)), _frame(of_common, shared)])
    if not shape["topics"]:
        return _frame(sizes, draw_sets(sizes, np.cumsum(law), rng))
    of_topic = law[: max(len(law) // shape["topics"], 2)]
    own = np.minimum(rng.binomial(sizes, 0.5), _widest(of_topic))
    common = draw_sets(sizes - own, np.cumsum(law), rng)
    first = len(law) + len(of_topic) * rng.integers(0, shape["topics"], users)
    special = draw_sets(own, np.cumsum(of_topic), rng) + np.repeat(first, own)
    return pl.concat([_frame(sizes - own, common), _frame(own, special)])


def _frame(sizes: NDArray[np.int64], items: NDArray[np.int64]) -> pl.DataFrame:
    return pl.DataFrame({"user": np.repeat(np.arange(len(sizes)), sizes), "item": items})


def _widest(law: Floats) -> int:
    return max(1, int(np.searchsorted(np.cumsum(law) / law.sum(), WIDEST)))


def stream(*seed: int) -> Stream:
    """Randomness that a rerun has too."""
    return Stream(np.random.default_rng(seed).bytes(32), seeded=True)


class Cell:
    """The sets of one shape; every call has noise of its own."""

    def __init__(self, frame: pl.DataFrame, seed: int) -> None:
        self.engine, self._seed, self._calls = LocalEngine(1), seed, 0
        self.sets = self.engine.read(Source.of(frame, user="user", item="item"), stream(3, seed))
        self.longest = int(np.diff(self.sets.indptr).max())

    def stream(self) -> Stream:
        """The next stream."""
        self._calls += 1
        return stream(4, self._seed, self._calls)

    def released(self, name: str, request: Request, **options: Any) -> int:
        """The number of items of one release with the whole budget."""
        items = build(name, **options).calibrate(request).select(self.engine, self.sets, self.stream())
        return int(items["released"].sum())

    def rivals(self, epsilon: float, delta: float) -> dict[str, int]:
        """The items of every branch as an algorithm of its own, by name and max_items."""
        request = Request(epsilon, delta, rule.UNKNOWN)
        found = {f"{rule.FOCUSED}, {rule.UNKNOWN}": self.released(rule.FOCUSED, request)}
        for name in (rule.ORDERED, rule.POLICY):
            found[f"{name}, {rule.MAX_ITEMS}"] = self.released(
                name, replace(request, max_items=rule.MAX_ITEMS)
            )
        if found[f"{rule.FOCUSED}, {rule.UNKNOWN}"] > BEHIND * max(found.values()):
            smaller = [cut for cut in rule.CANDIDATES if cut < self.longest]
            for cut in {*rule.CANDIDATES[: len(smaller) + 1]} - {rule.UNKNOWN}:
                found[f"{rule.FOCUSED}, {cut}"] = self.released(rule.FOCUSED, replace(request, max_items=cut))
        return found

    def auto(self, epsilon: float, delta: float) -> Line:
        """What the private steps see, what the rule chooses, what `auto` then releases, and the exact demand."""
        mechanism = Auto().calibrate(Request.asked(epsilon, delta, "auto"))
        shared = self.stream()
        items, told = mechanism.selected(self.engine, self.sets, shared)
        chosen, demand = told["chosen"], told["demand"]
        left, _ = mechanism.without_popular(self.engine, self.sets, shared)
        users = int(self.engine.tally(left, rule.BINS, lambda users: users).sum())
        exact = {}
        for count in CUTOFFS:
            most = mechanism.sizing.filled * count / rule.CUTOFFS
            given = units_given(self.engine, left, shared, self.longest, most) / ONE
            exact[str(count)] = self.longest * given / max(users, 1)
        seen = rule.Seen(told["sizes"]["users"], demand["budgets"], demand["width"], mechanism.sizing.scales)
        return {
            "sizes": seen.clear,
            "mean": rule.mean_size(seen.clear, rule.LARGE) if seen.clear else None,
            "demand": seen.demand if seen.clear else None,
            "exact": exact,
            "middle": mechanism.sizing.middle,
            "chosen": f"{chosen['algorithm']}, {chosen['max_items']}",
            "auto": int(items["released"].sum()),
            "in_parts": self.released(rule.ORDERED, Request(epsilon, delta, rule.MAX_ITEMS), parts=PARTS),
        }


def scan(first: int, shapes: int, most: int) -> Iterator[Line]:
    """A line for every shape and some values of epsilon."""
    for number in range(first, first + shapes):
        for place, (kind, draw) in enumerate(KINDS.items()):
            rng = np.random.default_rng([97, place, number])
            shape = draw(rng, most)
            cell = Cell(drawn(shape, rng), number)
            for epsilon in rng.choice(EPSILONS, PER_SHAPE, replace=False, p=ODDS):
                delta = float(rng.choice(DELTAS))
                told = {"kind": kind, "number": number, **shape, "epsilon": float(epsilon), "delta": delta}
                rivals = cell.rivals(float(epsilon), delta)
                if max(rivals.values()) >= ENOUGH:
                    told |= {"rivals": rivals, **cell.auto(float(epsilon), delta)}
                yield told


def best_of(line: Line, focused: bool) -> int:
    """The most items of Focused Gaussian, or of the ℓ1 family."""
    return max(items for name, items in line["rivals"].items() if name.startswith(rule.FOCUSED) == focused)


def log_ratio(line: Line) -> float:
    """The logarithm of what the ℓ1 family releases, divided by what Focused Gaussian releases."""
    return math.log(max(1, best_of(line, focused=False)) / max(1, best_of(line, focused=True)))


def fit(lines: list[Line]) -> Iterator[str]:
    """What rules lose by a wrong algorithm that choose the ℓ1 family for a small mean size, demand or gain."""
    told = [line for line in lines if line["demand"] is not None]
    ratios = np.array([log_ratio(line) for line in told])
    small = np.array([line["mean"] < rule.FEW for line in told])
    yield f"{len(lines)} lines, {len(lines) - len(told)} too noisy to tell\n"
    yield f"| the ℓ1 family | {' | '.join(KINDS)} | loses > 4 % | > 10 % | worst |"
    yield "|---|" + "---:|" * (len(KINDS) + 3)
    kinds = [line["kind"] for line in told]
    means = np.array([line["mean"] for line in told])
    for most in (2.0, 3.0, 4.0, 6.0):
        yield f"| mean size below {most:g} | {_regret(means < most, ratios, kinds)} |"
    demands = np.array([line["demand"] for line in told])
    for most in LARGEST[1::2]:
        yield f"| or demand at most {most:g} | {_regret(small | (demands <= most), ratios, kinds)} |"
    gains = np.array([rule.gain(line["sizes"], line["demand"]) for line in told])
    for most in LARGEST:
        shown = _regret(small | (gains <= math.sqrt(most)), ratios, kinds)
        yield f"| or gain at most √{most:g} | {shown} |"
    for count in CUTOFFS:
        exact = np.array([rule.gain(line["sizes"], line["exact"][str(count)]) for line in told])
        best = min(LARGEST, key=lambda most: _lost(small | (exact <= math.sqrt(most)), ratios).mean())
        yield (
            f"| or gain of the exact demand at {count:g} cutoffs, at most √{best:g} | "
            f"{_regret(small | (exact <= math.sqrt(best)), ratios, kinds)} |"
        )
    chosen = np.array([not line["chosen"].startswith(rule.FOCUSED) for line in told])
    yield f"| as the program chose | {_regret(chosen, ratios, kinds)} |"


def _lost(l1: NDArray[np.bool_], ratios: Floats) -> Floats:
    return np.asarray(1 - np.exp(-np.where(l1 != (ratios > 0), np.abs(ratios), 0.0)), np.float64)


def _regret(l1: NDArray[np.bool_], ratios: Floats, kinds: Sequence[str]) -> str:
    """What wrong choices lose: the mean of each kind of shapes, how many are large, and the largest."""
    lost = _lost(l1, ratios)
    by_kind = [100 * lost[[each == kind for each in kinds]].mean() for kind in KINDS]
    means = " | ".join(f"{mean:.2f} %" for mean in by_kind)
    return f"{means} | {(lost > 0.04).sum()} | {(lost > 0.1).sum()} | {100 * lost.max():.0f} %"


def losses(lines: list[Line]) -> Iterator[str]:
    """`auto` beside the best branch with the whole budget, and where the difference comes from."""
    parts: dict[str, list[float]] = {"auto / best": [], "steps": [], "algorithm": [], "max_items": []}
    for line in lines:
        best = max(line["rivals"].values())
        focused = line["chosen"].startswith(rule.FOCUSED)
        family = best_of(line, focused)
        own = line["rivals"].get(line["chosen"], family)
        parts["auto / best"].append(line["auto"] / best)
        parts["algorithm"].append(family / best)
        parts["max_items"].append(own / family)
        parts["steps"].append(line["auto"] / own)
    yield "| | mean | 10 % of the lines are below | 1 % are below | worst |"
    yield "|---|---:|---:|---:|---:|"
    for title, values in parts.items():
        low = np.quantile(values, [0.1, 0.01])
        yield f"| {title} | {np.mean(values):.3f} | {low[0]:.3f} | {low[1]:.3f} | {min(values):.3f} |"


def lattice() -> Iterator[str]:
    """policy-laplace divided by ordered-laplace, by the midpoint of their release curve in budgets."""
    sizes = (1.5, 2.0, 3.0)
    cells = []
    for place, size in enumerate(sizes):
        shape = {"users": 30_000, "size": size, "zipf": 1.0, "spread": 0.0, "topics": 0, "items": 20_000}
        cells.append(Cell(drawn(shape, np.random.default_rng([5, place])), place))
    yield "| epsilon | delta | midpoint | " + " | ".join(f"{size:g} items" for size in sizes) + " |"
    yield "|---:|---:|---:|" + "---:|" * len(sizes)
    for epsilon, delta in [
        *((10.0, delta) for delta in (1e-4, 1e-5, 3e-6, 1e-6, 3e-7, 1e-7, 1e-9, 1e-10)),
        *((6.0, 1e-5), (6.0, 1e-6), (15.0, 1e-9), (5.0, 1e-4)),
    ]:
        request = Request(epsilon, delta, rule.MAX_ITEMS)
        ratios = [
            cell.released(rule.POLICY, request) / cell.released(rule.ORDERED, request) for cell in cells
        ]
        middle = ReleaseCurve(epsilon, delta).midpoint
        yield (
            f"| {epsilon:g} | {delta:g} | {middle:.2f} | "
            + " | ".join(f"{ratio:.2f}" for ratio in ratios)
            + " |"
        )


def parts(lines: list[Line]) -> Iterator[str]:
    """What parts cost, and the demand up to which the ℓ1 family is better, by the midpoint of its curve."""
    near = [
        line
        for line in lines
        if log_ratio(line) > -NEAR and line["rivals"][f"{rule.ORDERED}, {rule.MAX_ITEMS}"] >= ENOUGH
    ]
    yield f"| midpoint | lines | cost of {PARTS} parts | largest demand without parts | in parts | of the rule, in parts |"
    yield "|---|---:|---:|---:|---:|---:|"
    for low, high in pairwise(MIDPOINTS):
        own = [line for line in near if low <= line["middle"] < high]
        if not own:
            continue
        alone = np.array([line["rivals"][f"{rule.ORDERED}, {rule.MAX_ITEMS}"] for line in own])
        cost = np.log([max(1, line["in_parts"]) for line in own]) - np.log(alone)
        ratios, demand = np.array([log_ratio(line) for line in own]), exact_of(own)
        best = [
            min(LARGEST_IN_PARTS, key=lambda most, to=to: _lost(demand <= most, to).mean())
            for to in (ratios, ratios + cost)
        ]
        middle = float(np.exp(np.mean(np.log([line["middle"] for line in own]))))
        told = rule.largest_demand(middle, PARTS)
        yield (
            f"| {low:g} to {high:g} | {len(own)} | {100 * (1 - np.exp(cost.mean())):.0f} % | {best[0]:g} | {best[1]:g} | "
            f"{told:.2f} |"
        )


def exact_of(lines: list[Line]) -> Floats:
    """The exact demand as the rule defines it."""
    return np.array([line["exact"][str(rule.CUTOFFS)] for line in lines])


def _lines(paths: Sequence[Path]) -> list[Line]:
    found = [json.loads(line) for path in paths for line in path.read_text().splitlines()]
    return [line for line in found if "rivals" in line]


REPORTS: dict[str, Callable[[list[Line]], Iterator[str]]] = {"fit": fit, "losses": losses, "parts": parts}


def main() -> None:
    """Lines of JSON, or what follows from them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("what", choices=["scan", *REPORTS, "lattice"])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--shapes", type=int, default=150)
    parser.add_argument("--quick", action="store_true", help="a few small shapes")
    arguments = parser.parse_args()
    if arguments.what == "scan":
        how = (QUICK_SHAPES, QUICK_PAIRS) if arguments.quick else (arguments.shapes, MOST_PAIRS)
        for line in scan(arguments.first, *how):
            print(json.dumps(line), flush=True)
        return
    found = lattice() if arguments.what == "lattice" else REPORTS[arguments.what](_lines(arguments.files))
    for told in found:
        print(told, flush=True)


if __name__ == "__main__":
    main()
