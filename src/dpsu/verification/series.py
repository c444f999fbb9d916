"""A series: the periods share the rounds of one Focused Gaussian (docs/series.md)."""

import re
from itertools import accumulate

import numpy as np
from mpmath import iv

from dpsu.verification.checks import (
    INFORMED,
    Check,
    Counts,
    Fields,
    Stated,
    close,
    listed,
    number,
    only,
    positive,
    sum_of,
    whole,
)
from dpsu.verification.focused import split_of
from dpsu.verification.gaussian import Part, gaussian
from dpsu.verification.intervals import at_most, exact, high, low
from dpsu.verification.tails import FLOATS, Tails, above, below

PROOF = "docs/series.md"
UNIT = "one user, added or removed, in all periods together"

MOST_PERIODS, MOST_ROUNDS = 366, 200
CONSTANTS = ("growth", "split", "delta_growth", "warmup", "boost", "width", "tail")
NAMES = (
    *("noise", "sigma", "threshold", "periods", "rounds", *CONSTANTS),
    *("period_shares", "period_max_items", "shares", "thresholds", "series", "period"),
)
ID = re.compile(r"[0-9a-f]{32}")


def in_periods(stated: Stated) -> list[Check]:
    """All periods together are one Gaussian mechanism, whichever of them this statement is about."""
    parameters = only(stated.parameters, NAMES, "parameters")
    if stated.algorithm != "focused-gaussian" or stated.calibration != "exact":
        raise ValueError(f"{stated.algorithm!r}, {stated.calibration!r} is not the method of a series")
    series, period = parameters["series"], parameters["period"]
    cuts = [whole(cut) for cut in _of_periods(parameters, "period_max_items")]
    return [
        Check("series", isinstance(series, str) and ID.fullmatch(series) is not None, str(series)),
        Check(
            "period", whole(period, parameters["periods"]) == period, f"{period} of {parameters['periods']}"
        ),
        Check("max_items of periods", max(cuts) == stated.max_items, f"{max(cuts)} in the largest"),
        *gaussian(_part, stated, Counts()),
    ]


def _part(stated: Stated) -> Part:
    parameters = stated.parameters
    for name in ("boost", "width", "growth"):
        positive(parameters[name])
    if any(number(parameters[name]) < 0 for name in ("tail", "warmup", "delta_growth")):
        raise ValueError("tail, warmup or delta_growth is below 0")
    return Part(
        1 / positive(parameters["sigma"]),
        lambda limit: own_items(parameters, limit),
        noise_part=split_of(parameters),
        told=(_shares(parameters), _last(parameters)),
    )


def _of_periods(parameters: Fields, name: str) -> list[object]:
    periods = whole(parameters["periods"], MOST_PERIODS)
    return listed(parameters[name], name, periods, periods)


def _of_rounds(parameters: Fields, name: str) -> list[object]:
    count = whole(parameters["periods"], MOST_PERIODS) * whole(parameters["rounds"], MOST_ROUNDS)
    return listed(parameters[name], name, count, count)


def _last(parameters: Fields) -> Check:
    last = _of_rounds(parameters, "thresholds")[-1]
    return Check("threshold", parameters["threshold"] == last, "equals that of the last round")


def _shares(parameters: Fields) -> Check:
    """The rounds of a period divide its share, growing by `growth`."""
    growth, rounds = positive(parameters["growth"]), whole(parameters["rounds"], MOST_ROUNDS)
    steps = [growth**k for k in range(rounds)]
    expected = [
        positive(share) * step / sum_of(steps)
        for share in _of_periods(parameters, "period_shares")
        for step in steps
    ]
    shares = map(positive, _of_rounds(parameters, "shares"))
    fitting = all(close(found, told, INFORMED) for found, told in zip(shares, expected, strict=True))
    return Check("shares", fitting, f"of {rounds} rounds in {parameters['periods']} periods are as stated")


def own_items(parameters: Fields, limit: float) -> bool:
    """Whether a user's own items cross the boundary of some round with probability at most `limit`.

    At most D_s of them begin in period s, and by round r each has received at most the share spent since then. So the
    probability is at most the sum over all rounds r and all periods s up to that of r of D_s times a normal tail. Tails
    must be of positive arguments, so that periods that do not take place make the sum smaller. `tails` bounds them.
    """
    shares = [positive(share) for share in _of_rounds(parameters, "shares")]
    thresholds = [number(threshold) for threshold in _of_rounds(parameters, "thresholds")]
    cuts = [whole(cut) for cut in _of_periods(parameters, "period_max_items")]
    sigma, rounds = positive(parameters["sigma"]), parameters["rounds"]
    spent = list(accumulate(shares))
    if high(spent[-1]) > 1 or not 0 < limit < 1:
        return False
    before = np.array([0.0, *map(below, spent[rounds - 1 :: rounds])])
    tails, counts, together = Tails(exact(limit)), np.array(cuts, np.float64), 0.0
    for r, (threshold, given) in enumerate(zip(thresholds, spent, strict=True)):
        if not at_most(given, low(threshold)):
            return False
        begun = r // rounds + 1
        rise, noise = below(threshold - given), above(sigma * iv.sqrt(given))
        with np.errstate(over="ignore"):
            # Each float operation is followed by a step down, so that it gives a lower bound.
            ahead = np.nextafter(rise + before[:begun], 0)
            z = np.nextafter(ahead / noise, 0)
        together += tails.share(counts[:begun], z)
        if not together * (1 + FLOATS) <= 1:
            return False
    return True
