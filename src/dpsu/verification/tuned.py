"""Tuned releases: the choice of the setting is covered by the promise (docs/tuning.md).

Every trial is a small statement and is checked as one. Then the checks show that all trials together, or the best of a
random number of them, satisfy the promise of the whole.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from mpmath import iv, mp

from dpsu.verification.checks import Check, Fields, Stated, is_number, listed, only, sum_of
from dpsu.verification.gaussian import budget_covers
from dpsu.verification.intervals import Interval, at_most, delta_gaussian, exact, high, low, precision_for
from dpsu.verification.mechanism import SMALL, alone, counted
from dpsu.verification.policies import OWN

PROOF = "docs/tuning.md"
MOST_SETTINGS = 10_000

OF_EITHER = ("way", "how", "epsilon_of_a_try", "settings", "chosen", "release", "trials")
OF_WAY = {"part": ("share", "scores"), "selection": ("mean_tries",)}
HOW = {
    "part": "settings were tried on a random part of the users, who are left out of the release",
    "selection": "private selection: the largest of a random number of releases, each with a setting drawn at random",
}

DEFAULTS = {"calibration": "exact", "max_items": 300}
"""Defaults for omitted keys of a setting."""

OPTIONS = {
    "policy-laplace": ("alpha", "passes", "parts"),
    "policy-gaussian": ("alpha", "passes", "parts"),
    "ordered-laplace": ("alpha", "parts"),
    "own-policy": ("alpha",),
    "dp-sips": ("shares",),
    "mad": ("d_max", "beta"),
    "mad2r": ("d_max", "beta", "b_min", "b_max", "c_lb", "c_ub", "shares"),
    "focused-gaussian": (
        "rounds", "growth", "split", "delta_growth", "warmup", "boost", "width", "tail", "cap", "focus",
    ),
}  # fmt: skip
"""The other keys of a setting, by the algorithm of its trial. Version 0.1 had `focus`, in words."""

NOT_EQUAL = ("d_max", "beta", "focus")
"""Options that the trial does not state as they are."""

SAME = ("algorithm", "calibration", "max_items")
"""The fields of the whole statement that describe the mechanism of the release."""

NARROWEST, WIDEST, STEPS = -7.0, 30.0, 100
"""The search for an order: the range of log(order - 1), and the number of steps."""


def tuned(stated: Stated) -> list[Check]:
    """The trials and the release do what they state, and choosing among them satisfies the promise of the whole."""
    tuning = only(stated.parameters, ("tuning",), "parameters")["tuning"]
    way = tuning["way"] if isinstance(tuning, dict) and tuning.get("way") in OF_WAY else None
    if way is None:
        raise ValueError("the setting was chosen neither on a part nor by selection")
    only(tuning, (*OF_EITHER, *OF_WAY[way]), "tuning")
    if tuning["how"] != HOW[way]:
        raise ValueError(f"{tuning['how']!r} is not how a setting is chosen")
    trials, release = listed(tuning["trials"], "trials", MOST_SETTINGS), tuning["release"]
    checks = _choice(stated, tuning)
    for place, trial in enumerate(trials, 1):
        checks += _follows(trial, f"trial {place}", alone)
    if not all(check.ok for check in checks):
        return checks
    if way == "selection":
        return [*checks, best_of_tries(trials, tuning["mean_tries"], stated.epsilon, stated.delta)]
    share = tuning["share"]
    return [
        *checks,
        Check("share", is_number(share) and 0 < share < 1, f"{share} of the users for the trials"),
        all_together(trials, stated.epsilon, stated.delta),
        *_follows(release, "release", counted),
    ]


def _choice(stated: Stated, tuning: Fields) -> list[Check]:
    """The trials are those of the settings, and the release is that of the chosen one."""
    trials, settings = tuning["trials"], listed(tuning["settings"], "settings", MOST_SETTINGS)
    release = only(tuning["release"], SMALL, "release")
    fitting = len(settings) == len(trials) and all(
        only(trial, SMALL, "a trial")["epsilon"] == tuning["epsilon_of_a_try"] and _is_of(trial, setting)
        for setting, trial in zip(settings, trials, strict=True)
    )
    if tuning["way"] == "part":
        chosen, place = _best_score(tuning)
        privacy = (release["epsilon"], release["delta"]) == (stated.epsilon, stated.delta)
        made = chosen and privacy and _is_of(release, settings[place])
    else:
        # Private selection releases one of the trials unchanged.
        tried = zip(settings, trials, strict=False)
        made = any(setting == tuning["chosen"] and trial == release for setting, trial in tried)
    told = (stated.algorithm, stated.calibration, stated.max_items) == tuple(release[name] for name in SAME)
    return [
        Check("budget", stated.budget is None, "none: the whole composes by its epsilon and delta"),
        Check("settings", fitting, f"{len(settings)}, {len(trials)} trials, at the same epsilon"),
        Check("chosen", bool(made), str(tuning["chosen"])),
        Check("release", told, f"{stated.algorithm}, {stated.calibration}, {stated.max_items}"),
    ]


def _best_score(tuning: Fields) -> tuple[bool, int]:
    """Whether the chosen setting is the first with the largest score, and its position."""
    settings, scores = tuning["settings"], tuning["scores"]
    listed(scores, "scores", len(settings), len(settings))
    if not all(isinstance(score, int) and not isinstance(score, bool) and score >= 0 for score in scores):
        raise ValueError("scores are not numbers of items")
    place = scores.index(max(scores))
    return settings[place] == tuning["chosen"], place


def _is_of(stated: Fields, setting: Any) -> bool:
    """Whether a small statement belongs to a setting; descriptive texts of settings are not compared."""
    own, parameters = stated["algorithm"] == OWN, stated["parameters"]
    options = OPTIONS.get(stated["algorithm"], ())
    only(setting, ("algorithm",), "a setting", optional=(*DEFAULTS, *options))
    plain = all(isinstance(value, str | list) or is_number(value) for value in setting.values())
    equal = [name for name in options if name in setting and name not in NOT_EQUAL]
    return (
        plain
        and setting["algorithm"] == (parameters["policy"] if own else stated["algorithm"])
        and all(stated[name] == setting.get(name, default) for name, default in DEFAULTS.items())
        and all(parameters[name] == setting[name] for name in equal)
        and ("d_max" not in setting or parameters["d_max"] == min(setting["d_max"], stated["max_items"]))
    )


def _follows(small: Fields, name: str, checks: Callable[[Fields, str], list[Check]]) -> list[Check]:
    """The checks of one mechanism at its own epsilon and delta."""
    epsilon, delta = small["epsilon"], small["delta"]
    if not (is_number(epsilon) and is_number(delta) and epsilon > 0 and 0 < delta < 1):
        return [Check(name, False, f"({epsilon!r}, {delta!r}) is not a valid privacy promise")]
    with precision_for(epsilon, delta):
        return [replace(check, name=f"{name}, {check.name}") for check in checks(small, name)]


def all_together(trials: Sequence[Fields], epsilon: Any, delta: Any) -> Check:
    """All trials together: Gaussian trials compose by their budgets, the others add their epsilon and delta."""
    covers = [budget_covers(trial["budget"]) for trial in trials if trial["budget"] is not None]
    others = [trial for trial in trials if trial["budget"] is None]
    left = exact(epsilon) - sum_of([exact(trial["epsilon"]) for trial in others])
    mu = iv.sqrt(sum_of([part**2 for part, _ in covers]))
    new = sum_of([chance for _, chance in covers])
    together = delta_gaussian(left, mu) + new + sum_of([exact(trial["delta"]) for trial in others])
    return Check(
        "all trials together",
        bool(low(left) >= 0) and at_most(together, delta),
        f"delta at epsilon {epsilon:g} is at most {mp.nstr(high(together), 6)}",
    )


def best_of_tries(trials: Sequence[Fields], tries: Any, epsilon: Any, delta: Any) -> Check:
    """The best of a geometric number of tries, each of which spends at most the largest mu and delta_new of the trials."""
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
    """A delta for the best of a geometric number of runs with this mean, each of which spends mu and `new`.

    The best is Rényi private at every order, as each run is; better orders give a smaller delta. New items count in all
    runs of the longest e^-epsilon of all series. Both facts are proved in docs/tuning.md.
    """
    order, backwards = (exact(value) for value in _orders(*(float(high(x)) for x in (epsilon, mu, tries))))
    choice = 2 * ((backwards - 1) * mu**2 / 2 + iv.log(tries) / backwards)
    loss = order * mu**2 / 2 + choice
    shared = tries / (order - 1) * iv.exp((order - 1) * (loss - epsilon) + order * iv.log(1 - 1 / order))
    runs = exact(mp.ceil(high(epsilon / -iv.log(1 - 1 / tries)))) + tries
    return shared + runs * new


def _orders(epsilon: float, mu: float, tries: float) -> tuple[float, float]:
    """Orders above 1 that make the delta small, in floats; any other orders give a valid delta, too."""
    backwards = max(1.0, math.sqrt(2 * math.log(tries)) / mu)
    choice = 2 * ((backwards - 1) * mu * mu / 2 + math.log(tries) / backwards)

    def log_delta(place: float) -> float:
        over = math.exp(place)
        return (
            over * ((1 + over) * mu * mu / 2 + choice - epsilon)
            - place
            + (1 + over) * math.log1p(-1 / (1 + over))
        )

    # The function is convex in the order, so ternary search finds its minimum.
    first, last = NARROWEST, WIDEST
    for _ in range(STEPS):
        third = (last - first) / 3
        if log_delta(first + third) <= log_delta(last - third):
            last -= third
        else:
            first += third
    return 1 + math.exp(first), backwards
