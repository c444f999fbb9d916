"""The paper's conclusions, each checked against the runs."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from experiments.paper import exhibits, published
from experiments.paper.data import REDDIT
from experiments.paper.exhibits import SHUFFLES, Sweep
from experiments.paper.facts import Facts
from experiments.paper.plots import fitted_slope
from experiments.paper.runs import Results
from experiments.paper.tables import passes

LAPLACE = ("count-laplace", "weighted-laplace", "policy-laplace")
GAUSSIAN = ("count-gaussian", "weighted-gaussian", "policy-gaussian-l1", "policy-gaussian")


@dataclass(frozen=True)
class Claim:
    """What the paper says, whether our runs confirm it, and the figures."""

    says: str
    holds: bool
    found: str


class Means:
    """The means of the figures, by name of the figure, algorithm and value."""

    def __init__(self, results: Results) -> None:
        self._results = results
        self._sweeps: dict[str, Sweep] = {sweep.name: sweep for sweep in exhibits.sweeps()}

    def values(self, sweep: str) -> list[float]:
        return list(self._sweeps[sweep].values)

    def at(self, sweep: str, algorithm: str, value: float) -> float:
        figure = self._sweeps[sweep]
        return float(self._results.of(figure.cell(algorithm, value), figure.runs).mean())

    def best_value(self, sweep: str, algorithm: str) -> float:
        return max(self.values(sweep), key=lambda value: self.at(sweep, algorithm, value))

    def best(self, sweep: str, algorithms: Iterable[str], value: float) -> str:
        return max(algorithms, key=lambda algorithm: self.at(sweep, algorithm, value))


def all_claims(results: Results, facts: Facts) -> list[Claim]:
    """All of them, in the order of the paper."""
    means = Means(results)
    made: list[Callable[[], Claim]] = [
        lambda: _zipf(facts),
        lambda: _policies_win(means),
        lambda: _best_bound(means),
        lambda: _against_k(results, facts),
        lambda: _gaussian_on_ngrams(means),
        lambda: _l1_on_bigrams(means),
        lambda: _best_on_trigrams(means),
        lambda: _policies_on_ngrams(means),
        lambda: _l1_on_unions(means),
        lambda: _passes(results),
        lambda: _alpha(means),
    ]
    return [make() for make in made]


def _zipf(facts: Facts) -> Claim:
    slope = fitted_slope(facts)[0]
    return Claim(
        "users per word fall as a power of the rank, with an exponent of about 1",
        abs(slope + 1) < 0.15,
        f"exponent {-slope:.2f} over ranks 10 to 10 000; steeper for higher ranks",
    )


def _policies_win(means: Means) -> Claim:
    epsilons = [epsilon for epsilon in means.values("words-epsilon") if epsilon >= 1]

    def gain(policy: str, rule: str) -> list[float]:
        return [means.at("words-epsilon", policy, e) / means.at("words-epsilon", rule, e) for e in epsilons]

    laplace, gaussian = (
        gain("policy-laplace", "weighted-laplace"),
        gain("policy-gaussian", "weighted-gaussian"),
    )
    return Claim(
        "policies release 2 to 4 times as many items as weighted and count algorithms, for all epsilon >= 1",
        min(laplace) >= 2 and min(gaussian) >= 2,
        f"compared with the weighted algorithm with the same noise: Policy Laplace {_range(laplace)} times, Policy Gaussian "
        f"ℓ2 {_range(gaussian)} times (the paper's own table: {17024 / 8904:.2f} at epsilon 3)",
    )


def _best_bound(means: Means) -> Claim:
    found = {name: int(means.best_value("words-max-items", name)) for name in published.MAIN_TABLE}
    paper = {
        name: published.MAX_ITEMS[max(range(5), key=lambda place: cells[place][0])]
        for name, cells in published.MAIN_TABLE.items()
    }
    differ = [f"{name}: {found[name]}, paper {paper[name]}" for name in paper if found[name] != paper[name]]
    return Claim(
        "the best D differs by algorithm: 1 for the Laplace baselines, 50 for Policy Laplace and Count Gaussian, 200 "
        "for the other Gaussian ones",
        not differ,
        "; ".join(differ) or "the same best D for all seven",
    )


def _against_k(results: Results, facts: Facts) -> Claim:
    def crossing(algorithm: str) -> int:
        released = results.of(exhibits.as_published(REDDIT, algorithm), SHUFFLES).mean()
        return next(k for k in range(1, 10_000) if facts.held_by(k) <= released)

    laplace, gaussian = crossing("policy-laplace"), crossing("policy-gaussian")
    return Claim(
        "at D = 100 Policy Laplace releases more words than k users share for k >= 25, Policy Gaussian for k >= 18",
        laplace <= 25 and gaussian <= 18,
        f"from k = {laplace} and k = {gaussian} on; Focused Gaussian from k = {crossing(exhibits.FOCUSED)}",
    )


def _gaussian_on_ngrams(means: Means) -> Claim:
    axes = {"max-items": "D", "epsilon": "epsilon"}
    broken = [
        f"{grams} at {name} = {value:g}"
        for grams in ("bigrams", "trigrams")
        for axis, name in axes.items()
        for value in means.values(f"{grams}-{axis}")
        if means.best(f"{grams}-{axis}", (*LAPLACE, *GAUSSIAN), value) in LAPLACE
    ]
    # With D = 1 a user gives one item in either norm, and Laplace noise is the smaller: the claim is about larger D.
    expected = {"bigrams at D = 1", "trigrams at D = 1"}
    return Claim(
        "on bigrams and trigrams Gaussian algorithms do better than Laplace ones at various D and epsilon",
        set(broken) <= expected,
        f"a Laplace algorithm is best only for {' and '.join(broken)}" if broken else "everywhere",
    )


def _l1_on_bigrams(means: Means) -> Claim:
    gains = _gains(means, ("bigrams-max-items", "bigrams-epsilon"), "policy-gaussian-l1", "policy-gaussian")
    return Claim(
        "on bigrams Policy Gaussian ℓ1 releases more than ℓ2 at various parameters",
        sum(gain > 1 for gain in gains) > len(gains) / 2,
        f"{_range(gains)} times ℓ2; but ℓ1 is not private ([findings](findings.md))",
    )


def _best_on_trigrams(means: Means) -> Claim:
    best = [means.best("trigrams-max-items", (*LAPLACE, *GAUSSIAN), d) for d in (50, 100, 200)]
    return Claim(
        "on trigrams Policy Gaussian ℓ1 and Weighted Gaussian do best",
        set(best) <= {"policy-gaussian-l1", "weighted-gaussian"},
        f"best at D = 50, 100, 200: {', '.join(best)}",
    )


def _policies_on_ngrams(means: Means) -> Claim:
    found = []
    for policy in ("policy-gaussian-l1", "policy-gaussian"):
        for rule in ("count-gaussian", "weighted-gaussian"):
            sweeps = ("bigrams-epsilon", "trigrams-epsilon")
            gains = [
                means.at(sweep, policy, e) / means.at(sweep, rule, e)
                for sweep in sweeps
                for e in means.values(sweep)
                if e >= 2
            ]
            found.append((policy, rule, gains))
    return Claim(
        "on bigrams and trigrams both Gaussian policies outperform Count and Weighted Gaussian for epsilon >= 2",
        all(min(gains) > 1 for _, _, gains in found),
        "; ".join(f"{policy} {_range(gains)} times {rule}" for policy, rule, gains in found),
    )


def _l1_on_unions(means: Means) -> Claim:
    sweeps = ("union-1-2-max-items", "union-1-3-max-items")
    best = {means.best(sweep, (*LAPLACE, *GAUSSIAN), d) for sweep in sweeps for d in (50, 100, 200)}
    gains = _gains(means, sweeps, exhibits.FOCUSED, "policy-gaussian-l1")
    return Claim(
        "on unions of several n-gram sizes Policy Gaussian ℓ1 releases more than all others",
        best == {"policy-gaussian-l1"},
        f"best of the paper's seven algorithms for D >= 50: {', '.join(sorted(best))}; Focused Gaussian, which is private, "
        f"releases {_range(gains)} times as many items",
    )


def _passes(results: Results) -> Claim:
    rows = passes(results).rows
    clear = [row for row in rows if float(row[-1]) < 0.05]
    gains = [row[6] / row[4] for row in rows]
    return Claim(
        "there is no strong evidence that two passes release more than one",
        not [row for row in clear if row[6] > row[4]] or max(gains) < 1.02,
        f"{len(clear)} of {len(rows)} pairs differ at p < 0.05; two passes release {_range(gains, 3)} times as many items",
    )


def _alpha(means: Means) -> Claim:
    best = {name: means.best_value("words-alpha", name) for name in exhibits.POLICIES}
    near = {
        name: means.at("words-alpha", name, published.ALPHA[name]) / means.at("words-alpha", name, best[name])
        for name in best
    }
    return Claim(
        "alpha = 3 is best for Policy Laplace and Policy Gaussian ℓ2, 5 for ℓ1, and the curve is flat there",
        min(near.values()) > 0.98,
        "; ".join(
            f"{n}: best at {best[n]:g}, the paper's alpha gives {100 * near[n]:.1f} % of that" for n in best
        ),
    )


def _gains(means: Means, sweeps: Iterable[str], one: str, other: str) -> list[float]:
    return [
        means.at(sweep, one, value) / means.at(sweep, other, value)
        for sweep in sweeps
        for value in means.values(sweep)
    ]


def _range(values: list[float], digits: int = 2) -> str:
    return f"{min(values):.{digits}f} to {max(values):.{digits}f}"
