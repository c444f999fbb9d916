"""How the rule of `auto` was fitted: synthetic shapes, every algorithm that it can choose, and what the private steps see.

    python -m experiments.auto_study scan [--quick] [--dense] [--first 0] [--shapes 1000] > lines.jsonl
    python -m experiments.auto_study fit lines.jsonl …
    python -m experiments.auto_study losses lines.jsonl …
    python -m experiments.auto_study lattice
    python -m experiments.auto_study parts

`scan` draws shapes at random and writes a line of JSON for every shape, epsilon and delta. `--dense` draws shapes with more
holders per item, which the rule was not fitted to. `fit` prints the coefficients of
the score, and how often rules with other terms choose wrongly, on shapes that they were not fitted to. `losses` divides what
`auto` loses into the cost of its private steps, a wrong algorithm and a wrong max_items. `lattice` compares policy-laplace
and ordered-laplace at large epsilon. `parts` fits what 8 parts cost ordered-laplace.
"""

import argparse
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.optimize import minimize

from dpsu.algorithms import auto_rule as rule
from dpsu.algorithms.auto import ALPHA, Auto
from dpsu.algorithms.catalogue import build
from dpsu.algorithms.request import Request
from dpsu.datasets import draw_sets
from dpsu.engines.local import LocalEngine
from dpsu.privacy.laplace import ReleaseCurve
from dpsu.randomness.stream import Stream
from dpsu.sources.source import Source

Floats = NDArray[np.float64]
Line = dict[str, Any]

MOST_PAIRS, MOST_DENSE_PAIRS = 1_500_000, 1_000_000
QUICK_PAIRS, QUICK_SHAPES = 100_000, 12
EPSILONS, DELTAS = (0.1, 0.3, 1.0, 3.0, 10.0), (1e-5, 1e-9)
DENSE_EPSILONS, DENSE_DELTAS = (1.0, 3.0, 10.0), (1e-5, 1e-6, 1e-9)
PER_SHAPE = 2
"""Values of epsilon for every shape."""

TOPICS, WITH_TOPICS = (10, 300), 0.6
"""Range of the number of topics, and the share of the shapes that have any: real data mostly does."""
WIDEST = 0.97
"""Largest share of the law that a user's set may cover."""

ENOUGH = 150
"""Lines whose best algorithm releases fewer items do not count."""

DEMAND = 1.4
"""Below this many budgets per user all items with enough holders would be filled, if the data were known exactly."""

BEHIND = 0.6
"""Focused Gaussian with other max_items runs only if it is not this far behind."""

PARTS_SHAPES, PARTS_PAIRS = 200, 400_000
"""Shapes that `parts` draws, with up to 8 items per user on average."""

FOLDS = 6
STEEPNESS = 8.0
NEAR = 0.5

TERMS: dict[str, Sequence[str]] = {
    "mean": ("one", "mean"),
    "harmonic mean": ("one", "harmonic"),
    "mean, popular": ("one", "mean", "popular"),
    "mean, popular, users": ("one", "mean", "popular", "users"),
    "the rule": ("one", "mean", "popular", "users", "middle"),
    "the rule, harmonic mean": ("one", "mean", "popular", "users", "middle", "harmonic"),
    "the rule, mean squared": ("one", "mean", "popular", "users", "middle", "mean²"),
    "the rule, products": (
        *("one", "mean", "harmonic", "popular", "users", "middle", "mean²"),
        *("users·mean", "middle·mean", "popular·mean", "popular·users", "popular²", "users²"),
    ),
}
"""Terms of scores that were compared; products of terms are written with ·."""


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


def drawn(shape: Line, rng: np.random.Generator) -> pl.DataFrame:
    """Users and items; with topics, half of a user's items are from the one topic of the user."""
    users = shape["users"]
    more = np.full(users, shape["size"] - 1.0)
    if shape["spread"]:
        more *= np.exp(rng.normal(-(shape["spread"] ** 2) / 2, shape["spread"], users))
    law = (np.arange(1, shape["items"] + 1) + shape.get("shift", 0.0)) ** -shape["zipf"]
    sizes = np.minimum(1 + np.floor(more + rng.random(users)).astype(np.int64), _widest(law))
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
        self.users, self.longest = len(self.sets.indptr) - 1, int(np.diff(self.sets.indptr).max())

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
        """What the private steps see, what the rule chooses, and what `auto` then releases."""
        mechanism = Auto().calibrate(Request.asked(epsilon, delta, "auto"))
        items, told = mechanism.selected(self.engine, self.sets, self.stream())
        chosen = told["chosen"]
        cutoff = mechanism.sizing.middle + ALPHA / epsilon
        return {
            "demand": float(np.minimum(np.bincount(self.sets.items), cutoff).sum() / self.users),
            "sizes": told["sizes"]["users"],
            "popular": told["popular"]["items"],
            "scale": 1 / told["sizes"]["epsilon"],
            "middle": mechanism.sizing.middle,
            "chosen": f"{chosen['algorithm']}, {chosen['max_items']}",
            "auto": int(items["released"].sum()),
        }


def scan(first: int, shapes: int, most: int, dense: bool) -> Iterator[Line]:
    """A line for every shape and some values of epsilon."""
    epsilons, deltas = (DENSE_EPSILONS, DENSE_DELTAS) if dense else (EPSILONS, DELTAS)
    for number in range(first, first + shapes):
        rng = np.random.default_rng([78 if dense else 77, number])
        shape = dense_shape_of(rng, most) if dense else shape_of(rng, most)
        cell = Cell(drawn(shape, rng), number)
        for epsilon in rng.choice(epsilons, PER_SHAPE, replace=False):
            delta = float(rng.choice(deltas))
            told = {"number": number, **shape, "epsilon": float(epsilon), "delta": delta}
            rivals = cell.rivals(float(epsilon), delta)
            if max(rivals.values()) >= ENOUGH:
                told |= {"rivals": rivals, **cell.auto(float(epsilon), delta)}
            yield told


def terms_of(line: Line) -> dict[str, float] | None:
    """What a score can be made of; None if the histogram is too noisy to tell."""
    clear = rule.seen(line["sizes"], line["scale"])
    if not clear:
        return None
    terms = {
        "one": 1.0,
        "mean": math.log(rule.mean_size(clear)),
        "harmonic": math.log(harmonic_mean(clear)),
        "popular": math.log1p(line["popular"]),
        "users": math.log(sum(clear)),
        "middle": math.log(line["middle"]),
    }
    for name in ("mean", "users", "popular"):
        terms[f"{name}²"] = terms[name] ** 2
    for name in ("users·mean", "middle·mean", "popular·mean", "popular·users"):
        one, other = name.split("·")
        terms[name] = terms[one] * terms[other]
    return terms


def harmonic_mean(clear: Sequence[int]) -> float:
    """The harmonic mean of the sizes of the histogram."""
    return sum(clear) / sum(count / size for count, size in zip(clear, rule.MIDDLES, strict=True))


def best_of(line: Line, focused: bool) -> int:
    """The most items of Focused Gaussian, or of the ℓ1 family."""
    return max(items for name, items in line["rivals"].items() if name.startswith(rule.FOCUSED) == focused)


def log_ratio(line: Line) -> float:
    """The logarithm of what the ℓ1 family releases, divided by what Focused Gaussian releases."""
    return math.log(max(1, best_of(line, focused=False)) / max(1, best_of(line, focused=True)))


def fitted(terms: Floats, ratios: Floats) -> Floats:
    """The coefficients that choose best: a logistic loss, weighted by what a wrong choice costs.

    They are scaled so that a score near 0 is about the logarithm of the ratio.
    """
    sign, cost = np.sign(ratios), np.minimum(np.abs(ratios), NEAR)
    spread = np.where(terms.std(0) > 0, terms.std(0), 1.0)
    scaled = terms / spread

    def loss(weights: Floats) -> tuple[float, Floats]:
        margin = -sign * (scaled @ weights) * STEEPNESS
        value = (cost * np.logaddexp(0, margin) / STEEPNESS).sum() + 1e-6 * len(ratios) * weights @ weights
        slope = -(scaled * (sign * cost / (1 + np.exp(-margin)))[:, None]).sum(0)
        return float(value), slope + 2e-6 * len(ratios) * weights

    found = minimize(loss, np.zeros(terms.shape[1]), jac=True, method="BFGS").x / spread
    near = np.abs(ratios) < NEAR
    score = terms[near] @ found
    return np.asarray(found * (score @ ratios[near]) / (score @ score), np.float64)


def fit(lines: list[Line]) -> Iterator[str]:
    """The coefficients, and the regret of rules by their terms."""
    known = [(terms_of(line), line) for line in lines]
    told = [(terms, line) for terms, line in known if terms is not None]
    ratios = np.array([log_ratio(line) for _, line in told])
    number = np.array([line["number"] for _, line in told])
    yield f"{len(lines)} lines, {len(lines) - len(told)} too noisy to tell\n"
    yield "| terms of the score | mean loss | loses > 2.5 % | > 10 % | worst |"
    yield "|---|---:|---:|---:|---:|"
    for title, names in TERMS.items():
        matrix = np.array([[terms[name] for name in names] for terms, _ in told])
        scores = np.zeros(len(ratios))
        for fold in range(FOLDS):
            own = number % FOLDS == fold
            scores[own] = matrix[own] @ fitted(matrix[~own], ratios[~own])
        yield f"| {title} | {_regret(scores, ratios)} |"
    now = np.array(
        [
            rule.score(rule.seen(line["sizes"], line["scale"]), line["popular"], line["middle"], 1)
            for _, line in told
        ]
    )
    yield f"| as the program has it | {_regret(now, ratios)} |"
    if all("demand" in line for _, line in told):
        l1 = np.array([not line["chosen"].startswith(rule.FOCUSED) for _, line in told])
        low = np.array([line["demand"] < DEMAND for _, line in told])
        yield f"| the choice of auto | {_regret(np.where(l1, 1.0, -1.0), ratios)} |"
        yield f"| and the ℓ1 family if the demand is small | {_regret(np.where(l1 | low, 1.0, -1.0), ratios)} |"
    names = TERMS["the rule"]
    matrix = np.array([[terms[name] for name in names] for terms, _ in told])
    yield "\n" + ", ".join(
        f"{name} {value:.3f}" for name, value in zip(names, fitted(matrix, ratios), strict=True)
    )


def _regret(scores: Floats, ratios: Floats) -> str:
    """What wrong choices lose: the mean, how many are large, and the largest."""
    lost = 1 - np.exp(-np.where((scores > 0) != (ratios > 0), np.abs(ratios), 0.0))
    return f"{100 * lost.mean():.2f} % | {(lost > 0.025).sum()} | {(lost > 0.1).sum()} | {100 * lost.max():.0f} %"


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


def parts() -> Iterator[str]:
    """What 8 parts cost ordered-laplace: the logarithm of its items, divided by those without parts."""
    terms, costs = [], []
    for number in range(PARTS_SHAPES):
        rng = np.random.default_rng([79, number])
        shape = {**shape_of(rng, PARTS_PAIRS), "size": 10 ** rng.uniform(0, 0.9)}
        cell = Cell(
            drawn({**shape, "users": int(min(shape["users"], PARTS_PAIRS / shape["size"]))}, rng), number
        )
        for epsilon in EPSILONS:
            request = Request(epsilon, float(rng.choice(DELTAS)), rule.MAX_ITEMS)
            alone, divided = (
                np.mean([cell.released(rule.ORDERED, request, parts=count) for _ in range(2)])
                for count in (1, 8)
            )
            if alone >= ENOUGH:
                middle = ReleaseCurve(request.epsilon, request.delta).midpoint
                terms.append((1.0, math.log(middle), math.log(len(cell.sets.items) / cell.users)))
                costs.append(math.log(divided / alone))
    matrix, cost = np.array(terms), np.array(costs)
    yield f"{len(cost)} lines, from {cost.min():.3f} to {cost.max():.3f}, mean {cost.mean():.3f}\n"
    yield "| terms | coefficients | standard deviation of the rest |"
    yield "|---|---|---:|"
    names = ("one", "middle", "size")
    for count in (1, 2, 3):
        found = np.linalg.lstsq(matrix[:, :count], cost, rcond=None)[0]
        rest = (cost - matrix[:, :count] @ found).std()
        yield f"| {', '.join(names[:count])} | {', '.join(f'{each:.3f}' for each in found)} | {rest:.3f} |"


def _lines(paths: Sequence[Path]) -> list[Line]:
    found = [json.loads(line) for path in paths for line in path.read_text().splitlines()]
    return [line for line in found if "rivals" in line]


REPORTS: dict[str, Callable[[list[Line]], Iterator[str]]] = {"fit": fit, "losses": losses}
TABLES: dict[str, Callable[[], Iterator[str]]] = {"lattice": lattice, "parts": parts}


def main() -> None:
    """Lines of JSON, or what follows from them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("what", choices=["scan", *REPORTS, *TABLES])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--shapes", type=int, default=1000)
    parser.add_argument("--quick", action="store_true", help="a dozen small shapes")
    parser.add_argument("--dense", action="store_true", help="shapes with more holders per item")
    arguments = parser.parse_args()
    if arguments.what == "scan":
        shapes = QUICK_SHAPES if arguments.quick else arguments.shapes
        most = MOST_DENSE_PAIRS if arguments.dense else MOST_PAIRS
        for line in scan(arguments.first, shapes, QUICK_PAIRS if arguments.quick else most, arguments.dense):
            print(json.dumps(line), flush=True)
        return
    found = (
        TABLES[arguments.what]()
        if arguments.what in TABLES
        else REPORTS[arguments.what](_lines(arguments.files))
    )
    for line in found:
        print(line, flush=True)


if __name__ == "__main__":
    main()
