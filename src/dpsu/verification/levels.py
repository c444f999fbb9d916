"""n-grams in levels: each level spends a share of one budget (docs/ngrams.md)."""

from mpmath import iv

from dpsu.verification.candidates import LISTED_ONLY, listed_level
from dpsu.verification.checks import (
    INFORMED,
    ROUNDING,
    Check,
    Counts,
    Fields,
    Stated,
    chance,
    close,
    listed,
    number,
    only,
    positive,
    sum_of,
    whole,
)
from dpsu.verification.counts import counts_shift
from dpsu.verification.focused import NAMES, focused_new, informed, split_of
from dpsu.verification.gaussian import Part, gaussian
from dpsu.verification.intervals import Interval, at_most, exact, low
from dpsu.verification.mechanism import OF_COUNTS, shared_mu, without_counts

METHODS = ("focused-gaussian", "dpne")
MOST_LEVELS = 16
PROOF = "docs/ngrams.md"

OF_EVERY_LEVEL = ("size", "share", "max_items")
UNKNOWN = (*OF_EVERY_LEVEL, *NAMES, "delta_new")
KNOWN = (*OF_EVERY_LEVEL, "sigma", "threshold")
LISTED = (*OF_EVERY_LEVEL, *LISTED_ONLY)

FALSE_SHARE = "false_share"

RAREST = 2.326
"""The lowest threshold of a known domain, in noise scales: absent n-grams are released with probability at most 0.01."""


def in_levels(stated: Stated, sizes: object) -> list[Check]:
    """Levels of n-grams of these sizes, which together are one Gaussian mechanism."""
    only(stated.parameters, ("noise", "levels"), "parameters", optional=("counts", FALSE_SHARE))
    levels = listed(stated.parameters["levels"], "levels", MOST_LEVELS)
    if stated.algorithm not in METHODS or stated.calibration != "exact":
        raise ValueError(
            f"{stated.algorithm!r}, {stated.calibration!r} is not a method to release n-grams in levels"
        )
    if stated.algorithm == "dpne" and FALSE_SHARE in stated.parameters:
        raise ValueError("dpne has no false_share")
    later = KNOWN if stated.algorithm == "dpne" else LISTED if FALSE_SHARE in stated.parameters else UNKNOWN
    for place, level in enumerate(levels, 1):
        known = stated.algorithm == "dpne" and place > 1
        only(level, later if place > 1 else UNKNOWN, f"level {place}")
        if not known and level["noise"] != "gaussian":
            raise ValueError(f"the noise {level['noise']!r} is not that of a level")
    ordered = [*range(1, len(levels) + 1)]
    most = max(whole(level["max_items"]) for level in levels)
    return [
        Check("levels", [level["size"] for level in levels] == ordered == sizes, f"of sizes {sizes}"),
        Check("max_items of levels", most == stated.max_items, f"{most} in the largest"),
        *_with_counts(stated, [level["max_items"] for level in levels]),
    ]


def _with_counts(stated: Stated, bounds: list[int]) -> list[Check]:
    """All levels, and the counts of their items, of which a user changes at most as many as each level allows."""
    if "counts" not in stated.parameters:
        return gaussian(_part, stated, Counts())
    told = stated.parameters["counts"]
    only(told, OF_COUNTS, "counts", optional=("max_items",))
    shift = counts_shift(told, bounds)
    return [shared_mu(stated, told, shift), *gaussian(_part, without_counts(stated), Counts(shift))]


def _part(stated: Stated) -> Part:
    """Each level spends its own budget.

    With DPNE or a false share all levels but the first have a known domain and no new items.
    """
    levels, has_share = stated.parameters["levels"], FALSE_SHARE in stated.parameters
    unknown = levels[:1] if has_share or stated.algorithm == "dpne" else levels
    scales = [positive(level["sigma"]) for level in levels]
    mu = iv.sqrt(sum_of([1 / scale**2 for scale in scales]))
    limits = [chance(level["delta_new"]) * (1 + exact(ROUNDING)) for level in unknown]

    def new(limit: float) -> bool:
        return at_most(sum_of(limits), limit) and all(
            focused_new(level, level["max_items"], low(part))
            for level, part in zip(unknown, limits, strict=True)
        )

    told = [
        _shares(levels, [1 / (scale * mu) ** 2 for scale in scales], "the noise"),
        _shares(unknown, [limit / sum_of(limits) for limit in limits], "the probability of new items"),
        Check("split", len({split_of(level) for level in unknown}) == 1, "is the same in all levels"),
    ]
    if has_share:
        told += _false_items(stated.parameters[FALSE_SHARE], levels[1:])
    else:
        told += [_threshold(level) for level in levels[len(unknown) :]]
    for level, limit in zip(unknown, limits, strict=True):
        told += informed(level, level["max_items"], float(low(limit)))
    return Part(mu, new, noise_part=split_of(levels[0]), told=tuple(told))


def _shares(levels: list[Fields], parts: list[Interval], of: str) -> Check:
    """The shares of the levels are proportional to their parts of something."""
    shares = [positive(level["share"]) for level in levels]
    together = sum_of(shares)
    fitting = all(close(part, share / together, INFORMED) for part, share in zip(parts, shares, strict=True))
    return Check(f"shares of {of}", fitting and at_most(together, 1 + INFORMED), "are as stated")


def _false_items(share: object, levels: list[Fields]) -> list[Check]:
    """The false shares of the levels above the first add up to that of the whole."""
    if not levels:
        raise ValueError("words have no false share")
    checks = [check for level in levels for check in listed_level(level)]
    together = sum_of([positive(level["candidates"][FALSE_SHARE]) for level in levels])
    added = close(together, positive(share))
    return [*checks, Check("false_share of all levels", added, f"{share} of the n-grams of several words")]


def _threshold(level: Fields) -> Check:
    """Absent n-grams are released rarely, by noise alone."""
    least = exact(RAREST) * positive(level["sigma"])
    return Check(
        f"threshold of level {level['size']}",
        at_most(least, low(number(level["threshold"]))),
        "releases few absent n-grams",
    )
