"""The same data through the systems people use today: python -m experiments.peers, with dpsu[plot] installed.

Every peer runs in an environment of its own, made here. Writes docs/peers.md and docs/images/peers.svg.
"""

import argparse
import importlib.metadata
import platform
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import dpsu
from dpsu.report.charts import compare_chart
from experiments.peers.run import ENVIRONMENTS, PEERS, run_peer

DOCS = Path(__file__).parents[2] / "docs"

OURS = [
    "count-laplace",
    "weighted-gaussian",
    "mad",
    "mad2r",
    "dp-sips",
    "policy-gaussian",
    "focused-gaussian",
]


def run_ours(
    frame: pl.DataFrame, epsilon: float, delta: float, max_items: int, runs: int
) -> list[dict[str, Any]]:
    """Whole releases from a frame in memory."""
    how = {"user": "user", "item": "item", "epsilon": epsilon, "delta": delta, "max_items": max_items}
    known = set(dpsu.list_algorithms()["name"])
    rows = []
    for algorithm in [name for name in OURS if name in known]:
        dpsu.release(frame, algorithm=algorithm, **how)  # compiles
        counts, begin, busy = [], time.perf_counter(), time.process_time()
        for _ in range(runs):
            counts.append(len(dpsu.release(frame, algorithm=algorithm, **how)))
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


def write_page(rows: list[dict[str, Any]], absent: dict[str, str], about: str, ceiling: float) -> None:
    """Write the table and how it was measured."""
    lines = [
        "# Peers",
        "",
        "This page compares dpsu with other systems on the same data, in one run of `python -m experiments.peers`. "
        + about,
        "",
        "![items released](images/peers.svg)",
        "",
        "| system | method | items | spread | seconds | processor seconds | version |",
        "|---|---|--:|--:|--:|--:|---|",
    ]
    for row in sorted(rows, key=lambda row: -np.mean(row["counts"])):
        spread = np.std(row["counts"], ddof=1) if len(row["counts"]) > 1 else 0.0
        lines.append(
            f"| {row['system']} | {row['method']} | {np.mean(row['counts']):,.0f} | {spread:,.0f} "
            f"| {row['seconds']:.2f} | {row['processor_seconds']:.2f} | {row['version']} |"
        )
    lines += [
        "",
        f"No private algorithm releases more than {ceiling:,.0f} items on average, the "
        "[ceiling](optimal-single.md#the-ceiling). Seconds are for one whole release from pairs in memory, including "
        "sampling to max_items. The machine did other work at the same time, so processor seconds are the better "
        "comparison. The times of dpsu are without compilation.",
        "",
        "How each system was run:",
        "",
        "- PipelineDP: `select_partitions` on the local backend, with its own sampling to max_items. Its weighted "
        "Gaussian strategy is left out: it calibrates for every item, about 45 ms each, or 20 minutes for this data.",
        "- OpenDP: weights as in Weighted Gaussian (ℓ2) and Weighted Laplace (ℓ1), summed with Polars after our own "
        "sampling, then `make_gaussian_threshold` and `make_laplace_threshold`. Noise and threshold are found by "
        "bisection on its privacy map, with half of delta each for the Gaussian. The map assumes that every new item got a "
        "whole budget.",
        "- Polars by hand: a script of twenty lines with counts, Laplace noise and a threshold. It uses numpy's "
        "floating-point Laplace noise, which is not safe against attacks on low-order bits.",
    ]
    lines += [f"- {name} was not measured: {reason}." for name, reason in absent.items()]
    (DOCS / "peers.md").write_text("\n".join(lines) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epsilon", type=float, default=3.0)
    parser.add_argument("--delta", type=float, default=1e-5)
    parser.add_argument("--max-items", type=int, default=100)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--environments", type=Path, default=ENVIRONMENTS)
    chosen = parser.parse_args()

    frame = dpsu.datasets.words(dpsu.datasets.load("arxiv_titles_small"), user="author", text="text")
    frame = frame.rename({"author": "user", "word": "item"}).unique(maintain_order=True)
    chosen.environments.mkdir(parents=True, exist_ok=True)
    data = chosen.environments / "pairs.csv"
    frame.write_csv(data)

    rows, absent = [], {}
    arguments = [str(value) for value in (chosen.epsilon, chosen.delta, chosen.max_items, chosen.runs)]
    for name in PEERS:
        found = run_peer(name, chosen.environments, data, arguments)
        if isinstance(found, str):
            absent[name] = found
        else:
            rows += found
        print(name, found, file=sys.stderr)
    rows += run_ours(frame, chosen.epsilon, chosen.delta, chosen.max_items, chosen.runs)

    privacy = {"epsilon": chosen.epsilon, "delta": chosen.delta}
    ceiling = dpsu.compare(
        frame,
        user="user",
        item="item",
        algorithms=["weighted-gaussian"],
        runs=1,
        data_is_public=True,
        **privacy,
    )["ceiling"][0]
    chart = pl.DataFrame(
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
    about = (
        f"Words of the titles of 25 000 arXiv authors (`arxiv_titles_small`, {frame.height:,} pairs), "
        f"epsilon {chosen.epsilon:g}, delta {chosen.delta:g}, at most {chosen.max_items} items per user, "
        f"{chosen.runs} runs each; Python {platform.python_version()}, numba {importlib.metadata.version('numba')}."
    )
    title = f"items released from arXiv titles, epsilon {chosen.epsilon:g}, delta {chosen.delta:g}"
    compare_chart(chart, DOCS / "images" / "peers.svg", title)
    compare_chart(chart, DOCS / "images" / "peers.png", title)
    write_page(rows, absent, about, ceiling)


if __name__ == "__main__":
    main()
