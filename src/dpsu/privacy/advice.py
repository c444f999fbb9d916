"""Advice on epsilon and delta, shared by errors, warnings and the command."""

import warnings

from dpsu.errors import WeakPrivacy

DELTA = "at most one divided by a hundred times the number of users, such as 1e-7 for 100,000 users"
"""With such a delta, a mechanism that uses all of delta to publish users' data publishes anybody's with probability at
most 1 %."""

WEAK_EPSILON, WEAK_DELTA = 10.0, 1e-4


def warn_of_weak_privacy(epsilon: float, delta: float, stacklevel: int) -> None:
    """Warn if epsilon or delta is so large that the promise is weak; `stacklevel` counts from the caller."""
    if epsilon > WEAK_EPSILON:
        warnings.warn(
            f"epsilon {epsilon:g} is a very weak promise: an observer who gives even odds that a user is in the data "
            f"may become almost certain. Values up to {WEAK_EPSILON:g} are used in practice (docs/choosing.md).",
            WeakPrivacy,
            stacklevel=stacklevel + 1,
        )
    if delta > WEAK_DELTA:
        warnings.warn(
            f"delta {delta:g} is large: a mechanism with this delta may publish all data of one user in "
            f"{round(1 / delta):,}. Choose {DELTA} (docs/choosing.md).",
            WeakPrivacy,
            stacklevel=stacklevel + 1,
        )
