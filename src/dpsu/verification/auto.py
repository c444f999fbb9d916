"""`auto`: private steps choose a branch (docs/auto.md). The sum over both is recomputed, and the rule applied again."""

import math
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
from dpsu.verification.gaussian import budget_covers
from dpsu.verification.intervals import Interval, at_most, delta_gaussian, exact, high
from dpsu.verification.sizes import SIZES, clear_of

PROOF = "docs/auto.md"
RULE = "auto/1"
STEPS = ("rule", "asked", "parts", "popular", "sizes", "focused", "l1", "chosen")
HINTED = ("rule", "asked", "parts", "chosen")
POPULAR = ("epsilon", "delta", "noise", "scale", "threshold", "kappa", "items")

FOCUSED, ORDERED, POLICY = "focused-gaussian", "ordered-laplace", "policy-laplace"
BRANCHES = (FOCUSED, ORDERED, POLICY)
MOST_PARTS, MOST_USERS, MOST_ITEMS, LARGEST_HINT = 1000, 2**62, 2**32, 10**6

BINS = [1, 2, 3, 4, 6, 9, 17, 31, 101, 301, 1001]
CUTS = [3, 10, 30, 100, 300, 1000]
SCORE = (0.733, -0.226, 0.068, -0.049, 0.028)
IN_PARTS = (-0.248, 0.058)
LARGE, MOST_COUNTED, FEW, MANY = 55, 10**6, 2.5, 8
EVEN_FROM, EVEN_TO = 2.15, 2.48
NEAR = 1e-9
"""Relative distance from a turning point of the rule at which either side is accepted: it is computed in floats."""

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
        possible = {(name, _cut_of_hint(hint, name)) for name in _algorithms(float(hint), middle, parts)}
        return [*checks, _chosen(chosen, possible, asked), *_as_a_whole(stated, chosen, counts)]
    if hint is not None:
        raise ValueError("a hint replaces the private steps")
    return [*checks, *_private(stated, chosen, parts, asked, counts)]


def _private(stated: Stated, chosen: Fields, parts: int, asked: Fields, counts: Beside) -> list[Check]:
    parameters = stated.parameters
    popular = only(parameters["popular"], POPULAR, "popular")
    sizes = only(parameters["sizes"], ("epsilon", "bins", "users"), "sizes")
    budget = only(parameters["focused"], ("mu", "delta_new"), "focused")
    l1 = only(parameters["l1"], ("epsilon", "delta"), "l1")
    users = listed(sizes["users"], "users", len(BINS), len(BINS))
    plain = all(isinstance(count, int) and is_number(count) and abs(count) < MOST_USERS for count in users)
    if not plain or any(isinstance(count, bool) for count in users) or sizes["bins"] != BINS:
        raise ValueError("sizes are not whole numbers of users in the bins of the rule")
    total = composed(stated, popular, sizes, budget, l1)
    known = popular["items"]
    if not isinstance(known, int) or isinstance(known, bool) or not 0 <= known <= MOST_ITEMS:
        raise ValueError(f"{known!r} is not a number of popular items")
    middle = float(_middle(positive(l1["epsilon"]), chance(l1["delta"])).mid)
    possible = choices(users, known, 1 / float(sizes["epsilon"]), middle, parts, bool(counts.told))
    return [
        Check("budget", stated.budget is None, "none: a private choice composes by epsilon and delta"),
        *_curve(popular),
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


def composed(stated: Stated, popular: Fields, sizes: Fields, budget: Fields, l1: Fields) -> Interval:
    """The delta of popular items, sizes and the worse branch: two randomised responses, then the branch.

    The ℓ1 branch has its delta at every epsilon that is left, at least epsilon minus both steps.
    """
    epsilon, steps = exact(stated.epsilon), [positive(step["epsilon"]) for step in (popular, sizes)]
    if high(positive(l1["epsilon"]) + steps[0] + steps[1]) > stated.epsilon:
        raise ValueError("the steps and the ℓ1 branch spend more than epsilon")
    mu, new = budget_covers(budget)
    delta_l1, total = chance(l1["delta"]), chance(popular["delta"])
    for signs in product((1, -1), repeat=2):
        loss = signs[0] * steps[0] + signs[1] * steps[1]
        weight = 1 / ((1 + iv.exp(-signs[0] * steps[0])) * (1 + iv.exp(-signs[1] * steps[1])))
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


def _chosen(chosen: Fields, possible: set[tuple[str, int]], asked: Fields) -> Check:
    found, free = (chosen["algorithm"], chosen["max_items"]), asked["max_items"] == "auto"
    allowed = possible if free else {(name, asked["max_items"]) for name, _ in possible}
    return Check("choice", found in allowed, f"{found[0]}, max_items {found[1]}: the rule chooses it")


def choices(
    users: Sequence[int], popular: int, scale: float, middle: float, parts: int, counted: bool
) -> set[tuple[str, int]]:
    """What the rule chooses for a noisy histogram; both sides of a turning point if it is near."""
    clear = clear_of(users, scale)
    if clear is None:
        return {(FOCUSED, CUTS[-1])}
    mean = sum(count * min(size, LARGE) for count, size in zip(clear, SIZES, strict=True)) / sum(clear)
    many, few = math.log(min(sum(clear), MOST_COUNTED)), math.log(middle)
    terms = (1.0, math.log(mean), math.log(1 + popular), many, few)
    score = sum(weight * term for weight, term in zip(SCORE, terms, strict=True))
    score += min(0.0, IN_PARTS[0] + IN_PARTS[1] * few) if parts > 1 else 0.0
    surely_l1, maybe_l1 = (
        mean < FEW * (1 - slack) or (not counted and mean <= MANY * (1 - slack) and score >= slack)
        for slack in (NEAR, -NEAR)
    )
    focused = set() if surely_l1 else {(FOCUSED, _cut(clear))}
    return focused | ({(name, CUTS[-1]) for name in _of_l1(mean, middle)} if maybe_l1 else set())


def _algorithms(typical: float, middle: float, parts: int) -> set[str]:
    turn = 4.2 if parts == 1 else 3.7
    focused = {FOCUSED} if typical > turn * (1 - NEAR) else set()
    return focused | (_of_l1(typical, middle) if typical <= turn * (1 + NEAR) else set())


def _of_l1(typical: float, middle: float) -> set[str]:
    """Evenly below 2.5 items if the midpoint is in its window; both at its edges."""
    inside, outside = (
        typical < FEW * (1 + slack) and EVEN_FROM * (1 - slack) <= middle <= EVEN_TO * (1 + slack)
        for slack in (NEAR, -NEAR)
    )
    return ({POLICY} if inside else set()) | (set() if outside else {ORDERED})


def _cut(clear: Sequence[int]) -> int:
    for cut in CUTS[:-1]:
        within_cut = sum(count for count, after in zip(clear, BINS[1:], strict=False) if after - 1 <= cut)
        if within_cut >= 0.98 * sum(clear):
            return cut
    return CUTS[-1]


def _cut_of_hint(hint: float, name: str) -> int:
    if name != FOCUSED:
        return CUTS[-1]
    return next((cut for cut in CUTS if cut >= 10 * hint), CUTS[-1])
