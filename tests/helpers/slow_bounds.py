"""What a statement's numbers mean for a few users, computed slowly, plainly and apart from the verifier.

`broken` plays small databases through the formulas of the mechanisms, with 60 digits: a user alone with t items, a user who
moves one shared item, and users who do both. Each gives a delta that the mechanism really has, or that its proof gives
for that user. A statement whose delta is smaller promises too much. Finitely many users are tried one by one, so what is
found broken is broken, and what is not may be.
"""

import itertools
import math
from collections.abc import Iterator
from typing import Any

import mpmath
import numpy as np
from mpmath import mpf
from scipy import signal, special

Fields = dict[str, Any]

TOLERANCE = mpf("1e-9")
"""Relative: what the last digits of statements may leave open."""

SIZES = (1, 2, 3, 4, 7, 10, 20, 40, 100, 1000, 10**5)
PARTS = ("0.001", "0.01", "0.05", "0.1", "0.25", "0.5", "0.75", "0.9", "0.99", "0.999")


def broken(fields: Fields) -> list[str]:
    """In which ways the statement promises more than its numbers keep; none if nothing was found."""
    with mpmath.workdps(60):
        return [*_broken(fields)]


def _broken(fields: Fields) -> Iterator[str]:
    if fields["kind"] == "levels":
        yield from _levels(fields)
    elif fields["kind"] == "tuned":
        yield from _tuned(fields)
    else:
        yield from _mechanism(fields)


def tail(z: Any) -> Any:
    return mpmath.erfc(mpf(z) / mpmath.sqrt(2)) / 2


def delta_of_shift(epsilon: Any, mu: Any) -> Any:
    """Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)."""
    if mu == 0:
        return max(mpf(0), 1 - mpmath.exp(epsilon))
    return tail(epsilon / mu - mu / 2) - mpmath.exp(epsilon) * tail(epsilon / mu + mu / 2)


def any_of(chance: Any, items: int) -> Any:
    """The chance that one of so many independent events happens."""
    return -mpmath.expm1(items * mpmath.log1p(-chance)) if chance < 1 else mpf(1)


def sizes_up_to(most: int) -> list[int]:
    return [*{*(size for size in SIZES if size <= most), most}]


def exceeds(found: Any, limit: Any) -> bool:
    return bool(found > mpf(limit) * (1 + TOLERANCE))


def _mechanism(stated: Fields) -> Iterator[str]:
    """One mechanism with its counts."""
    parameters, epsilon, delta = stated["parameters"], mpf(stated["epsilon"]), mpf(stated["delta"])
    counts, shift = parameters.get("counts"), mpf(0)
    if counts:
        shift = mpmath.sqrt(_measured(counts, stated["max_items"]))
    apart = counts is not None and "epsilon" in counts
    if apart and exceeds(delta_of_shift(mpf(counts["epsilon"]), shift), counts["delta"]):
        yield "counts"
    alone = apart or not counts
    if stated["algorithm"] == "auto":
        yield from _auto(stated, epsilon, delta, shift)
        return
    if apart:
        epsilon, delta = epsilon - mpf(counts["epsilon"]), delta - mpf(counts["delta"])
    if parameters["noise"] == "gaussian":
        yield from _gaussian(stated, epsilon, delta, shift, alone)
    elif stated["algorithm"] == "optimal-single":
        yield from _coin(stated, epsilon, delta)
    else:
        yield from _curve(stated, epsilon, delta)


def _measured(counts: Fields, most: int) -> Any:
    """The squared shift of counts, sums and others by one user: the worst number of items, with the largest values."""
    cut = mpf(counts.get("max_items", most))
    norm = max(held * min(mpf(1), cut / held) for held in range(1, most + 1))
    largest = {each["column"]: max(abs(each["low"]), abs(each["high"])) for each in counts.get("sums", [])}
    squares = max(norm, counts["squared_sensitivity"]) / mpf(counts["sigma"]) ** 2
    for each in counts.get("sums", []):
        own = mpf(each["max_items"])
        norm = max(held * min(mpf(1), own / held) for held in range(1, most + 1))
        squares += norm * (largest[each["column"]] / mpf(each["sigma"])) ** 2
    if "others" in counts:
        squares += 1 / mpf(counts["others"]["sigma"]) ** 2
        for each in counts["others"]["sums"]:
            squares += (largest[each["column"]] / mpf(each["sigma"])) ** 2
    return squares


def _gaussian(stated: Fields, epsilon: Any, delta: Any, shift: Any, alone: bool) -> Iterator[str]:
    """Every Gaussian mechanism: mu and new items are covered by the budget, and both fit into delta."""
    mu, new = spent(stated)
    together = mpmath.sqrt(mu**2 + shift**2)
    budget = stated["budget"]
    if exceeds(together, budget["mu"]):
        yield "mu"
    if exceeds(new, budget["delta_new"]):
        yield "delta_new"
    if exceeds(max(new, delta_of_shift(epsilon, mu if alone else together)), delta):
        yield "delta"
    if alone and any(exceeds(found, delta) for found in _mixed(stated, epsilon)):
        yield "delta of users with new and shared items"


def spent(stated: Fields) -> tuple[Any, Any]:
    """The shift that one user can make, and the chance that a user alone shows."""
    parameters, items, algorithm = stated["parameters"], stated["max_items"], stated["algorithm"]
    if algorithm in ("dp-sips", "mad2r"):
        return _rounds(parameters, items, algorithm)
    sigma = mpf(parameters["sigma"])
    if algorithm == "focused-gaussian" and "periods" in parameters:
        return 1 / sigma, max(crossing_alone(parameters), *_crossing_in_periods(parameters))
    if algorithm == "focused-gaussian":
        crossing = (crossing_alone(parameters), *_crossing_at_once(parameters, items))
        return 1 / sigma, max(crossing)
    extra = sensitivity(stated)
    threshold = mpf(parameters["threshold"]) / extra
    chances = [any_of(tail((threshold - weight) / (sigma / extra)), size) for size, weight in _alone(stated)]
    return extra / sigma, max(chances)


def _alone(stated: Fields) -> Iterator[tuple[int, Any]]:
    """Numbers of new items that a user may hold, and what each then gets."""
    items = stated["max_items"]
    for size in sizes_up_to(items):
        if stated["algorithm"] == "count-gaussian":
            yield size, 1 / mpmath.sqrt(items)
        else:
            yield size, 1 / mpmath.sqrt(size)


def sensitivity(stated: Fields) -> Any:
    """1, and what rounding may add: in a policy for 2^32 users and every pass, in MAD for 2^26 users."""
    parameters, items = stated["parameters"], stated["max_items"]
    if "d_max" in parameters:
        d_max = mpf(parameters["d_max"])
        return 1 + 2 * mpf(2) ** 26 * (mpmath.sqrt(d_max) * mpf(2) ** -41 + (d_max / 2 + 6) * mpf(2) ** -53)
    if "cutoff" not in parameters:
        return mpf(1)
    cutoff, passes, parts = (parameters[name] for name in ("cutoff", "passes", "parts"))
    visit = mpmath.sqrt(items) * mpf(math.ulp(cutoff)) / 2 + (mpf(items) / 2 + 4) * mpf(2) ** -53
    adding = mpmath.sqrt(mpf(2) ** 32 * items) * (parts - 1) * mpf(math.ulp(parts * cutoff)) / 2
    return 1 + 2 * (mpf(2) ** 32 * passes * visit + adding)


def _mixed(stated: Fields, epsilon: Any) -> Iterator[Any]:
    """Users with `a` new items that take a part q of the squared budget; one shared item moves by the rest."""
    parameters, items, algorithm = stated["parameters"], stated["max_items"], stated["algorithm"]
    if algorithm in ("dp-sips", "mad2r", "focused-gaussian"):
        return
    extra = sensitivity(stated)
    sigma, threshold = mpf(parameters["sigma"]) / extra, mpf(parameters["threshold"]) / extra
    for a in sizes_up_to(items):
        if algorithm == "count-gaussian":
            parts = [mpf(a) / items]
        elif algorithm == "own-policy" or parameters.get("passes", 1) > 1:
            parts = [mpf(part) for part in PARTS]
        else:
            # a of s items are new, and all s get the same.
            parts = [mpf(a) / size for size in sizes_up_to(items) if size >= a]
        for q in parts:
            weight = 1 / mpmath.sqrt(items) if algorithm == "count-gaussian" else mpmath.sqrt(q / a)
            hidden = 1 - any_of(tail((threshold - weight) / sigma), a)
            mu = mpmath.sqrt(1 - q) / sigma
            yield 1 - hidden + hidden * delta_of_shift(epsilon - mpmath.log(hidden), mu)


def _rounds(parameters: Fields, items: int, algorithm: str) -> tuple[Any, Any]:
    """Rounds with noise of their own: a user alone may show in each of them."""
    d_max = (
        {"max_items": items, "parameters": {"d_max": parameters["d_max"]}} if algorithm == "mad2r" else None
    )
    extra = sensitivity(d_max) if d_max else mpf(1)
    mu = extra * mpmath.sqrt(sum(1 / mpf(sigma) ** 2 for sigma in parameters["sigmas"]))
    chances = []
    for size in sizes_up_to(items):
        missed = mpf(1)
        for r, (sigma, threshold) in enumerate(
            zip(parameters["sigmas"], parameters["thresholds"], strict=True)
        ):
            weight = 1 / mpmath.sqrt(size)
            if r and algorithm == "mad2r":
                weight = min(mpf(1), mpf(parameters["b_max"]) * weight)
            missed *= 1 - any_of(tail((mpf(threshold) - weight) / mpf(sigma)), size)
        chances.append(1 - missed)
    return mu, max(chances)


def crossing_alone(parameters: Fields, points: int = 6001) -> Any:
    """The chance that the one item of a user alone crosses the boundary in some round, by its density round for round.

    The item gets all of the user's weight in every round. The density is kept on a grid; what errs is below a thousandth, by
    which the result is lowered. Without thresholds no item outside a list comes out.
    """
    sigma, shares = parameters["sigma"], np.array(parameters["shares"])
    given, crossed = np.cumsum(shares), 0.0
    grid = np.linspace(-12.0, 12.0, points)
    step = grid[1] - grid[0]
    density: Any = None
    for r, threshold in enumerate(parameters.get("thresholds", [])):
        limit = (threshold - given[r]) / sigma
        spread = math.sqrt(shares[r])
        if density is None:
            crossed += float(special.ndtr(-limit / spread))
            density = np.exp(-((grid / spread) ** 2) / 2) / (spread * math.sqrt(2 * math.pi))
        else:
            crossed += float((density * special.ndtr((grid - limit) / spread)).sum() * step)
            kernel = np.exp(-((grid / spread) ** 2) / 2) / (spread * math.sqrt(2 * math.pi))
            density = np.maximum(signal.fftconvolve(density, kernel, mode="same") * step, 0.0)
        density[grid > limit] = 0.0
    return mpf(max(0.0, crossed * 0.995 - 1e-13))


def _crossing_at_once(parameters: Fields, items: int) -> Iterator[Any]:
    """Users alone with several items that all get the same, in one round each."""
    if "thresholds" not in parameters:
        return
    given = np.cumsum(parameters["shares"])
    for size in sizes_up_to(items):
        for so_far, threshold in zip(given, parameters["thresholds"], strict=True):
            noise = mpf(parameters["sigma"]) * mpmath.sqrt(so_far)
            yield any_of(tail((mpf(threshold) - so_far / mpmath.sqrt(size)) / noise), size)


def _crossing_in_periods(parameters: Fields) -> Iterator[Any]:
    """Users alone whose own items begin in one period of a series and are held since, seen in one round each."""
    rounds, cuts = parameters["rounds"], parameters["period_max_items"]
    given = [mpf(0), *map(mpf, np.cumsum(parameters["shares"]))]
    for begin in range(len(cuts)):
        for r in range(begin * rounds, len(parameters["thresholds"])):
            weight, noise = (
                given[r + 1] - given[begin * rounds],
                mpf(parameters["sigma"]) * mpmath.sqrt(given[r + 1]),
            )
            for size in sizes_up_to(min(cuts[begin : r // rounds + 1])):
                yield any_of(tail((parameters["thresholds"][r] - weight / mpmath.sqrt(size)) / noise), size)


def _curve(stated: Fields, epsilon: Any, delta: Any) -> Iterator[str]:
    """The ℓ1 family: a user alone with t items, and one more user of a shared item, for many totals."""
    parameters, items = stated["parameters"], stated["max_items"]
    if stated["budget"] is not None:
        yield "a budget"
    in_order = stated["algorithm"] == "ordered-laplace"
    if stated["algorithm"] == "policy-laplace" or in_order:
        largest_sum = mpf(parameters["cutoff"]) * (parameters["parts"] if in_order else items)
        if largest_sum >= 2**32 or parameters["cutoff"] < 1:
            yield "cutoff"
    if in_order and ("order" in stated.get("lists", {})) != (parameters["item_order"] == "public"):
        yield "order"
    scale, middle = mpf(parameters["scale"]), mpf(parameters["threshold"])
    kappa = mpf(parameters.get("kappa", 0))

    def released(total: Any) -> Any:
        lower = max(mpf(0), (kappa + mpf(1) / 2) * mpmath.exp(-abs(total - middle) / scale) - kappa)
        return 1 - lower if total > middle else lower

    unequal = in_order or (stated["algorithm"] == "own-policy" and not parameters["symmetric"])
    weights = [(size, 1 / mpf(size)) for size in sizes_up_to(items)] + [(1, mpf(1))] * unequal
    if max(any_of(released(weight), size) for size, weight in weights) > delta * (1 + TOLERANCE):
        yield "delta of a user alone"
    for total in (0.25, 0.5, 1, 2, 3, 5, 8, 10, 14, 20, 28, 40):
        before, after = released(mpf(total)), released(mpf(total) + 1)
        slack = 0 if "kappa" not in parameters else delta
        if after - mpmath.exp(epsilon) * before - slack > TOLERANCE * delta:
            yield f"delta of a user more at {total}"
        if (1 - before) - mpmath.exp(epsilon) * (1 - after) - slack > TOLERANCE * delta:
            yield f"delta of a user less at {total}"


def _auto(stated: Fields, epsilon: Any, delta: Any, shift: Any) -> Iterator[str]:
    """The branch by itself; with private steps also those, each alone, and their sum with the worse branch.

    Counts, which one user moves by `shift`, share what belongs to the branch.
    """
    parameters = stated["parameters"]
    chosen, counts = parameters["chosen"], parameters.get("counts", {})
    yield from (f"branch: {found}" for found in _mechanism(chosen))
    l1 = chosen["budget"] is None
    if l1:
        used = [mpf(chosen[name]) + mpf(counts.get(name, 0)) for name in ("epsilon", "delta")]
    else:
        mu, new = spent(chosen)
        used = [mpmath.sqrt(mu**2 + shift**2), new]
    if "sizes" not in parameters:
        room = [epsilon, delta] if l1 else [stated["budget"]["mu"], stated["budget"]["delta_new"]]
        if (
            any(map(exceeds, used, room))
            or exceeds(chosen["epsilon"], epsilon)
            or exceeds(chosen["delta"], delta)
        ):
            yield "the branch alone"
        if not l1 and counts and exceeds(delta_of_shift(epsilon, used[0]), delta):
            yield "delta of the branch and counts"
        return
    popular = parameters["popular"]
    first = {**stated, "algorithm": "weighted-laplace", "parameters": popular, "max_items": 10**5}
    yield from (
        f"popular: {found}" for found in _curve(first, mpf(popular["epsilon"]), mpf(popular["delta"]))
    )
    steps = [mpf(parameters[step]["epsilon"]) for step in ("popular", "sizes", "demand")]
    branch, focused = parameters["l1"], parameters["focused"]
    room = [branch["epsilon"], branch["delta"]] if l1 else [focused["mu"], focused["delta_new"]]
    if any(map(exceeds, used, room)):
        yield "the branch"
    if exceeds(branch["epsilon"] + sum(steps), epsilon):
        yield "epsilon"
    total = mpf(popular["delta"])
    for signs in itertools.product((1, -1), repeat=len(steps)):
        loss = sum(sign * step for sign, step in zip(signs, steps, strict=True))
        weight = mpmath.exp(loss / 2) / mpmath.fprod(2 * mpmath.cosh(step / 2) for step in steps)
        gaussian = delta_of_shift(epsilon - loss, mpf(focused["mu"])) + mpf(focused["delta_new"])
        total += weight * max(gaussian, mpf(branch["delta"]))
    if exceeds(total, delta):
        yield "delta of all steps"


def _coin(stated: Fields, epsilon: Any, delta: Any) -> Iterator[str]:
    """The recursion in 60 digits, which is never below that of doubles."""
    if stated["max_items"] != 1 or stated["budget"] is not None:
        yield "one item, no budget"
    chance, parameters = mpf(0), stated["parameters"]
    for holders in range(1, parameters["certain_from"] + 1):
        chance = min(
            mpmath.exp(epsilon) * chance + delta, 1 - mpmath.exp(-epsilon) * (1 - chance - delta), mpf(1)
        )
        if holders == parameters["threshold"] and chance < mpf(1) / 2:
            yield "even odds"
    if chance < 1:
        yield "certainty"


def _levels(fields: Fields) -> Iterator[str]:
    """Levels: squares of mu and chances of new items add up."""
    squares, chances = mpf(0), mpf(0)
    known = fields["algorithm"] == "dpne" or "false_share" in fields["parameters"]
    for place, level in enumerate(fields["parameters"]["levels"]):
        squares += max(mpf(1), sum(map(mpf, level.get("shares", [1])))) / mpf(level["sigma"]) ** 2
        if place == 0 or not known:
            found = max(crossing_alone(level), *_crossing_at_once(level, level["max_items"]))
            if exceeds(found, level["delta_new"]):
                yield f"delta_new of level {place + 1}"
            chances += found
    counts = fields["parameters"].get("counts")
    if counts:
        most = sum(level["max_items"] for level in fields["parameters"]["levels"])
        squares += most / mpf(counts["sigma"]) ** 2
    mu = mpmath.sqrt(squares)
    if exceeds(mu, fields["budget"]["mu"]):
        yield "mu"
    if exceeds(chances, fields["budget"]["delta_new"]):
        yield "delta_new"
    if exceeds(max(chances, delta_of_shift(mpf(fields["epsilon"]), mu)), fields["delta"]):
        yield "delta"


def _tuned(fields: Fields) -> Iterator[str]:
    """Every trial by itself, and what all of them cost together."""
    tuning, epsilon, delta = fields["parameters"]["tuning"], mpf(fields["epsilon"]), fields["delta"]
    for place, trial in enumerate(tuning["trials"], 1):
        yield from (f"trial {place}: {found}" for found in _mechanism(trial))
    gaussian = [spent(trial) for trial in tuning["trials"] if trial["budget"] is not None]
    if tuning["way"] == "selection":
        mu, new = max(mu for mu, _ in gaussian), max(new for _, new in gaussian)
        if exceeds(delta_of_best(epsilon, mu, new, mpf(tuning["mean_tries"])), delta):
            yield "delta of the best"
        return
    yield from (f"release: {found}" for found in _mechanism(tuning["release"]))
    others = [trial for trial in tuning["trials"] if trial["budget"] is None]
    left = epsilon - sum(mpf(trial["epsilon"]) for trial in others)
    mu = mpmath.sqrt(sum(mu**2 for mu, _ in gaussian))
    together = delta_of_shift(left, mu) + sum(mpf(trial["delta"]) for trial in others)
    if left < 0 or exceeds(together, delta):
        yield "delta of all trials"


def delta_of_best(epsilon: Any, mu: Any, new: Any, tries: Any) -> Any:
    """The least delta that docs/tuning.md proves, over a grid of orders; two hundredths too low for the grid."""
    backwards = max(mpf(1), mpmath.sqrt(2 * mpmath.log(tries)) / mu)
    choice = 2 * ((backwards - 1) * mu**2 / 2 + mpmath.log(tries) / backwards)
    orders = (1 + mpmath.exp(mpf(place) / 20) for place in range(-100, 300))
    least = min(
        mpmath.exp((order - 1) * (order * mu**2 / 2 + mpmath.log(tries) / (order - 1) + choice - epsilon))
        * (1 - 1 / order) ** order
        / (order - 1)
        for order in orders
    )
    runs = mpmath.ceil(-epsilon / mpmath.log1p(-1 / tries)) + tries
    return least * mpf("0.98") + runs * new
