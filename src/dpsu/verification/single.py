"""optimal-single: the recursion is computed again, in integers."""

import math
from fractions import Fraction
from typing import Any

from mpmath import iv

from dpsu.verification.checks import Check, Counts, Stated
from dpsu.verification.curves import no_budget
from dpsu.verification.intervals import Interval, exact, high, low

MOST_STEPS = 2**21
"""Larger than the largest table that the program creates."""

EXPONENT_BITS = 256


def single(stated: Stated, counts: Counts) -> list[Check]:
    """The numbers of holders from which the recursion of docs/optimal-single.md reaches 1/2 and 1."""
    if stated.max_items != 1:
        raise ValueError("optimal-single has one item per user")
    if stated.parameters["noise"] != "optimal coin":
        raise ValueError(f"the noise {stated.parameters['noise']!r} is not that of optimal-single")
    even, certain = turns(Fraction(stated.epsilon), Fraction(stated.delta))
    return [
        no_budget(stated, counts),
        _is(stated, "threshold", even),
        _is(stated, "certain_from", certain),
    ]


def turns(epsilon: Fraction, delta: Fraction) -> tuple[int | None, int | None]:
    """From how many holders on the probability of release is at least 1/2, and 1; None where doubles never reach it.

    Every step is rounded down to a double, as in the program. Probabilities are integers in units of 2^-scale.
    """
    scale = 120 + max(0, -_exponent(delta))
    one, step = 1 << scale, int(delta * 2**scale)
    growth, decay = (
        _in_bits(iv.exp(_exactly(epsilon)), up=False),
        _in_bits(iv.exp(-_exactly(epsilon)), up=True),
    )
    chance, even = 0, None
    for holders in range(1, MOST_STEPS):
        rising = (chance * growth >> EXPONENT_BITS) + step
        closing = one - -(-max(one - chance - step, 0) * decay >> EXPONENT_BITS)
        risen = _to_double(min(rising, closing, one))
        if risen <= chance:
            return even, None
        chance = risen
        if even is None and 2 * chance >= one:
            even = holders
        if chance == one:
            return even, holders
    return even, None


def _is(stated: Stated, name: str, needed: int | None) -> Check:
    found: Any = stated.parameters[name]
    same = isinstance(found, int) and not isinstance(found, bool) and found == needed
    return Check(name, same, f"{found} holders stated, {needed} by the recursion")


def _to_double(value: int) -> int:
    """The 53 leading bits."""
    rest = max(0, value.bit_length() - 53)
    return value >> rest << rest


def _exponent(value: Fraction) -> int:
    return math.frexp(float(value))[1]


def _exactly(value: Fraction) -> Interval:
    return exact(value.numerator) / value.denominator


def _in_bits(value: Interval, up: bool) -> int:
    """A value in units of 2^-EXPONENT_BITS, rounded up or down."""
    scaled = high(value) if up else low(value)
    mantissa, exponent = int(scaled.man), int(scaled.exp) + EXPONENT_BITS
    if exponent >= 0:
        return mantissa << exponent
    return -(-mantissa >> -exponent) if up else mantissa >> -exponent
