"""A promise as an event of dp_accounting, whose accountants compose it with the events of other tools.

dp_accounting has no event for a probability delta of revealing everything. So a promise is a pair: an event, and a delta
beside it. Compose the events; at the end ask the accountant at the total delta minus the deltas of all pairs:

    first, second = one.to_dp_event(), other.to_dp_event()
    accountant = PLDAccountant().compose(first.event).compose(second.event)
    epsilon = accountant.get_epsilon(1e-5 - first.delta - second.delta)

A Gaussian release composes as mu-GDP and a probability delta_new (docs/calibration.md); mu-GDP is the privacy of one
Gaussian mechanism with the noise multiplier 1/mu. The loss of any other release is at most that of the worst
epsilon-private mechanism, randomized response: epsilon or -epsilon. A discrete Laplace mechanism with sensitivity 1 and the
parameter epsilon has just this loss. The relation is adding or removing one user, the default of the PLD accountant.
"""

import math
from typing import Any, NamedTuple

from dpsu.errors import DpsuError, InvalidArgument
from dpsu.outcome.statement import Statement


class Event(NamedTuple):
    """An event of dp_accounting, and the delta that adds to the one at which its accountant is asked."""

    event: Any
    delta: float


def dp_event(statement: Statement) -> Event:
    """The event of this statement; needs dp_accounting. Noise is rounded down, so that an error can only add loss."""
    if statement.void:
        raise InvalidArgument(f"this statement promises nothing: {statement.void}.")
    try:
        from dp_accounting import dp_event as events
    except ImportError as error:
        raise DpsuError("events need dp_accounting: pip install dp-accounting.") from error
    budget = statement.budget
    if budget is None:
        loss = math.nextafter(statement.epsilon, math.inf)
        return Event(events.DiscreteLaplaceDpEvent(loss, 1), statement.delta)
    if budget.mu == 0.0:
        return Event(events.NoOpDpEvent(), budget.delta_new)
    return Event(events.GaussianDpEvent(math.nextafter(1.0 / budget.mu, 0.0)), budget.delta_new)
