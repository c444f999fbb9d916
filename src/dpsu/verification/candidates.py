"""Focused Gaussian with a public list of candidates (docs/candidates.md)."""

from itertools import accumulate, pairwise

from mpmath import iv

from dpsu.verification.checks import (
    INFORMED,
    Check,
    Fields,
    Stated,
    close,
    listed,
    number,
    only,
    positive,
    whole,
    within,
)
from dpsu.verification.focused import MOST_ROUNDS, NAMES, focused
from dpsu.verification.gaussian import Part
from dpsu.verification.intervals import Interval, at_most, exact, high, low, tail

CANDIDATES = "candidates"
PROOF = "docs/candidates.md"

OF_NEW_ITEMS = ("threshold", "thresholds", "capped_at", "last_deal", "split", "cap")
DISCOVERS = (*NAMES, CANDIDATES)
LISTED_ONLY = (*(name for name in NAMES if name not in OF_NEW_ITEMS), CANDIDATES)

TOLD = ("count", "false_share", "discover", "early", "early_thresholds", "expected")
OF_WEIGHTS = ("smallest_weight", "largest_weight")
OF_A_LEVEL = (*TOLD, "reach")
MOST_LISTED, MOST_VALID, LARGEST_SHARE = 2**31, 2**62, 0.5


def names_of(parameters: Fields) -> tuple[str, ...]:
    """The parameters that a statement has, with and without discovery."""
    told = only(parameters[CANDIDATES], TOLD, CANDIDATES, optional=OF_WEIGHTS)
    if (OF_WEIGHTS[0] in told) != (OF_WEIGHTS[1] in told):
        raise ValueError("candidates have one extreme of their weights without the other")
    if not isinstance(told["discover"], bool):
        raise ValueError(f"discover is {told['discover']!r}, neither true nor false")
    return DISCOVERS if told["discover"] else LISTED_ONLY


def with_candidates(stated: Stated) -> Part:
    """Noise on all listed items, held or not; new items outside the list must not cross the boundary."""
    parameters = stated.parameters
    told, discovers = parameters[CANDIDATES], parameters[CANDIDATES]["discover"]
    if discovers:
        part = focused(stated)
        return Part(
            part.mu, part.new, noise_part=part.noise_part, told=(*part.told, *false_items(parameters, told))
        )
    only(stated.budget, ("mu", "delta_new"), "the budget")
    no_new = number(stated.budget["delta_new"]) if stated.budget else exact(1)
    checks = (
        *constants(parameters),
        Check("no new items", bool(high(no_new) == 0), "nothing outside the list is released"),
        *false_items(parameters, told),
    )
    return Part(1 / positive(parameters["sigma"]), lambda limit: True, noise_part=1.0, told=checks)


def listed_level(level: Fields) -> list[Check]:
    """A level of n-grams whose candidates are all valid n-grams: nothing else comes out, so nothing is new."""
    told = only(level[CANDIDATES], OF_A_LEVEL, CANDIDATES)
    if told["discover"] is not False:
        raise ValueError(f"discover is {told['discover']!r}, but nothing is discovered in a known domain")
    share, early, reach = (positive(told[name]) for name in ("false_share", "early", "reach"))
    reaching = at_most(reach, low(share)) and at_most(early, low(reach))
    return [
        *constants(level),
        *false_items(level, told, MOST_VALID),
        Check("reach", reaching, "lies between eta and false_share"),
    ]


def constants(parameters: Fields) -> list[Check]:
    """The constants of the rounds are in their ranges; their shares sum to at most one budget."""
    rounds = whole(parameters["rounds"], MOST_ROUNDS)
    shares = [positive(share) for share in listed(parameters["shares"], "shares", rounds, rounds)]
    growth = positive(parameters["growth"])
    for name in ("boost", "width"):
        positive(parameters[name])
    for name in ("tail", "warmup", "delta_growth"):
        if low(number(parameters[name])) < 0:
            raise ValueError(f"{name} is below 0")
    growing = all(close(later / earlier, growth, INFORMED) for earlier, later in pairwise(shares))
    return [
        Check("shares", growing, f"of {rounds} rounds grow by {parameters['growth']}"),
        Check("budget of all rounds", at_most(sum(shares, exact(0)), 1), "is one budget"),
    ]


def false_items(parameters: Fields, told: Fields, most: int = MOST_LISTED) -> list[Check]:
    """Pure noise releases a listed item early with probability at most eta, which every possible cut covers.

    The cut is at least w q / (|L| nulls), where nulls is an estimate of at most (|L| + the largest w) / (|L| (1 - q)); in
    levels, which have a reach, it is 1.
    """
    count = whole(told["count"], most)
    share, early = positive(told["false_share"]), positive(told["early"])
    # Weights have a mean of 1.
    lightest, heaviest = (
        within(told.get(OF_WEIGHTS[0], 1), 1e-300, 1),
        within(told.get(OF_WEIGHTS[1], 1), 1, count),
    )
    covered = share * lightest / count
    if "reach" not in told:
        covered *= count * (1 - share) / (count + heaviest)
    within(told["expected"], 1e-300, 1)
    rounds = whole(parameters["rounds"], MOST_ROUNDS)
    given = listed(told["early_thresholds"], "early_thresholds", rounds, rounds)
    sigma = positive(parameters["sigma"])
    spent = accumulate(positive(part) for part in parameters["shares"])
    crossed: Interval = sum(
        (tail(number(limit) / (sigma * iv.sqrt(part))) for limit, part in zip(given, spent, strict=True)),
        exact(0),
    )
    return [
        Check(
            "false_share",
            at_most(share, LARGEST_SHARE),
            f"{told['false_share']:g} of the listed items, at most",
        ),
        Check(
            "early release",
            at_most(early, low(covered)),
            "eta is at most the smallest cut",
        ),
        Check(
            "early thresholds",
            at_most(crossed, low(early)),
            "are crossed by noise alone with probability eta at most",
        ),
    ]
