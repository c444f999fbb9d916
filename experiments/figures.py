"""How figures look, and how they are saved: without dates or random ids, so that the same data gives the same file."""

from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import pyplot as plt
from matplotlib.ticker import FuncFormatter

mpl.use("agg")
mpl.rcParams.update({"svg.hashsalt": "dpsu", "svg.fonttype": "path", "font.size": 9, "axes.axisbelow": True})


def label_axes(axes: Any, horizontal: str, vertical: str) -> None:
    """Names of the axes, a light grid, plain numbers; a linear vertical axis begins at 0."""
    axes.set_xlabel(horizontal)
    axes.set_ylabel(vertical)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    if axes.get_yscale() == "linear":
        axes.set_ylim(bottom=0)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}".replace(",", " ")))


def save_figure(figure: Any, path: Path) -> None:
    """With the legend below, where there is one."""
    if any(axes.get_legend_handles_labels()[0] for axes in figure.axes):
        figure.legend(loc="outside lower center", ncols=3, fontsize=7.5, frameon=False)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None, dpi=110)
    plt.close(figure)
