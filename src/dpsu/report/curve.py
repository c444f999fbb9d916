"""The curve of a report: how many people must share an item, drawn as SVG for wide and for narrow screens."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpsu.api.plan import Plan
from dpsu.outcome.statement import Statement
from dpsu.report.facts import discovers
from dpsu.report.numbers import counted
from dpsu.report.replan import plan_of, plan_of_level, single_of
from dpsu.report.tables import numbers_table, share

WHY_NO_CURVE = {
    "single": "The curve cannot be computed from this statement; <code>dpsu plan</code> draws it for given parameters.",
    "levels": "Each length of phrases has its own noise and thresholds, and a phrase is released only if its parts are. So "
    "there is no single curve; the table says how the budget was divided.",
    "series": "Every period of this series has its own thresholds, and totals are carried from period to period. So there "
    "is no single curve.",
    "tuned": "The setting was chosen among several, each with its own thresholds: there is no single curve.",
}
AFTER_TUNING = {
    "part": " The curve is about the people who were not used to choose the setting.",
    "selection": " The release is the largest of several, so items come out slightly more often than the curve shows.",
}
SET_SIZES = (1, 10, 100)
TOGETHER = 10
"""The set size for which the table of levels gives the people needed."""
POINTS = 33
LEFT, RIGHT, TOP, BOTTOM, LEGEND_LINE = 52, 20, 10, 44, 22
SHAPES = (("wide-chart", 720, 320, 3), ("narrow-chart", 360, 300, 1))
"""The classes of the two charts, their widths and heights, and how many entries of the legend a line has."""


def curve_section(statement: Statement) -> str:
    """The curve with its sentence and its table, or the reason why there is none."""
    told, way = single_of(statement)
    plan = plan_of(told)
    if plan is None:
        return f"<p>{WHY_NO_CURVE.get(statement.kind, WHY_NO_CURVE['single'])}</p>{_levels(statement)}"
    sizes = [size for size in SET_SIZES if size <= told.max_items]
    users = _ladder(plan, sizes)
    chances = {size: np.asarray(plan.chance(users, size)) for size in sizes}
    charts = "".join(_svg(users, chances, *shape) for shape in SHAPES)
    return (
        f"<p>{_sentence(told, plan, sizes)}{AFTER_TUNING.get(way, '')}</p><figure>{charts}<figcaption>The probability that "
        "an item is released, by the number of people who share it. The label of a curve is the number of items that all "
        "these people have in common, which is the worst case. Where people share fewer items, often half as many people "
        "are enough."
        f"</figcaption></figure>{_table(users, chances)}"
    )


def _sentence(statement: Statement, plan: Plan, sizes: Sequence[int]) -> str:
    """How many people give an item an even chance."""
    in_series = statement.kind == "series"
    held = "have it in every period" if in_series else "have it"
    by_then = "by the end of this period " if in_series else ""
    candidates = statement.parameters.get("candidates")
    discovered = discovers(statement)
    outside = candidates or (statement.lists or {}).get("public_items")
    item = f"An item {'outside' if discovered else 'of'} the public list" if outside else "An item"
    told = (
        f"{item} is released {by_then}with probability 1/2 if about <strong>{_needed(plan, sizes[0])}</strong> {held} and "
        "no other item"
    )
    if len(sizes) > 1:
        told += f", or if about {_needed(plan, sizes[1])} have the same {sizes[1]} items"
    told += ". "
    if candidates and discovered:
        told += (
            f"An item of the list needs about {_needed(plan, sizes[0], listed=True)} who have no other item. "
        )
    if discovered:
        told += f"{item} that only one person has is released only with a very small probability, which is part of delta."
    return told


def _needed(plan: Plan, size: int, listed: bool = False) -> str:
    return counted(plan.users_needed(0.5, size, listed=listed) or 0, "person", "people")


def _levels(statement: Statement) -> str:
    """How a release in levels divides its budget, and how many people its phrases need."""
    levels = statement.parameters.get("levels")
    if statement.kind != "levels" or not isinstance(levels, list):
        return ""
    size = min([TOGETHER, *(level["max_items"] for level in levels)])
    plans = [plan_of_level(statement, level) for level in levels]
    rows = [
        (
            f"{level['size']}",
            share(level["share"]),
            f"{level['max_items']:,}",
            "varies" if plan is None else f"{plan.users_needed(0.5, size) or 0:,}",
        )
        for level, plan in zip(levels, plans, strict=True)
    ]
    head = ("words in the phrase", "share of the budget", "phrases that count per person", "people needed")
    told = (
        "<p>A phrase has probability 1/2 if this number of people have it and "
        f"{f'the same {size} phrases' if size > 1 else 'no other phrase'} of that length.</p>"
    )
    if None in plans:
        told += "<p>Where it varies, the number depends on which shorter phrases were released.</p>"
    return numbers_table("What each length of phrases got", head, rows) + told


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
        f'<text x="{LEFT - 8}" y="{y(c) + 4:.1f}" text-anchor="end">{100 * c:.0f} %</text>'
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
            f'<text class="label l{k}" x="{left + 42}" y="{middle + 4}">{counted(size)} in common</text>'
        )
    return (
        f'<svg class="{kind}" viewBox="0 0 {width} {height}" role="img" aria-label="The probability that an item is '
        f'released increases with the number of people; the table has the numbers.">{"".join(parts)}</svg>'
    )


def _ticks(users: list[int], most: int) -> list[int]:
    """Round numbers on a logarithmic axis, at most `most`."""
    ticks = [
        digit * 10**power
        for power in range(int(math.log10(users[0])), int(math.log10(users[-1])) + 1)
        for digit in (1, 2, 5)
        if users[0] <= digit * 10**power <= users[-1]
    ]
    return ticks[:: math.ceil(len(ticks) / most)] if ticks else [users[0], users[-1]]


def _table(users: list[int], chances: dict[int, Any]) -> str:
    head = "".join(f'<th class="number" scope="col">{counted(size)} in common</th>' for size in chances)
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
