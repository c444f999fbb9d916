"""Focused Gaussian, alone or in levels of n-grams."""

from itertools import accumulate

from mpmath import iv

from dpsu.verification.checks import ROUNDING, Fields, chance, number, positive, whole
from dpsu.verification.gaussian import Part, equal_weight
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


def focused(fields: Fields) -> Part:
    """All rounds are one Gaussian sum for what others hold too; new items must not cross the boundary."""
    parameters, items = fields["parameters"], fields["max_items"]
    return Part(1 / positive(parameters["sigma"]), lambda limit: focused_new(parameters, items, limit))


def levels(fields: Fields) -> Part:
    """Levels of n-grams: each spends its own; DPNE knows the domain of all but the first, which have no new items."""
    levels, method = fields["parameters"]["levels"], fields["algorithm"].partition(" in ")[0]
    items = [whole(level["max_items"]) for level in levels]
    if fields["algorithm"] != f"{method} in {len(levels)} levels of n-grams" or fields["max_items"] != max(
        items
    ):
        raise ValueError(f"{fields['algorithm']} with {fields['max_items']} items does not have these levels")
    mu = iv.sqrt(sum((1 / positive(level["sigma"]) ** 2 for level in levels), iv.mpf(0)))
    unknown = {"focused-gaussian": levels, "dpne": levels[:1]}[method]

    def new(limit: float) -> bool:
        limits = [chance(level["delta_new"]) * (1 + exact(ROUNDING)) for level in unknown]
        return at_most(sum(limits, iv.mpf(0)), limit) and all(
            focused_new(level, level["max_items"], low(part))
            for level, part in zip(unknown, limits, strict=True)
        )

    return Part(mu, new)


def focused_new(parameters: Fields, items: int, limit: float) -> bool:
    """Whether t new items of one user cross the boundary of some round with a chance of at most `limit`, for all t.

    In a round that is even they get at most 1/sqrt(t) each, in a focused one at most the cap of sets of t items, and the
    noise of a round has the variance sigma^2 times its share. So it is enough that round r is crossed with a chance of at
    most K p_t deal_r, p_t being what each of t items may add to the limit. In the last round the cap itself sees to that,
    unless it is an even share; the other rounds are checked (docs/focused-gaussian.md).
    """
    shares, sigma = [positive(share) for share in parameters["shares"]], positive(parameters["sigma"])
    spent = list(accumulate(shares))
    if not shares or high(spent[-1]) > 1:
        return False
    thresholds = [number(threshold) for threshold in parameters["thresholds"]]
    warmup = low(number(parameters["warmup"]))
    even = [True, *(high(before) * (1 + ROUNDING) < warmup for before in spent[:-1])]
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
    margin = 1 + FLOATS if high(focused[-1]) > 0 else 1
    if not at_most(last_deal / deal[-1] * margin, low(excess)) or not at_most(capped_at, low(thresholds[-1])):
        return False

    def cap(t: int) -> Interval:
        """The cap of sets of t items, but for rounding: what is left below `capped_at`, or an even share."""
        rest = capped_at - warm[-1] * equal_weight(t) - noise[-1] * quantile_below(allowed(t) * last_deal)
        by_rest = min(exact(1), rest / focused[-1], key=high) if high(focused[-1]) > 0 else exact(0)
        return max(equal_weight(t), by_rest, key=high) * (1 + ROUNDING)

    def holds(first: int, last: int) -> bool:
        room, most = excess * allowed(last), cap(first)
        given = [early * equal_weight(first) + late * most for early, late in zip(warm, focused, strict=True)]
        given[-1] = spent[-1] * equal_weight(first)
        return all(
            at_most(tail((threshold - weight) / scale), low(room * part))
            for threshold, weight, scale, part in zip(thresholds, given, noise, deal, strict=True)
        )

    return len(thresholds) == len(shares) and holds_up_to(items, holds)
