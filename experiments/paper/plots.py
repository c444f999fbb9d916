"""The figures. A marker's shape is the rule for weights, dashes and hollow markers are Laplace noise: readable in grey."""

from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

from experiments.figures import label_axes, save_figure
from experiments.paper import sensitivity
from experiments.paper.exhibits import Sweep
from experiments.paper.facts import Facts
from experiments.paper.runs import Results

STYLES = {
    "count-laplace": ("Count Laplace", "^", "#8c8c8c"),
    "count-gaussian": ("Count Gaussian", "^", "#6b6b6b"),
    "weighted-laplace": ("Weighted Laplace", "s", "#7aa6d6"),
    "weighted-gaussian": ("Weighted Gaussian", "s", "#2f6db3"),
    "policy-laplace": ("Policy Laplace", "o", "#d98c5f"),
    "policy-gaussian-l1": ("Policy Gaussian ℓ1 (not private)", "v", "#c2554d"),
    "policy-gaussian": ("Policy Gaussian ℓ2", "o", "#8f2d1f"),
    "focused-gaussian": ("Focused Gaussian (ours)", "*", "#000000"),
}
AXES = {
    "max_items": "D, items of a user that count (log scale)",
    "epsilon": "epsilon",
    "alpha": "alpha: the cutoff lies alpha noise scales above the threshold",
}


def draw_sweep(
    sweep: Sweep, label: str, results: Results, path: Path, ceilings: dict[float, float] | None = None
) -> None:
    """Items released against one parameter, a line for each algorithm."""
    figure, axes = plt.subplots(figsize=(6.4, 4.8), layout="constrained")
    for algorithm in sweep.algorithms:
        name, marker, colour = STYLES[algorithm]
        runs = [results.of(sweep.cell(algorithm, value), sweep.runs) for value in sweep.values]
        laplace = algorithm.endswith("laplace")
        axes.errorbar(
            sweep.values,
            [counts.mean() for counts in runs],
            yerr=[counts.std(ddof=1) if sweep.runs > 1 else 0.0 for counts in runs],
            label=name,
            marker=marker,
            markersize=9 if marker == "*" else 5.5,
            markerfacecolor="white" if laplace else colour,
            color=colour,
            linestyle=(0, (4, 2)) if laplace else ":" if algorithm.endswith("-l1") else "-",
            linewidth=1.4,
        )
    if ceilings:
        axes.plot(
            list(ceilings),
            list(ceilings.values()),
            color="black",
            linestyle="-.",
            linewidth=0.8,
            label="no private algorithm exceeds",
        )
    if sweep.axis == "max_items":
        axes.set_xscale("log")
        axes.set_xticks(sweep.values, [f"{value:g}" for value in sweep.values])
        axes.minorticks_off()
    fixed = "" if sweep.axis == "epsilon" else "epsilon 3, "
    bound = "" if sweep.axis == "max_items" else "D = 100, "
    runs_of = f"mean of {sweep.runs} runs" if sweep.runs > 1 else "one run"
    axes.set_title(f"{sweep.title} released\n{label}\n{fixed}delta e^-10, {bound}{runs_of}", fontsize=9)
    label_axes(axes, AXES[sweep.axis], f"{sweep.title.lower()} released")
    save_figure(figure, path)


def draw_zipf(facts: Facts, label: str, path: Path) -> None:
    """Users of a word against the word's rank, both logarithmic."""
    figure, axes = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    ranks = np.unique(np.geomspace(1, facts.holders.size, 400).astype(np.int64))
    axes.loglog(ranks, facts.holders[ranks - 1], color="#2f6db3", marker=".", markersize=4, linestyle="none")
    slope, at_one = fitted_slope(facts)
    axes.loglog(
        ranks, np.exp(at_one) * ranks**slope, color="black", linewidth=1, label=f"rank^{slope:.2f}, fitted"
    )
    axes.set_title(f"How many users have a word\n{label}", fontsize=9)
    axes.set_ylim(0.7, 2 * facts.holders[0])
    label_axes(axes, "rank of the word (log scale)", "users who have it (log scale)")
    save_figure(figure, path)


def fitted_slope(facts: Facts) -> tuple[float, float]:
    """The line through log holders against log rank, for words of ranks 10 to 10 000, evenly in log rank."""
    ranks = np.unique(np.geomspace(10, min(10_000, facts.holders.size), 100).astype(np.int64))
    slope, at_one = np.polyfit(np.log(ranks), np.log(facts.holders[ranks - 1]), 1)
    return float(slope), float(at_one)


def draw_sensitivity(path: Path) -> None:
    """How far apart one user keeps the weights, while others follow."""
    figure, axes = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    looks = (("v", "#c2554d", ":"), ("o", "#8f2d1f", "-"))
    for (name, policy), (marker, colour, line) in zip(sensitivity.POLICIES.items(), looks, strict=True):
        apart = sensitivity.distances(policy)
        axes.plot(np.arange(apart.size), apart, label=name, marker=marker, color=colour, linestyle=line)
        end = (apart.size - 1, apart[-1])
        axes.annotate(f"{apart[-1]:.2f}", end, xytext=(6, -3), textcoords="offset points")
    axes.axhline(1, color="black", linewidth=1, linestyle="--", label="what the noise is calibrated to")
    axes.set_xlim(-1, 37)
    axes.set_title("One user more: how far apart the weights are, as others follow", fontsize=9)
    label_axes(axes, "users after the extra one", "ℓ2 distance of the weights")
    save_figure(figure, path)
