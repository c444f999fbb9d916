"""DP-SIPS, MAD and MAD2R: rounds with separate noise, and rerouted weights."""

from collections.abc import Sequence
from functools import partial

from mpmath import iv

from dpsu.verification.checks import (
    INFORMED,
    ROUNDING,
    Check,
    Fields,
    Stated,
    close,
    listed,
    number,
    positive,
    sum_of,
    whole,
    within,
)
from dpsu.verification.gaussian import Part, Weight, equal_weight, new_chance, one_sum
from dpsu.verification.intervals import Interval, at_most, exact, high, low

MAD_USERS = 2**26
MAD_CUTOFF = 2.0**13
"""The largest cutoff of MAD, in budgets: half of the limit of its totals."""

MOST_ROUNDS = 100
NOISE_PARTS = {"exact": 0.6, "paper": 0.5}
"""The part of delta for the noise of all rounds."""


def dp_sips(stated: Stated) -> Part:
    """Rounds of Weighted Gaussian."""
    rounds = len(listed(stated.parameters["sigmas"], "sigmas", MOST_ROUNDS))
    return _rounds(stated, exact(0), [equal_weight] * rounds)


def mad(stated: Stated) -> Part:
    """One round of MAD: its cutoff returns no weight from items that one user alone holds, and its alpha is the proven
    one."""
    parameters = stated.parameters
    d_max = _d_max(stated)
    proven = (1 - 1 / (2 * iv.sqrt(exact(d_max)))) * (1 - exact(d_max) * exact(2.0**-39))
    alpha = Check("alpha", close(positive(parameters["alpha"]), proven), f"is what d_max {d_max} allows")
    told = (alpha, _cutoff(parameters["cutoff"], parameters["threshold"]))
    return one_sum(stated, "all", mad_slack(d_max), told)


def mad2r(stated: Stated) -> Part:
    """Two rounds of MAD; in the second a new item gets at most b_max times its even share."""
    parameters, d_max = stated.parameters, _d_max(stated)
    within(parameters["b_min"], 0.01, 1)
    b_max = within(parameters["b_max"], 1, 100)
    for name in ("c_lb", "c_ub"):
        number(parameters[name])

    def most(t: int) -> Interval:
        return min(exact(1), b_max / iv.sqrt(exact(t)), key=high)

    cutoffs, thresholds = (listed(parameters[name], name, 2, 2) for name in ("cutoffs", "thresholds"))
    told = [_cutoff(cutoff, threshold) for cutoff, threshold in zip(cutoffs, thresholds, strict=True)]
    return _rounds(stated, mad_slack(d_max), [equal_weight, most], told)


def mad_slack(d_max: int) -> Interval:
    """The increase of the sensitivity of MAD by rounding: two databases, every user."""
    return (
        2 * MAD_USERS * (iv.sqrt(exact(d_max)) * exact(2.0**-41) + (exact(d_max) / 2 + 6) * exact(2.0**-53))
    )


def _d_max(stated: Stated) -> int:
    d_max = whole(stated.parameters["d_max"])
    if d_max > stated.max_items:
        raise ValueError(f"d_max {d_max} is more than max_items {stated.max_items}")
    return d_max


def _cutoff(stated: object, threshold: object) -> Check:
    """The cutoff is at least one budget, so that new items return nothing, and at least the threshold."""
    cutoff = number(stated)
    least = max(exact(1), number(threshold) * (1 - exact(ROUNDING)), key=high)
    allowed = at_most(least, low(cutoff)) and at_most(cutoff, MAD_CUTOFF)
    return Check("cutoff", allowed, f"{stated} is from 1 and the threshold to {MAD_CUTOFF:g}")


def _rounds(stated: Stated, slack: Interval, weights: Sequence[Weight], told: Sequence[Check] = ()) -> Part:
    """Several sums with separate noise and thresholds; only shared items are affected by rounding."""
    parameters, rounds = stated.parameters, len(weights)
    sigmas, thresholds, shares = (
        listed(parameters[name], name, rounds, rounds) for name in ("sigmas", "thresholds", "shares")
    )
    scales = [positive(sigma) for sigma in sigmas]
    new = sum_of(
        [
            new_chance(scale, number(threshold), stated.max_items, weight)
            for scale, threshold, weight in zip(scales, thresholds, weights, strict=True)
        ]
    )
    mu = iv.sqrt(sum_of([(1 + slack) ** 2 / scale**2 for scale in scales]))
    told = [*told, *_shares(parameters, [positive(share) for share in shares], scales, mu, slack)]
    return Part(mu, partial(at_most, new), noise_part=NOISE_PARTS[stated.calibration], told=tuple(told))


def _shares(
    parameters: Fields, shares: list[Interval], scales: list[Interval], mu: Interval, slack: Interval
) -> list[Check]:
    """The shares sum to 1 and agree with the noise of the rounds; sigma is the noise of all rounds together."""
    whole_share = sum_of(shares)
    fitting = all(
        close(((1 + slack) / (scale * mu)) ** 2, share / whole_share, INFORMED)
        for scale, share in zip(scales, shares, strict=True)
    )
    return [
        Check(
            "shares",
            close(whole_share, exact(1), 2 * INFORMED) and fitting,
            "agree with the noise of the rounds",
        ),
        Check(
            "sigma",
            close(positive(parameters["sigma"]) * mu, exact(1), INFORMED),
            "is the noise of all rounds together",
        ),
    ]
