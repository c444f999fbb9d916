"""Tuned releases: that the choice of their setting was paid for (docs/tuning.md).

Every trial is a small statement of its own and is checked as one. What is left to show is that all trials together, or
the best of a random number of them, keep the promise of the whole.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from mpmath import iv, mp

from dpsu.verification.checks import Check, Fields, is_number
from dpsu.verification.families import family_of, well_formed
from dpsu.verification.gaussian import budget_covers
from dpsu.verification.intervals import Interval, at_most, delta_gaussian, exact, high, low, precision_for

SUFFIX = ", tuned"

MORE = ("counts", "levels", "tuning")
"""Parameters of a release that is more than one mechanism, which a trial never is."""

LEFT_OUT = {"calibration": "exact", "max_items": 300}
"""What a setting is that does not say so."""

SETTING = ("algorithm", "rests_on", *LEFT_OUT)
"""What a setting fixes at every privacy."""

NARROWEST, WIDEST, STEPS = -7.0, 30.0, 100
"""The search for an order: between which logarithms of the order less 1, and how long."""


def tuned(fields: Fields, epsilon: Any, delta: Any, counts: Interval) -> list[Check]:
    """Trials and release do what they state, and choosing among them in this way keeps the promise of the whole."""
    tuning = fields["parameters"]["tuning"]
    way, trials, released = tuning["way"], tuning["trials"], _released(fields, tuning)
    if way not in ("part", "selection") or not (isinstance(trials, list) and trials):
        raise ValueError(f"no trials on a part or for a selection, but {way!r} with {trials!r}")
    checks = _choice(fields, tuning, released)
    for place, trial in enumerate(trials, 1):
        checks += _follows(trial, f"trial {place}")
    if not all(check.ok for check in checks):
        return checks
    if way == "selection":
        return [*checks, best_of_tries(trials, tuning["mean_tries"], epsilon, delta)]
    share = tuning["share"]
    return [
        *checks,
        Check("share", is_number(share) and 0 < share < 1, f"{share} of the users for the trials"),
        all_together(trials, epsilon, delta),
        *_follows(released, "release"),
    ]


def _released(fields: Fields, tuning: Fields) -> Fields:
    """The small statement of the mechanism that released, at the privacy of the whole."""
    if not fields["algorithm"].endswith(SUFFIX):
        raise ValueError(f"{fields['algorithm']!r} does not say that its setting was tuned")
    return {
        **fields,
        "algorithm": fields["algorithm"].removesuffix(SUFFIX),
        "parameters": {name: value for name, value in fields["parameters"].items() if name != "tuning"},
        "budget": tuning["release"]["budget"],
        "rests_on": tuning["release"]["rests_on"],
    }


def _choice(fields: Fields, tuning: Fields, released: Fields) -> list[Check]:
    """The trials are those of the settings, the release is that of the chosen one, and all claims are told."""
    trials, settings, on_part = tuning["trials"], tuning["settings"], tuning["way"] == "part"
    fitting = len(settings) == len(trials) and all(
        trial["epsilon"] == tuning["epsilon_of_a_try"]
        and trial["algorithm"] == setting["algorithm"]
        and all(trial[name] == setting.get(name, default) for name, default in LEFT_OUT.items())
        for setting, trial in zip(settings, trials, strict=True)
    )
    # On a part the release has a privacy of its own; a selection releases a trial as it was.
    alike = SETTING if on_part else (*SETTING, "parameters", "budget")
    chosen = any(
        setting == tuning["chosen"] and all(trial[name] == released[name] for name in alike)
        for setting, trial in zip(settings, trials, strict=False)
    )
    claims = {claim for stated in (*trials, released) for claim in stated["rests_on"]}
    return [
        Check("budget", fields["budget"] is None, "none: the whole composes by its epsilon and delta"),
        Check("settings", fitting, f"{len(settings)}, {len(trials)} trials, at the same epsilon"),
        Check("chosen", chosen, str(tuning["chosen"])),
        Check("claims of all trials", claims <= {*fields["rests_on"]}, str([*claims] or "none")),
        Check("scores", on_part or "scores" not in tuning, "shown" if "scores" in tuning else "not shown"),
    ]


def _follows(stated: Fields, name: str) -> list[Check]:
    """The checks of one mechanism at its own epsilon and delta, or what keeps it from being checked."""
    family, alone = family_of(stated), not {*MORE} & {*stated["parameters"]}
    form = [*well_formed(stated), Check("algorithm", family is not None and alone, str(stated["algorithm"]))]
    checks = [check for check in form if not check.ok]
    if family is not None and not checks:
        with precision_for(stated["delta"]):
            checks = family(stated, stated["epsilon"], stated["delta"], exact(0))
    return [replace(check, name=f"{name}, {check.name}") for check in checks]


def all_together(trials: Sequence[Fields], epsilon: Any, delta: Any) -> Check:
    """Releases by all trials: Gaussian ones compose by their budgets, the others add their epsilon and delta."""
    covers = [budget_covers(trial["budget"]) for trial in trials if trial["budget"] is not None]
    others = [trial for trial in trials if trial["budget"] is None]
    left = exact(epsilon) - sum((exact(trial["epsilon"]) for trial in others), iv.mpf(0))
    mu = iv.sqrt(sum((part**2 for part, _ in covers), iv.mpf(0)))
    new = sum((chance for _, chance in covers), iv.mpf(0))
    together = delta_gaussian(left, mu) + new + sum((exact(trial["delta"]) for trial in others), iv.mpf(0))
    return Check(
        "all trials together",
        bool(low(left) >= 0) and at_most(together, delta),
        f"delta at epsilon {epsilon:g} is at most {mp.nstr(high(together), 6)}",
    )


def best_of_tries(trials: Sequence[Fields], tries: Any, epsilon: Any, delta: Any) -> Check:
    """The best of a geometric number of tries, each of which spends the dearest trial's mu and delta_new at most."""
    if not (is_number(tries) and tries > 1):
        return Check("the best of all tries", False, f"{tries!r} of them on average")
    if any(trial["budget"] is None for trial in trials):
        return Check("the best of all tries", False, "private selection needs Gaussian noise in every trial")
    mu, new = (
        max(parts, key=high) for parts in zip(*(budget_covers(t["budget"]) for t in trials), strict=True)
    )
    found = delta_of_best(exact(epsilon), mu, new, exact(tries))
    return Check(
        "the best of all tries",
        at_most(found, delta),
        f"delta at epsilon {epsilon:g} is at most {mp.nstr(high(found), 6)}, with {tries:g} on average",
    )


def delta_of_best(epsilon: Interval, mu: Interval, new: Interval, tries: Interval) -> Interval:
    """A delta of the best of a geometric number of runs with this mean, each of which spends mu and `new`.

    The best is Rényi private at every order, as is each run; the better the orders, the smaller the delta. New items
    count in all runs of the longest e^-epsilon of all series. Both are proved in docs/tuning.md.
    """
    order, backwards = (exact(value) for value in _orders(*(float(high(x)) for x in (epsilon, mu, tries))))
    choice = 2 * ((backwards - 1) * mu**2 / 2 + iv.log(tries) / backwards)
    loss = order * mu**2 / 2 + choice
    shared = tries / (order - 1) * iv.exp((order - 1) * (loss - epsilon) + order * iv.log(1 - 1 / order))
    runs = exact(mp.ceil(high(epsilon / -iv.log(1 - 1 / tries)))) + tries
    return shared + runs * new


def _orders(epsilon: float, mu: float, tries: float) -> tuple[float, float]:
    """Orders above 1 that make the delta small, in floats: any others would prove a delta too."""
    backwards = max(1.0, math.sqrt(2 * math.log(tries)) / mu)
    choice = 2 * ((backwards - 1) * mu * mu / 2 + math.log(tries) / backwards)

    def log_delta(place: float) -> float:
        over = math.exp(place)
        return (
            over * ((1 + over) * mu * mu / 2 + choice - epsilon)
            - place
            + (1 + over) * math.log1p(-1 / (1 + over))
        )

    # It is convex in the order, so that the better of two places tells on which side the best lies.
    first, last = NARROWEST, WIDEST
    for _ in range(STEPS):
        third = (last - first) / 3
        if log_delta(first + third) <= log_delta(last - third):
            last -= third
        else:
            first += third
    return 1 + math.exp(first), backwards
