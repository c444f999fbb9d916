"""The same data through the systems people use today: python -m experiments.peers, with dpsu[plot] installed.

Every peer runs in an environment of its own, made here. Writes docs/peers.md and docs/images/peers.svg.
"""

import argparse
import importlib.metadata
import platform
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import dpsu
from dpsu.report.charts import draw_panels
from experiments.ordered_study import law
from experiments.peers.run import ENVIRONMENTS, PEERS, run_peer

DOCS = Path(__file__).parents[2] / "docs"

OURS = [
    "auto",
    "count-laplace",
    "weighted-gaussian",
    "mad",
    "mad2r",
    "dp-sips",
    "policy-gaussian",
    "focused-gaussian",
]
OURS_FOR_SMALL_SETS = ["auto", "ordered-laplace", "focused-gaussian"]


@dataclass(frozen=True)
class Panel:
    """Data, and which of our algorithms are shown beside the peers."""

    title: str
    about: str
    frame: pl.DataFrame
    max_items: int
    ours: list[str]


def panels() -> list[Panel]:
    """Words, of which users hold many, and small sets."""
    words = dpsu.datasets.words(dpsu.datasets.load("arxiv_titles_small"), user="author", text="text")
    words = words.rename({"author": "user", "word": "item"}).unique(maintain_order=True)
    small = law(4, 1.0, seed=0)
    return [
        Panel(
            "arXiv titles",
            f"Words of the titles of 25 000 arXiv authors (`arxiv_titles_small`, {words.height:,} pairs)",
            words,
            100,
            OURS,
        ),
        Panel(
            "Small sets",
            "Synthetic: 40 000 users with 4 items each, drawn from 20 000 items by Zipf's law with the exponent 1",
            small,
            4,
            OURS_FOR_SMALL_SETS,
        ),
    ]


def run_ours(panel: Panel, epsilon: float, delta: float, runs: int) -> list[dict[str, Any]]:
    """Whole releases from a frame in memory."""
    how = {"user": "user", "item": "item", "epsilon": epsilon, "delta": delta, "max_items": panel.max_items}
    rows = []
    for algorithm in panel.ours:
        dpsu.release(panel.frame, algorithm=algorithm, **how)  # compiles
        counts, begin, busy = [], time.perf_counter(), time.process_time()
        for _ in range(runs):
            counts.append(len(dpsu.release(panel.frame, algorithm=algorithm, **how)))
        rows.append(
            {
                "system": "dpsu",
                "method": algorithm,
                "version": dpsu.__version__,
                "counts": counts,
                "seconds": (time.perf_counter() - begin) / runs,
                "processor_seconds": (time.process_time() - busy) / runs,
            }
        )
    return rows


def measure(
    panel: Panel, chosen: argparse.Namespace, absent: dict[str, str]
) -> tuple[list[dict[str, Any]], float]:
    """A row per system and method, and the ceiling; peers that could not run are added to `absent`."""
    data = chosen.environments / "pairs.csv"
    panel.frame.write_csv(data)
    rows = []
    arguments = [str(value) for value in (chosen.epsilon, chosen.delta, panel.max_items, chosen.runs)]
    for name in PEERS:
        found = run_peer(name, chosen.environments, data, arguments)
        if isinstance(found, str):
            absent[f"{name} on {panel.title}"] = found
        else:
            rows += found
        print(name, found, file=sys.stderr)
    rows += run_ours(panel, chosen.epsilon, chosen.delta, chosen.runs)
    most = dpsu.compare(
        panel.frame,
        user="user",
        item="item",
        algorithms=["weighted-gaussian"],
        runs=1,
        data_is_public=True,
        epsilon=chosen.epsilon,
        delta=chosen.delta,
    )["ceiling"][0]
    return sorted(rows, key=lambda row: -float(np.mean(row["counts"]))), most


def section(panel: Panel, rows: list[dict[str, Any]], ceiling: float) -> list[str]:
    """The table of one panel."""
    lines = [
        f"## {panel.title}",
        "",
        f"{panel.about}; at most {panel.max_items} items per user. No private algorithm releases more than {ceiling:,.0f} "
        "items on average, the [ceiling](optimal-single.md#the-ceiling).",
        "",
        "| system | method | items | spread | seconds | processor seconds | version |",
        "|---|---|--:|--:|--:|--:|---|",
    ]
    for row in rows:
        spread = np.std(row["counts"], ddof=1) if len(row["counts"]) > 1 else 0.0
        lines.append(
            f"| {row['system']} | {row['method']} | {np.mean(row['counts']):,.0f} | {spread:,.0f} "
            f"| {row['seconds']:.2f} | {row['processor_seconds']:.2f} | {row['version']} |"
        )
    return [*lines, ""]


def write_page(sections: list[str], absent: dict[str, str], about: str) -> None:
    """Write the tables and how they were measured."""
    lines = [
        "# Peers",
        "",
        "This page compares dpsu with other systems on the same data, in one run of `python -m experiments.peers`: "
        + about,
        "",
        "![items released](images/peers.svg)",
        "",
        *sections,
        "## How each system was run",
        "",
        "Seconds are for one whole release from pairs in memory, including sampling to max_items. The machine did other "
        "work at the same time, so processor seconds are the better comparison. The times of dpsu are without compilation.",
        "",
        "- PipelineDP: `select_partitions` on the local backend, with its own sampling to max_items. Its weighted "
        "Gaussian strategy is left out: it calibrates for every item, about 45 ms each, or 20 minutes for the titles.",
        "- OpenDP: weights as in Weighted Gaussian (ℓ2) and Weighted Laplace (ℓ1), summed with Polars after our own "
        "sampling, then `make_gaussian_threshold` and `make_laplace_threshold`. Noise and threshold are found by "
        "bisection on its privacy map, with half of delta each for the Gaussian. The map assumes that every new item got a "
        "whole budget.",
        "- Polars by hand: a script of twenty lines with counts, Laplace noise and a threshold. It uses numpy's "
        "floating-point Laplace noise, which is not safe against attacks on low-order bits.",
    ]
    lines += [f"- {name} was not measured: {reason}." for name, reason in absent.items()]
    (DOCS / "peers.md").write_text("\n".join(lines) + "\n")


def chart(rows: list[dict[str, Any]], ceiling: float) -> pl.DataFrame:
    """The rows as bars."""
    return pl.DataFrame(
        {
            "algorithm": f"{row['system']}: {row['method']}",
            "private": True,
            "items": float(np.mean(row["counts"])),
            "fewest": min(row["counts"]),
            "most": max(row["counts"]),
            "ceiling": ceiling,
        }
        for row in rows
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epsilon", type=float, default=3.0)
    parser.add_argument("--delta", type=float, default=1e-5)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--environments", type=Path, default=ENVIRONMENTS)
    chosen = parser.parse_args()
    chosen.environments.mkdir(parents=True, exist_ok=True)

    sections: list[str] = []
    absent: dict[str, str] = {}
    charts: dict[str, pl.DataFrame] = {}
    for panel in panels():
        rows, ceiling = measure(panel, chosen, absent)
        sections += section(panel, rows, ceiling)
        title = f"{panel.title}: items released, epsilon {chosen.epsilon:g}, delta {chosen.delta:g}"
        charts[title] = chart(rows, ceiling)
    for ending in ("svg", "png"):
        draw_panels(charts, DOCS / "images" / f"peers.{ending}")
    write_page(
        sections,
        absent,
        f"epsilon {chosen.epsilon:g}, delta {chosen.delta:g}, {chosen.runs} runs each; "
        f"Python {platform.python_version()}, numba {importlib.metadata.version('numba')}.",
    )


if __name__ == "__main__":
    main()
