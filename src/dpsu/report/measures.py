"""Counts, sums and others in words and as a table, from what a statement or a plan says of them."""

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from dpsu.algorithms.holders import half_width
from dpsu.outcome.columns import half_name
from dpsu.outcome.statement import Statement
from dpsu.report.numbers import counted

if TYPE_CHECKING:
    from dpsu.api.plan import Plan

TOO_LOW = "what users with more add is scaled down, so their items are counted too low. The error does not cover this"


def measured_of(statement: Statement) -> Mapping[str, Any] | None:
    """What was measured beside the items, also in a tuned release."""
    parameters: Any = statement.parameters
    while isinstance(parameters, Mapping) and "tuning" in parameters:
        tuning = parameters["tuning"]
        parameters = tuning.get("release", {}).get("parameters") if isinstance(tuning, Mapping) else None
    found = parameters.get("counts") if isinstance(parameters, Mapping) else None
    return found if isinstance(found, Mapping) else None


def measures_in_words(measured: Mapping[str, Any], levels: bool = False) -> str:
    """The errors of counts, sums and others, what is scaled down, and the share of the budget."""
    told = [f"Counts of holders are within ±{half(measured['sigma'])} in 95 % of cases."]
    cut = measured.get("max_items")
    if cut:
        told.append(
            f"A user counts in full for up to {counted(cut, 'released item')}{' of each length' * levels}; {TOO_LOW}."
        )
    told += [_sum_in_words(each) for each in measured.get("sums", [])]
    others = measured.get("others")
    if others:
        told.append(
            f"The number of users with an item that is not released is within ±{half(others['sigma'])}."
        )
        told += [
            f"Their sum of {each['column']!r} over such items is within ±{half(each['sigma'])}."
            for each in others["sums"]
        ]
    return " ".join([*told, f"All this takes {100 * measured['share']:.3g} % of the budget."])


def expected_in_words(plan: "Plan") -> str:
    """The errors that a plan expects, and the floor of counts; nothing without counts."""
    if plan.counting is None:
        return ""
    told = [measures_in_words(plan.counting.stated), plan.counting.depends]
    floor = plan.counting.beside(plan.mechanism).floor
    if floor:
        told.append(
            f"Counts below {floor:,} become {floor:,}, because an item with fewer holders has a chance of less than 50 %."
        )
    return " ".join(filter(None, told))


def _sum_in_words(told: Mapping[str, Any]) -> str:
    largest = max(abs(told["low"]), abs(told["high"]))
    return (
        f"Sums of {told['column']!r}, a user's total for an item cut to {told['low']:g} to {told['high']:g}, are "
        f"within ±{half(told['sigma'])}; a user's totals are scaled down if their squares exceed {told['max_items']:d} × "
        f"{largest:g}²."
    )


def measures_table(measured: Mapping[str, Any]) -> str:
    """The errors as an HTML table, for readers of a report."""
    rows = [("people who have the item", measured["sigma"])]
    rows += [
        (
            f"sum of {escape(str(each['column']))}, {each['low']:g} to {each['high']:g} per person and item",
            each["sigma"],
        )
        for each in measured.get("sums", [])
    ]
    others = measured.get("others")
    if others:
        rows.append(("people with an item that was not released", others["sigma"]))
        rows += [
            (f"sum of {escape(str(each['column']))} over items that were not released", each["sigma"])
            for each in others["sums"]
        ]
    body = "".join(
        f'<tr><th scope="row">{name}</th><td class="number">± {half(sigma)}</td></tr>' for name, sigma in rows
    )
    return f"<table><caption>Error of the numbers, in 95 % of cases</caption><tbody>{body}</tbody></table>"


def limits_for_people(measured: Mapping[str, Any], levels: bool = False) -> str:
    """What is scaled down, and so not in the errors."""
    told = []
    if measured.get("max_items"):
        told.append(
            f"A person counts in full for up to {counted(measured['max_items'], 'released item')}"
            f"{' of each length' * levels}. Items of people with more are counted too low."
        )
    for each in measured.get("sums", []):
        largest = max(abs(each["low"]), abs(each["high"]))
        told.append(
            f"The totals of a person in {escape(str(each['column']))} are cut to {each['low']:g} to {each['high']:g}, and "
            f"scaled down if their squares exceed {each['max_items']:d} × {largest:g}². The error does not cover this."
        )
    return f"<p>{' '.join(told)}</p>" if told else ""


def others_in_words(others: Mapping[str, float]) -> str:
    """The numbers about all items that were not released, with their errors."""
    found = [name for name in others if half_name(name) in others]
    return ", ".join(f"{name} {others[name]:,.10g} ± {others[half_name(name)]:,.10g}" for name in found)


def half(sigma: float) -> str:
    """The 95 % half-width of this noise, as text."""
    return f"{half_width(sigma):,.10g}"
