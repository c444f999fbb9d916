"""The figures of the page."""

from pathlib import Path
from typing import Any

import numpy as np
from experiments.figures import label_axes, save_figure
from matplotlib import pyplot as plt

from benchmarks.measure import Facts

BLUE, GREY, BLACK = "#2f6db3", "#8c8c8c", "#000000"


def draw_end_to_end(facts: Facts, path: Path) -> None:
    """A bar for every algorithm and script, with the least and the most of its repetitions."""
    timings, ours = facts["timings"], set(facts["algorithms"])
    names = sorted(timings, key=lambda name: -timings[name]["median"])
    figure, axes = plt.subplots(figsize=(6.4, 0.8 + 0.28 * len(names)), layout="constrained")
    medians = np.array([timings[name]["median"] for name in names])
    ends = [
        medians - [timings[name]["least"] for name in names],
        [timings[name]["most"] for name in names] - medians,
    ]
    colours = [BLUE if name in ours else GREY for name in names]
    axes.barh(names, medians, color=colours, xerr=ends, error_kw={"ecolor": BLACK, "elinewidth": 0.8})
    axes.set_title(f"From a file of {facts['pairs'] / 1e6:.2g} million pairs to released items", fontsize=9)
    axes.set_xlabel("seconds, median; lines from the least to the most (scripts by hand in grey)")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="x", alpha=0.25)
    save_figure(figure, path)


def draw_growth(strings: Facts, integers: Facts | None, path: Path) -> None:
    """Seconds and peak memory against pairs, both logarithmic, and lines of equal cost per pair."""
    figure, (time_axes, memory_axes) = plt.subplots(1, 2, figsize=(8.4, 3.9), layout="constrained")
    lines = [(strings, "string items", "o", BLUE)]
    lines += [(integers, "integer items", "s", BLACK)] if integers else []
    for facts, name, marker, colour in lines:
        pairs = np.array([row["pairs"] for row in facts["sizes"]])
        seconds = np.array([row["median"] for row in facts["sizes"]])
        peaks = np.array([row["peak_bytes"] for row in facts["sizes"]]) / 1e9
        time_axes.loglog(pairs, seconds, marker=marker, color=colour, label=name)
        memory_axes.loglog(pairs, peaks, marker=marker, color=colour)
    _guide(time_axes, strings, "median", 1.0, "the same per pair as the largest")
    _guide(memory_axes, strings, "peak_bytes", 1e-9, None)
    label_axes(time_axes, "pairs (log scale)", "seconds, file to items (log scale)")
    label_axes(memory_axes, "pairs (log scale)", "peak memory of the process, GB (log scale)")
    for axes in (time_axes, memory_axes):
        _widen(axes)
    save_figure(figure, path)


def _widen(axes: Any) -> None:
    """Room around the points, of which there may be one alone."""
    low, high = axes.dataLim.min, axes.dataLim.max
    axes.set_xlim(low[0] / 2, high[0] * 2)
    axes.set_ylim(low[1] / 2, high[1] * 2)


def _guide(axes: Any, facts: Facts, field: str, unit: float, label: str | None) -> None:
    first, last = facts["sizes"][0], facts["sizes"][-1]
    ends = np.array([first["pairs"], last["pairs"]])
    line = unit * last[field] * ends / last["pairs"]
    axes.loglog(ends, line, color=GREY, linestyle="--", linewidth=0.9, label=label)
