"""Counts beside `auto`: each branch shares its part of the budget with counts, as it would by itself.

The steps and the sum over both branches stay as they are (docs/auto.md): Focused Gaussian and its counts have the mu of the
Gaussian branch together, an ℓ1 algorithm and its counts the epsilon and delta of the ℓ1 branch. What the private steps
found is an output by then, so the cut of counts may follow from the noisy histogram of sizes. Proof: docs/counts.md.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dpsu.algorithms import auto_rule as rule
from dpsu.algorithms.auto import AutoMechanism, l1_algorithm
from dpsu.algorithms.holders import DEFAULT_CUT, Counting, CountingTerms, half_width, share_apart, share_mu
from dpsu.algorithms.mechanism import Mechanism
from dpsu.algorithms.request import Request
from dpsu.algorithms.share import whole_budget

FROM_SIZES = "sizes"
"""What the statement says of a cut that follows from the noisy sizes."""


def share_in_branches(auto: AutoMechanism, terms: CountingTerms) -> tuple[AutoMechanism, Counting]:
    """`auto` and counts of what it releases, which together keep the promise of `auto` alone.

    With a hint the branch is known, and a cut that was not asked for is that of the hint.
    """
    request, sizing = auto.request, auto.sizing
    if sizing is None and terms.free:
        terms = replace(terms, max_items=math.ceil(auto.typical_items or 1), notes=())
    whole = whole_budget(request) if sizing is None else sizing.focused
    left = request if sizing is None else Request(sizing.epsilon_l1, sizing.delta_l1, request.max_items)
    branches: dict[rule.Branch, Mechanism] = {}
    counts: dict[str, Counting] = {}
    for place in auto.branches:
        made = (
            share_mu(request, place.max_items, whole, terms)
            if place.algorithm == rule.FOCUSED
            else share_apart(l1_algorithm(place, auto.parts), left, terms)
        )
        branches[place], counts[place.algorithm] = made[0], replace(made[1], request=request)
    shared, first = replace(auto, branches=branches, counted=True), next(iter(counts.values()))
    return shared, first if sizing is None else BranchCounting(**vars(first), of_branch=counts)


@dataclass(frozen=True)
class BranchCounting(Counting):
    """Counts of every branch. They are those of the Gaussian branch until the private steps have chosen one."""

    of_branch: Mapping[str, Counting] = field(default_factory=dict)

    def beside(self, mechanism: Mechanism) -> Counting:
        """With the floor of the Gaussian branch, whose errors these are."""
        assert isinstance(mechanism, AutoMechanism)
        return super().beside(next(iter(mechanism.branches.values())))

    @property
    def depends(self) -> str:
        """The errors beside the ℓ1 family, and what the cut will be."""
        largest = max(half_width(each.sigma) for each in self.of_branch.values())
        told = f"These errors are for focused-gaussian. If auto chooses the ℓ1 family, counts are within ±{largest:,.10g}."
        if not self.terms.free:
            return told
        return (
            f"{told} The number of released items for which a user counts in full will be about the size of the middle "
            "user's set, by the noisy sizes. The errors grow with its square root."
        )

    def settled(self, mechanism: Mechanism, fixed: Mapping[str, Any]) -> Counting:
        """The counts of the chosen branch, with the cut that follows from the noisy sizes if none was asked for."""
        assert isinstance(mechanism, AutoMechanism)
        chosen, sizes = fixed["chosen"], fixed["sizes"]
        counting = self.of_branch[chosen["algorithm"]]
        found = (sizes["users"], 1 / sizes["epsilon"], fixed["popular"]["items"])
        cut = cut_of_sizes(*found) if counting.terms.free else None
        if cut is not None:
            counting = counting.recut(cut, {"cut": FROM_SIZES})
        return counting.beside(mechanism.branch_of(chosen))


def cut_of_sizes(users: Sequence[int], scale: float, popular: int) -> int | None:
    """The size of the middle user's set in this noisy histogram, rounded up; None if noise hides it.

    Popular items have left these sets, but they count as well: up to as many as that size, or as the default cut.
    """
    clear = rule.clear_of(users, scale)
    below = 0
    for count, size in zip(clear, rule.MIDDLES, strict=False):
        below += count
        if 2 * below >= sum(clear):
            middle = math.ceil(size)
            return middle + min(popular, max(middle, DEFAULT_CUT))
    return None
