"""The ranges in which proofs and arithmetic hold; calibration refuses values outside.

The table in docs/calibration.md ("Ranges") gives the reasons. What depends on several numbers at once is refused where it is
computed: the cutoff of a policy, its rounding, MAD's limit on totals, the length of the optimal coin, the smallest
share of a round.
"""

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from dpsu.errors import InvalidArgument
from dpsu.privacy import advice


@dataclass(frozen=True)
class Range:
    """Numbers from `low` to `high`, both included; `why` ends the message of a refusal."""

    low: float
    high: float
    why: str
    whole: bool = False

    def check(self, name: str, value: Any) -> Any:
        """The value as a plain int or float, or a refusal."""
        kind = Integral if self.whole else Real
        number = isinstance(value, kind) and not isinstance(value, bool)
        if not number or not self.low <= value <= self.high:
            ask = "a whole number" if self.whole else "a finite number"
            raise InvalidArgument(
                f"{name} must be {ask} from {_plain(self.low)} to {_plain(self.high)}, not {value!r}: {self.why}."
            )
        return int(value) if self.whole else float(value)


def _plain(number: float) -> str:
    return str(number) if isinstance(number, int) else f"{number:g}"


EPSILON = Range(1e-6, 1e4, "a smaller epsilon means more privacy; 1 is a common choice")
DELTA = Range(1e-50, 0.5, f"choose {advice.DELTA}")
MAX_ITEMS = Range(1, 10**6, "the noise pays for every item", whole=True)

FALSE_SHARE = Range(
    1e-9, 0.5, "it is the share of the released listed items that nobody holds, on average, at most"
)

OPTIONS = {
    "alpha": Range(0, 1e6, "the cutoff is the threshold plus alpha noise scales, and 3 is a common choice"),
    "passes": Range(1, 1000, "users come that often, each time with a part of the budget", whole=True),
    "typical_items": Range(1, 10**6, "it is a typical number of items of one user"),
    "parts": Range(1, 1000, "it divides the users (docs/hybrid.md)", whole=True),
    "d_max": Range(1, 10**6, "users with more items do not reroute (docs/mad.md)", whole=True),
    "beta": Range(0, 1e6, "the cutoff is the threshold plus beta noise scales"),
    "b_min": Range(0.01, 1, "it is the least that an item gets, in even shares"),
    "b_max": Range(1, 100, "it is the most that an item gets, in even shares"),
    "c_lb": Range(-1e6, 1e6, "it is a number of noise scales"),
    "c_ub": Range(-1e6, 1e6, "it is a number of noise scales"),
    "k": Range(1, 2**31, "it is a number of users", whole=True),
    "rounds": Range(1, 200, "20 is the default, and 48 release hardly more", whole=True),
    "growth": Range(0.01, 100, "it is the ratio of a round's share to the share before"),
    "split": Range(0.01, 0.99, "it is the part of delta that pays for noise"),
    "delta_growth": Range(0, 50, "it is a power of the rounds' shares"),
    "warmup": Range(0, 10, "it is a share of the budget; 1 makes all rounds even"),
    "boost": Range(0.001, 1000, "it is a ratio of speeds"),
    "width": Range(0.001, 1000, "it is a number of noise scales"),
    "tail": Range(0, 1000, "it is a ratio of widths"),
    "cap": Range(0, 1, "it is a place between an even share and the whole budget"),
}

SMALLEST_SHARE = 1e-12
"""The smallest share of the budget that a round may have; below it a round is all noise and a part of delta is lost."""

SHARE = Range(SMALLEST_SHARE, 1, "a round of its own needs noise and a threshold")
MOST_SHARES = 100
SHARES_ROUNDING = 1e-12


def check_shares(shares: Any, example: tuple[float, ...]) -> tuple[float, ...]:
    """Shares of a budget, one per round, that sum to 1."""
    if not isinstance(shares, list | tuple) or not 1 <= len(shares) <= MOST_SHARES:
        raise InvalidArgument(
            f"shares must be 1 to {MOST_SHARES} numbers that sum to 1, such as {list(example)}, not {shares!r}."
        )
    checked = tuple(SHARE.check("each of the shares", share) for share in shares)
    if abs(math.fsum(checked) - 1) > SHARES_ROUNDING:
        raise InvalidArgument(f"shares must sum to 1, such as {list(example)}, not {shares!r}.")
    return checked
