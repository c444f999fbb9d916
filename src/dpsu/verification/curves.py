"""The ℓ1 family and the optimal coin for one item per user."""

from typing import Any

from mpmath import iv, mp

from dpsu.verification.checks import MOST_PASSES, ROUNDING, Check, Fields, number, positive, whole
from dpsu.verification.intervals import Interval, at_most, chance_of_any, exact, high, largest, low


def no_budget(fields: Fields) -> Check:
    """Without Gaussian noise a release composes by its epsilon and delta, and must not offer a pair that is less."""
    return Check("budget", fields["budget"] is None, "none: it composes by its epsilon and delta")


def curve(fields: Fields, epsilon: Any, delta: Any, counts: Interval) -> list[Check]:
    """Sums of ℓ1-sensitivity 1 and a release curve, or Laplace noise and a threshold."""
    if high(counts) > 0:
        raise ValueError("counts need a part of epsilon and delta here")
    parameters = fields["parameters"]
    growth = exact(epsilon)
    unit = positive(parameters["scale"]) * growth
    scale = Check("scale", abs(high(unit) - 1) <= ROUNDING, f"{parameters['scale']:.8g} is 1/epsilon")
    threshold = number(parameters["threshold"])
    if parameters["noise"] == "laplace":
        new = largest(lambda first, last: _laplace_new(fields, growth, first, last), fields["max_items"])
        return [
            no_budget(fields),
            scale,
            Check("promise", at_most(new, delta), f"new items come out with {mp.nstr(high(new), 6)} at most"),
        ]
    if parameters["noise"] != "truncated laplace":
        raise ValueError(f"unknown noise {parameters['noise']!r}")
    kappa = positive(parameters["kappa"])
    middle = iv.log(1 + 1 / (2 * kappa)) / growth
    own = kappa * (iv.exp(growth) - 1)
    return [
        no_budget(fields),
        scale,
        Check("threshold", at_most(abs(threshold / middle - 1), ROUNDING), "is the midpoint of the curve"),
        Check("promise", at_most(own, delta), f"the curve's delta is {mp.nstr(high(own), 8)}"),
    ]


def _laplace_new(fields: Fields, epsilon: Interval, first: int, last: int) -> Interval:
    """The chance that one of `last` new items comes out if each gets what `first` of them can."""
    parameters, own = fields["parameters"], bool(fields["rests_on"])
    symmetric = not own or parameters["symmetric"] is True
    weight = 1 / exact(first) if symmetric else exact(1)
    if fields["algorithm"] == "policy-laplace" and not own:
        weight += whole(parameters["passes"], MOST_PASSES) * exact(2.0**-30)
    room = number(parameters["threshold"]) - weight
    if low(room) < 0:
        return exact(1)
    return chance_of_any(-last * iv.log(1 - iv.exp(-epsilon * room) / 2))


def single(fields: Fields, epsilon: Any, delta: Any, counts: Interval) -> list[Check]:
    """The optimal coin: from which numbers of holders on the recursion allows even odds, and certainty.

    It grows as kappa (e^(epsilon n) - 1) until (1 - delta)/(e^epsilon + 1); the chance to stay in then falls as
    (rest + kappa) e^(-epsilon k) - kappa.
    """
    if high(counts) > 0 or fields["max_items"] != 1:
        raise ValueError("optimal-single has one item per user, and counts need a part of epsilon and delta")
    growth, chance = exact(epsilon), exact(delta)
    kappa = chance / (iv.exp(growth) - 1)
    turn = iv.log(1 + (1 - chance) / (iv.exp(growth) + 1) / kappa) / growth
    first = int(mp.floor(low(turn))) + 1
    rest = 1 - kappa * (iv.exp(growth * first) - 1)
    even = first + iv.log((rest + kappa) / (exact(0.5) + kappa)) / growth
    certain = first + iv.log((rest + kappa) / kappa) / growth
    checks = [no_budget(fields)]
    for name, needed in (("threshold", even), ("certain_from", certain)):
        fewest, stated = int(mp.ceil(low(needed))), fields["parameters"][name]
        checks.append(
            Check(name, at_most(fewest - number(stated), 0), f"{stated} holders stated, {fewest} needed")
        )
    return checks
