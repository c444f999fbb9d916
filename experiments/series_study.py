"""The figures of docs/series.md: a year of monthly vocabularies, as a series, as composed releases and as one release.

    python -m experiments.series_study [FILE ...]

Without files it takes the bundled corpus and draws docs/images/series.png. A file is Parquet with (author, text) or
(user, item). The public rule for months is a hash of the row number. The data is public, so the randomness is seeded.
"""

import sys
import tempfile
import warnings
from pathlib import Path

import polars as pl

import dpsu
from dpsu.algorithms.focused import FocusedGaussian
from dpsu.algorithms.request import Request

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "series.png"
MONTHS, CUT = 12, 100
PRIVACY = ((3.0, 1e-5), (1.0, 1e-6))


def months_of(frame: pl.DataFrame) -> list[pl.DataFrame]:
    """The rows by month, with the columns user and item: every row belongs to a month by a hash of its number."""
    frame = frame.with_row_index("row").with_columns(month=pl.col("row").hash(1) % MONTHS)
    parts = [frame.filter(month=month) for month in range(MONTHS)]
    if "text" in frame.columns:
        found = [dpsu.datasets.words(part, user="author", text="text") for part in parts]
        return [part.rename({"author": "user", "word": "item"}) for part in found]
    return [part.select("user", "item") for part in parts]


def in_series(months: list[pl.DataFrame], epsilon: float, delta: float, shares: str = "even") -> list[int]:
    """Items known after each month."""
    known = []
    with tempfile.TemporaryDirectory() as folder, dpsu.testing.seeded(0):
        series = dpsu.Series.create(
            Path(folder) / "words.series",
            epsilon=epsilon,
            delta=delta,
            periods=MONTHS,
            max_items=CUT,
            shares=shares,
        )
        for month in months:
            known.append((known or [0])[-1] + len(series.release(month, user="user", item="item")))
    return known


def composed(months: list[pl.DataFrame], epsilon: float, delta: float) -> list[int]:
    """The same for separate releases that share the same budget: mu^2 and delta_new are divided evenly."""
    whole = FocusedGaussian().calibrate(Request(epsilon, delta, CUT)).budget()
    part = whole.split([1 / MONTHS] * MONTHS)[0]
    each_delta = delta / MONTHS
    low, high = 1e-3, epsilon
    while high - low > 1e-6:
        middle = (low + high) / 2
        mu = FocusedGaussian().calibrate(Request(middle, each_delta, CUT)).budget().mu
        low, high = (middle, high) if mu <= part.mu else (low, middle)
    known: set[object] = set()
    counts = []
    with dpsu.testing.seeded(0):
        for month in months:
            known |= set(
                dpsu.release(
                    month,
                    user="user",
                    item="item",
                    epsilon=low,
                    delta=each_delta,
                    max_items=CUT,
                    algorithm="focused-gaussian",
                ).items
            )
            counts.append(len(known))
    return counts


def at_the_end(months: list[pl.DataFrame], epsilon: float, delta: float) -> int:
    """One release of the whole year."""
    with dpsu.testing.seeded(0):
        return len(
            dpsu.release(
                pl.concat(months),
                user="user",
                item="item",
                epsilon=epsilon,
                delta=delta,
                max_items=CUT,
                algorithm="focused-gaussian",
            )
        )


def study(frame: pl.DataFrame) -> dict[tuple[float, float], dict[str, list[int]]]:
    months, found = months_of(frame), {}
    for epsilon, delta in PRIVACY:
        found[epsilon, delta] = {
            "series": in_series(months, epsilon, delta),
            "series, front-loaded": in_series(months, epsilon, delta, "front"),
            "composed releases": composed(months, epsilon, delta),
            "one release at the end": [at_the_end(months, epsilon, delta)],
        }
        for name, counts in found[epsilon, delta].items():
            print(f"({epsilon:g}, {delta:g}) {name}: {counts}", flush=True)
    return found


def draw(found: dict[str, list[int]]) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 3.6), constrained_layout=True)
    for name, counts in found.items():
        if len(counts) == 1:
            axes.plot([MONTHS], counts, marker="D", linestyle="", color="grey", label=name)
        else:
            axes.plot(range(1, MONTHS + 1), counts, marker="o", markersize=3, label=name)
    axes.set(xlabel="month", ylabel="words known", ylim=(0, None))
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(PICTURE, dpi=130)


def main() -> None:
    warnings.simplefilter("ignore", dpsu.EmptyRelease)
    warnings.simplefilter("ignore", dpsu.CuratorNote)
    for file in sys.argv[1:]:
        print(Path(file).name)
        study(pl.read_parquet(file))
    if not sys.argv[1:]:
        draw(study(dpsu.datasets.load("arxiv_titles_small"))[PRIVACY[0]])


if __name__ == "__main__":
    main()
