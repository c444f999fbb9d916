"""Plans: what a release will do, before private data is read."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpsu.algorithms.algorithm import Algorithm
from dpsu.algorithms.catalogue import DEFAULT, build, find, hinted
from dpsu.algorithms.holders import Counting, CountingTerms, Counts, counting_terms
from dpsu.algorithms.job import SingleJob
from dpsu.algorithms.mechanism import MOST_USERS, Mechanism, fewest_users
from dpsu.algorithms.ranges import Range
from dpsu.algorithms.request import Calibration, MaxItems, Request
from dpsu.errors import DpsuError, InvalidArgument, NotPrivate
from dpsu.hints import known_arguments
from dpsu.privacy.advice import warn_of_weak_privacy
from dpsu.report.numbers import counted
from dpsu.report.progress import Progress

if TYPE_CHECKING:
    import polars as pl

    from dpsu.planning.shape import Shape
    from dpsu.planning.simulate import Outlook
    from dpsu.sources.columns import ColumnNames

SET_SIZE = Range(1, 10**6, "it is the number of items that each holder has", whole=True)
CHANCE = Range(0, 1, "it is a probability")

SET_SIZES = (1, 3, 10, 30, 100, 300)

LIMITS = (1, 3, 10, 30, 100, 300, 1000)
"""Values of max_items that a simulation compares."""

PARTS_OF_SHAPE = ("users", "items_per_user", "zipf", "sizes", "items")

CHOSEN_FROM = ("focused-gaussian", "ordered-laplace", "policy-laplace")
"""What `auto` chooses from."""

NOT_PUBLIC = (
    "a plan like a file shows exact figures about it, so the file must be public or synthetic. If yours is, pass "
    "data_is_public=True (--data-is-public); for other data describe its shape: shape=dpsu.Shape(…) (--users, "
    "--items-per-user)."
)


@dataclass(frozen=True, repr=False)
class Plan:
    """Noise, thresholds, and what to expect of one algorithm at one (epsilon, delta).

    A plan depends on the request, the shape and public data only, so all of it is public. `outlook` is what a simulation
    found; None without a shape. `chance` and `users_needed` are the worst case: holders who share *all* their items, so that
    these compete. Real holders share a few of their items, and an item then often needs half as many.

    >>> import dpsu
    >>> plan = dpsu.plan(epsilon=1, delta=1e-6, algorithm="weighted-gaussian")
    >>> plan.chance(users=30, set_size=1) > 0.9
    True
    """

    algorithm: str
    mechanism: Mechanism
    counting: Counting | None = None
    outlook: "Outlook | None" = None
    shape: "Shape | None" = None

    @property
    def parameters(self) -> dict[str, Any]:
        """Noise scale, threshold, cutoff and the algorithm's other constants, in units of one user's budget."""
        return self.mechanism.parameters()

    @property
    def request(self) -> Request:
        """The whole request: the mechanism beside counts may have a part of its privacy."""
        return self.counting.request if self.counting else self.mechanism.request

    @property
    def max_items(self) -> MaxItems:
        """The number of items of one user that count at most; "auto" if `auto` chooses it."""
        return "auto" if self.request.free and self.algorithm == DEFAULT else self.request.max_items

    def chance(self, users: int | Sequence[int], set_size: int = 1, *, listed: bool = False) -> Any:
        """The worst case: the chance of an item if all of `users` hold it, and the same `set_size` items in total.

        `listed` asks for items that are candidates, if a tenth of the list comes out.
        """
        try:
            holders = np.atleast_1d(np.asarray(users, np.int64))
        except (TypeError, ValueError, OverflowError):
            holders = np.array([-1])
        if holders.min(initial=0) < 0:
            raise InvalidArgument(f"users must be whole numbers from 0 on, not {users!r}.")
        SET_SIZE.check("set_size", set_size)
        chances = self._chances_of(listed)(holders, set_size)
        return float(chances[0]) if np.ndim(users) == 0 else chances

    def _chances_of(self, listed: bool) -> Any:
        from dpsu.algorithms.candidates import CandidatesMechanism

        if not listed:
            return self.mechanism.chance
        if not isinstance(self.mechanism, CandidatesMechanism):
            raise InvalidArgument("no item is listed: this plan has no candidates.")
        return self.mechanism.listed_chance

    def users_needed(self, chance: float = 0.5, set_size: int = 1, *, listed: bool = False) -> int | None:
        """The fewest users that give an item this chance in the worst case, as for `chance`; None if no number does."""
        CHANCE.check("chance", chance)
        return fewest_users(lambda users: float(self.chance(users, set_size, listed=listed)), chance)

    def table(self, set_sizes: Sequence[int] | None = None) -> "pl.DataFrame":
        """The chance in the worst case, by number of holders (rows) and size of their sets (columns)."""
        import polars as pl

        users, chances = self.chances(set_sizes)
        return pl.DataFrame({"users": users, **{counted(size): column for size, column in chances.items()}})

    def chances(self, set_sizes: Sequence[int] | None = None) -> tuple[list[int], dict[int, list[float]]]:
        """The same as plain data: numbers of users, and the chances of each set size."""
        sizes = self.set_sizes() if set_sizes is None else list(set_sizes)
        users = self._ladder(sizes)
        return users, {size: self.chance(users, size).tolist() for size in sizes}

    def when_empty(self) -> str:
        """The message for a release without items."""
        size = min(10, self.mechanism.request.max_items)
        alone, together = self.users_needed(set_size=1), self.users_needed(set_size=size)
        return (
            f"nothing was released: at this privacy an item has a chance of 50 % if about {alone} users hold it who have no "
            f"other item, or about {together} users with {counted(size)} each.{self._if_listed()}"
        )

    def _if_listed(self) -> str:
        """The same for candidates where other items can come out, too."""
        candidates = self.parameters.get("candidates")
        if not isinstance(candidates, Mapping) or not candidates["discover"]:
            return ""
        needed = self.users_needed(listed=True)
        return (
            f" If a tenth of the list comes out, a listed item needs about {needed} who have no other item."
        )

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain data."""
        request = self.request
        return {
            "algorithm": self.algorithm,
            "epsilon": request.epsilon,
            "delta": request.delta,
            "max_items": self.max_items,
            "calibration": request.calibration,
            "parameters": self.parameters,
            **({"counts": self.counting.beside(self.mechanism).errors()} if self.counting else {}),
            "users_for_even_odds": {str(size): self.users_needed(set_size=size) for size in self.set_sizes()},
            **self._listed_odds(),
            "chance": self._rows(),
            "outlook": self.outlook.to_dict() if self.outlook else None,
        }

    def _listed_odds(self) -> dict[str, Any]:
        if not self.mechanism.lists().get("candidates"):
            return {}
        odds = {str(size): self.users_needed(set_size=size, listed=True) for size in self.set_sizes()}
        return {"users_for_even_odds_if_listed": odds}

    def plot(self, path: str | Path | None = None) -> Any:
        """A figure of what to expect (matplotlib, the extra `plot`), also saved to `path` if one is given."""
        from dpsu.report.charts import plan_chart

        return plan_chart(self, path)

    def to_html(self, progress: Progress = None) -> str:
        """A page on which a person moves epsilon, delta, max_items and the shape, and sees what to expect.

        One file that needs no network. All points are simulated before, which takes half a minute. A plan with counts, with
        own options of its algorithm or like a file has a page of this plan alone, without sliders.
        """
        from dpsu.report.plan_page import plan_page
        from dpsu.report.planner import can_vary, planner_page

        return planner_page(self, progress) if can_vary(self) else plan_page(self)

    def to_json(self) -> str:
        """The plan as JSON."""
        return json.dumps(self.to_dict(), indent=2)

    def _repr_html_(self) -> str:
        from dpsu.report.notebook import plan_html

        return plan_html(self)

    def __str__(self) -> str:
        from dpsu.report.plan import plan_text

        return plan_text(self)

    def __repr__(self) -> str:
        request = self.request
        return f"<Plan of {self.algorithm}, epsilon {request.epsilon:g}, delta {request.delta:g}; print it for the table>"

    def set_sizes(self) -> list[int]:
        """The set sizes that plans show."""
        return [size for size in SET_SIZES if size <= self.mechanism.request.max_items]

    def _rows(self) -> list[dict[str, float]]:
        users, chances = self.chances()
        return [
            {"users": count, **{counted(size): column[place] for size, column in chances.items()}}
            for place, count in enumerate(users)
        ]

    def _ladder(self, sizes: Sequence[int]) -> list[int]:
        """Numbers of users, from the first with a chance for the smallest sets to near certainty for the largest."""
        low = self.users_needed(0.01, min(sizes)) or 1
        high = self.users_needed(0.99 * self.chance(MOST_USERS, max(sizes)), max(sizes)) or MOST_USERS
        rungs = np.unique(np.geomspace(max(1, low), max(low + 1, high), 12).round().astype(np.int64))
        return [int(rung) for rung in rungs]


@known_arguments(
    **dict.fromkeys(PARTS_OF_SHAPE, "It is part of a shape: shape=dpsu.Shape(users=…, items_per_user=…).")
)
def plan(
    *,
    epsilon: float,
    delta: float,
    max_items: MaxItems = "auto",
    algorithm: str | Algorithm = DEFAULT,
    typical_items: float | None = None,
    calibration: Calibration = "exact",
    counts: bool | Counts = False,
    sums: Mapping[str, tuple[float, float]] | None = None,
    others: bool = False,
    candidates: Any = None,
    false_share: float | None = None,
    discover: bool = True,
    shape: "Shape | None" = None,
    like: Any = None,
    user: "ColumnNames | None" = None,
    item: "ColumnNames | None" = None,
    text: str | bool | None = None,
    data_is_public: bool = False,
) -> Plan:
    """What to expect of a release, before private data is read.

    Takes the arguments of `release` that do not describe data. Counts, sums and others take their shares of the budget, and
    the plan shows their errors. With a `shape` the release is simulated on synthetic data of that shape. With `like`, a file
    or frame, it is simulated on that data, which must be public: you say so with `data_is_public=True`. The simulation says
    how many items to expect, how many holders an item needs, what `max_items` does, and for `auto` what named algorithms
    would release (docs/planning.md). With `candidates` the plan has chances of listed items too:
    `plan.users_needed(listed=True)`.

    >>> import dpsu
    >>> dpsu.plan(epsilon=1, delta=1e-6, max_items=10).users_needed(chance=0.5, set_size=1)
    14
    >>> shape = dpsu.Shape(users=2000, items_per_user=2)
    >>> outlook = dpsu.plan(epsilon=1, delta=1e-6, algorithm="ordered-laplace", shape=shape).outlook
    >>> outlook.low <= outlook.items <= outlook.high
    True
    """
    chosen = hinted(find(algorithm), typical_items)
    request = Request.asked(epsilon, delta, max_items, calibration)
    if shape is not None and not hasattr(shape, "items_per_user"):
        raise InvalidArgument(f"shape must be a dpsu.Shape, not {type(shape).__name__}.")
    if shape is not None and like is not None:
        raise InvalidArgument("shape and like exclude each other: give one of them.")
    if like is not None and not data_is_public:
        raise NotPrivate(NOT_PUBLIC)
    if like is None and (user is not None or item is not None or text is not None):
        raise InvalidArgument(
            "user, item and text describe the columns of like=; without it a plan reads no data."
        )
    if candidates is not None and (shape is not None or like is not None):
        raise InvalidArgument("a plan with candidates has no simulation: leave shape and like out.")
    chosen = _with_list(chosen, candidates, false_share, discover)
    warn_of_weak_privacy(request.epsilon, request.delta, stacklevel=3)
    counting = counting_terms(counts, sums, others)
    job = SingleJob(chosen, request, counting)
    made = Plan(job.promise.algorithm, job.mechanism(), job.counting)
    if shape is None and like is None:
        return made

    from dpsu.planning.simulate import Others, simulate_like, simulate_shape

    compared = Others(_with_limits(chosen, request, counting), _by_name(chosen, request, counting))
    if shape is not None:
        worst = made.users_needed(set_size=round(shape.items_per_user)) or 1
        return replace(made, outlook=simulate_shape(shape, made.mechanism, compared, worst), shape=shape)

    from dpsu.sources.source import Source

    source = Source.of(like, user=user, item=item, text=text)
    return replace(made, outlook=simulate_like(source, made.mechanism, compared))


def _with_list(algorithm: Algorithm, candidates: Any, false_share: float | None, discover: bool) -> Algorithm:
    """The algorithm with the caller's candidates, if there are any."""
    if candidates is None and false_share is None and discover is True:
        return algorithm  # a plan without a list needs no frames
    from dpsu.algorithms.candidate_list import add_candidates

    return add_candidates(algorithm, candidates, false_share, discover)[0]


def _by_name(algorithm: Algorithm, request: Request, counting: CountingTerms | None) -> dict[str, Mechanism]:
    """For `auto`: the algorithms that it chooses from, as a release that names them."""
    if algorithm != build(DEFAULT):
        return {}
    return {name: SingleJob(build(name), request, counting).mechanism() for name in CHOSEN_FROM}


def _with_limits(
    algorithm: Algorithm, request: Request, counting: CountingTerms | None
) -> dict[int, Mechanism]:
    """The mechanisms with other values of max_items, those that the algorithm takes."""
    found = {}
    for limit in LIMITS:
        try:
            found[limit] = SingleJob(
                algorithm, replace(request, max_items=limit, free=False), counting
            ).mechanism()
        except DpsuError:  # optimal-single takes 1 only
            continue
    return found
