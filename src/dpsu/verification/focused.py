"""Focused Gaussian, alone or in levels of n-grams."""

from itertools import accumulate, pairwise

import numpy as np
from mpmath import iv
from scipy import special

from dpsu.verification.checks import (
    INFORMED,
    ROUNDING,
    Check,
    Fields,
    Stated,
    close,
    listed,
    number,
    only,
    positive,
    whole,
    within,
)
from dpsu.verification.gaussian import Part, budget_covers, equal_weight
from dpsu.verification.intervals import (
    FLOATS,
    Interval,
    at_most,
    crossing_excess,
    exact,
    high,
    holds_up_to,
    low,
    quantile_below,
    tail,
)

MOST_ROUNDS = 1000

CONSTANTS = ("rounds", "growth", "split", "delta_growth", "warmup", "boost", "width", "tail", "cap")
NAMES = ("noise", "sigma", "threshold", *CONSTANTS, "shares", "thresholds", "capped_at", "last_deal")

SUMS = 2.0**-42
"""Relative tolerance, above the floating-point error of the program's sum of shares."""

PLACED = 1e-6
"""Relative tolerance of the position of the cap, which only informs; the cap itself is proved."""


def focused(stated: Stated) -> Part:
    """All rounds together are one Gaussian sum for shared items; new items must not cross the boundary."""
    parameters, items = stated.parameters, stated.max_items
    new = budget_covers(only(stated.budget, ("mu", "delta_new"), "the budget"))[1]
    return Part(
        1 / positive(parameters["sigma"]),
        lambda limit: focused_new(parameters, items, limit),
        noise_part=split_of(parameters),
        told=tuple(informed(parameters, items, float(high(new)))),
    )


def split_of(parameters: Fields) -> float:
    """The part of delta for the noise."""
    split: float = parameters["split"]
    if not 0 < low(number(split)) < 1:
        raise ValueError(f"split {split!r} does not lie between 0 and 1")
    return split


def informed(parameters: Fields, items: int, new: float) -> list[Check]:
    """The constants of the focus are in their ranges, and the numbers derived from them agree."""
    rounds = whole(parameters["rounds"], MOST_ROUNDS)
    shares, thresholds = (listed(parameters[name], name, rounds, rounds) for name in ("shares", "thresholds"))
    growth = positive(parameters["growth"])
    for name in ("boost", "width"):
        positive(parameters[name])
    for name in ("tail", "warmup", "delta_growth"):
        if low(number(parameters[name])) < 0:
            raise ValueError(f"{name} is below 0")
    if parameters["cap"] is not None:
        within(parameters["cap"], 0, 1)
    growing = all(
        close(later / earlier, growth, INFORMED) for earlier, later in pairwise(map(positive, shares))
    )
    return [
        Check("shares", growing, f"of {rounds} rounds grow by {parameters['growth']}"),
        Check("threshold", parameters["threshold"] == thresholds[-1], "equals that of the last round"),
        Check("cap", _cap_in_place(parameters, items, new), "agrees with the constants"),
    ]


def _even(parameters: Fields) -> list[bool]:
    """Which rounds are even: those that start when less than `warmup` of the budget is spent."""
    given = list(accumulate(positive(share) for share in parameters["shares"]))
    warmup = number(parameters["warmup"])
    if any(at_most(abs(before - warmup), low(before * exact(SUMS))) for before in given[:-1]):
        raise ValueError("a sum of shares is too close to warmup to decide which rounds are even")
    return [True, *(high(before) < low(warmup) for before in given[:-1])]


def _cap_in_place(parameters: Fields, items: int, new: float) -> bool:
    """Whether `capped_at` is at the position `cap` between the lowest and highest boundary of the last round, in floats."""
    shares, even = np.array(parameters["shares"], np.float64), np.array(_even(parameters))
    warm, rest = float(shares[even].sum()), float(shares[~even].sum())
    noise = parameters["sigma"] * float(np.sqrt(shares.sum()))
    t = np.arange(1, items + 1, dtype=np.float64)
    with np.errstate(all="ignore"):
        quantiles = -noise * special.ndtri(-np.expm1(np.log1p(-new) / t) * parameters["last_deal"])
    lowest = float(((warm + rest) / np.sqrt(t) + quantiles).max())
    highest = float((warm / np.sqrt(t) + rest + quantiles).max())
    place = noise / (noise + 2) if parameters["cap"] is None else parameters["cap"]
    wanted = lowest + place * (highest - lowest)
    return bool(abs(parameters["capped_at"] - wanted) <= PLACED * (abs(lowest) + abs(highest)))


def focused_new(parameters: Fields, items: int, limit: float) -> bool:
    """Whether t new items of one user cross the boundary of some round with probability at most `limit`, for all t.

    In an even round they get at most 1/sqrt(t) each, in a focused round at most the cap of sets of t items. The noise
    of a round has the variance sigma^2 times its share. So it is enough that round r is crossed with probability at
    most K p_t deal_r, where p_t is what each of t items may add to the limit. In the last round the cap itself
    guarantees this, unless it is an even share. The other rounds are checked (docs/focused-gaussian.md).
    """
    shares, sigma = [positive(share) for share in parameters["shares"]], positive(parameters["sigma"])
    spent = list(accumulate(shares))
    if high(spent[-1]) > 1 or not 0 < limit < 1:
        return False
    thresholds = [number(threshold) for threshold in parameters["thresholds"]]
    even = _even(parameters)
    warm = list(accumulate(share if kind else exact(0) for share, kind in zip(shares, even, strict=True)))
    focused = [given - part for given, part in zip(spent, warm, strict=True)]
    noise = [sigma * iv.sqrt(given) for given in spent]
    powers = [share ** number(parameters["delta_growth"]) for share in shares]
    deal = [power / sum(powers, exact(0)) for power in powers]
    capped_at, last_deal = number(parameters["capped_at"]), positive(parameters["last_deal"])

    def allowed(t: int) -> Interval:
        return 1 - iv.exp(iv.log(1 - exact(limit)) / t)

    ends = [float(high(allowed(t))) for t in (items, 1)]
    deal_in_floats, shares_in_floats = ([float(high(part)) for part in parts] for parts in (deal, shares))
    excess = exact(crossing_excess(deal_in_floats, shares_in_floats, *ends))
    margin = 1 if all(even) else 1 + FLOATS
    if not at_most(last_deal / deal[-1] * margin, low(excess)) or not at_most(capped_at, low(thresholds[-1])):
        return False

    def cap(t: int) -> Interval:
        """The cap of sets of t items, up to rounding: the rest below `capped_at`, or an even share."""
        if all(even):
            return equal_weight(t)
        rest = capped_at - warm[-1] * equal_weight(t) - noise[-1] * quantile_below(allowed(t) * last_deal)
        by_rest = min(exact(1), rest / focused[-1], key=high)
        return max(equal_weight(t), by_rest, key=high) * (1 + exact(ROUNDING))

    def holds(first: int, last: int) -> bool:
        room, most = excess * allowed(last), cap(first)
        given = [early * equal_weight(first) + late * most for early, late in zip(warm, focused, strict=True)]
        given[-1] = spent[-1] * equal_weight(first)
        return all(
            at_most(tail((threshold - weight) / scale), low(room * part))
            for threshold, weight, scale, part in zip(thresholds, given, noise, deal, strict=True)
        )

    return holds_up_to(items, holds)
