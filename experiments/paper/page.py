"""The page that shows everything: docs/paper/results.md."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from dpsu.algorithms.catalogue import find
from dpsu.algorithms.request import Request
from experiments.paper import exhibits, plots, published, tables
from experiments.paper.claims import all_claims
from experiments.paper.data import REDDIT, Corpus
from experiments.paper.facts import Facts
from experiments.paper.runs import DELTA, Results
from experiments.paper.tables import Table

INTRODUCTION = """# The paper's tables and figures, run again

Made by `make paper` (`python -m experiments.paper`); nothing here is edited by hand. "Paper" is what Gopi, Gulhane,
Kulkarni, Shen, Shokouhi and Yekhanin printed for 373 983 posts of 223 388 AskReddit users. That corpus is not ours to
ship. Words come from {reddit}, n-grams from arXiv titles, for
which the paper has no numbers to compare with.

Epsilon is 3 and delta e^-10 unless an axis says otherwise, the calibration is the paper's unless a column says "exact",
and every run draws fresh noise and a fresh order of users. Focused Gaussian is this package's default and not in the
paper. What is wrong in the paper itself is on [another page](findings.md).
"""

EXPLANATION = """These add up plain counts and decide at {low} to {high} users. We take the difference to be the corpus's:
it was fitted to the numbers of words that at least 5 to 25 users share, where it agrees within 2 % (the k-anonymity
table below), but its surplus grows with k ({ratio:.1f} % at k = 25), and plain counts show that undiluted. Count Laplace
decides in the same range at D = 10 and 50 and is above the paper there too, while at D = 200 it decides at a thousand
users and agrees."""

AXIS_NAMES = {"max_items": "D", "epsilon": "epsilon", "alpha": "alpha"}


def write_page(
    folder: Path, quick: bool, results: Results, facts: Facts, corpora: Mapping[str, Corpus]
) -> None:
    """All tables, figures and verdicts."""
    folder.mkdir(parents=True, exist_ok=True)
    reddit = corpora[REDDIT].label
    sections = [
        INTRODUCTION.format(reddit=reddit),
        "## What holds\n\n" + _claims(results, facts),
        _main_table(folder, results, facts, reddit, quick),
        *_figures(folder, results, facts, corpora),
        _corpus(folder, facts, reddit),
        _coverage(folder, results, facts, reddit),
        _passes(folder, results, reddit),
        _tuning(folder, results, quick),
    ]
    (folder / "results.md").write_text("\n\n".join(sections) + "\n")
    plots.draw_sensitivity(folder / "sensitivity.svg")


def _claims(results: Results, facts: Facts) -> str:
    rows = [
        (claim.says, "yes" if claim.holds else "**no**", claim.found) for claim in all_claims(results, facts)
    ]
    table = Table("claims", ("the paper says", "here", "figures"), rows)
    return table.markdown()


def _main_table(folder: Path, results: Results, facts: Facts, label: str, quick: bool) -> str:
    table = tables.main_table(results)
    table.write(folder)
    far = tables.outside(table)
    compared = sum(row[6] is not None for row in table.rows)
    verdict = (
        f"{compared - len(far)} of {compared} cells are within {100 * tables.WITHIN:.0f} % of the paper's."
    )
    if quick:
        verdict += " This run has a tenth of the users, so no cell should be."
    elif far:
        cells = "; ".join(f"{row[0]} at D = {row[1]} ({100 * (row[6] - 1):+.1f} %)" for row in far)
        verdict += f" Outside: {cells}. {_explained(far, facts)}"
    most = f"{facts.ceilings[3.0]:,.0f}".replace(",", " ")
    return (
        f"## Main table\n\nWords released; {label}; mean and standard deviation of {exhibits.SHUFFLES} runs. No private "
        f"algorithm can release more than {most} on average.\n\n{verdict}\n\n{table.markdown()}"
    )


def _explained(far: Sequence[tables.Row], facts: Facts) -> str:
    """Why cells are outside, with the numbers of users at which the algorithms in question decide."""
    if {row[0] for row in far} != {"count-gaussian"}:
        return "These are not explained yet."
    deciding = [
        find(row[0]).calibrate(Request(3.0, DELTA, row[1], "paper")).parameters()["threshold"] * row[1] ** 0.5
        for row in far
    ]
    return EXPLANATION.format(
        low=round(min(deciding)),
        high=round(max(deciding)),
        ratio=100 * (facts.held_by(25) / published.HELD_BY[25] - 1),
    )


def _figures(folder: Path, results: Results, facts: Facts, corpora: Mapping[str, Corpus]) -> list[str]:
    sections = ["## Figures"]
    for sweep in exhibits.sweeps():
        label = corpora[sweep.corpus].label
        ceilings = facts.ceilings if sweep.name == "words-epsilon" else None
        plots.draw_sweep(sweep, label, results, folder / f"{sweep.name}.svg", ceilings)
        table = tables.of_sweep(sweep, results)
        table.write(folder)
        heading = f"### {sweep.title} against {AXIS_NAMES[sweep.axis]}"
        picture = f"![{sweep.title} released against {AXIS_NAMES[sweep.axis]}, {label}]({sweep.name}.svg)"
        sections.append(f"{heading}\n\n{picture}\n\n{table.markdown()}")
    return sections


def _corpus(folder: Path, facts: Facts, label: str) -> str:
    plots.draw_zipf(facts, label, folder / "zipf.svg")
    table = tables.set_sizes(facts)
    table.write(folder)
    return f"## The corpus of words\n\n![Users of a word against its rank](zipf.svg)\n\n{label}.\n\n{table.markdown()}"


def _coverage(folder: Path, results: Results, facts: Facts, label: str) -> str:
    table = tables.coverage(results, facts)
    table.write(folder)
    return (
        f"## Against k-anonymity\n\nWords released at D = 100, in percent of the words that at least k users have; {label}. "
        "Two entries of the printed table are wrong ([findings](findings.md)): the corrected column divides the paper's own "
        f"counts.\n\n{table.markdown()}"
    )


def _passes(folder: Path, results: Results, label: str) -> str:
    table = tables.passes(results)
    table.write(folder)
    return (
        f"## One pass against two\n\nalpha 2; {label}; p of a two-sided t-test over {exhibits.SHUFFLES} runs each. The "
        "paper's Gaussian half repeats its Laplace half from D = 100 on, so there is nothing to compare with there.\n\n"
        + table.markdown()
    )


def _tuning(folder: Path, results: Results, quick: bool) -> str:
    table = tables.tuning_table(quick, results)
    table.write(folder)
    return (
        "## Choosing D privately\n\nItems released with settings that were fixed beforehand and with settings chosen on the "
        "data, all at epsilon 3, delta e^-10 for the whole ([how](../tuning.md)); exact calibration, mean of 3 runs. "
        f"The choice is among four values of D.\n\n{table.markdown()}"
    )
