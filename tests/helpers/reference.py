"""The oracle: every rule, slow and obvious, with dictionaries and plain numbers.

`sets` is a list of users, each a list of items in the order of the row; `order` lists users by number. What
is integer in the kernels is integer here, in units of 2^-30.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import mpmath

Sets = Sequence[Sequence[int]]
ONE = 2**30


def bound(sets: Sets, priorities: Sequence[Sequence[int]], max_items: int) -> list[list[int]]:
    """Keep the `max_items` items of smallest priority, the earlier where they tie, in the row's order."""
    bounded = []
    for own, priority in zip(sets, priorities, strict=True):
        kept = sorted(own, key=lambda item: priority[item])[:max_items]
        bounded.append([item for item in own if item in kept])
    return bounded


# Rules that look at the user's own set alone.


def count(sets: Sets) -> dict[int, int]:
    return _sum_up(sets, lambda own: [1 for _ in own])


def weighted_l1(sets: Sets) -> dict[int, int]:
    """1/|W| to each item."""
    return _sum_up(sets, lambda own: [ONE // len(own) for _ in own])


def weighted_l2(sets: Sets) -> dict[int, int]:
    """1/sqrt|W| to each item."""
    return _sum_up(sets, lambda own: [math.isqrt(ONE * ONE // len(own)) for _ in own])


def proportional(sets: Sets, values: Sequence[float], cap: Sequence[float]) -> dict[int, int]:
    """min(cap, scale * value) to each item, with the squares summing to 1 where they can; rounded down."""

    def give(own: Sequence[int]) -> list[int]:
        squares = {item: Fraction(values[item]) ** 2 for item in own}
        most = Fraction(cap[len(own)]) ** 2
        given = {item: Fraction(0) for item in own}
        left, rest = (
            Fraction(1),
            sorted((item for item in own if squares[item]), key=lambda item: -squares[item]),
        )
        while rest:
            scale = left / sum(squares[item] for item in rest)
            if squares[rest[0]] * scale <= most:
                given |= {item: squares[item] * scale for item in rest}
                break
            given[rest.pop(0)] = most
            left -= most
        return [math.isqrt(math.floor(ONE * ONE * given[item])) for item in own]

    return _sum_up(sets, give)


def _sum_up(sets: Sets, give: Callable[[Sequence[int]], list[int]]) -> dict[int, int]:
    totals: dict[int, int] = defaultdict(int)
    for own in sets:
        for item, weight in zip(own, give(own), strict=True):
            totals[item] += weight
    return dict(totals)


# Policies: the histogram H that a user finds is changed in place.


def follow(policy: Callable[..., None], sets: Sets, order: Sequence[int], *args: Any) -> dict[int, Any]:
    """Users in `order`, one after the other."""
    histogram: dict[int, Any] = {item: 0 for own in sets for item in own}
    for user in order:
        policy(histogram, sets[user], *args)
    return histogram


def l1_descent_by_units(histogram: dict[int, int], own: Sequence[int], cutoff: int, budget: int) -> None:
    """Go round the row and give one unit to each item below the cutoff, until the budget is spent."""
    while budget > 0 and any(histogram[item] < cutoff for item in own):
        for item in own:
            if budget > 0 and histogram[item] < cutoff:
                histogram[item] += 1
                budget -= 1


def l1_descent(histogram: dict[int, int], own: Sequence[int], cutoff: int, budget: int) -> None:
    """The same, one level at a time: fill the smallest gap everywhere as long as the budget lasts."""
    open_items = [item for item in own if histogram[item] < cutoff]
    while open_items:
        level = min(min(cutoff - histogram[item] for item in open_items), budget // len(open_items))
        if level == 0:
            break
        for item in open_items:
            histogram[item] += level
            budget -= level
        open_items = [item for item in open_items if histogram[item] < cutoff]
    for item in open_items[:budget]:
        histogram[item] += 1


def fill_by_units(histogram: dict[int, int], own: Sequence[int], cutoff: int, budget: int) -> None:
    """Give unit after unit to the first item of the row that is below the cutoff."""
    while budget > 0 and any(histogram[item] < cutoff for item in own):
        histogram[next(item for item in own if histogram[item] < cutoff)] += 1
        budget -= 1


def fill_in_order(histogram: dict[int, int], own: Sequence[int], cutoff: int, budget: int) -> None:
    """The same, one item at a time."""
    for item in own:
        given = min(cutoff - histogram[item], budget)
        histogram[item] += given
        budget -= given


def ordered(
    sets: Sets,
    item_place: dict[int, Any],
    user_place: Sequence[Any],
    part: Sequence[int],
    cutoff: int,
    budget: int = ONE,
) -> dict[int, int]:
    """Ordered Laplace: in every part small sets first, then by place; each set in the order of the items' places."""
    total = {item: 0 for own in sets for item in own}
    rows = [sorted(own, key=lambda item: item_place[item]) for own in sets]
    for number in sorted(set(part)):
        users = [user for user in range(len(sets)) if part[user] == number]
        users.sort(key=lambda user: (len(sets[user]), user_place[user]))
        for item, weight in follow(fill_in_order, rows, users, cutoff, budget).items():
            total[item] += weight
    return total


def l2_descent(histogram: dict[int, float], own: Sequence[int], cutoff: float, budget: float = 1.0) -> None:
    gap = {item: cutoff - histogram[item] for item in own}
    norm = math.sqrt(math.fsum(g * g for g in gap.values()))
    for item in own:
        histogram[item] += budget * gap[item] / max(norm, budget)


def l1_descent_in_l2(
    histogram: dict[int, float], own: Sequence[int], cutoff: float, budget: float = 1.0
) -> None:
    """The paper's box for an ℓ2 budget, with its slip mended: gaps within the budget are filled."""
    gap = {item: cutoff - histogram[item] for item in own}
    if math.fsum(g * g for g in gap.values()) <= budget * budget:
        level = math.inf
    else:
        level = _level_in_l2(sorted(gap.values()), budget)
    for item in own:
        histogram[item] += min(gap[item], level)


def _level_in_l2(gaps: list[float], budget: float) -> float:
    """The level with sum(min(gap, level)^2) = budget^2: fill the smallest gaps, divide the rest evenly."""
    left = budget * budget
    for filled, gap in enumerate(gaps):
        level = math.sqrt(left / (len(gaps) - filled))
        if level <= gap:
            return level
        left -= gap * gap
    raise AssertionError("the gaps are within the budget")


# The paper's thresholds, at 50 digits. `new_weight(t)` bounds what each of t new items has.


def threshold_laplace(
    epsilon: float, delta: float, max_items: int, new_weight: Callable[[int], float] = lambda t: 1 / t
) -> float:
    with mpmath.workdps(50):
        return float(
            max(
                new_weight(t) - mpmath.log(2 * (1 - (1 - mpmath.mpf(delta)) ** (mpmath.mpf(1) / t))) / epsilon
                for t in range(1, max_items + 1)
            )
        )


def threshold_gaussian(
    sigma: float,
    delta: float,
    max_items: int,
    new_weight: Callable[[int], float] = lambda t: 1 / math.sqrt(t),
) -> float:
    """With half of delta for the threshold."""
    with mpmath.workdps(50):
        half = 1 - mpmath.mpf(delta) / 2
        quantiles = {
            t: mpmath.sqrt(2) * mpmath.erfinv(2 * half ** (mpmath.mpf(1) / t) - 1)
            for t in range(1, max_items + 1)
        }
        return float(max(new_weight(t) + sigma * quantile for t, quantile in quantiles.items()))


def delta_gaussian(epsilon: float, sigma: float) -> float:
    with mpmath.workdps(50):
        shift, slope = 1 / (2 * mpmath.mpf(sigma)), epsilon * mpmath.mpf(sigma)
        return float(mpmath.ncdf(shift - slope) - mpmath.exp(epsilon) * mpmath.ncdf(-shift - slope))


# Focused Gaussian.


def focused(
    sets: Sets, normals: Sequence[dict[int, float]], boundary: Any, focus: Any
) -> tuple[dict[int, int], set[int]]:
    """The noisy totals, in cells of the grid, and the released items; `normals[r][item]` is the noise of round r."""
    cell = Fraction(boundary.sigma) / 2**16
    total = {item: 0 for own in sets for item in own}
    priority = dict.fromkeys(total, 1.0)
    released: set[int] = set()
    for r, share in enumerate(boundary.shares):
        given = proportional(
            [[item for item in own if item not in released] for own in sets], priority, boundary.caps
        )
        for item in total.keys() - released:
            value = Fraction(share) * given[item] / ONE + Fraction(boundary.scales[r] * normals[r][item])
            total[item] += math.floor(value / cell + Fraction(1, 2))
            if total[item] - Fraction(r + 1, 2) > Fraction(boundary.thresholds[r]) / cell:
                released.add(item)
        if sum(boundary.shares[: r + 1]) >= focus.warmup:
            priority = {item: _focus(float(total[item] * cell), r, boundary, focus) for item in total}
    return total, released


def _focus(total: float, r: int, boundary: Any, focus: Any, goal: float | None = None) -> float:
    """The design's formula, with (1 - y/4096)^4096 for exp(-y)."""
    c = sum(boundary.shares[: r + 1])
    z = total / (boundary.sigma * math.sqrt(c))
    goal = boundary.thresholds[-1] if goal is None else goal
    z_star = goal / boundary.sigma * math.sqrt(c) / (c + focus.boost * (1 - c))
    x = (z - z_star) / (focus.width * math.sqrt(max(1 - c, 0.02)))
    y = x * x / 2 if x <= 0 else (focus.tail * x) ** 2 / 2
    return max(1 - y / 4096, 0.0) ** 4096


def with_candidates(
    sets: Sets,
    listed: set[int],
    normals: Sequence[dict[int, float]],
    mechanism: Any,
    weights: dict[int, float] | None = None,
) -> tuple[dict[int, int], set[int]]:
    """Focused Gaussian with a list: the noisy totals in cells of the listed and the held items, and the released items."""
    boundary, focus = mechanism.base.boundary, mechanism.base.focus
    cell, count, share = Fraction(boundary.sigma) / 2**16, mechanism.listed.count, mechanism.false_share
    if not mechanism.discover:
        sets = [[item for item in own if item in listed] for own in sets]
    total = dict.fromkeys(listed.union(*map(set, sets)), 0)
    priority = dict.fromkeys(total, 1.0)
    early: set[int] = set()
    for r, part in enumerate(boundary.shares):
        rows = [[item for item in own if item not in early] for own in sets]
        given = {**dict.fromkeys(total, 0), **proportional(rows, priority, boundary.caps)}
        for item in sorted(total.keys() - early):
            value = Fraction(part) * given[item] / ONE + Fraction(boundary.scales[r] * normals[r][item])
            total[item] += math.floor(value / cell + Fraction(1, 2))
            limit = mechanism.early[r] if item in listed else boundary.thresholds[r]
            if total[item] - Fraction(r + 1, 2) > Fraction(limit) / cell:
                early.add(item)
        if sum(boundary.shares[: r + 1]) >= focus.warmup:
            goals = {item: _goal(mechanism) if item in listed else None for item in total}
            priority = {
                item: _focus(float(total[item] * cell), r, boundary, focus, goals[item]) for item in total
            }
    with mpmath.workdps(30):
        noise = mpmath.sqrt(mpmath.fsum(mpmath.mpf(scale) ** 2 for scale in boundary.scales))
        tails = {
            item: mpmath.mpf(mechanism.eta)
            if item in early
            else mpmath.ncdf(-(total[item] - mpmath.mpf(focus.rounds) / 2) * boundary.cell / noise)
            + mechanism.eta
            for item in listed
        }
        weight = weights or dict.fromkeys(tails, 1.0)
        nulls = 1.0
        if mechanism.adaptive:
            among = sum(weight[item] for item, p in tails.items() if p > share)
            # Members of the list that are not in this database have noise that keeps them out.
            among += count - len(tails)
            nulls = (max(weight.values(), default=1.0) + among) / (count * (1 - share))
        tails = {item: p / weight[item] for item, p in tails.items() if p <= mechanism.reach}
        step = share / (count * nulls)
        best = max(
            (k for k in range(1, count + 1) if sum(p <= k * step for p in tails.values()) >= k),
            default=0,
        )
        return total, early | {item for item, p in tails.items() if p <= best * step}


def _goal(mechanism: Any) -> float:
    """0.88 of the cut if the expected share of the list comes out, which is a tenth where no other is known."""
    cut = -mpmath.sqrt(2) * mpmath.erfinv(2 * mechanism.false_share * mechanism.expected - 1)
    return 0.88 * float(cut) * mechanism.base.boundary.sigma


# DP-SIPS: `draw(r, sets)` cuts the sets for round r, `noise[r][item]` is added to a total in that round.


def dp_sips(
    sets: Sets,
    thresholds: Sequence[float],
    draw: Callable[[int, Sets], Sets],
    noise: Sequence[dict[int, float]],
) -> set[int]:
    released: set[int] = set()
    for r, threshold in enumerate(thresholds):
        rows = draw(r, [[item for item in own if item not in released] for own in sets])
        totals = weighted_l2([own for own in rows if own])
        released |= {item for item, total in totals.items() if total / ONE + noise[r][item] > threshold}
    return released


# MAD, as its box has it: initial weights, truncation, rerouting, the rest of the ℓ2 budget.


def mad(
    sets: Sets,
    cutoff: float,
    d_max: int,
    bias: Sequence[float] | None = None,
    b_min: float = 1.0,
    b_max: float = 1.0,
) -> dict[int, float]:
    held = {item for own in sets for item in own}
    adaptive = [own for own in sets if math.ceil(1 / b_min**2) <= len(own) <= d_max]
    initial = {item: sum(1 / len(own) for own in adaptive if item in own) for item in held}
    sent_back = {item: max(0.0, 1 - cutoff / weight) if weight else 0.0 for item, weight in initial.items()}
    total = {item: min(weight, cutoff) for item, weight in initial.items()}
    alpha = b_min - 1 / (2 * math.sqrt(d_max))
    for own in adaptive:
        excess = sum(sent_back[item] for item in own) / len(own)
        for item in own:
            total[item] += alpha * excess / d_max - 1 / len(own)
    for own in sets:
        even = dict.fromkeys(own, len(own) ** -0.5) if own else {}
        given = even if bias is None else mad_with_bias(own, bias, b_min, b_max)
        for item in own:
            total[item] += given[item]
    return total


def mad_with_bias(own: Sequence[int], bias: Sequence[float], b_min: float, b_max: float) -> dict[int, float]:
    """Biased items get their part, the others what is left; then the biased rise until one meets the cap, and so on."""
    even = len(own) ** -0.5 if own else 0.0
    given = {item: max(b_min, bias[item]) * even for item in own if bias[item] < 1}
    others = [item for item in own if bias[item] >= 1]
    left = 1 - sum(weight**2 for weight in given.values())
    given |= {item: min(b_max * even, math.sqrt(left / len(others))) for item in others}
    rising = [item for item in own if given[item] < even]
    while rising:
        left = 1 - sum(weight**2 for item, weight in given.items() if item not in rising)
        by_norm = math.sqrt(left / sum(given[item] ** 2 for item in rising))
        largest = max(given[item] for item in rising)
        factor = min(by_norm, b_max * even / largest)
        still = [item for item in rising if given[item] < largest] if factor < by_norm else []
        for item in rising:
            given[item] *= factor
        rising = still
    return given


def mad2r(
    sets: Sets,
    first: Any,
    second: Any,
    noise: Sequence[dict[int, float]],
    c_lb: float,
    c_ub: float,
) -> set[int]:
    """`first` and `second` have sigma, threshold, cutoff, d_max, b_min and b_max."""
    noisy = {item: total + noise[0][item] for item, total in mad(sets, first.cutoff, first.d_max).items()}
    released = {item for item, total in noisy.items() if total > first.threshold}
    left = {
        item for item, total in noisy.items() if total + c_ub * first.sigma >= second.threshold
    } - released
    lower = {item: max(0.0, total - c_lb * first.sigma) for item, total in noisy.items()}
    bias = [
        min(1.0, second.threshold / lower[item]) if lower.get(item) else 1.0 for item in range(1 + max(noisy))
    ]
    rows = [[item for item in own if item in left] for own in sets]
    totals = mad(rows, second.cutoff, second.d_max, bias, second.b_min, second.b_max)
    return released | {item for item, total in totals.items() if total + noise[1][item] > second.threshold}


# One item per user, at 50 digits.


def optimal_single(epsilon: float, delta: float) -> list[mpmath.mpf]:
    with mpmath.workdps(50):
        chances = [mpmath.mpf(0)]
        while chances[-1] < 1:
            growing = mpmath.exp(epsilon) * chances[-1] + delta
            closing = 1 - mpmath.exp(-epsilon) * (1 - chances[-1] - delta)
            chances.append(min(growing, closing, mpmath.mpf(1)))
        return chances


def measured_sums(
    rows: list[tuple[int, int, float]],
    unit: float,
    bounds: tuple[int, int],
    cut: int,
    released: set[int],
    excluded: set[int],
) -> tuple[dict[int, int], int, int]:
    """The weighted sums of released items in units, the sum over all other items, and the users who have any of those."""
    low, high = bounds
    users: dict[int, dict[int, int]] = {}
    for user, item, value in rows:
        units = round(max(-(2**31), min(2**31, Fraction(value) / Fraction(unit))))
        own = users.setdefault(user, {})
        own[item] = own.get(item, 0) + units
    sums: dict[int, int] = {}
    rest = others = 0
    for own in users.values():
        held = {item: min(max(value, low), high) for item, value in own.items() if item in released}
        radius, squares = cut * max(abs(low), abs(high)) ** 2, sum(value**2 for value in held.values())
        squares *= 1 + len(held) * 2**-50
        inside = len(held) <= cut or squares <= radius
        weight = 2**30 if inside else int(math.sqrt(radius / squares) * (1 - 2**-50) * 2**30)
        for item, value in held.items():
            sums[item] = sums.get(item, 0) + int(math.copysign(abs(value) * weight >> 30, value))
        left = [value for item, value in own.items() if item not in released | excluded]
        if left:
            others += 1
            rest += min(max(sum(left), low), high)
    return sums, rest, others


# A series of periods. Items are named by number in all periods; `normals[r][item]` is the noise of round r.


def series(
    periods: Sequence[Sets],
    normals: Sequence[dict[int, float]],
    boundary: Any,
    focus: Any,
    back_fill: bool = True,
    newcomers_at_focus: bool = True,
    noise_while_unheld: bool = True,
) -> tuple[dict[int, int], list[set[int]]]:
    """The noisy totals, in cells, of all items that exist, and the items released in each period.

    A period that is None does not take place. The three switches are mistakes that break privacy, for controls.
    """
    cell = Fraction(boundary.sigma) / 2**16
    total: dict[int, int] = {}
    released: list[set[int]] = []
    took_place: list[int] = []

    def noise(r: int, item: int, given: int) -> int:
        value = Fraction(boundary.shares[r]) * given / ONE + Fraction(boundary.scales[r] * normals[r][item])
        return math.floor(value / cell + Fraction(1, 2))

    for number, sets in enumerate(periods):
        released.append(set())
        if sets is None:
            continue
        out = set().union(*released)
        rows = [[item for item in own if item not in out] for own in sets]
        newcomers = {item for own in rows for item in own} - total.keys()
        for item in newcomers:
            total[item] = sum(noise(r, item, 0) for r in took_place) if back_fill else 0
        held = {item for own in rows for item in own}
        first = number * focus.rounds
        for r in range(first, first + focus.rounds):
            rows = [[item for item in own if item not in released[-1]] for own in rows]
            if r == 0 or sum(boundary.shares[:r]) < focus.warmup:
                priority = dict.fromkeys(total, 1.0)
            else:
                priority = {
                    item: _focus(float(total[item] * cell), r - 1, boundary, focus)
                    if newcomers_at_focus or r > first or item not in newcomers
                    else 1.0
                    for item in total
                }
            given = proportional(rows, priority, boundary.caps)
            for item in total.keys() - out - released[-1]:
                if noise_while_unheld or item in held:
                    total[item] += noise(r, item, given.get(item, 0))
                if total[item] - Fraction(r + 1, 2) > Fraction(boundary.thresholds[r]) / cell:
                    released[-1].add(item)
            took_place.append(r)
    return total, released
