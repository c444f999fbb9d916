"""Auto: popular items first, then noisy sizes of sets and a noisy demand, then the algorithm that a public rule chooses.

The first three steps take at most 1.5 percent of epsilon. The rest of the budget goes to the chosen algorithm, on what is
left of the sets. Proof: docs/auto.md; the rule: docs/auto-study.md.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsu.algorithms import auto_rule as rule
from dpsu.algorithms.algorithm import Algorithm, algorithm
from dpsu.algorithms.focused import FocusedGaussian
from dpsu.algorithms.mechanism import CurveSelection, Floats, Mechanism, drawn
from dpsu.algorithms.ordered import OrderedLaplace
from dpsu.algorithms.policy import PolicyLaplace
from dpsu.algorithms.request import Request
from dpsu.algorithms.share import focused_within
from dpsu.algorithms.weighted import even_rule
from dpsu.engines.contract import Columns, Engine, Rule
from dpsu.errors import InvalidArgument
from dpsu.kernels.units import ONE
from dpsu.privacy.branches import mu_of_branch
from dpsu.privacy.budget import Budget
from dpsu.privacy.laplace import ReleaseCurve
from dpsu.randomness.noise import geometric, keep
from dpsu.randomness.stream import Stream

EPSILON_POPULAR, EPSILON_SIZES, EPSILON_DEMAND = 0.003, 0.007, 0.005
"""Shares of epsilon: of popular items, of the histogram of sizes, and of the demand."""

MOST_EPSILON = 3.0
"""The steps take shares of at most this epsilon: at a larger one less noise would show them nothing more."""

DELTA_POPULAR, DELTA_L1, DELTA_NEW = 0.02, 0.93, 0.39
"""Shares of delta: of popular items, of the ℓ1 branch, and of new items in the Gaussian branch."""

LONGEST = 10**5
"""Sets are cut to this size before popular items are counted."""

ROUND = (1 << 16) + 1
"""The round of the private steps: no branch uses it, so their coins are independent of its coins."""


@dataclass(frozen=True)
class Sizing:
    """The constants of the private steps and of both branches; the sum of docs/auto.md holds for them."""

    epsilon_popular: float
    delta_popular: float
    epsilon_sizes: float
    epsilon_demand: float
    focused: Budget
    epsilon_l1: float
    delta_l1: float

    @classmethod
    def of(cls, request: Request) -> "Sizing":
        """Both branches calibrated to what the steps leave."""
        epsilon, delta = request.epsilon, request.delta
        steps = tuple(
            share * min(epsilon, MOST_EPSILON) for share in (EPSILON_POPULAR, EPSILON_SIZES, EPSILON_DEMAND)
        )
        delta_popular, delta_l1, delta_new = (part * delta for part in (DELTA_POPULAR, DELTA_L1, DELTA_NEW))
        mu = mu_of_branch(epsilon, delta, delta_new, delta_l1, steps, delta_popular)
        rest = (epsilon - sum(steps)) * (1 - 2.0**-40)
        popular, sizes, demand = steps
        return cls(popular, delta_popular, sizes, demand, Budget(mu, delta_new), rest, delta_l1)

    @property
    def curve(self) -> ReleaseCurve:
        """The release curve of popular items."""
        return ReleaseCurve(self.epsilon_popular, self.delta_popular)

    @property
    def middle(self) -> float:
        """The midpoint of the release curve of the ℓ1 branch."""
        return ReleaseCurve(self.epsilon_l1, self.delta_l1).midpoint

    @property
    def scales(self) -> tuple[float, float]:
        """The scales of the noise of sizes and of the demand."""
        return 1 / self.epsilon_sizes, 1 / self.epsilon_demand

    @property
    def filled(self) -> float:
        """The budgets that fill an item in the demand."""
        return rule.CUTOFFS * (self.middle + rule.ALPHA / self.epsilon_l1)


@dataclass(frozen=True)
class AutoMechanism(Mechanism):
    """The steps, and the mechanism of every branch that the rule can choose.

    Without `sizing` the caller's hint has chosen the only branch. `counted` says that counts share the budget of a branch.
    """

    request: Request
    typical_items: float | None
    parts: int
    sizing: Sizing | None
    branches: Mapping[rule.Branch, Mechanism]
    counted: bool = False

    def select(self, engine: Engine, sets: Any, stream: Stream) -> Any:
        """The released items alone."""
        return self.selected(engine, sets, stream)[0]

    def selected(self, engine: Engine, sets: Any, stream: Stream) -> tuple[Any, dict[str, Any]]:
        """The private steps, then the branch on what is left; and what the statement says of the choice."""
        if self.sizing is None:
            ((_, mechanism),) = self.branches.items()
            return mechanism.select(engine, sets, stream), {}
        left, popular = self.without_popular(engine, sets, stream)
        seen = self.seen(engine, left, stream)
        items = self.branches[self.choice(seen)].select(engine, left, stream)
        return engine.update(items, _with_popular), self.told(seen, popular)

    def without_popular(
        self, engine: Engine, sets: Any, stream: Stream, factor: float = 1.0
    ) -> tuple[Any, int]:
        """The sets without popular items, and the number of these; every user stands for `factor` users."""
        assert self.sizing is not None
        rows = engine.bound(sets, LONGEST, stream, round=ROUND)
        items = engine.weigh(rows, engine.items(sets), even_rule(LONGEST, norm=1))
        toss = partial(_popular, curve=self.sizing.curve, stream=stream, unit=factor / ONE)
        items = engine.update(items, toss)
        return engine.restrict(sets, items), int(engine.collect(items, _number).sum())

    def seen(
        self, engine: Engine, left: Any, stream: Stream, factor: float = 1.0, noisy: bool = True
    ) -> rule.Seen:
        """The noisy sizes of these sets and, for a width that follows from them, the noisy demand.

        Every user stands for `factor` users. Without noise only for simulations.
        """
        assert self.sizing is not None
        sizing = self.sizing
        noise = partial(noisy_sizes, epsilon=sizing.epsilon_sizes, stream=stream) if noisy else _as_it_is
        users = [round(factor * int(count)) for count in engine.tally(left, rule.BINS, noise)]
        width = rule.width_of(users, sizing.scales)
        units = units_given(engine, left, stream, width, sizing.filled / factor)
        if not noisy:
            return rule.Seen(users, round(factor * units / ONE), width, sizing.scales)
        # In whole budgets, rounded down as integers: one user adds 0 or 1.
        budgets = units // ONE + geometric(stream, sizing.epsilon_demand, len(rule.BINS))
        return rule.Seen(users, budgets, width, sizing.scales)

    def settled(self, engine: Engine, sample: Any, stream: Stream, factor: float) -> Mechanism:
        """The branch for data with `factor` times as many users as this sample, without noise: for simulations only."""
        if self.sizing is None:
            return self
        left, _ = self.without_popular(engine, sample, stream, factor)
        return self.branches[self.choice(self.seen(engine, left, stream, factor, noisy=False))]

    def choice(self, seen: rule.Seen) -> rule.Branch:
        """The branch for what the private steps show."""
        assert self.sizing is not None
        found = rule.choose(seen, self.sizing.middle, self.parts, self.counted)
        return found if self.request.free else found._replace(max_items=self.request.max_items)

    def branch_of(self, chosen: Mapping[str, Any]) -> Mechanism:
        """The branch that the statement names as chosen."""
        alpha = chosen["parameters"].get("alpha")
        return self.branches[rule.Branch(chosen["algorithm"], chosen["max_items"], alpha)]

    def chance(self, holders: NDArray[np.int64], set_size: int) -> Floats:
        """That of the branch for users who all have sets of this size."""
        middle = self.sizing.middle if self.sizing else _middle(self.request)
        name = rule.by_size(self.typical_items or set_size, middle, self.parts)
        own = [branch for place, branch in self.branches.items() if place.algorithm == name]
        cuts = [branch for branch in own if branch.request.max_items >= set_size] or own[-1:]
        return cuts[0].chance(holders, set_size)

    def parameters(self) -> dict[str, Any]:
        """The rule, both steps and the constants of both branches; the noisy sizes and the choice are added by the run."""
        told: dict[str, Any] = {
            "rule": rule.VERSION,
            "asked": {
                "max_items": "auto" if self.request.free else self.request.max_items,
                "typical_items": self.typical_items,
            },
            "parts": self.parts,
        }
        if self.sizing is None:
            return {**told, "chosen": self._branch(*self.branches)}
        popular = {"epsilon": self.sizing.epsilon_popular, "delta": self.sizing.delta_popular}
        return {
            **told,
            "popular": {**popular, **CurveSelection(self.sizing.curve).parameters()},
            "sizes": {"epsilon": self.sizing.epsilon_sizes, "bins": list(rule.BINS)},
            "demand": {"epsilon": self.sizing.epsilon_demand, "filled": self.sizing.filled},
            "focused": asdict(self.sizing.focused),
            "l1": {"epsilon": self.sizing.epsilon_l1, "delta": self.sizing.delta_l1},
        }

    def budget(self) -> Budget | None:
        """That of the branch if a hint chose it; a private choice composes by epsilon and delta."""
        if self.sizing is not None:
            return None
        ((_, mechanism),) = self.branches.items()
        return mechanism.budget()

    def told(self, seen: rule.Seen, popular: int) -> dict[str, Any]:
        """What the statement says of the private steps and of the branch that they chose."""
        before = self.parameters()
        return {
            "popular": {**before["popular"], "items": popular},
            "sizes": {**before["sizes"], "users": list(seen.users)},
            "demand": {**before["demand"], "width": seen.width, "budgets": seen.budgets},
            "chosen": self._branch(self.choice(seen)),
        }

    def _branch(self, place: rule.Branch) -> dict[str, Any]:
        """The chosen branch as a small statement, at the privacy that it has by itself."""
        mechanism = self.branches[place]
        budget = mechanism.budget()
        return {
            "kind": "single",
            "algorithm": place.algorithm,
            "calibration": "exact",
            "max_items": place.max_items,
            "parameters": mechanism.parameters(),
            "epsilon": mechanism.request.epsilon,
            "delta": mechanism.request.delta,
            "budget": asdict(budget) if budget else None,
            "proof": PROOFS[place.algorithm],
        }


PROOFS = {each.name: each.proof for each in (FocusedGaussian, OrderedLaplace, PolicyLaplace)}


def noisy_sizes(users: NDArray[np.int64], epsilon: float, stream: Stream) -> NDArray[np.int64]:
    """The histogram with two-sided geometric noise on every bin."""
    noise = [geometric(stream, epsilon, place) for place in range(len(users))]
    return np.asarray(users + np.array(noise, np.int64), np.int64)


def units_given(engine: Engine, sets: Any, stream: Stream, width: int, filled: float) -> int:
    """What users give to their items, at most `filled` budgets of an item counted, in units; private.

    A user with s items gives 1 / max(s, width) of a budget to each, so one user changes this by at most one budget.
    """
    rows = engine.bound(sets, LONGEST, stream, round=ROUND)
    items = engine.weigh(rows, engine.items(sets), _at_width(width))
    return int(engine.collect(items, partial(_units, most=math.floor(filled / width * ONE))).sum())


def _as_it_is(users: NDArray[np.int64]) -> NDArray[np.int64]:
    return users


def _at_width(width: int) -> Rule:
    """Even weights, of sets as if they had at least `width` items."""
    even = even_rule(LONGEST, norm=1)
    return replace(even, table=np.minimum(even.table, ONE // width))


def _units(columns: Columns, most: int) -> NDArray[np.int64]:
    """The sum of what these items were given, at most `most` of each counted."""
    given = np.minimum(columns["total"], most)
    return np.array([np.where(columns["held"], given, 0).sum()], np.int64)


def _popular(columns: Columns, curve: ReleaseCurve, stream: Stream, unit: float) -> Columns:
    toss = partial(keep, stream=stream, curve=curve, unit=unit, round=ROUND)
    popular = drawn(toss, columns, columns["held"])
    return {"popular": popular, "open": ~popular}


def _number(columns: Columns) -> NDArray[np.int64]:
    """How many popular items there are: they are released, so their number is no secret."""
    return np.array([np.count_nonzero(columns["popular"])], np.int64)


def _with_popular(columns: Columns) -> Columns:
    return {"released": columns["released"] | columns["popular"]}


@algorithm
class Auto(Algorithm):
    """Chooses the algorithm and max_items by itself: from private sizes of the sets, or from a public hint.

    1.5 percent of epsilon, less above epsilon 3, finds very popular items, the sizes of what is left, and how many users
    would fill its items. By these a public rule chooses Ordered Laplace, policy-laplace or Focused Gaussian for the rest.
    `typical_items` is a typical number of items per user that you know without looking at the data: it replaces the private
    steps at no cost. `parts` is that of policies; None leaves it to the engine.

    >>> import dpsu
    >>> visits = {n: [f"code {n % 5}"] for n in range(1000)}
    >>> len(dpsu.release(visits, epsilon=1, delta=1e-6, algorithm=dpsu.Auto(typical_items=1)))
    5
    """

    name = "auto"
    family = "auto"
    summary = "chooses the algorithm and max_items by itself, from private sizes of the sets or a public hint"
    proof = "docs/auto.md"

    typical_items: float | None = None
    parts: int | None = None

    def for_engine(self, parts: int) -> "Auto":
        """In as many parts as the engine takes, unless the caller has chosen a number."""
        return self if self.parts is not None else replace(self, parts=parts)

    def calibrate(self, request: Request) -> AutoMechanism:
        """All branches that the rule can choose, before any data is read."""
        if request.calibration != "exact":
            raise InvalidArgument(
                "auto has the exact calibration only; name an algorithm for calibration='paper'."
            )
        parts = self.parts or 1
        if request.free:
            request = replace(request, max_items=rule.MAX_ITEMS)
        if self.typical_items is not None:
            place = rule.choose_by_hint(self.typical_items, _middle(request), parts)
            place = place if request.free else place._replace(max_items=request.max_items)
            own = replace(request, max_items=place.max_items)
            found = FocusedGaussian() if place.algorithm == rule.FOCUSED else l1_algorithm(place, parts)
            return AutoMechanism(request, self.typical_items, parts, None, {place: found.calibrate(own)})
        sizing = Sizing.of(request)
        l1 = Request(sizing.epsilon_l1, sizing.delta_l1, request.max_items)
        cuts = rule.CANDIDATES if request.free else (request.max_items,)
        branches: dict[rule.Branch, Mechanism] = {
            rule.Branch(rule.FOCUSED, cut): focused_within(replace(request, max_items=cut), sizing.focused)
            for cut in cuts
        }
        for name, alpha in product((rule.ORDERED, rule.POLICY), (rule.ALPHA, rule.ALPHA_IF_LOW)):
            place = rule.Branch(name, request.max_items, alpha)
            branches[place] = l1_algorithm(place, parts).calibrate(l1)
        return AutoMechanism(request, None, parts, sizing, branches)


def _middle(request: Request) -> float:
    """The midpoint of the release curve at the whole budget."""
    return ReleaseCurve(request.epsilon, request.delta).midpoint


def l1_algorithm(place: rule.Branch, parts: int) -> Algorithm:
    """The ℓ1 algorithm of a branch."""
    assert place.alpha is not None
    kind = OrderedLaplace if place.algorithm == rule.ORDERED else PolicyLaplace
    return kind(alpha=place.alpha, parts=parts)


ALGORITHMS = (Auto,)
