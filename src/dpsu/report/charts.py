"""Charts, drawn with matplotlib (the extra `plot`)."""

import io
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from dpsu.errors import DpsuError, InvalidArgument
from dpsu.outcome.ledger import Ledger
from dpsu.outcome.spending import by_period, total_epsilon
from dpsu.outcome.write import replacing, require_folder
from dpsu.report.numbers import counted

if TYPE_CHECKING:
    from dpsu.api.plan import Plan

ENDINGS = (".png", ".svg", ".pdf")
BLUE, GREY, RED = "#2f6db3", "#8a8f98", "#b3402f"


def check_chart(path: str | Path) -> None:
    """Fail before the work: check that the ending is known, the folder is writable and matplotlib is installed."""
    if Path(path).suffix.lower() not in ENDINGS:
        raise InvalidArgument(
            f"cannot draw {Path(path).name!r}: the ending must be one of {', '.join(ENDINGS)}."
        )
    require_folder(path)
    _figure_class()


def compare_chart(frame: pl.DataFrame, path: str | Path | None = None) -> Any:
    """A bar per algorithm, and per max_items if there are several; a panel per epsilon."""
    if frame["max_items"].n_unique() > 1:
        frame = frame.with_columns(algorithm=pl.format("{}, max_items {}", "algorithm", "max_items"))
    parts = frame.partition_by("epsilon", maintain_order=True)
    return draw_panels({f"items released, epsilon {part['epsilon'][0]:g}": part for part in parts}, path)


def draw_panels(frames: dict[str, pl.DataFrame], path: str | Path | None = None) -> Any:
    """Panels by title, one below the other: a bar per row with the range of its runs, and the ceiling as a line."""
    heights = [0.8 + 0.42 * frame.height for frame in frames.values()]
    figure = new_figure(8, 0.4 + sum(heights))
    panels = figure.subplots(len(frames), squeeze=False, height_ratios=heights)
    for axes, (title, frame) in zip(panels[:, 0], frames.items(), strict=True):
        _draw_bars(axes, frame.sort("items"))
        axes.set_title(title, loc="left")
    return _saved(figure, path)


def ledger_chart(ledger: Ledger, path: str | Path | None = None) -> Any:
    """The epsilon that is spent after each entry, at the delta of the cap, under the cap."""
    entries = ledger.entries()
    spent = [
        max(total_epsilon(part, ledger.cap.delta) for part in by_period(entries[:count]).values())
        for count in range(len(entries) + 1)
    ]
    figure = new_figure(8, 3.2)
    axes = figure.subplots()
    axes.step(range(len(spent)), spent, where="post", color=BLUE)
    axes.plot(range(len(spent)), spent, "o", color=BLUE, markersize=4)
    axes.axhline(ledger.cap.epsilon, color=RED, linestyle="--", linewidth=1)
    axes.annotate(
        f"cap {ledger.cap.epsilon:g}",
        (0, ledger.cap.epsilon),
        xytext=(0, 4),
        textcoords="offset points",
        color=RED,
    )
    axes.set(xlabel="entry", ylabel=f"epsilon spent, at delta {ledger.cap.delta:g}")
    axes.set_ylim(0, 1.15 * max(ledger.cap.epsilon, *spent))
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.spines[["top", "right"]].set_visible(False)
    return _saved(figure, path)


def _draw_bars(axes: Any, rows: pl.DataFrame) -> None:
    means = rows["items"]
    colours = [BLUE if private else RED for private in rows["private"]]
    ends = [(means - rows["fewest"]).to_list(), (rows["most"] - means).to_list()]
    names = [
        name if private else f"{name} (not private)"
        for name, private in rows.select("algorithm", "private").rows()
    ]
    axes.barh(names, means.to_list(), color=colours, xerr=ends, error_kw={"ecolor": GREY, "capsize": 3})
    for place, (mean, most) in enumerate(rows.select("items", "most").rows()):
        axes.annotate(f"{mean:,.0f}", (most, place), xytext=(6, 0), textcoords="offset points", va="center")
    ceiling = rows["ceiling"][0]
    axes.axvline(ceiling, color=GREY, linestyle="--", linewidth=1)
    label = f"ceiling {ceiling:,.0f}"
    above = {
        "xycoords": axes.get_xaxis_transform(),
        "textcoords": "offset points",
        "ha": "right",
        "va": "bottom",
    }
    axes.annotate(label, (ceiling, 1), xytext=(0, 2), color=GREY, **above)
    axes.set_xlim(0, 1.12 * max(ceiling, *rows["most"], 1))
    axes.spines[["top", "right"]].set_visible(False)


def plan_chart(plan: "Plan", path: str | Path | None = None) -> Any:
    """The chance of release by number of holders, and the items by max_items, side by side."""
    outlook = plan.outlook
    if outlook is None:
        raise InvalidArgument("there is nothing to draw: give dpsu.plan a shape, or public data with like=.")
    figure = new_figure(9, 3.4)
    left, right = figure.subplots(1, 2)
    curve = outlook.curve(40)
    left.step([holders for holders, _ in curve], [chance for _, chance in curve], where="post", color=BLUE)
    left.set(xlabel="users who hold the item", ylabel="chance of release", ylim=(0, 1.02))
    if curve:
        left.set_xscale("log")
        left.xaxis.set_major_formatter("{x:,.0f}")
        left.xaxis.set_minor_formatter("{x:,.0f}")
        left.tick_params(axis="x", which="both", labelrotation=45)
    limits = [f"{limit:,}" for limit in outlook.by_max_items]
    right.bar(limits, list(outlook.by_max_items.values()), color=BLUE)
    right.set(xlabel="max_items", ylabel="items to expect")
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle(f"{counted(outlook.items)} ({outlook.low:,.0f} to {outlook.high:,.0f}), {plan.algorithm}")
    return _saved(figure, path)


def new_figure(width: float, height: float) -> Any:
    """An empty figure, apart from pyplot: the caller's backend stays as it is."""
    return _figure_class()(figsize=(width, height), layout="constrained")


def _saved(figure: Any, path: str | Path | None) -> Any:
    """The figure, written to `path` if there is one."""
    if path is None:
        return figure
    check_chart(path)
    drawn = io.BytesIO()
    figure.savefig(drawn, format=Path(path).suffix[1:].lower(), dpi=150)
    with replacing(path) as file:
        file.write(drawn.getvalue())
    return figure


@cache
def _figure_class() -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise DpsuError("charts need matplotlib: pip install 'dpsu[plot]'.") from error

    return type(
        "Chart", (Figure,), {"__doc__": "A figure that notebooks show without pyplot.", "_repr_svg_": _svg_of}
    )


def _svg_of(figure: Any) -> str:
    drawn = io.StringIO()
    figure.savefig(drawn, format="svg")
    return drawn.getvalue()
