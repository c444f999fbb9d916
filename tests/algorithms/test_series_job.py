"""A series as users run it, from file to file, equals the slow twin: what it carries, fills in and releases."""

import tempfile
import warnings
from pathlib import Path

import numpy as np
import polars as pl
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from normals import computed_normals

import dpsu
from dpsu.algorithms.lists import digests_of
from dpsu.algorithms.series import calibrate_series
from dpsu.algorithms.series_job import Places
from dpsu.outcome.series_state import TOTAL, reading
from dpsu.randomness.stream import Purpose, Stream

ITEMS = [f"item {n}" for n in range(5)]
TERMS = {"epsilon": 2.0, "delta": 0.2, "periods": 4, "max_items": len(ITEMS)}

some_rows = st.lists(st.sets(st.integers(0, len(ITEMS) - 1), min_size=1).map(sorted), max_size=9)


@settings(max_examples=25)
@given(st.lists(st.none() | some_rows, min_size=4, max_size=4).filter(lambda periods: any(periods)))
def test_a_series_of_files_is_the_oracles(periods: list[list[list[int]] | None]) -> None:
    """Totals agree to a cell, and the same items come out in the same periods. None is a skipped period."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", dpsu.EmptyRelease)
        path = Path(folder) / "w.series"
        series = dpsu.Series.create(path, **TERMS)
        released: list[set[int]] = []
        for number, rows in enumerate(periods, 1):
            users = {n: [ITEMS[item] for item in own] for n, own in enumerate(rows or [])}
            found = set() if rows is None else set(series.release(users, period=number).items)
            released.append({ITEMS.index(item) for item in found})
        with reading(path) as state:
            stream = Stream(bytes.fromhex(state.header["key"]))
        totals = {ITEMS.index(name): total for name, total in _totals(path).items()}
    mechanism = calibrate_series(**TERMS)
    digests = digests_of(pl.DataFrame({"item": ITEMS}), stream)
    normals = [
        dict(enumerate(computed_normals(stream.words(Purpose.NOISE, r, digests))[0]))
        for r in range(len(mechanism.boundary.shares))
    ]
    expected, expected_released = reference.series(periods, normals, mechanism.boundary, mechanism.focus)
    assert released == expected_released
    assert totals.keys() == expected.keys() - set().union(*released)
    assert all(abs(totals[item] - expected[item]) <= 1 for item in totals)


def test_cut_items_stay_in_the_state_and_receive_noise_but_do_not_begin_to_exist() -> None:
    """One user with more items than max_items. Keys are fixed in tests, so that no total stays what it is by chance."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", dpsu.EmptyRelease)
        path = Path(folder) / "w.series"
        series = dpsu.Series.create(path, epsilon=1, delta=1e-9, periods=2, max_items=[100, 1])
        old, new = ([f"{name} {n}" for n in range(100)] for name in ("old", "new"))
        series.release({0: old})
        before = _totals(path)
        series.release({0: [*old, *new], 1: new})
        after = _totals(path)
    assert before.keys() == {*old}
    assert {*old} <= after.keys()
    assert len(after.keys() - before.keys()) <= 2
    assert all(after[name] != before[name] for name in old)


def _totals(path: Path) -> dict[str, int]:
    with reading(path) as state:
        return {
            name: total
            for part in state.open_items()
            for name, total in part.select("item", TOTAL).iter_rows()
        }


def test_digests_are_found_by_both_words() -> None:
    table = np.array([[7, 1], [3, 9], [7, 0], [3, 2]], np.uint64)
    asked = np.array([[3, 9], [7, 0], [7, 2], [3, 2], [4, 1], [7, 1], [9, 9]], np.uint64)
    assert Places(table).of(asked).tolist() == [1, 2, -1, 3, -1, 0, -1]
    assert Places(table[:0]).of(asked).tolist() == [-1] * 7
