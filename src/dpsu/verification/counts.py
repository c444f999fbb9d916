"""Counts, sums and others beside a mechanism: their shift together (docs/counts.md)."""

from collections.abc import Sequence

from mpmath import iv

from dpsu.verification.checks import INFORMED, Fields, close, is_number, listed, only, positive, sum_of, whole
from dpsu.verification.intervals import Interval, exact, low

OF_COUNTS, MEASURED, TAKEN = (
    ("sigma", "squared_sensitivity", "share"),
    ("max_items", "sums", "others"),
    ("epsilon", "delta"),
)
OF_SUM, OF_OTHERS, OF_OTHER_SUM = (
    ("column", "low", "high", "max_items", "share", "sigma"),
    ("share", "sigma", "sums"),
    ("column", "sigma"),
)
MOST_COLUMNS, LARGEST = 16, 1e15


def counts_shift(told: Fields, bounds: Sequence[int]) -> Interval:
    """The shift of all that is measured. `bounds` are the most items of a user in each table that is counted.

    One user changes counts by a vector of ℓ2-norm sqrt(max_items) at most (in each level of no more items than it has), and
    possibly the number of users by 1. All sums of a column change by a vector of ℓ2-norm sqrt(max_items) of these sums times
    the largest value, every number of others by its largest value.
    """
    only(told, OF_COUNTS, "counts", optional=(*TAKEN, *MEASURED))
    cut = whole(told.get("max_items", max(bounds)))
    most = cut if len(bounds) == 1 else sum(min(cut, bound) for bound in bounds)
    if whole(told["squared_sensitivity"], most + 1) < most:
        raise ValueError("a user changes more counts than the noise covers")
    share = positive(told["share"])
    if not told["share"] < 1:
        raise ValueError(f"the share {told['share']!r} of counts does not lie between 0 and 1")
    if ("sums" in told or "others" in told) and len(bounds) > 1:
        raise ValueError("levels have counts and neither sums nor others")
    sums = _sums(told)
    parts = [(exact(most) * (largest / sigma) ** 2, part) for largest, most, sigma, part in sums.values()]
    if "others" in told:
        parts += _others(told["others"], {name: largest for name, (largest, *_) in sums.items()})
    counts = exact(told["squared_sensitivity"]) / positive(told["sigma"]) ** 2
    squared = counts + sum_of([shift for shift, _ in parts])
    left = share - sum_of([part for _, part in parts])
    if not low(left) > 0:
        raise ValueError("sums and others leave no share to counts")
    for shift, part in [*parts, (counts, left)]:
        if not close(shift / squared, part / share, INFORMED):
            raise ValueError("a count, a sum or others do not have their share of the noise")
    return iv.sqrt(squared)


def _sums(told: Fields) -> dict[str, tuple[Interval, int, Interval, Interval]]:
    """The largest value, the items that count in full, the noise and the share of every sum, by column."""
    found = {}
    for each in listed(told["sums"], "sums", MOST_COLUMNS) if "sums" in told else []:
        only(each, OF_SUM, "a sum")
        bounds = each["low"], each["high"]
        if (
            not all(is_number(bound) and abs(bound) <= LARGEST for bound in bounds)
            or not bounds[0] < bounds[1]
        ):
            raise ValueError(f"{bounds!r} are not the bounds of a sum")
        if not isinstance(each["column"], str) or each["column"] in found:
            raise ValueError("a sum has no column of its own")
        largest = exact(max(abs(bound) for bound in bounds))
        cut = whole(each["max_items"])
        found[each["column"]] = largest, cut, positive(each["sigma"]), positive(each["share"])
    return found


def _others(told: Fields, largest: dict[str, Interval]) -> list[tuple[Interval, Interval]]:
    """The squared shift and the share of every number about others: the users, and each sum."""
    only(told, OF_OTHERS, "others")
    sums = listed(told["sums"], "sums of others", MOST_COLUMNS, 0)
    if [only(each, OF_OTHER_SUM, "a sum of others")["column"] for each in sums] != [*largest]:
        raise ValueError("others do not have the sums of the items")
    share = positive(told["share"])
    scales = [(exact(1), told["sigma"]), *((largest[each["column"]], each["sigma"]) for each in sums)]
    return [((most / positive(sigma)) ** 2, share) for most, sigma in scales]
