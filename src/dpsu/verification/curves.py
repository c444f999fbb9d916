"""The ℓ1 family: Laplace noise and a threshold, or the release curve."""

from mpmath import iv, mp

from dpsu.verification.checks import Check, Counts, Stated, close, number, positive, whole
from dpsu.verification.intervals import Interval, at_most, chance_of_any, exact, high, largest, low
from dpsu.verification.policies import ORDERED, OWN, UNIT, curve_walk

NOISE = {"exact": "truncated laplace", "paper": "laplace"}
"""The noise of each calibration."""


def no_budget(stated: Stated, counts: Counts) -> Check:
    """Without Gaussian noise a release composes by its epsilon and delta, and must not state a smaller pair."""
    if high(counts.shift) > 0 and not counts.apart:
        raise ValueError("counts need a separate part of epsilon and delta here")
    return Check("budget", stated.budget is None, "none: it composes by its epsilon and delta")


def curve(stated: Stated, counts: Counts) -> list[Check]:
    """Sums of ℓ1-sensitivity 1 and a release curve, or Laplace noise and a threshold."""
    parameters = stated.parameters
    if parameters["noise"] != NOISE[stated.calibration]:
        raise ValueError(f"{parameters['noise']!r} is not the noise of the {stated.calibration} calibration")
    growth = exact(stated.epsilon)
    scale = close(positive(parameters["scale"]) * growth, exact(1))
    checks = [no_budget(stated, counts), Check("scale", scale, f"{parameters['scale']:.8g} is 1/epsilon")]
    if "cutoff" in parameters:
        checks += curve_walk(stated)
    if parameters["noise"] == "laplace":
        new = largest(lambda first, last: _laplace_new(stated, growth, first, last), stated.max_items)
        told = f"new items are released with probability at most {mp.nstr(high(new), 6)}"
        return [*checks, Check("promise", at_most(new, stated.delta), told)]
    kappa = positive(parameters["kappa"])
    middle = iv.log(1 + 1 / (2 * kappa)) / growth
    own = kappa * (iv.exp(growth) - 1)
    return [
        *checks,
        Check("threshold", close(number(parameters["threshold"]), middle), "is the midpoint of the curve"),
        Check("promise", at_most(own, stated.delta), f"the curve's delta is {mp.nstr(high(own), 8)}"),
    ]


def _laplace_new(stated: Stated, epsilon: Interval, first: int, last: int) -> Interval:
    """The probability that one of `last` new items is released if each gets the largest weight of `first` items."""
    parameters = stated.parameters
    symmetric = stated.algorithm != ORDERED and (stated.algorithm != OWN or parameters["symmetric"])
    weight = 1 / exact(first) if symmetric else exact(1)
    if stated.algorithm == "policy-laplace":
        weight += whole(parameters["passes"]) * exact(UNIT)
    room = number(parameters["threshold"]) - weight
    if low(room) < 0:
        return exact(1)
    return chance_of_any(-last * iv.log(1 - iv.exp(-epsilon * room) / 2))
