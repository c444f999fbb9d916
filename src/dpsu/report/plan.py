"""Plans as plain text of at most 80 columns."""

import textwrap
from typing import TYPE_CHECKING

from dpsu.report.measures import expected_in_words
from dpsu.report.numbers import counted, number, percent

if TYPE_CHECKING:
    from dpsu.api.plan import Plan
    from dpsu.planning.simulate import Outlook

WIDTH = 80
BAR = 40

WITHOUT_SHAPE = (
    "Real holders share only some of their items, and then half as many are often enough. For a simulation, describe your "
    "data: shape=dpsu.Shape(…) (--users, --items-per-user), or like= (--like) with a public file."
)


def plan_text(plan: "Plan") -> str:
    """Noise and thresholds, and what to expect: simulated, or in the worst case."""
    parts = [_headline(plan)]
    if plan.outlook is None:
        parts += [_worst_case(plan), "\n".join(_wrapped(WITHOUT_SHAPE))]
    else:
        parts += [expectation(plan.outlook), *_bars_of(plan.outlook), _worst_case(plan)]
    return "\n\n".join([*parts, *_counts(plan)])


def expectation(outlook: "Outlook") -> str:
    """The number of items to expect, and of what data."""
    needed = outlook.holders_needed()
    lines = _wrapped(
        f"Expect about {counted(outlook.items)} ({outlook.low:,.0f} to {outlook.high:,.0f}) from {outlook.data}."
    )
    if needed is not None:
        lines += _wrapped(
            f"An item that about {counted(needed, 'user has', 'users have')} is released with a chance of 50 %."
        )
    drawn = f"{outlook.runs} releases were simulated"
    if outlook.factor > 1:
        drawn += f", with 1/{outlook.factor:.3g} of the users and fewer rare items"
    lines += _wrapped(f"{drawn}. Data of another shape gives other numbers.")
    return "\n".join([*lines, *_wrapped(if_named(outlook))])


def if_named(outlook: "Outlook") -> str:
    """What to expect of the algorithms that `auto` chooses from, if the caller names one."""
    found = [f"{name} {items:,.0f}" for name, items in outlook.by_algorithm.items()]
    return f"Items to expect if you name the algorithm: {', '.join(found)}." if found else ""


def _bars_of(outlook: "Outlook") -> list[str]:
    """The chance by holders, and the items by max_items, as bars."""
    chances = [
        f"{counted(holders, 'user'):>15}  {'█' * round(BAR * chance):<{BAR}} {percent(chance):>7}"
        for holders, chance in outlook.curve()
    ]
    most = max([1.0, *outlook.by_max_items.values()])
    limits = [
        f"{limit:>15,}  {'█' * round(BAR * items / most):<{BAR}} {items:>9,.0f}"
        for limit, items in outlook.by_max_items.items()
    ]
    parts = [("Chance of release, by the number of users who hold the item:", chances)]
    parts.append(("Items to expect, by max_items:", limits))
    return ["\n".join([title, *lines]) for title, lines in parts if lines]


def chance_chart(plan: "Plan", set_size: int) -> str:
    """The chance of release against the number of users who share an item, as bars."""
    low, high = plan.users_needed(0.02, set_size) or 1, plan.users_needed(0.98, set_size) or 1
    step = max(1, (high - low) // 12)
    lines = [f"Chance of release, by the number of users who have the same {counted(set_size)}:"]
    for users in range(max(1, low - step), high + step + 1, step):
        chance = plan.chance(users, set_size)
        lines.append(f"{counted(users, 'user'):>13}  {'█' * round(BAR * chance):<{BAR}} {percent(chance):>6}")
    return "\n".join(lines)


def _headline(plan: "Plan") -> str:
    request = plan.request
    terms = (
        f"{plan.algorithm}, epsilon {request.epsilon:g}, delta {request.delta:g}, max_items {plan.max_items}, "
        f"{request.calibration} calibration"
    )
    numbers = ", ".join(
        f"{name} {number(value)}"
        for name, value in plan.parameters.items()
        if isinstance(value, str | int | float)
    )
    return "\n".join([*_wrapped(terms), *_wrapped(numbers), *_steps(plan)])


def _steps(plan: "Plan") -> list[str]:
    """What `auto` does first, and what it chooses from."""
    parameters = plan.parameters
    if "popular" not in parameters:
        return []
    first, second, third = (f"{parameters[step]['epsilon']:.3g}" for step in ("popular", "sizes", "demand"))
    l1, focused = parameters["l1"]["epsilon"], parameters["focused"]["mu"]
    return _wrapped(
        f"auto spends epsilon {first} on finding very popular items, {second} on the sizes of the sets without them, and "
        f"{third} on the number of users who would fill these. By this it chooses ordered-laplace or policy-laplace with "
        f"epsilon {l1:.4g}, or focused-gaussian with sigma {1 / focused:.4g}."
    )


def _worst_case(plan: "Plan") -> str:
    needed = [
        f"{counted(plan.users_needed(set_size=size) or 0, 'user')} with {counted(size)} each"
        for size in plan.set_sizes()[:5:2]
    ]
    return "\n".join(
        _wrapped(
            "Worst case, in which the holders of an item share all their items: a chance of 50 % needs "
            f"{', '.join(needed)}.{_if_listed(plan)}"
        )
    )


def _if_listed(plan: "Plan") -> str:
    """The same for candidates, if there are any."""
    if not plan.mechanism.lists().get("candidates"):
        return ""
    needed = [
        f"{plan.users_needed(set_size=size, listed=True):,} with {size}" for size in plan.set_sizes()[:5:2]
    ]
    return f" Listed items need {', '.join(needed)}, if a tenth of the list comes out."


def _counts(plan: "Plan") -> list[str]:
    """The error of counts, sums and others."""
    told = expected_in_words(plan)
    return ["\n".join(_wrapped(told))] if told else []


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)
