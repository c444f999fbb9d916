"""How many users hold a released item: rounded Gaussian noise on the holders, after a cut among the released items.

A user adds 1 to at most `max_items` counts, so all counts together have an ℓ2-sensitivity of the root of that, and with the
number of users beside them of the root of one more. The noise composes as Gaussian DP. Proof: docs/counts.md.
"""

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsu.algorithms.algorithm import Algorithm
from dpsu.algorithms.focused import FocusedGaussian
from dpsu.algorithms.mechanism import Mechanism, drawn
from dpsu.algorithms.request import Request
from dpsu.algorithms.share import focused_within, whole_budget
from dpsu.engines.contract import Columns, Engine, Rule
from dpsu.errors import InvalidArgument
from dpsu.privacy import gaussian
from dpsu.privacy.budget import Budget
from dpsu.randomness.noise import gaussian_cells
from dpsu.randomness.stream import Purpose, Stream

SHARE = 0.1
"""Default share of the budget for counts."""

CUT = 1 << 16
"""The round of the cut among released items: far from those in which an algorithm cuts sets."""

NO_DIGEST = np.zeros((1, 2), np.uint64)


@dataclass(frozen=True)
class CountingTerms:
    """The caller's terms for counts: their share of the budget, and whether users are counted too."""

    share: float = SHARE
    with_users: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise InvalidArgument(f"the share of counts must lie between 0 and 1, not {self.share!r}.")


DEFAULT_TERMS = CountingTerms()


@dataclass(frozen=True)
class Counting:
    """Counts of a release: the whole request, the budget of the counts, and their entry in the statement."""

    request: Request
    budget: Budget
    sigma: float
    stated: dict[str, float]
    with_users: bool = False


def share_with_counts(
    algorithm: Algorithm, request: Request, terms: CountingTerms = DEFAULT_TERMS
) -> tuple[Mechanism, Counting]:
    """The algorithm and counts of what it releases, which together keep the request's promise.

    Counts take their share of the squared mu beside Focused Gaussian, and of epsilon and delta beside all others.
    """
    share = terms.share
    if algorithm == FocusedGaussian():
        whole = whole_budget(request)
        for_items, for_counts = whole.split([1 - share, share])
        mechanism: Mechanism = focused_within(request, Budget(for_items.mu, whole.delta_new))
        mu, taken = for_counts.mu, {}
    else:
        taken = {"epsilon": share * request.epsilon, "delta": share * request.delta}
        epsilon, delta = request.epsilon - taken["epsilon"], request.delta - taken["delta"]
        left = replace(request, epsilon=math.nextafter(epsilon, 0), delta=math.nextafter(delta, 0))
        mechanism = algorithm.calibrate(left)
        mu = gaussian.mu_for(**taken)
    counting = count_beside(request, terms, mu, request.max_items)
    return mechanism, replace(counting, stated={**counting.stated, **taken})


def count_beside(request: Request, terms: CountingTerms, mu: float, most_counts: int) -> Counting:
    """Counts that are mu-Gaussian private, of which a user moves at most `most_counts`, and the number of users if asked."""
    squared = most_counts + terms.with_users
    sigma = counting_noise(mu, squared)
    stated = {"sigma": sigma, "squared_sensitivity": squared, "share": terms.share}
    return Counting(request, Budget(mu, 0.0), sigma, stated, terms.with_users)


def counting_noise(mu: float, squared_sensitivity: int) -> float:
    """The noise that makes counts mu-Gaussian private, if one user changes at most `squared_sensitivity` of them by 1."""
    return math.sqrt(squared_sensitivity) / mu * (1 + 2**-50)


def noisy_holders(
    engine: Engine, sets: Any, items: Any, *, max_items: int, sigma: float, stream: Stream
) -> Any:
    """The engine's table of items with the column `holders`: noisy for those with `released`, 0 for the others."""
    items = engine.update(items, _open_released)
    rows = engine.bound(sets, max_items, stream, round=CUT, keep=items)
    items = engine.weigh(rows, items, Rule("count_holders", unit=1.0))
    return engine.update(items, partial(_add_noise, sigma=sigma, stream=stream))


def noisy_absent(digests: NDArray[np.uint64], *, sigma: float, stream: Stream) -> NDArray[np.int64]:
    """The counts of public items that nobody holds."""
    size = len(digests)
    columns = {"released": np.ones(size, np.bool_), "total": np.zeros(size, np.int64), "digest": digests}
    return np.asarray(_add_noise(columns, sigma, stream)["holders"], np.int64)


def noisy_users(users: int, *, sigma: float, stream: Stream) -> int:
    """The number of users with the noise of one more count."""
    total = np.array([users], np.int64)
    noisy = gaussian_cells(
        total, NO_DIGEST, stream, round=1, unit=1.0, scale=sigma, cell=1.0, purpose=Purpose.COUNT
    )
    return int(noisy[0])


def _open_released(columns: Columns) -> Columns:
    return {"open": columns["released"]}


def _add_noise(columns: Columns, sigma: float, stream: Stream) -> Columns:
    how: dict[str, Any] = {"round": 0, "unit": 1.0, "scale": sigma, "cell": 1.0, "purpose": Purpose.COUNT}
    return {"holders": drawn(partial(gaussian_cells, stream=stream, **how), columns, columns["released"])}
