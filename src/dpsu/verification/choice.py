"""The public rule of `auto` (docs/auto-study.md), once more: what it can choose for what the private steps show.

The rule is computed in floats, so near a turning point either side is accepted.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dpsu.verification.sizes import SIZES, clear_of

FOCUSED, ORDERED, POLICY = "focused-gaussian", "ordered-laplace", "policy-laplace"
Branch = tuple[str, int, float | None]
"""An algorithm, its max_items and, in the ℓ1 family, its alpha."""

CUTS = [3, 10, 30, 100, 300, 1000]
ENDS = [1, 2, 3, 5, 8, 16, 30, 100, 300, 1000]
WIDTHS = [1, 2, 3, 5, 8, 12, 20, 30, 50, 100, 300, 1000]
WHOLE, LARGE, FEW, FEW_IN_PARTS, EVEN_FROM, EVEN_TO = 0.98, 55, 3, 2.5, 2.15, 2.48
DEMAND, LEAST_DEMAND, BLURRED, CAUTION = 2.0, 1e-6, 0.2, 0.5
IN_PARTS, MIDDLE_IN_PARTS = -0.93, 0.3
LOW_DEMAND, FEW_TYPICAL, ALPHA, ALPHA_IF_LOW = 0.8, 2, 4.0, 8.0
TURN, TURN_IN_PARTS = 4.2, 3.7
NEAR = 1e-9
"""Relative distance from a turning point at which either side is accepted."""


@dataclass(frozen=True)
class Seen:
    """What the private steps show: noisy numbers of users by size, noisy budgets at a width, and the scales of both."""

    users: Sequence[int]
    budgets: int
    width: int
    scales: tuple[float, float]


def choices(seen: Seen, middle: float, parts: int, counted: bool) -> set[Branch]:
    """What the rule chooses; both sides of a turning point if it is near."""
    clear = clear_of(seen.users, seen.scales[0])
    if clear is None:
        return {(FOCUSED, CUTS[-1], None)}
    mean = _mean(clear, LARGE)
    noise = CAUTION * math.sqrt(2) * seen.scales[1]
    beyond = _mean(clear) / _mean(clear, seen.width)
    demand = seen.width * (seen.budgets + noise) / sum(clear) * math.sqrt(beyond)
    parted = min(0.0, IN_PARTS + MIDDLE_IN_PARTS * math.log(middle)) if parts > 1 else 0.0
    few, gained = FEW if parts == 1 else FEW_IN_PARTS, _gain(clear, demand / math.exp(parted))
    surely_l1, maybe_l1 = (
        mean < few * slack or (not counted and gained <= math.sqrt(DEMAND) * slack)
        for slack in (1 - NEAR, 1 + NEAR)
    )
    focused: set[Branch] = set() if surely_l1 else {(FOCUSED, _cut(clear), None)}
    return focused | (_of_l1(mean, middle, demand, LOW_DEMAND) if maybe_l1 else set())


def widths(users: Sequence[int], scales: tuple[float, float]) -> set[int]:
    """The widths at which the demand can have been measured."""
    clear = clear_of(users, scales[0])
    if clear is None:
        return {WIDTHS[0]}
    quiet = BLURRED * sum(clear) / (math.sqrt(2) * scales[1])
    wanted = max(_mean(clear) / 2, min(_cut(clear), quiet))
    near = wanted * (1 - NEAR), wanted * (1 + NEAR)
    return {max((width for width in WIDTHS if width <= side), default=WIDTHS[0]) for side in near}


def by_hint(hint: float, middle: float, parts: int) -> set[Branch]:
    """What the rule chooses for this typical number of items."""
    turn = TURN if parts == 1 else TURN_IN_PARTS
    found: set[Branch] = set()
    if hint > turn * (1 - NEAR):
        found.add((FOCUSED, next((cut for cut in CUTS if cut >= 10 * hint), CUTS[-1]), None))
    if hint <= turn * (1 + NEAR):
        found |= _of_l1(hint, middle, hint, FEW_TYPICAL)
    return found


def _gain(clear: Sequence[int], demand: float) -> float:
    """What users can give with bounded squares, by what they can give with bounded sums."""
    each = max(demand, LEAST_DEMAND) / _mean(clear)
    shares = [(count, each * size) for count, size in zip(clear, SIZES, strict=True)]
    sums = sum(count * min(share, 1.0) for count, share in shares)
    return sum(count * min(share, math.sqrt(share)) for count, share in shares) / sums


def _mean(clear: Sequence[int], largest: float = math.inf) -> float:
    return sum(count * min(size, largest) for count, size in zip(clear, SIZES, strict=True)) / sum(clear)


def _of_l1(mean: float, middle: float, demand: float, low: float) -> set[Branch]:
    """Evenly below 3 items if the midpoint is in its window, with the larger alpha at a low demand; both at the edges."""
    inside, outside = (
        mean < FEW * (1 + slack) and EVEN_FROM * (1 - slack) <= middle <= EVEN_TO * (1 + slack)
        for slack in (NEAR, -NEAR)
    )
    names = ({POLICY} if inside else set()) | (set() if outside else {ORDERED})
    alphas = {ALPHA_IF_LOW if demand <= low * slack else ALPHA for slack in (1 - NEAR, 1 + NEAR)}
    return {(name, CUTS[-1], alpha) for name in names for alpha in alphas}


def _cut(clear: Sequence[int]) -> int:
    for cut in CUTS[:-1]:
        if sum(count for count, end in zip(clear, ENDS, strict=False) if end <= cut) >= WHOLE * sum(clear):
            return cut
    return CUTS[-1]
