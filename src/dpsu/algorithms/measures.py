"""Noisy counts, sums and others of what was released, and how they come out. Proof: docs/counts.md."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dpsu.algorithms.holders import HALF_WIDTH, Counting, half_width
from dpsu.algorithms.mechanism import drawn
from dpsu.algorithms.neighbours import by_neighbours
from dpsu.engines.contract import SHOWN, Columns, Engine, Rule
from dpsu.outcome.columns import HALF, HOLDERS, LISTED, half_width_of, mean_of, measured_columns, sum_of
from dpsu.randomness.noise import gaussian_cells
from dpsu.randomness.stream import Purpose, Stream
from dpsu.sets.user_sets import Digests, among, detached

ITEMS, USERS, SUMS, OTHERS = 0, 1, 16, 64
"""Rounds of the noise: on the holders of items, on the users, on the sums of the first column, on the first of others."""

NO_DIGEST = np.zeros((1, 2), np.uint64)
NO_CUT = 1 << 40
"""More items than any user has: rows are not sampled, the weights bound what a user gives."""

CELLS_PER_SIGMA = 2**10

FOUND, SURE, REACHED, BOTH = "\0found", "\0sure", "\0reached", "\0both"
"""Columns for the time being: selected by the mechanism; counts above their half-width; the total of a released item;
counts by both measurements. No item has such a column."""

MOSTLY_NOISE = (
    "Most counts are smaller than their half-width: they are mostly noise. A larger epsilon or fewer, coarser items would "
    "help, or a larger share and a smaller cut: {advice}."
)


@dataclass(frozen=True)
class Measured:
    """A release with its noisy columns, the noisy numbers of others, and notes for the curator.

    `items` is the table of items in which public items are released, too.
    """

    names: Any
    others: dict[str, float] | None = None
    notes: tuple[str, ...] = field(default=())
    items: Any = None


def measured(
    engine: Engine,
    sets: Any,
    items: Any,
    absent: pl.DataFrame,
    digests: NDArray[np.uint64],
    excluded: Digests,
    counting: Counting,
    stream: Stream,
) -> Measured:
    """The released items of the table and the `absent` ones, which nobody holds, with all that is asked of them.

    The table has been marked by `mark_found`. `digests` are those of absent items, `excluded` those of excluded ones.
    """
    cut, sigma = counting.cut, counting.sigma
    items = engine.attach(items, partial(_mark_other, excluded=excluded))
    items = noisy_holders(engine, sets, items, cut=cut, sigma=sigma, stream=stream)
    absent = absent.with_columns(pl.Series(HOLDERS, noisy_absent(digests, sigma=sigma, stream=stream)))
    others: dict[str, float] = {}
    for place, (name, scale) in enumerate(counting.sums.items()):
        bounds, cell = counting.terms.sums[name], cell_of(scale)
        items, rest = engine.sum_values(sets, items, name, bounds.in_units, counting.sums_cut)
        draw = _noise(stream, SUMS + place, bounds.unit, scale, cell)
        items = engine.update(
            items, partial(_add_noise_to_sum, column=SHOWN + sum_of(name), draw=draw, cell=cell)
        )
        nothing = np.zeros(len(digests), np.int64)
        absent = absent.with_columns(pl.Series(sum_of(name), cell * draw(nothing, digests)))
        if name in counting.others:
            others[name] = _noisy_other(rest, bounds.unit, counting.others[name], 1 + place, stream)
    keys = [name for name in absent.columns if name not in measured_columns(counting.sums)]
    items = engine.update(items, partial(_mark_reached, totals=counting.totals))
    totals, counts = (
        engine.collect(items, partial(_measured_twice, name=name)) for name in (REACHED, HOLDERS)
    )
    held = engine.frame(sets, items)
    unreached = {FOUND: pl.lit(False), REACHED: pl.lit(0, pl.Int64)}
    absent = beside_candidates(absent, held).with_columns(**unreached)
    names = pl.concat([held, absent.select(held.columns)]).sort(keys)
    if counting.others:
        users = engine.users_with_other(sets, items)
        others[""] = _noisy_other(users, 1.0, counting.others[""], 0, stream)
    names = names.with_columns((pl.col(HOLDERS) > HALF_WIDTH * counting.sigma).alias(SURE))
    names = _moved(names, totals, counts, counting.sigma).sort(keys)
    made = names if counting.terms.raw else _sensible(names, counting)
    notes = (*counting.terms.notes, *_notes(names, counting))
    return Measured(detached(_completed(made, counting)), _others(others, counting), notes)


def beside_candidates(absent: pl.DataFrame, held: pl.DataFrame) -> pl.DataFrame:
    """Items that nobody holds, which are no candidates, with the column that says so if the others have it."""
    return absent.with_columns(pl.lit(False).alias(LISTED)) if LISTED in held.columns else absent


def mark_found(columns: Columns) -> Columns:
    """Mark the items that the mechanism selected and that are on no list."""
    released = columns["released"]
    return {SHOWN + FOUND: released & ~columns["listed"] if "listed" in columns else released}


def noisy_holders(engine: Engine, sets: Any, items: Any, *, cut: int, sigma: float, stream: Stream) -> Any:
    """The engine's table of items with noisy holders to be shown for those with `released`, and 0 for the others."""
    items = engine.update(items, _open_released)
    rows = engine.bound(sets, NO_CUT, stream, keep=items)
    items = engine.weigh(rows, items, Rule("weigh_by_root", unit=2.0**-30, table=np.array([cut], np.int64)))
    return engine.update(items, partial(_add_noise, sigma=sigma, stream=stream))


def noisy_absent(digests: NDArray[np.uint64], *, sigma: float, stream: Stream) -> NDArray[np.int64]:
    """The counts of public items that nobody holds."""
    nothing = np.zeros(len(digests), np.int64)
    return np.asarray(_noise(stream, ITEMS, 1.0, sigma, 1.0)(nothing, digests), np.int64)


def noisy_users(users: int, *, sigma: float, stream: Stream) -> int:
    """The number of users with the noise of one more count."""
    return int(_noise(stream, USERS, 1.0, sigma, 1.0)(np.array([users], np.int64), NO_DIGEST)[0])


def cell_of(sigma: float) -> float:
    """The grid of a noisy sum: a power of two, about a thousandth of the noise."""
    return 2.0 ** (math.frexp(sigma / CELLS_PER_SIGMA)[1] - 1)


def step_of(sigma: float) -> float:
    """The decimal step to which a number with this noise is rounded: at most half of the noise, at least a twentieth."""
    return float(10.0 ** math.floor(math.log10(sigma / 2)))


def _noise(stream: Stream, round: int, unit: float, scale: float, cell: float) -> Any:
    how: dict[str, Any] = {"round": round, "unit": unit, "scale": scale, "cell": cell}
    return partial(gaussian_cells, stream=stream, purpose=Purpose.COUNT, **how)


def _open_released(columns: Columns) -> Columns:
    return {"open": columns["released"]}


def _mark_reached(columns: Columns, totals: bool) -> Columns:
    """The noisy totals of selected items in cells; 0 if there is none: for very popular items of auto, and public items."""
    found = columns[SHOWN + FOUND]
    return {
        SHOWN + REACHED: np.where(found, columns["noisy"], 0) if totals else np.zeros(len(found), np.int64)
    }


def _measured_twice(columns: Columns, name: str) -> NDArray[np.int64]:
    """The totals or the noisy counts of items that have both."""
    return np.asarray(columns[SHOWN + name][columns[SHOWN + REACHED] > 0], np.int64)


def _moved(
    names: pl.DataFrame, totals: NDArray[np.int64], counts: NDArray[np.int64], sigma: float
) -> pl.DataFrame:
    """The items with counts by both measurements where there are two; `totals` and `counts` are those of all such items."""
    order = np.lexsort((counts, totals))  # the same on every engine
    by_both = np.rint(by_neighbours(counts[order].astype(np.float64), sigma)).astype(np.int64)
    columns = {REACHED: totals[order], HOLDERS: counts[order], BOTH: by_both}
    of_pairs = pl.DataFrame(columns).unique([REACHED, HOLDERS], keep="first", maintain_order=True)
    found = names.join(of_pairs, on=[REACHED, HOLDERS], how="left")
    return found.with_columns(pl.coalesce(BOTH, HOLDERS).alias(HOLDERS)).drop(REACHED, BOTH)


def _add_noise(columns: Columns, sigma: float, stream: Stream) -> Columns:
    draw = _noise(stream, ITEMS, 2.0**-30, sigma, 1.0)
    return {SHOWN + HOLDERS: drawn(draw, columns, columns["released"])}


def _mark_other(columns: Columns, excluded: Digests) -> Columns:
    return {"other": ~columns["released"] & ~among(columns["digest"], excluded)}


def _add_noise_to_sum(columns: Columns, column: str, draw: Any, cell: float) -> Columns:
    return {column: cell * drawn(draw, columns, columns["released"])}


def _noisy_other(total: int, unit: float, sigma: float, place: int, stream: Stream) -> float:
    cell = cell_of(sigma)
    return cell * float(
        _noise(stream, OTHERS + place, unit, sigma, cell)(np.array([total], np.int64), NO_DIGEST)[0]
    )


def _sensible(names: pl.DataFrame, counting: Counting) -> pl.DataFrame:
    """No counts below 0 or the floor, no sums outside of what the bounds allow, no more digits than the noise leaves."""
    step = max(1, int(step_of(counting.sigma)))
    floor = pl.when(FOUND).then(counting.floor).otherwise(0)
    made = names.with_columns(pl.max_horizontal(_to_step(pl.col(HOLDERS), step).cast(pl.Int64), floor))
    for name, sigma in counting.sums.items():
        bounds = counting.terms.sums[name]
        sums = pl.col(sum_of(name))
        sums = sums.clip(0) if bounds.low >= 0 else sums.clip(None, 0) if bounds.high <= 0 else sums
        made = made.with_columns(_to_step(sums, step_of(sigma)))
    return made


def _to_step(values: pl.Expr, step: float) -> pl.Expr:
    return ((values / step).round() * step).round(max(0, -math.floor(math.log10(step))))


def _completed(names: pl.DataFrame, counting: Counting) -> pl.DataFrame:
    """The columns with half-widths behind counts and sums, and means: sum by count, null where the count is mostly noise."""
    order = [name for name in names.columns if name not in {FOUND, SURE, *measured_columns(counting.sums)}]
    columns = [*map(pl.col, order), pl.col(HOLDERS), pl.lit(half_width(counting.sigma)).alias(HALF)]
    for name, sigma in counting.sums.items():
        columns += [
            pl.col(sum_of(name)),
            pl.lit(half_width(sigma)).alias(half_width_of(name)),
            _mean(name, sigma, counting).alias(mean_of(name)),
        ]
    return names.select(columns)


def _mean(name: str, sigma: float, counting: Counting) -> pl.Expr:
    """Sum by count within the bounds, to the digits that the noise of both leaves."""
    bounds = counting.terms.sums[name]
    mean = (pl.col(sum_of(name)) / pl.col(HOLDERS)).clip(bounds.low, bounds.high)
    if not counting.terms.raw:
        error = (sigma**2 + (mean * counting.sigma) ** 2).sqrt() / pl.col(HOLDERS)
        digits = -(error / 2).log10().floor()
        finer, coarser = pl.lit(10.0).pow(digits), pl.lit(10.0).pow(-digits)
        rounded = (mean * finer).round() / finer
        mean = pl.when(digits >= 0).then(rounded).otherwise((mean / coarser).round() * coarser)
    return pl.when(SURE).then(mean)


def _others(found: Mapping[str, float], counting: Counting) -> dict[str, float] | None:
    """The noisy numbers of others with their half-widths; not below 0 where they cannot be."""
    if not counting.others:
        return None
    made: dict[str, float] = {}
    for name, sigma in counting.others.items():
        value, step = found[name], step_of(sigma)
        if not counting.terms.raw:
            positive = not name or counting.terms.sums[name].low >= 0
            value = round(round((max(0.0, value) if positive else value) / step) * step, 12)
        made[sum_of(name) if name else HOLDERS] = value
        made[half_width_of(name) if name else HALF] = half_width(sigma)
    return made


def _notes(names: pl.DataFrame, counting: Counting) -> tuple[str, ...]:
    """A note if most counts are smaller than their half-width. It depends on noisy counts alone."""
    many = 2 * int(names[SURE].sum()) < names.height
    return (MOSTLY_NOISE.format(advice=counting.terms.advice),) if many else ()
