"""Policies: what their walk rounds, and the cutoff that they go for."""

import math

from mpmath import iv

from dpsu.verification.checks import (
    MOST_PASSES,
    ROUNDING,
    Check,
    Fields,
    Stated,
    number,
    positive,
    whole,
    within,
)
from dpsu.verification.gaussian import Part, one_sum
from dpsu.verification.intervals import Interval, at_most, exact, high, low

USERS = 2**32
UNIT = 2.0**-30
"""The unit of integer weights."""

MOST_UNITS = 2**62
"""Above every sum of a user's gaps to the cutoff in integers."""

MOST_ALPHA = 1e6
PART_SHARE = 1.5
"""Of the cutoff, how many P-ths each of P parts goes for."""

OWN = "own-policy"
ORDERED = "ordered-laplace"

IN_UNITS = ("policy-laplace", ORDERED)
"""Policies in integers."""

ITEM_ORDERS = ("keyed", "public")


def policy_gaussian(stated: Stated) -> Part:
    """ℓ2-descent: one pass spends the whole budget where there is a new item; of several, each any part."""
    if stated.parameters["symmetric"] is not True:
        raise ValueError("ℓ2-descent is symmetric")
    told = _cutoff(stated, positive(stated.parameters["sigma"]))
    spending = "all" if stated.parameters["passes"] == 1 else "any"
    return one_sum(stated, spending, _slack(stated, 2), (told,))


def own_gaussian(stated: Stated) -> Part:
    """A policy of the caller's under an ℓ2 budget: symmetric if that is claimed, and nothing is known of what it spends."""
    own_claims(stated.parameters)
    told = _cutoff(stated, positive(stated.parameters["sigma"]))
    spending = "any" if stated.parameters["symmetric"] else "asymmetric"
    return one_sum(stated, spending, _slack(stated, 2), (told,))


def own_claims(parameters: Fields) -> None:
    """A policy of the caller's has a name, the norm that fits its noise, one pass and one part."""
    norm = 2 if parameters["noise"] == "gaussian" else 1
    if not isinstance(parameters["policy"], str) or not parameters["policy"]:
        raise ValueError("an own policy has a name")
    if whole(parameters["norm"]) != norm or not isinstance(parameters["symmetric"], bool):
        raise ValueError(f"an own policy with this noise is claimed in the norm {norm}, symmetric or not")
    if (parameters["passes"], parameters["parts"]) != (1, 1):
        raise ValueError("an own policy has one pass and one part")


def curve_walk(stated: Stated) -> list[Check]:
    """The walk of a policy under an ℓ1 budget: in integers, or a policy of the caller's in floats."""
    cutoff = _cutoff(stated, positive(stated.parameters["scale"]))
    if stated.algorithm == ORDERED:
        return [cutoff, *_in_order(stated.parameters)]
    if stated.algorithm == OWN:
        own_claims(stated.parameters)
        # Weights are lowered by what rounding can add at twice the cutoff: enough if that at most doubles them.
        paid = at_most(_slack(stated, 1, times=2), 1)
        return [cutoff, Check("rounding", paid, "of the walk is paid for")]
    if stated.parameters["symmetric"] is not True:
        raise ValueError("ℓ1-descent is symmetric")
    units = number(stated.parameters["cutoff"]) / exact(UNIT)
    return [cutoff, Check("sums", at_most(units * stated.max_items, MOST_UNITS - 1), "stay within 64 bits")]


def _in_order(parameters: Fields) -> list[Check]:
    """Users fill one item after the other: a total is at most the cutoffs of all parts, whatever the number of users."""
    told, units = parameters["item_order"], number(parameters["cutoff"]) / exact(UNIT)
    totals = at_most(units * _parts(parameters), MOST_UNITS - 1)
    return [
        Check("totals", totals, "stay within 64 bits"),
        Check("item_order", told in ITEM_ORDERS, f"{told}: it does not depend on the data"),
    ]


def _parts(parameters: Fields) -> int:
    return whole(parameters["parts"], MOST_PASSES)


def _walk(parameters: Fields) -> tuple[int, int]:
    return whole(parameters["passes"], MOST_PASSES), _parts(parameters)


def _cutoff(stated: Stated, scale: Interval) -> Check:
    """The cutoff is the threshold plus alpha noise scales, or what one of several parts goes for: a budget at least.

    Integers are rounded up to a unit.
    """
    parameters = stated.parameters
    parts = _parts(parameters)
    full = number(parameters["threshold"]) + within(parameters["alpha"], 0, MOST_ALPHA) * scale
    each = full / parts
    # Filled in order, an item's holders are waited for one standard deviation beyond their mean.
    of_a_part = each + iv.sqrt(each) if stated.algorithm == ORDERED else exact(PART_SHARE) * each
    of_a_part = min(full, of_a_part, key=high)
    wanted = max(of_a_part, exact(1), key=high)
    integers = stated.algorithm in IN_UNITS
    most = wanted * (1 + exact(ROUNDING)) + (exact(UNIT) if integers else 0)
    cutoff = number(parameters["cutoff"])
    as_set = at_most(wanted * (1 - exact(ROUNDING)), low(cutoff)) and at_most(cutoff, low(most))
    in_units = not integers or float(parameters["cutoff"] / UNIT).is_integer()
    # Built-in policies spend a whole budget on new items only if the cutoff leaves room for it; others may spend any part.
    least = 1 - exact(ROUNDING) if stated.algorithm == OWN else exact(1)
    return Check(
        "cutoff", as_set and in_units and at_most(least, low(cutoff)), "is set by threshold and alpha"
    )


def _slack(stated: Stated, norm: int, times: int = 1) -> Interval:
    """What rounding can add to the sensitivity of a policy in floats: both histories, every visit of a user."""
    (passes, parts), items = _walk(stated.parameters), exact(stated.max_items)
    cutoff = times * float(stated.parameters["cutoff"])
    rooted, held = (items, USERS * items) if norm == 1 else (iv.sqrt(items), iv.sqrt(USERS * items))
    per_visit = rooted * exact(math.ulp(cutoff)) / 2 + (items / 2 + 4) * exact(2.0**-53)
    adding = held * (parts - 1) * exact(math.ulp(parts * cutoff)) / 2
    return 2 * (USERS * exact(passes) * per_visit + adding)
