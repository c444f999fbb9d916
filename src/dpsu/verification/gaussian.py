"""The Gaussian family: the budget of one mechanism, and whether (epsilon, delta) follows from it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from mpmath import iv, mp

from dpsu.verification.checks import ROUNDING, Check, Counts, Fields, Stated, chance, number, only, positive
from dpsu.verification.intervals import (
    Interval,
    at_most,
    chance_of_any,
    delta_gaussian,
    divergence,
    exact,
    high,
    item_loss,
    largest,
    low,
)

MOST_BOXES = 100_000

DEALT = 1 + 1e-6
"""Tolerance for the parts of delta, which only inform: the promise is checked against the whole delta."""

Weight = Callable[[int], Interval]
"""The largest weight that each of t new items can get from one user."""


@dataclass(frozen=True)
class Part:
    """The budget of one Gaussian mechanism: its shift, the probability of new items, and whether both fit into one delta.

    `noise_part` is the part of delta for the noise, if the mechanism divides delta. `told` are checks of numbers that
    follow from others; if one fails, no other check is made.
    """

    mu: Interval
    new: Callable[[float], bool]
    jointly: Callable[[float, float], bool] = lambda epsilon, delta: False
    noise_part: float | None = None
    told: tuple[Check, ...] = ()


def gaussian(part: Callable[[Stated], Part], stated: Stated, counts: Counts) -> list[Check]:
    """The budget covers mechanism and counts, and (epsilon, delta) follows from it or from the joint bound."""
    if stated.parameters["noise"] != "gaussian":
        raise ValueError(f"the noise {stated.parameters['noise']!r} is not that of {stated.algorithm}")
    spent, budget = part(stated), only(stated.budget, ("mu", "delta_new"), "the budget")
    if not all(check.ok for check in spent.told):
        return [*spent.told]
    most, most_new = budget_covers(budget)
    together = iv.sqrt(spent.mu**2 + counts.shift**2)
    apart = delta_gaussian(exact(stated.epsilon), spent.mu if counts.apart else together)
    alone = counts.apart or high(counts.shift) == 0
    follows = at_most(apart + most_new, stated.delta)
    follows = follows or (alone and spent.jointly(stated.epsilon, stated.delta))
    needed, promised = (
        mp.nstr(high(together), 8),
        [mp.nstr(mp.mpf(x), 6) for x in (stated.epsilon, stated.delta)],
    )
    return [
        *spent.told,
        Check("mu", at_most(together, low(most)), f"{needed} needed, {budget['mu']:.8g} stated"),
        Check(
            "new items",
            spent.new(low(most_new)),
            f"are released with probability at most {budget['delta_new']:.6g}",
        ),
        Check("promise", bool(follows), "delta at epsilon {} is at most {}".format(*promised)),
        *_dealt(spent, stated, apart, most_new),
    ]


def _dealt(spent: Part, stated: Stated, apart: Interval, new: Interval) -> list[Check]:
    """The parts of delta for noise and new items are those of the stated calibration."""
    part = spent.noise_part
    if part is None:
        if stated.calibration == "exact":
            return []
        part = 0.5
    limits = (exact(stated.delta) * value * DEALT for value in (exact(part), 1 - exact(part)))
    kept = all(at_most(value, low(limit)) for value, limit in zip((apart, new), limits, strict=True))
    return [Check("parts of delta", kept, f"{part:g} of it for noise, the rest for new items")]


def budget_covers(budget: Fields) -> tuple[Interval, Interval]:
    """An upper bound on the spending of a mechanism whose budget was checked: its pair, with a margin for rounding."""
    return positive(budget["mu"]) * (1 + exact(ROUNDING)), chance(budget["delta_new"]) * (1 + exact(ROUNDING))


def equal_weight(t: int) -> Interval:
    """The weight of each of t new items if they divide one budget equally."""
    return 1 / iv.sqrt(exact(t))


def new_chance(sigma: Interval, threshold: Interval, items: int, weight: Weight) -> Interval:
    """The probability that one of a user's new items is released, for the worst number of them."""
    return largest(
        lambda first, last: chance_of_any(last * item_loss(weight(first), sigma, threshold)), items
    )


def one_sum(
    stated: Stated, spending: str, slack: Interval | None = None, told: tuple[Check, ...] = ()
) -> Part:
    """One Gaussian sum per item, whose sensitivity is at most 1 + `slack`."""
    parameters, items, slack = stated.parameters, stated.max_items, exact(0) if slack is None else slack
    sigma = positive(parameters["sigma"]) / (1 + slack)
    threshold = number(parameters["threshold"]) / (1 + slack)
    if spending == "asymmetric":
        new = chance_of_any(_unequal_loss(exact(1), sigma, threshold, items))
    else:
        full = 1 / iv.sqrt(exact(items))
        new = new_chance(sigma, threshold, items, equal_weight if spending != "count" else lambda t: full)
    return Part(
        1 / sigma,
        partial(at_most, new),
        partial(_jointly, sigma=sigma, threshold=threshold, items=items, spending=spending, slack=slack),
        told=told,
    )


def _jointly(
    epsilon: float,
    delta: float,
    *,
    sigma: Interval,
    threshold: Interval,
    items: int,
    spending: str,
    slack: Interval,
) -> bool:
    """Whether delta holds for every number a of new items and every part q of the budget that they can take.

    A box of both is bounded by the largest number of new items with the largest weight and the largest shift of the
    others. Boxes that are not decided are divided (docs/calibration.md has the formula).
    """
    if not at_most(delta_gaussian(exact(epsilon), 1 / sigma), delta):
        return False
    room = exact(items) * (1 + slack)
    boxes = [(1, items, mp.mpf(0), mp.mpf(1))]
    for _ in range(MOST_BOXES):
        if not boxes:
            return True
        few, many, least, most = boxes.pop()
        if spending in ("all", "count"):
            least = max(least, low(few / room))
        if spending == "count":
            most = min(most, high(many / room))
        if least > most:
            continue
        if spending == "asymmetric":
            loss = _unequal_loss(iv.sqrt(iv.mpf(most)), sigma, threshold, items)
        else:
            each = 1 / iv.sqrt(room) if spending == "count" else iv.sqrt(iv.mpf(most) / few)
            loss = many * item_loss(each, sigma, threshold)
        shift = iv.sqrt(1 - iv.mpf(least)) / sigma
        if divergence(exact(epsilon), iv.mpf(high(loss)), shift) <= delta:
            continue
        if few < many and (spending != "asymmetric") and (many - few) * most >= (most - least) * many:
            middle = (few + many) // 2
            boxes += [(few, middle, least, most), (middle + 1, many, least, most)]
        elif most - least > mp.mpf(10) ** -13 * most:
            cut = mp.sqrt(least * most) if 0 < 4 * least < most else (least + most) / 2
            boxes += [(few, many, least, cut), (few, many, cut, most)]
        else:
            return False
    return False


def _unequal_loss(norm: Interval, sigma: Interval, threshold: Interval, items: int) -> Interval:
    """A bound on the loss of at most `items` new items, for any division of a budget of this norm.

    The loss is convex in the weight w, so on [c, 1] of the norm it lies below its chord, and w - c <= w^2/(4 c), while
    the squares sum to 1.
    """
    alone = item_loss(norm, sigma, threshold)
    bounds = []
    for k in range(1, 8):
        part = iv.mpf(1) / 2**k
        small = item_loss(part * norm, sigma, threshold)
        bounds.append(items * small + (alone - small) / (4 * part * (1 - part)))
    return min(bounds, key=high)
