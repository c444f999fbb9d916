"""A planner as an HTML page: sliders for epsilon, delta, max_items and the shape of the data; one file, no network.

Every point of a grid is one simulated release on synthetic data, embedded in the page. So the page depends on public numbers
alone, and a slider only looks up what was computed.
"""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from itertools import product
from string import Template
from typing import TYPE_CHECKING, Any

import numpy as np

from dpsu.algorithms.catalogue import CATALOGUE, find
from dpsu.algorithms.job import SingleJob
from dpsu.algorithms.mechanism import Mechanism
from dpsu.algorithms.request import MaxItems, Request
from dpsu.errors import DpsuError
from dpsu.planning.shape import Shape
from dpsu.planning.simulate import ENOUGH, ROOM, Data, chance_by_holders, draw_data, released_by, settling
from dpsu.report.progress import Progress, telling
from dpsu.version import __version__

if TYPE_CHECKING:
    from dpsu.api.plan import Plan

PAIRS = 200_000
"""Number of pairs that simulated data has at most, unless an item then needs too large a share of all users."""

CHANCES = (0.1, 0.25, 0.5, 0.75, 0.9)
"""Chances of release for which the page has the number of holders."""

THREADS = 2


@dataclass(frozen=True)
class Grid:
    """The values of the sliders."""

    epsilons: tuple[float, ...] = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
    deltas: tuple[float, ...] = (1e-9, 1e-8, 1e-7, 1e-6)
    limits: tuple[MaxItems, ...] = (1, 3, 10, 30, 100, 300)
    shapes: tuple[Shape, ...] = (
        Shape(10_000, 4),
        Shape(100_000, 1),
        Shape(100_000, 4),
        Shape(100_000, 30, sizes="heavy"),
        Shape(1_000_000, 4),
    )

    def around(self, plan: "Plan") -> "Grid":
        """This grid with the values of the plan."""
        request = plan.mechanism.request
        limits: tuple[MaxItems, ...] = tuple(sorted({*self.limits, request.max_items}))
        if plan.max_items == "auto":
            limits = (*self.limits, "auto")
        return Grid(
            tuple(sorted({*self.epsilons, float(request.epsilon)})),
            tuple(sorted({*self.deltas, float(request.delta)})),
            limits,
            self.shapes if plan.shape is None else tuple(dict.fromkeys([plan.shape, *self.shapes])),
        )


GRID = Grid()


def can_vary(plan: "Plan") -> bool:
    """Whether other points of this plan follow from its algorithm's name: no counts, no own options, no file."""
    if plan.counting is not None or plan.algorithm not in CATALOGUE:
        return False
    if plan.outlook is not None and plan.shape is None:
        return False
    try:
        same = SingleJob(find(plan.algorithm), plan.mechanism.request).mechanism()
    except DpsuError:
        return False
    return same.parameters() == plan.mechanism.parameters()


def planner_page(plan: "Plan", progress: Progress = None) -> str:
    """The page, with sliders at the values of the plan."""
    grid = GRID.around(plan)
    with telling(progress) as tell:
        points = []
        for place, shape in enumerate(grid.shapes, 1):
            tell(f"shape {place} of {len(grid.shapes)}")
            points.append(_points_of(shape, plan.algorithm, grid))
    request = plan.mechanism.request
    content = {
        "algorithm": plan.algorithm,
        "epsilons": grid.epsilons,
        "deltas": grid.deltas,
        "limits": grid.limits,
        "shapes": [{"text": str(shape), "users": shape.users} for shape in grid.shapes],
        "chances": CHANCES,
        "points": points,
        "start": [
            grid.epsilons.index(float(request.epsilon)),
            grid.deltas.index(float(request.delta)),
            grid.limits.index(plan.max_items),
            0 if plan.shape is not None else min(2, len(grid.shapes) - 1),
        ],
    }
    template = Template(files("dpsu.report").joinpath("planner.html").read_text(encoding="utf-8"))
    embedded = json.dumps(content, separators=(",", ":")).replace("<", "\\u003c")
    return template.substitute(
        content=embedded, algorithm=escape(plan.algorithm), version=escape(__version__)
    )


def _points_of(shape: Shape, algorithm: str, grid: Grid) -> list[Any]:
    """Items to expect and holders needed by epsilon, delta and max_items; None where the algorithm takes no such value."""
    mechanisms = [
        _mechanism(algorithm, Request.asked(epsilon, delta, limit))
        for epsilon, delta, limit in product(grid.epsilons, grid.deltas, grid.limits)
    ]
    # The smallest epsilon and delta come first; the largest max_items needs the most holders.
    strictest = [each for each in mechanisms[: len(grid.limits)] if each is not None]
    data, factor = _data(shape, strictest[-1])
    settle = settling(shape, factor)
    mechanisms = [None if each is None else settle(each) for each in mechanisms]
    with ThreadPoolExecutor(THREADS) as pool:
        flat = list(pool.map(lambda each: None if each is None else _point(each, data), mechanisms))
    per_delta, per_epsilon = len(grid.limits), len(grid.limits) * len(grid.deltas)
    return [
        [flat[first + second : first + second + per_delta] for second in range(0, per_epsilon, per_delta)]
        for first in range(0, len(flat), per_epsilon)
    ]


def _mechanism(algorithm: str, request: Request) -> Mechanism | None:
    try:
        return SingleJob(find(algorithm), request).mechanism()
    except DpsuError:  # optimal-single takes max_items 1 only
        return None


def _data(shape: Shape, strictest: Mechanism) -> tuple[Data, float]:
    """Synthetic data, smaller than the shape by a factor, and the factor.

    Popular items keep several times the holders that any point needs.
    """
    popular = float(ENOUGH * _holders_for_even_odds(strictest, shape))
    factor = max(1.0, min(shape.pairs / PAIRS, shape.users / (ROOM * popular)))
    return draw_data(shape, popular, factor), factor


def _holders_for_even_odds(mechanism: Mechanism, shape: Shape) -> int:
    from dpsu.api.plan import Plan

    size = min(round(shape.items_per_user), mechanism.request.max_items)
    return Plan("", mechanism).users_needed(set_size=max(1, size)) or 1


def _point(mechanism: Mechanism, data: Data) -> list[int | None]:
    """The number of items, and the holders that give each of CHANCES."""
    found = released_by(mechanism, data)
    holders, chances = chance_by_holders(data.holders, found, data.stands_for)
    needed = [int(np.searchsorted(chances, chance)) for chance in CHANCES]
    return [
        round(float(data.stands_for @ found)),
        *(int(holders[place]) if place < len(holders) else None for place in needed),
    ]
