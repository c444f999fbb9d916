"""Algorithms of the Gaussian family: one noisy sum per item, or several in rounds."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from mpmath import iv, mp

from dpsu.verification.checks import MOST_PASSES, ROUNDING, Check, Fields, chance, number, positive, whole
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
POLICY_USERS, MAD_USERS = 2**32, 2**26

Weight = Callable[[int], Interval]
"""The most that each of t new items can get from one user."""


@dataclass(frozen=True)
class Part:
    """What one Gaussian mechanism spends: its shift, the chance of new items, and whether both fit into one delta."""

    mu: Interval
    new: Callable[[float], bool]
    jointly: Callable[[float, float], bool] = lambda epsilon, delta: False


def gaussian(
    part: Callable[[Fields], Part],
    fields: Fields,
    epsilon: Any,
    delta: Any,
    counts: Interval,
) -> list[Check]:
    """The budget is what the mechanism spends, and (epsilon, delta) follows from it, or from both sides at once."""
    if fields["parameters"]["noise"] != "gaussian":
        raise ValueError(f"unknown noise {fields['parameters']['noise']!r}")
    spent = part(fields)
    stated, new = fields["budget"]["mu"], fields["budget"]["delta_new"]
    mu, (most, most_new) = iv.sqrt(spent.mu**2 + counts**2), budget_covers(fields["budget"])
    apart = delta_gaussian(exact(epsilon), mu) + most_new
    follows = at_most(apart, delta) or (high(counts) == 0 and spent.jointly(epsilon, delta))
    return [
        Check("mu", at_most(mu, low(most)), f"{mp.nstr(high(mu), 8)} needed, {stated:.8g} stated"),
        Check("new items", spent.new(low(most_new)), f"come out with a chance of at most {new:.6g}"),
        Check(
            "promise",
            follows,
            f"delta at epsilon {mp.nstr(mp.mpf(epsilon), 6)} is at most {mp.nstr(mp.mpf(delta), 6)}",
        ),
    ]


def budget_covers(budget: Fields) -> tuple[Interval, Interval]:
    """The most that a mechanism spends whose budget was checked: its pair, but for the rounding of both numbers."""
    return positive(budget["mu"]) * (1 + exact(ROUNDING)), chance(budget["delta_new"]) * (1 + exact(ROUNDING))


def equal_weight(t: int) -> Interval:
    """What each of t new items gets of one budget, all being equal."""
    return 1 / iv.sqrt(exact(t))


def _new_chance(sigma: Interval, threshold: Interval, items: int, weight: Weight) -> Interval:
    """The chance that one of a user's new items comes out, for the worst number of them."""
    return largest(
        lambda first, last: chance_of_any(last * item_loss(weight(first), sigma, threshold)), items
    )


def one_sum(fields: Fields, spending: str, slack: Interval) -> Part:
    """One Gaussian sum per item, whose sensitivity exceeds 1 by `slack` at most."""
    parameters, items = fields["parameters"], fields["max_items"]
    sigma = positive(parameters["sigma"]) / (1 + slack)
    threshold = number(parameters["threshold"]) / (1 + slack)
    if spending == "asymmetric":
        new = chance_of_any(_unequal_loss(exact(1), sigma, threshold, items))
    else:
        full = 1 / iv.sqrt(exact(items))
        new = _new_chance(sigma, threshold, items, equal_weight if spending != "count" else lambda t: full)
    return Part(
        1 / sigma,
        partial(at_most, new),
        partial(_jointly, sigma=sigma, threshold=threshold, items=items, spending=spending, slack=slack),
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

    A box of both is bounded by the most new items with the most weight and the largest shift of the others; boxes that
    are not settled are cut (docs/calibration.md has the formula).
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
    """A bound of the loss of at most `items` new items, however unequally a budget of this norm is divided.

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


def policy(fields: Fields) -> Part:
    """One pass of a symmetric descent spends the whole budget; more passes, or a policy of the caller's, any part."""
    parameters = fields["parameters"]
    if parameters["symmetric"] is not True:
        return one_sum(fields, "asymmetric", _policy_slack(fields))
    all_spent = parameters["passes"] == 1 and not fields["rests_on"]
    return one_sum(fields, "all" if all_spent else "any", _policy_slack(fields))


def _policy_slack(fields: Fields) -> Interval:
    """What rounding can add to the sensitivity of a policy in floats: both histories, every visit of a user."""
    parameters, items = fields["parameters"], fields["max_items"]
    passes, parts = (whole(parameters[name], MOST_PASSES) for name in ("passes", "parts"))
    cutoff = float(low(number(parameters["cutoff"])))
    per_visit = iv.sqrt(exact(items)) * exact(math.ulp(cutoff)) / 2 + (exact(items) / 2 + 4) * exact(2.0**-53)
    adding = iv.sqrt(POLICY_USERS * exact(items)) * (parts - 1) * exact(math.ulp(parts * cutoff)) / 2
    return 2 * (POLICY_USERS * exact(passes) * per_visit + adding)


def mad_slack(fields: Fields) -> Interval:
    """What rounding can add to the sensitivity of MAD: both histories, every user."""
    d_max = exact(whole(fields["parameters"]["d_max"]))
    return 2 * MAD_USERS * (iv.sqrt(d_max) * exact(2.0**-41) + (d_max / 2 + 6) * exact(2.0**-53))


def _rounds(fields: Fields, slack: Interval, weights: list[Weight]) -> Part:
    """Several sums with noise of their own, each with its threshold; only what others hold feels their rounding."""
    parameters = fields["parameters"]
    sigmas = [positive(sigma) for sigma in parameters["sigmas"]]
    thresholds = [number(threshold) for threshold in parameters["thresholds"]]
    if not sigmas:
        raise ValueError("a release has one round at least")
    new = sum(
        (
            _new_chance(sigma, threshold, fields["max_items"], weight)
            for sigma, threshold, weight in zip(sigmas, thresholds, weights, strict=True)
        ),
        iv.mpf(0),
    )
    squares = sum(((1 + slack) ** 2 / sigma**2 for sigma in sigmas), iv.mpf(0))
    return Part(iv.sqrt(squares), partial(at_most, new))


def dp_sips(fields: Fields) -> Part:
    """Rounds of Weighted Gaussian."""
    return _rounds(fields, exact(0), [equal_weight] * len(fields["parameters"]["sigmas"]))


def mad2r(fields: Fields) -> Part:
    """Two rounds of MAD; in the second an item can get b_max times its even share, and never less than that share."""
    b_max = max(exact(1), positive(fields["parameters"]["b_max"]), key=high)

    def most(t: int) -> Interval:
        return min(exact(1), b_max / iv.sqrt(exact(t)), key=high)

    return _rounds(fields, mad_slack(fields), [equal_weight, most])
