"""What a ledger records, and what all of it together costs: by Gaussian DP, by adding, and period by period."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dpsu.outcome.statement import OF_PERIOD, Statement
from dpsu.privacy.budget import Budget

MARGIN = 1 + 1e-12
"""On sums, far above what their floats can err."""


@dataclass(frozen=True)
class Entry:
    """One recorded spending.

    `statement` is None for another tool's spending and for a run that did not finish, which counts all the same. `output` is
    the name of the file that was saved. `period` is the period that the promise is about, if it is not about all. `series`
    is the series that the entry pays for, and `periods` its periods so far, each with the seal of the state after it.
    """

    number: int
    at: str
    epsilon: float
    delta: float
    budget: Budget | None
    purpose: str | None = None
    statement: Statement | None = None
    output: str | None = None
    period: str | None = None
    series: str | None = None
    periods: tuple[tuple[int, str], ...] = ()


Spending = Entry | Statement
"""What adds up: an epsilon and a delta, or a budget that composes as Gaussian DP."""


def entry_for(statement: Statement, purpose: str | None) -> Entry:
    """What a run with this promise spends; the file gives the entry its number and time."""
    found = OF_PERIOD.fullmatch(statement.unit)
    return Entry(
        0,
        "",
        statement.epsilon,
        statement.delta,
        statement.budget,
        purpose,
        period=found[1] if found else None,
        series=series_of(statement),
    )


def series_of(statement: Statement) -> str | None:
    """The series that this statement is about, if it is about one."""
    return statement.parameters.get("series") if statement.kind == "series" else None


def by_period(entries: Sequence[Entry]) -> dict[str | None, list[Entry]]:
    """The entries that add up for each period: its own, and those about all periods. None stands for any other period."""
    return {
        period: [entry for entry in entries if entry.period in (None, period)]
        for period in (None, *sorted({entry.period for entry in entries if entry.period}))
    }


def total_delta(spent: Sequence[Spending], epsilon: float) -> float:
    """The delta of all spendings together at this epsilon.

    Gaussian releases compose as Gaussian DP and the others add their epsilons and deltas; or all add. The smaller counts.
    """
    gaussian = [each.budget for each in spent if each.budget]
    others = [each for each in spent if not each.budget]
    left = epsilon - math.fsum(each.epsilon for each in others) * MARGIN
    composed = math.fsum(each.delta for each in others) * MARGIN
    if gaussian and left >= 0:
        composed += gaussian[0].compose(*gaussian[1:]).delta(left) * MARGIN
    elif left < 0:
        composed = 1.0
    added = (
        math.fsum(each.delta for each in spent)
        if math.fsum(each.epsilon for each in spent) <= epsilon
        else 1.0
    )
    return min(composed, added, 1.0)


def total_epsilon(spent: Sequence[Spending], delta: float) -> float:
    """The smallest epsilon at which all spendings together have this delta, to nine digits; inf if there is none."""
    low, high = 0.0, max(1.0, math.fsum(each.epsilon for each in spent))
    if total_delta(spent, low) <= delta:
        return low
    while total_delta(spent, high) > delta:
        high *= 2
        if high > 1e9:
            return math.inf
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if total_delta(spent, middle) <= delta else (middle, high)
    return high
