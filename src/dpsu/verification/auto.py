"""`auto`: private steps choose a branch (docs/auto.md). The sum over both is recomputed, and the rule applied again."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from mpmath import iv, mp

from dpsu.verification.branch_counts import NO_COUNTS, Beside
from dpsu.verification.checks import (
    Check,
    Fields,
    Stated,
    chance,
    close,
    is_number,
    is_whole,
    listed,
    number,
    only,
    positive,
    whole,
    within,
)
from dpsu.verification.choice import (
    ALPHA,
    CUTS,
    FOCUSED,
    ORDERED,
    POLICY,
    Branch,
    Seen,
    by_hint,
    choices,
    widths,
)
from dpsu.verification.gaussian import budget_covers
from dpsu.verification.intervals import Interval, at_most, delta_gaussian, exact, high

PROOF = "docs/auto.md"
RULE = "auto/2"
STEPS = ("rule", "asked", "parts", "popular", "sizes", "demand", "focused", "l1", "chosen")
HINTED = ("rule", "asked", "parts", "chosen")
POPULAR = ("epsilon", "delta", "noise", "scale", "threshold", "kappa", "items")
DEMAND = ("epsilon", "filled", "width", "budgets")

BRANCHES = (FOCUSED, ORDERED, POLICY)
MOST_PARTS, MOST_USERS, MOST_ITEMS, LARGEST_HINT = 1000, 2**62, 2**32, 10**6
BINS = [1, 2, 3, 4, 6, 9, 17, 31, 101, 301, 1001]
CUTOFFS = 2
"""The demand fills items to this many cutoffs."""

Small = Callable[[Fields, str], list[Check]]
"""The checks of a small statement."""


def auto(stated: Stated, small: Small, counts: Beside = NO_COUNTS) -> list[Check]:
    """The steps and both branches keep the promise together, and the chosen branch is one that the rule can choose.

    `counts` share what belongs to the branch.
    """
    parameters = stated.parameters
    if stated.calibration != "exact":
        raise ValueError("auto has the exact calibration only")
    private = "sizes" in parameters
    only(parameters, STEPS if private else HINTED, "parameters")
    asked = only(parameters["asked"], ("max_items", "typical_items"), "asked")
    parts = whole(parameters["parts"], MOST_PARTS)
    chosen = parameters["chosen"]
    if not isinstance(chosen, dict) or chosen.get("algorithm") not in BRANCHES:
        raise ValueError("no branch is chosen")
    checks = [
        Check("rule", parameters["rule"] == RULE, str(parameters["rule"])),
        Check("max_items", _most(stated, asked["max_items"]), f"{asked['max_items']!r} was asked for"),
        Check("parts", _in_parts(chosen, parts), f"{parts}"),
        *(replace(check, name=f"chosen, {check.name}") for check in small(chosen, "chosen")),
    ]
    hint = asked["typical_items"]
    if not private:
        within(hint, 1, LARGEST_HINT)
        middle = float(_middle(exact(stated.epsilon), exact(stated.delta)).mid)
        possible = by_hint(float(hint), middle, parts)
        return [*checks, _chosen(chosen, possible, asked), *_as_a_whole(stated, chosen, counts)]
    if hint is not None:
        raise ValueError("a hint replaces the private steps")
    return [*checks, *_private(stated, chosen, parts, asked, counts)]


def _private(stated: Stated, chosen: Fields, parts: int, asked: Fields, counts: Beside) -> list[Check]:
    parameters = stated.parameters
    popular = only(parameters["popular"], POPULAR, "popular")
    sizes = only(parameters["sizes"], ("epsilon", "bins", "users"), "sizes")
    demand = only(parameters["demand"], DEMAND, "demand")
    budget = only(parameters["focused"], ("mu", "delta_new"), "focused")
    l1 = only(parameters["l1"], ("epsilon", "delta"), "l1")
    users = listed(sizes["users"], "users", len(BINS), len(BINS))
    if not all(map(_is_noisy, users)) or sizes["bins"] != BINS:
        raise ValueError("sizes are not whole numbers of users in the bins of the rule")
    if not _is_noisy(demand["budgets"]):
        raise ValueError("the demand is not a whole number of budgets")
    total = composed(stated, (popular, sizes, demand), budget, l1)
    known = popular["items"]
    if not isinstance(known, int) or isinstance(known, bool) or not 0 <= known <= MOST_ITEMS:
        raise ValueError(f"{known!r} is not a number of popular items")
    middle = _middle(positive(l1["epsilon"]), chance(l1["delta"]))
    filled = CUTOFFS * (middle + ALPHA / positive(l1["epsilon"]))
    scales = 1 / float(sizes["epsilon"]), 1 / float(demand["epsilon"])
    seen = Seen(users, demand["budgets"], whole(demand["width"]), scales)
    asked_for_demand = seen.width in widths(users, scales) and close(number(demand["filled"]), filled)
    possible = choices(seen, float(middle.mid), parts, bool(counts.told))
    return [
        Check("budget", stated.budget is None, "none: a private choice composes by epsilon and delta"),
        *_curve(popular),
        Check("demand", asked_for_demand, f"width {seen.width}, items filled by {demand['filled']} budgets"),
        Check(
            "branch",
            _within_branch(stated, chosen, budget, l1, counts),
            "the chosen branch is one of the sum",
        ),
        _chosen(chosen, possible, asked),
        Check(
            "promise",
            at_most(total, stated.delta),
            f"delta of all steps and the worse branch is at most {mp.nstr(high(total), 6)}",
        ),
    ]


def _is_noisy(value: Any) -> bool:
    """A whole number, which noise can make negative."""
    return (
        isinstance(value, int)
        and not isinstance(value, bool)
        and is_number(value)
        and abs(value) < MOST_USERS
    )


def composed(stated: Stated, steps: Sequence[Fields], budget: Fields, l1: Fields) -> Interval:
    """The delta of the steps, popular items first, and the worse branch: randomised responses, then the branch.

    The ℓ1 branch has its delta at every epsilon that is left, at least epsilon minus all steps.
    """
    epsilon, spent = exact(stated.epsilon), [positive(step["epsilon"]) for step in steps]
    if high(sum(spent, positive(l1["epsilon"]))) > stated.epsilon:
        raise ValueError("the steps and the ℓ1 branch spend more than epsilon")
    mu, new = budget_covers(budget)
    delta_l1, total = chance(l1["delta"]), chance(steps[0]["delta"])
    for signs in product((1, -1), repeat=len(spent)):
        loss, weight = exact(0), exact(1)
        for sign, step in zip(signs, spent, strict=True):
            loss += sign * step
            weight /= 1 + iv.exp(-sign * step)
        total += weight * max(delta_gaussian(epsilon - loss, mu) + new, delta_l1, key=high)
    return total


def _curve(popular: Fields) -> list[Check]:
    """Popular items are released by the curve of their epsilon and delta."""
    epsilon, kappa = positive(popular["epsilon"]), positive(popular["kappa"])
    own = kappa * (iv.exp(epsilon) - 1)
    middle = iv.log(1 + 1 / (2 * kappa)) / epsilon
    shaped = (
        popular["noise"] == "truncated laplace"
        and close(positive(popular["scale"]) * epsilon, exact(1))
        and close(number(popular["threshold"]), middle)
    )
    told = f"the curve's delta is {mp.nstr(high(own), 8)}"
    return [Check("popular items", shaped and at_most(own, popular["delta"]), told)]


def _middle(epsilon: Interval, delta: Interval) -> Interval:
    """The midpoint of the release curve with this epsilon and delta, up to the rounding of its kappa."""
    return iv.log(1 + (iv.exp(epsilon) - 1) / (2 * delta)) / epsilon


def _within_branch(stated: Stated, chosen: Fields, budget: Fields, l1: Fields, counts: Beside) -> bool:
    """The chosen mechanism and its counts spend at most what the sum assumes of its branch."""
    if chosen["algorithm"] != FOCUSED:
        return counts.fit_beside(chosen, l1)
    spent = only(chosen["budget"], ("mu", "delta_new"), "the budget")
    told = (chosen["epsilon"], chosen["delta"]) == (stated.epsilon, stated.delta)
    return bool(told and counts.fit_within(spent, budget))


def _as_a_whole(stated: Stated, chosen: Fields, counts: Beside) -> list[Check]:
    """A hint chooses for free: the branch and its counts alone are the release."""
    if chosen["algorithm"] != FOCUSED:
        room = {"epsilon": stated.epsilon, "delta": stated.delta}
        return [
            Check("budget", stated.budget is None and chosen["budget"] is None, "none in the ℓ1 family"),
            Check("privacy", counts.fit_beside(chosen, room), "that of the branch and its counts"),
        ]
    told = (chosen["epsilon"], chosen["delta"]) == (stated.epsilon, stated.delta)
    spent, whole_budget = (
        only(each, ("mu", "delta_new"), "the budget") for each in (chosen["budget"], stated.budget)
    )
    checks = [
        Check("privacy", told, "that of the branch"),
        Check("budget", counts.fit_within(spent, whole_budget), "covers the branch and counts"),
    ]
    if not counts.told:
        return checks
    together = iv.sqrt(1 / positive(chosen["parameters"]["sigma"]) ** 2 + counts.shift**2)
    total = delta_gaussian(exact(stated.epsilon), together) + budget_covers(whole_budget)[1]
    found = f"delta of the branch and counts is at most {mp.nstr(high(total), 6)}"
    return [*checks, Check("promise", at_most(total, stated.delta), found)]


def _most(stated: Stated, asked: Any) -> bool:
    return bool(
        stated.max_items == CUTS[-1] if asked == "auto" else is_whole(asked) and asked == stated.max_items
    )


def _in_parts(chosen: Fields, parts: int) -> bool:
    return bool(chosen["algorithm"] == FOCUSED or chosen["parameters"]["parts"] == parts)


def _chosen(chosen: Fields, possible: set[Branch], asked: Fields) -> Check:
    found = chosen["algorithm"], chosen["max_items"], chosen["parameters"].get("alpha")
    free = asked["max_items"] == "auto"
    allowed = possible if free else {(name, asked["max_items"], alpha) for name, _, alpha in possible}
    return Check("choice", found in allowed, f"{found[0]}, max_items {found[1]}: the rule chooses it")
