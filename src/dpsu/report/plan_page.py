"""A plan as an HTML page: one file, no network, no script."""

from html import escape
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING

from dpsu.report.measures import expected_in_words
from dpsu.report.numbers import counted, percent
from dpsu.report.plan import if_named
from dpsu.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpsu.api.plan import Plan


def plan_page(plan: "Plan") -> str:
    """The page about this plan."""
    template = Template(files("dpsu.report").joinpath("plan.html").read_text(encoding="utf-8"))
    return template.substitute(
        request=escape(_request(plan)),
        expectation=_expectation(plan),
        bars=_bars_of(plan),
        worst=_worst_case(plan),
        counts=_counts(plan),
        version=escape(__version__),
    )


def _request(plan: "Plan") -> str:
    request = plan.request
    return (
        f"{plan.algorithm}, epsilon {request.epsilon:g}, delta {request.delta:g}, max_items {plan.max_items}"
    )


def _expectation(plan: "Plan") -> str:
    outlook = plan.outlook
    if outlook is None:
        return "<p>No shape was given, so nothing was simulated.</p>"
    needed = outlook.holders_needed()
    holders = (
        ""
        if needed is None
        else (
            f" An item that about {counted(needed, 'user has', 'users have')} is released with a chance of 50 %."
        )
    )
    smaller = f", with 1/{outlook.factor:.3g} of the users and fewer rare items" if outlook.factor > 1 else ""
    return (
        f'<p class="expect"><strong>Expect about {counted(outlook.items)}</strong> '
        f"({outlook.low:,.0f} to {outlook.high:,.0f})</p>"
        f"<p>From {escape(outlook.data)}.{holders}</p>"
        f"<p>{outlook.runs} releases were simulated{smaller}. Data of another shape gives other numbers.</p>"
        f"<p>{if_named(outlook)}</p>"
    )


def _bars_of(plan: "Plan") -> str:
    if plan.outlook is None:
        return ""
    curve = plan.outlook.curve(12)
    limits = plan.outlook.by_max_items
    most = max([1.0, *limits.values()])
    chances = [(f"{holders:,}", chance, percent(chance)) for holders, chance in curve]
    items = [(f"{limit:,}", found / most, f"{found:,.0f}") for limit, found in limits.items()]
    return _table("Chance that an item is released", "users who have it", "chance", chances) + _table(
        "Items to expect, by max_items", "max_items", "items", items
    )


def _table(title: str, first: str, last: str, rows: "Sequence[tuple[str, float, str]]") -> str:
    """A table whose middle column is a bar of the given share."""
    if not rows:
        return ""
    body = "".join(
        f'<tr><th scope="row">{name}</th><td class="bar"><svg viewBox="0 0 100 10" preserveAspectRatio="none" '
        f'aria-hidden="true"><rect width="{100 * share:.1f}" height="10"/></svg></td><td>{value}</td></tr>'
        for name, share, value in rows
    )
    return (
        f'<section><h2>{title}</h2><table><thead><tr><th scope="col">{first}</th><td></td>'
        f'<th scope="col">{last}</th></tr></thead><tbody>{body}</tbody></table></section>'
    )


def _counts(plan: "Plan") -> str:
    """The error of counts, sums and others."""
    told = expected_in_words(plan)
    return f"<section><h2>Counts</h2><p>{escape(told)}</p></section>" if told else ""


def _worst_case(plan: "Plan") -> str:
    rows = "".join(
        f'<tr><th scope="row">{size}</th><td>{plan.users_needed(set_size=size):,}</td></tr>'
        for size in plan.set_sizes()
        if plan.users_needed(set_size=size) is not None
    )
    return (
        "<table><thead><tr><th scope='col'>items that all of them have</th><th scope='col'>users for a chance of 50 %</th>"
        f"</tr></thead><tbody>{rows}</tbody></table>"
    )
