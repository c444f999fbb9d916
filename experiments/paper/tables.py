"""The tables: beside the paper's numbers, as Markdown and as CSV."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import ttest_ind

from experiments.paper import exhibits, published, tuning
from experiments.paper.data import REDDIT
from experiments.paper.exhibits import FOCUSED, NOT_PRIVATE, SHUFFLES, Sweep
from experiments.paper.facts import Facts
from experiments.paper.runs import Cell, Results

Row = Sequence[Any]
WITHIN = 0.06
"""Cells of the main table are expected to be this near to the paper's."""


@dataclass(frozen=True)
class Table:
    """Headings and rows of plain values; None is an empty cell."""

    name: str
    headings: Sequence[str]
    rows: Sequence[Row]

    def write(self, folder: Path) -> None:
        """As CSV."""
        with (folder / f"{self.name}.csv").open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(self.headings)
            writer.writerows([[_plain(value) for value in row] for row in self.rows])

    def markdown(self) -> str:
        """As Markdown; numbers stand right."""
        kinds = ["---" if isinstance(value, str) else "---:" for value in self.rows[0]]
        lines = [self.headings, kinds, *([_shown(value) for value in row] for row in self.rows)]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main_table(results: Results) -> Table:
    """The paper's main table cell by cell; the exact calibration and Focused Gaussian beside it."""
    rows: list[Row] = []
    for algorithm in (*published.MAIN_TABLE, FOCUSED):
        for place, d in enumerate(published.MAX_ITEMS):
            ours = results.of(exhibits.as_published(REDDIT, algorithm, d), SHUFFLES)
            if algorithm == FOCUSED:
                rows.append((algorithm, d, None, None, None, None, None, ours.mean(), ours.std(ddof=1)))
                continue
            paper = published.MAIN_TABLE[algorithm][place]
            ratio = ours.mean() / paper[0]
            tight: tuple[float | None, float | None] = (None, None)
            if algorithm != NOT_PRIVATE:
                exact = results.of(exhibits.exact(algorithm, d), SHUFFLES)
                tight = (exact.mean(), exact.std(ddof=1))
            rows.append((algorithm, d, *paper, ours.mean(), ours.std(ddof=1), float(round(ratio, 3)), *tight))
    headings = ("algorithm", "D", "paper", "± sd", "ours", "± sd", "ratio", "exact calibration", "± sd")
    return Table("main-table", headings, rows)


def outside(table: Table) -> list[Row]:
    """The cells of the main table that are not as near to the paper's as expected."""
    return [row for row in table.rows if row[6] is not None and abs(row[6] - 1) > WITHIN]


def set_sizes(facts: Facts) -> Table:
    """How large users' sets are."""
    rows = [
        (size, f"{paper:.2f} %", f"{facts.share_up_to(size):.2f} %")
        for size, paper in published.SET_SIZES.items()
    ]
    return Table("set-sizes", ("T", "users with at most T words, paper", "ours"), rows)


def coverage(results: Results, facts: Facts) -> Table:
    """Releases in percent of what at least k users hold."""
    algorithms = ("policy-laplace", "policy-gaussian", FOCUSED)
    mine = [results.of(exhibits.as_published(REDDIT, name), SHUFFLES).mean() for name in algorithms]
    rows = []
    for k, held in published.HELD_BY.items():
        mended = [f"{100 * count / held:.1f} %" for count in published.COVERED]
        own = [f"{100 * count / facts.held_by(k):.1f} %" for count in mine]
        printed = [f"{value:.1f} %" for value in published.COVERAGE[k]]
        rows.append((k, held, facts.held_by(k), printed[0], mended[0], own[0], printed[1], own[1], own[2]))
    headings = (
        "k",
        "held by k, paper",
        "held by k, ours",
        "Policy Laplace, printed",
        "corrected",
        "ours",
        "Policy Gaussian, printed (it is ℓ1's)",
        "ours, ℓ2",
        "Focused Gaussian",
    )
    return Table("k-anonymity", headings, rows)


def passes(results: Results) -> Table:
    """One pass over the users against two, with a t-test."""
    rows = []
    for algorithm, paper in published.PASSES.items():
        for place, d in enumerate(published.PASSES_MAX_ITEMS):
            one, two = (results.of(exhibits.passes(algorithm, d, times), SHUFFLES) for times in (1, 2))
            p = float(ttest_ind(one, two).pvalue)
            theirs = paper[place] or (None, None)
            spreads = (one.std(ddof=1), two.std(ddof=1))
            rows.append((algorithm, d, *theirs, one.mean(), spreads[0], two.mean(), spreads[1], f"{p:.3f}"))
    headings = (
        "algorithm",
        "D",
        "paper, 1 pass",
        "2 passes",
        "ours, 1 pass",
        "± sd",
        "2 passes",
        "± sd",
        "p",
    )
    return Table("passes", headings, rows)


def of_sweep(sweep: Sweep, results: Results) -> Table:
    """The numbers behind a figure: the mean of each algorithm at each value of the axis."""

    def mean(cell: Cell) -> float:
        return float(np.mean(results.of(cell, sweep.runs)))

    rows = [
        (_axis_value(value), *(mean(sweep.cell(algorithm, value)) for algorithm in sweep.algorithms))
        for value in sweep.values
    ]
    return Table(sweep.name, ({"max_items": "D"}.get(sweep.axis, sweep.axis), *sweep.algorithms), rows)


def tuning_table(quick: bool, results: Results) -> Table:
    """Sizes of releases by way of choosing the setting."""
    rows, headings = [], ["data", "algorithm"]
    for corpus, choice, sizes in tuning.summary(quick, results):
        headings[2:] = list(sizes)
        rows.append((corpus, choice, *sizes.values()))
    return Table("tuning", headings, rows)


def _axis_value(value: float) -> str:
    return f"{value:g}"


def _plain(value: Any) -> Any:
    return f"{value:.10g}" if isinstance(value, float) else value


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float | np.floating):
        return (
            f"{value:.2f}" if abs(value) < 10 and value != round(value) else f"{value:,.0f}".replace(",", " ")
        )
    return f"{value:,}".replace(",", " ") if isinstance(value, int) else str(value)
