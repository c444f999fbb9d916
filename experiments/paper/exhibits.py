"""Which runs every table and figure needs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from experiments.paper import data, published
from experiments.paper.runs import Cell, repeated

FOCUSED = "focused-gaussian"
ALGORITHMS = (*published.MAIN_TABLE, FOCUSED)
POLICIES = ("policy-laplace", "policy-gaussian-l1", "policy-gaussian")
NOT_PRIVATE = "policy-gaussian-l1"

SHUFFLES = 5
FIGURE_RUNS = 3
NGRAM_RUNS = 1

EPSILONS = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0)
NGRAM_EPSILONS = (1.0, 2.0, 3.0, 4.0, 5.0)
ALPHAS = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0)
PASSES_ALPHA = 2.0


@dataclass(frozen=True)
class Sweep:
    """A figure: all algorithms on one corpus, along one axis."""

    name: str
    title: str
    corpus: str
    axis: str
    values: Sequence[float]
    algorithms: tuple[str, ...]
    runs: int

    def cell(self, algorithm: str, value: float) -> Cell:
        """The run of this algorithm at this value of the axis."""
        cell = as_published(self.corpus, algorithm)
        if self.axis == "max_items":
            return replace(cell, max_items=int(value))
        return replace(cell, epsilon=value) if self.axis == "epsilon" else replace(cell, alpha=value)


def as_published(corpus: str, algorithm: str, max_items: int = 100) -> Cell:
    """The paper's calibration and alpha; Focused Gaussian, which the paper has not, as it is by default."""
    if algorithm == FOCUSED:
        return Cell(corpus, algorithm, max_items, calibration="exact")
    return Cell(corpus, algorithm, max_items, alpha=published.ALPHA.get(algorithm))


def sweeps() -> list[Sweep]:
    """All figures of released items."""
    by_size = [
        ("bigrams", "Bigrams", data.BIGRAMS),
        ("trigrams", "Trigrams", data.TRIGRAMS),
        ("union-1-2", "Words and bigrams", data.UP_TO_TWO),
        ("union-1-3", "Words, bigrams and trigrams", data.UP_TO_THREE),
    ]
    against_d = [
        Sweep(f"{name}-max-items", title, corpus, "max_items", published.MAX_ITEMS, ALGORITHMS, NGRAM_RUNS)
        for name, title, corpus in by_size
    ]
    against_epsilon = [
        Sweep(f"{name}-epsilon", title, corpus, "epsilon", NGRAM_EPSILONS, ALGORITHMS, NGRAM_RUNS)
        for name, title, corpus in by_size[:2]
    ]
    return [
        Sweep(
            "words-max-items", "Words", data.REDDIT, "max_items", published.MAX_ITEMS, ALGORITHMS, SHUFFLES
        ),
        Sweep("words-epsilon", "Words", data.REDDIT, "epsilon", EPSILONS, ALGORITHMS, FIGURE_RUNS),
        Sweep("words-alpha", "Words", data.REDDIT, "alpha", ALPHAS, POLICIES, FIGURE_RUNS),
        *against_d,
        *against_epsilon,
    ]


def exact(algorithm: str, max_items: int) -> Cell:
    """The cell of the main table under the exact calibration."""
    return replace(as_published(data.REDDIT, algorithm, max_items), calibration="exact")


def passes(algorithm: str, max_items: int, times: int) -> Cell:
    """One cell of the table of passes."""
    return Cell(data.REDDIT, algorithm, max_items, alpha=PASSES_ALPHA, passes=times)


def all_cells() -> list[Cell]:
    """Every run that the tables and figures need."""
    cells = []
    for sweep in sweeps():
        asked = [sweep.cell(algorithm, value) for algorithm in sweep.algorithms for value in sweep.values]
        cells += repeated(asked, sweep.runs)
    tightened = [
        exact(algorithm, d)
        for algorithm in published.MAIN_TABLE
        if algorithm != NOT_PRIVATE
        for d in published.MAX_ITEMS
    ]
    twice = [
        passes(algorithm, d, times)
        for algorithm in published.PASSES
        for d in published.PASSES_MAX_ITEMS
        for times in (1, 2)
    ]
    # A run of one table may serve another; order by corpus, so that each is read once.
    return sorted(
        dict.fromkeys([*cells, *repeated([*tightened, *twice], SHUFFLES)]),
        key=lambda cell: [*data.SIZES, data.REDDIT].index(cell.corpus) if cell.corpus != data.REDDIT else -1,
    )
