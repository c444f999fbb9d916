"""Counts beside the branch of `auto`: both together spend what belongs to the branch (docs/counts.md)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate

from mpmath import iv

from dpsu.verification.checks import INFORMED, Check, Fields, close, is_number, number, positive, whole
from dpsu.verification.intervals import Interval, at_most, delta_gaussian, exact
from dpsu.verification.sizes import SIZES, clear_of

TAKEN = ("epsilon", "delta")
FROM_SIZES = "sizes"
MOST_OF_AUTO = 1000


@dataclass(frozen=True)
class Beside:
    """What is stated of counts, and their shift."""

    told: Fields = field(default_factory=dict)
    shift: Interval = field(default_factory=lambda: exact(0))

    def fit_within(self, spent: Fields, budget: Fields) -> bool:
        """Focused Gaussian and counts share the squared mu of a budget, of which counts have the stated share."""
        if {*TAKEN} & {*self.told}:
            raise ValueError("counts share the mu of Focused Gaussian")
        whole_mu = positive(budget["mu"])
        together = iv.sqrt(positive(spent["mu"]) ** 2 + self.shift**2)
        fitting = at_most(together, budget["mu"]) and at_most(number(spent["delta_new"]), budget["delta_new"])
        return fitting and (
            not self.told or close((self.shift / whole_mu) ** 2, positive(self.told["share"]), INFORMED)
        )

    def fit_beside(self, chosen: Fields, room: Fields) -> bool:
        """An ℓ1 algorithm and counts add their epsilons and deltas, of which counts have the stated share."""
        if not self.told:
            return all(number(chosen[name]).b <= number(room[name]).a for name in TAKEN)
        if not {*TAKEN} <= {*self.told}:
            raise ValueError("counts need an epsilon and a delta of their own beside the ℓ1 family")
        for name in TAKEN:
            taken, most = positive(self.told[name]), positive(room[name])
            if Fraction(chosen[name]) + Fraction(self.told[name]) > Fraction(room[name]):
                return False
            if not close(taken, positive(self.told["share"]) * most, INFORMED):
                return False
        return at_most(delta_gaussian(exact(self.told["epsilon"]), self.shift), self.told["delta"])


NO_COUNTS = Beside()


def without_cut(told: Fields) -> tuple[Fields, object]:
    """What is stated of counts without the origin of their cut, and this origin; None if the caller chose the cut."""
    if not isinstance(told, Mapping) or "cut" not in told:
        return told, None
    return {name: value for name, value in told.items() if name != "cut"}, told["cut"]


def cut_follows(parameters: Fields, told: Fields, cut: object) -> list[Check]:
    """A cut that is said to follow from the noisy sizes is that of the rule: the middle user's size and popular items."""
    if cut is None:
        return []
    users, epsilon = parameters["sizes"]["users"], parameters["sizes"]["epsilon"]
    if cut != FROM_SIZES or not (
        isinstance(users, list) and all(map(is_number, users)) and len(users) == len(SIZES)
    ):
        raise ValueError("the cut of counts follows from nothing that is stated")
    expected = cut_of(users, 1 / float(epsilon), parameters["popular"]["items"])
    found = whole(told["max_items"])
    most = parameters["asked"]["max_items"]
    bound = MOST_OF_AUTO if most == "auto" else whole(most)
    return [
        Check(
            "cut of counts",
            expected is not None and found == min(expected, bound),
            f"{found}, from the sizes",
        )
    ]


def cut_of(users: Sequence[int], scale: float, popular: int) -> int | None:
    """The size of the middle user's set and popular items, up to that size or 5; None if noise hides the sizes."""
    clear = clear_of(users, scale)
    if clear is None:
        return None
    place = next(k for k, below in enumerate(accumulate(clear)) if 2 * below >= sum(clear))
    middle = math.ceil(SIZES[place])
    return middle + min(popular, max(middle, 5))
