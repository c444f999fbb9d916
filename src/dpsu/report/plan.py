"""Plans as plain text of at most 80 columns."""

import textwrap
from typing import TYPE_CHECKING

from dpsu.report.numbers import number, percent

if TYPE_CHECKING:
    from dpsu.api.plan import Plan

WIDTH = 80
BAR = 40


def plan_text(plan: "Plan") -> str:
    """Noise and thresholds, and who must share an item."""
    return "\n\n".join([_headline(plan), _table(plan), _even_odds(plan), *_counts(plan)])


def chance_chart(plan: "Plan", set_size: int) -> str:
    """The chance of release against the number of users who share an item, as bars."""
    low, high = plan.users_needed(0.02, set_size) or 1, plan.users_needed(0.98, set_size) or 1
    step = max(1, (high - low) // 12)
    lines = [f"chance that an item is released, by the number of users who hold it ({set_size} items each)"]
    for users in range(max(1, low - step), high + step + 1, step):
        chance = plan.chance(users, set_size)
        lines.append(f"{users:>7,} users  {'█' * round(BAR * chance):<{BAR}} {percent(chance):>6}")
    return "\n".join(lines)


def _headline(plan: "Plan") -> str:
    request = plan.mechanism.request
    terms = (
        f"{plan.algorithm}, epsilon {request.epsilon:g}, delta {request.delta:g}, max_items {request.max_items}, "
        f"{request.calibration} calibration"
    )
    numbers = ", ".join(
        f"{name} {number(value)}" for name, value in plan.parameters.items() if not isinstance(value, list)
    )
    return "\n".join([*_wrapped(terms), *_wrapped(numbers)])


def _table(plan: "Plan") -> str:
    users, chances = plan.chances()
    header = ["users", *(f"{size} item{'' if size == 1 else 's'}" for size in chances)]
    rows = [
        [f"{count:,}", *(percent(column[place]) for column in chances.values())]
        for place, count in enumerate(users)
    ]
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = [
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in [header, *rows]
    ]
    title = "Chance of release, by the number of users who hold the item and of items each holds:"
    return "\n".join([*_wrapped(title), "", *lines])


def _even_odds(plan: "Plan") -> str:
    needed = [
        f"{plan.users_needed(set_size=size):,} users with {size} item{'' if size == 1 else 's'} each"
        for size in plan.set_sizes()[:5]
    ]
    return "\n".join(_wrapped(f"A chance of 50 % needs {', '.join(needed)}."))


def _counts(plan: "Plan") -> list[str]:
    """The error of counts, sums and others."""
    if plan.counting is None:
        return []
    errors = plan.counting.errors()
    told = [
        f"Counts are within {errors['half_width']:.3g} of the truth in 95 % of cases, if users hold at most "
        f"{errors['max_items']} released items; items of users with more are counted too low."
    ]
    told += [f"Sums of {name!r} are within {half:.3g}." for name, half in errors["sums"].items()]
    told += [f"Others, {name!r}, are within {half:.3g}." for name, half in errors["others"].items()]
    return ["\n".join(_wrapped(" ".join(told)))]


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)
