"""Policies: the rounding errors of their steps, and their cutoff."""

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
"""Larger than every sum of a user's gaps to the cutoff, in integers."""

MOST_ALPHA = 1e6
PART_SHARE = 1.5
"""The cutoff of each of P parts, as a multiple of cutoff / P."""

OWN = "own-policy"
ORDERED = "ordered-laplace"

IN_UNITS = ("policy-laplace", ORDERED)
"""Policies in integers."""

ITEM_ORDERS = ("keyed", "public")


def policy_gaussian(stated: Stated) -> Part:
    """ℓ2-descent: one pass spends the whole budget if there is a new item; each of several passes may spend any part."""
    if stated.parameters["symmetric"] is not True:
        raise ValueError("ℓ2-descent is symmetric")
    told = _cutoff(stated, positive(stated.parameters["sigma"]))
    spending = "all" if stated.parameters["passes"] == 1 else "any"
    return one_sum(stated, spending, _slack(stated, 2), (told,))


def own_gaussian(stated: Stated) -> Part:
    """A custom policy with an ℓ2 budget: symmetric if claimed; nothing is known about how much it spends."""
    own_claims(stated.parameters)
    told = _cutoff(stated, positive(stated.parameters["sigma"]))
    spending = "any" if stated.parameters["symmetric"] else "asymmetric"
    return one_sum(stated, spending, _slack(stated, 2), (told,))


def own_claims(parameters: Fields) -> None:
    """A custom policy has a name, the norm that fits its noise, one pass and one part."""
    norm = 2 if parameters["noise"] == "gaussian" else 1
    if not isinstance(parameters["policy"], str) or not parameters["policy"]:
        raise ValueError("an own policy has a name")
    if whole(parameters["norm"]) != norm or not isinstance(parameters["symmetric"], bool):
        raise ValueError(f"an own policy with this noise is claimed in the norm {norm}, symmetric or not")
    if (parameters["passes"], parameters["parts"]) != (1, 1):
        raise ValueError("an own policy has one pass and one part")


def curve_walk(stated: Stated) -> list[Check]:
    """The steps of a policy with an ℓ1 budget: in integers, or a custom policy in floats."""
    cutoff = _cutoff(stated, positive(stated.parameters["scale"]))
    if stated.algorithm == ORDERED:
        return [cutoff, *_in_order(stated.parameters)]
    if stated.algorithm == OWN:
        own_claims(stated.parameters)
        # Weights are reduced by the rounding error at twice the cutoff, which is enough if the error at most doubles them.
        paid = at_most(_slack(stated, 1, times=2), 1)
        return [cutoff, Check("rounding", paid, "errors are covered")]
    if stated.parameters["symmetric"] is not True:
        raise ValueError("ℓ1-descent is symmetric")
    _walk(stated.parameters)  # whole numbers in their ranges
    units = number(stated.parameters["cutoff"]) / exact(UNIT)
    return [cutoff, Check("sums", at_most(units * stated.max_items, MOST_UNITS - 1), "stay within 64 bits")]


def _in_order(parameters: Fields) -> list[Check]:
    """Users fill one item after the other, so a total is at most the sum of the cutoffs of all parts."""
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
    """The cutoff is the threshold plus alpha noise scales, or the cutoff of one of several parts; it is at least one budget.

    Integers are rounded up to a unit.
    """
    parameters = stated.parameters
    parts = _parts(parameters)
    full = number(parameters["threshold"]) + within(parameters["alpha"], 0, MOST_ALPHA) * scale
    each = full / parts
    # Filled in order, a part waits for one standard deviation of holders beyond their mean.
    of_a_part = each + iv.sqrt(each) if stated.algorithm == ORDERED else exact(PART_SHARE) * each
    of_a_part = min(full, of_a_part, key=high)
    wanted = max(of_a_part, exact(1), key=high)
    integers = stated.algorithm in IN_UNITS
    most = wanted * (1 + exact(ROUNDING)) + (exact(UNIT) if integers else 0)
    cutoff = number(parameters["cutoff"])
    as_set = at_most(wanted * (1 - exact(ROUNDING)), low(cutoff)) and at_most(cutoff, low(most))
    in_units = not integers or float(parameters["cutoff"] / UNIT).is_integer()
    # Built-in policies spend a whole budget on new items only if the cutoff is at least one budget.
    least = 1 - exact(ROUNDING) if stated.algorithm == OWN else exact(1)
    return Check(
        "cutoff", as_set and in_units and at_most(least, low(cutoff)), "follows from threshold and alpha"
    )


def _slack(stated: Stated, norm: int, times: int = 1) -> Interval:
    """The increase of the sensitivity of a float policy by rounding: two databases, every step of a user."""
    (passes, parts), items = _walk(stated.parameters), exact(stated.max_items)
    cutoff = times * float(stated.parameters["cutoff"])
    rooted, held = (items, USERS * items) if norm == 1 else (iv.sqrt(items), iv.sqrt(USERS * items))
    per_visit = rooted * exact(math.ulp(cutoff)) / 2 + (items / 2 + 4) * exact(2.0**-53)
    adding = held * (parts - 1) * exact(math.ulp(parts * cutoff)) / 2
    return 2 * (USERS * exact(passes) * per_visit + adding)
