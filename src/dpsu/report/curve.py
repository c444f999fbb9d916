"""The curve of a report: how many people must share an item, drawn as SVG for wide and for narrow screens."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from dpsu.algorithms.algorithm import Algorithm
from dpsu.algorithms.catalogue import CATALOGUE
from dpsu.algorithms.holders import CountingTerms, share_with_counts
from dpsu.algorithms.mechanism import Mechanism
from dpsu.algorithms.request import Request
from dpsu.api.plan import Plan
from dpsu.errors import DpsuError
from dpsu.outcome.statement import Statement
from dpsu.privacy.budget import Budget
from dpsu.report.numbers import counted
from dpsu.report.tables import numbers_table, share

WHY_NO_CURVE = {
    "single": "The curve cannot be computed from this statement; <code>dpsu plan</code> draws it for given parameters.",
    "levels": "Each length of phrases has its own noise and thresholds, and a phrase is released only if its parts are. So "
    "there is no single curve; the table says how the budget was divided.",
    "series": "Every period of a series has its own thresholds, and totals are carried from period to period: there is no "
    "single curve.",
    "tuned": "The setting was chosen among several, each with its own thresholds: there is no single curve.",
    "candidates": "Items of the public list need fewer people than others: there is no single curve.",
}
AFTER_TUNING = {
    "part": " The curve is about the people who were not used to choose the setting.",
    "selection": " The release is the largest of several, so items come out slightly more often than the curve shows.",
}
SET_SIZES = (1, 10, 100)
POINTS = 33
LEFT, RIGHT, TOP, BOTTOM, LEGEND_LINE = 52, 20, 10, 44, 22
SHAPES = (("wide-chart", 720, 320, 3), ("narrow-chart", 360, 300, 1))
"""The classes of the two charts, their widths and heights, and how many entries of the legend a line has."""


def curve_section(statement: Statement) -> str:
    """The curve with its sentence and its table, or the reason why there is none."""
    told, after = _single_of(statement)
    plan = plan_of(told)
    if plan is None:
        kind = "candidates" if "candidates" in statement.parameters else statement.kind
        return f"<p>{WHY_NO_CURVE.get(kind, WHY_NO_CURVE['single'])}</p>{_levels(statement)}"
    sizes = [size for size in SET_SIZES if size <= told.max_items]
    users = _ladder(plan, sizes)
    chances = {size: np.asarray(plan.chance(users, size)) for size in sizes}
    needed = plan.users_needed(0.5, sizes[0]) or 0
    sentence = (
        f"An item is released with probability 1/2 if about <strong>{needed:,} people</strong> have it and no other item"
        + (f", or {plan.users_needed(0.5, sizes[1]) or 0:,} if each has {sizes[1]}" if len(sizes) > 1 else "")
        + ". An item that only one person has is released only with a very small probability, which is part of delta."
    )
    charts = "".join(_svg(users, chances, *shape) for shape in SHAPES)
    return (
        f"<p>{sentence}{after}</p><figure>{charts}<figcaption>The probability that an item is released, by the "
        "number of people who share it. The label of a curve is the number of items of each person.</figcaption></figure>"
        f"{_table(users, chances)}"
    )


def plan_of(statement: Statement) -> Plan | None:
    """The plan of this statement; None if it cannot be computed from the statement alone.

    Levels and series have several mechanisms, and a custom policy is not in the statement.
    """
    if statement.kind != "single":
        return None
    parameters = {name: value for name, value in statement.parameters.items() if name != "counts"}
    try:
        kind = CATALOGUE[statement.algorithm]
        options = {field.name: parameters[field.name] for field in fields(kind) if field.name in parameters}  # type: ignore[arg-type]
        mechanism = _calibrated(kind(**options), statement)
    except (DpsuError, LookupError, TypeError, ValueError, ArithmeticError):
        return None
    same = json.loads(json.dumps(mechanism.parameters())) == json.loads(json.dumps(parameters))
    return Plan(statement.algorithm, mechanism) if same else None


def _calibrated(algorithm: Algorithm, statement: Statement) -> Mechanism:
    how: Any = statement.calibration
    request = Request(statement.epsilon, statement.delta, statement.max_items, how)
    if "counts" in statement.parameters:
        terms = CountingTerms(share=statement.parameters["counts"]["share"])
        return share_with_counts(algorithm, request, terms)[0]
    return algorithm.calibrate(request)


def _single_of(statement: Statement) -> tuple[Statement, str]:
    """The statement itself; for a tuned one, that of the release with the chosen setting, and what to say of it."""
    tuning = statement.parameters.get("tuning")
    if (
        statement.kind != "tuned"
        or not isinstance(tuning, Mapping)
        or not isinstance(tuning.get("release"), Mapping)
    ):
        return statement, ""
    names = ("kind", "algorithm", "calibration", "max_items", "parameters", "epsilon", "delta", "budget")
    chosen = {name: tuning["release"].get(name) for name in names}
    budget = chosen["budget"]
    chosen["budget"] = Budget(**budget) if isinstance(budget, Mapping) else budget
    return replace(statement, **chosen), AFTER_TUNING.get(str(tuning.get("way")), "")


def _levels(statement: Statement) -> str:
    """How a release in levels divides its budget."""
    levels = statement.parameters.get("levels")
    if statement.kind != "levels" or not isinstance(levels, list):
        return ""
    rows = [
        (f"{level['size']}", share(level["share"]), f"{level['max_items']:,}", f"{level['sigma']:.3g}")
        for level in levels
    ]
    head = ("words in the phrase", "share of the budget", "phrases that count per person", "noise")
    return numbers_table("What each length of phrases got", head, rows)


def _ladder(plan: Plan, sizes: Sequence[int]) -> list[int]:
    low = plan.users_needed(0.005, sizes[0]) or 1
    high = plan.users_needed(0.995, sizes[-1]) or 100 * low
    return [int(n) for n in np.unique(np.geomspace(low, max(high, low + 1), POINTS).round())]


def _svg(users: list[int], chances: dict[int, Any], kind: str, width: int, height: int, per_line: int) -> str:
    """The chart, of this width and height."""
    low, high = math.log(users[0]), math.log(users[-1])
    top = TOP + LEGEND_LINE * math.ceil(len(chances) / per_line)

    def x(n: float) -> float:
        return LEFT + (width - LEFT - RIGHT) * (math.log(n) - low) / max(high - low, 1e-9)

    def y(chance: float) -> float:
        return top + (height - top - BOTTOM) * (1 - chance)

    parts = [
        f'<line class="grid" x1="{LEFT}" x2="{width - RIGHT}" y1="{y(c):.1f}" y2="{y(c):.1f}"/>'
        f'<text x="{LEFT - 8}" y="{y(c) + 4:.1f}" text-anchor="end">{c:.0%}</text>'
        for c in (0, 0.25, 0.5, 0.75, 1)
    ]
    parts += [
        f'<text x="{x(n):.1f}" y="{height - BOTTOM + 20}" text-anchor="middle">{n:,}</text>'
        for n in _ticks(users, width // 90)
    ]
    parts.append(
        f'<text x="{(LEFT + width) / 2}" y="{height - 4}" text-anchor="middle">people who share the item</text>'
    )
    for k, (size, values) in enumerate(chances.items(), 1):
        points = " ".join(f"{x(n):.1f},{y(float(c)):.1f}" for n, c in zip(users, values, strict=True))
        parts.append(f'<polyline class="curve s{k}" points="{points}"/>')
        line, place = divmod(k - 1, per_line)
        left, middle = LEFT + place * 200, 12 + line * LEGEND_LINE
        parts.append(
            f'<line class="curve s{k}" x1="{left}" x2="{left + 34}" y1="{middle}" y2="{middle}"/>'
            f'<text class="label l{k}" x="{left + 42}" y="{middle + 4}">{counted(size)} each</text>'
        )
    return (
        f'<svg class="{kind}" viewBox="0 0 {width} {height}" role="img" aria-label="The probability that an item is '
        f'released increases with the number of people; the table has the numbers.">{"".join(parts)}</svg>'
    )


def _ticks(users: list[int], most: int) -> list[int]:
    """Round numbers on a logarithmic axis, at most so many."""
    ticks = [
        digit * 10**power
        for power in range(int(math.log10(users[0])), int(math.log10(users[-1])) + 1)
        for digit in (1, 2, 5)
        if users[0] <= digit * 10**power <= users[-1]
    ]
    return ticks[:: math.ceil(len(ticks) / most)] if ticks else [users[0], users[-1]]


def _table(users: list[int], chances: dict[int, Any]) -> str:
    head = "".join(f'<th class="number" scope="col">{counted(size)} each</th>' for size in chances)
    rows = "".join(
        f'<tr><th class="number" scope="row">{n:,}</th>'
        + "".join(f'<td class="number">{share(float(values[k]))}</td>' for values in chances.values())
        + "</tr>"
        for k, n in enumerate(users)
        if k % 2 == 0
    )
    return (
        "<details><summary>The numbers of the curve</summary><table><caption>Probability that an item is released</caption>"
        f'<thead><tr><th class="number" scope="col">people</th>{head}</tr></thead><tbody>{rows}</tbody></table></details>'
    )
