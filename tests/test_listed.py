"""Public items, excluded items and counts."""

import datetime
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import dpsu
from dpsu.algorithms import find
from dpsu.algorithms.counts import share_with_counts
from dpsu.algorithms.request import Request
from dpsu.errors import InvalidArgument, SourceError
from dpsu.testing import seeded

PRIVACY = {"epsilon": 3.0, "delta": 1e-6}
DATA = {n: ["and", "of", "the"] for n in range(500)}
PRIVATE = [row["name"] for row in dpsu.algorithms().iter_rows(named=True) if row["private"]]


@pytest.mark.parametrize("algorithm", PRIVATE)
def test_public_items_always_come_out_and_excluded_ones_never(algorithm: str) -> None:
    items = 1 if algorithm == "optimal-single" else 3
    release = dpsu.release(
        DATA,
        **PRIVACY,
        max_items=items,
        algorithm=algorithm,
        public_items=["zebra", "of"],
        exclude=["the", "nobody's"],
    )
    assert release.items == ["and", "of", "zebra"]


def test_listed_items_take_nothing_of_a_users_limit() -> None:
    """Each user holds 50 listed items beside the one that counts, and the limit is one."""
    listed = [f"listed {n}" for n in range(50)]
    data = {n: ["rare", *listed] for n in range(60)}
    for arguments in ({"public_items": listed}, {"exclude": listed}):
        release = dpsu.release(data, epsilon=3.0, delta=1e-4, max_items=1, **arguments)
        assert "rare" in release
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dpsu.EmptyRelease)
        assert "rare" not in dpsu.release(data, epsilon=3.0, delta=1e-4, max_items=1)


def test_the_statement_does_not_depend_on_the_lists() -> None:
    plain = dpsu.release(DATA, **PRIVACY, max_items=3).statement
    assert dpsu.release(DATA, **PRIVACY, max_items=3, public_items=["x"], exclude=["of"]).statement == plain


@pytest.mark.parametrize(
    ("values", "listed"),
    [
        ([7, 8], [8, 9]),
        ([7, 8], ["8", "9"]),
        (["a", "b"], pl.Series(["b", "c"])),
        (["a", "b"], pl.DataFrame({"item": ["b", "c"], "note": [1, 2]})),
        (
            [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)],
            [datetime.date(2020, 1, 2), datetime.date(2021, 1, 1)],
        ),
    ],
)
def test_lists_take_the_type_of_the_data(values: list[Any], listed: Any) -> None:
    frame = pl.DataFrame({"user": [*range(400)] * 2, "item": [values[0]] * 400 + [values[1]] * 400})
    columns = {"user": "user", "item": "item"}
    both = dpsu.release(frame, **columns, **PRIVACY, max_items=2, public_items=listed)
    assert len(both) == 3
    assert both.to_polars().schema["item"] == frame.schema["item"]
    assert dpsu.release(frame, **columns, **PRIVACY, max_items=2, exclude=listed).items == values[:1]


def test_composite_items_are_listed_as_tuples() -> None:
    frame = pl.DataFrame({"who": range(400), "country": ["fr"] * 400, "product": [7] * 400})
    columns = {"user": "who", "item": ["country", "product"]}
    release = dpsu.release(frame, **columns, **PRIVACY, public_items=[("de", 1), ("fr", 7)])
    assert release.items == [("de", 1), ("fr", 7)]


@pytest.mark.parametrize("name", ["list.txt", "list.csv", "list.parquet", "list.jsonl"])
def test_lists_may_be_files(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    frame = pl.DataFrame({"item": ["zebra", "of"]})
    writers = {"txt": lambda: path.write_text("zebra\nof\n"), "csv": lambda: frame.write_csv(path)}
    writers |= {"parquet": lambda: frame.write_parquet(path), "jsonl": lambda: frame.write_ndjson(path)}
    writers[name.partition(".")[2]]()
    assert dpsu.release(DATA, **PRIVACY, max_items=3, public_items=path).items == [
        "and",
        "of",
        "the",
        "zebra",
    ]


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"public_items": "of"}, InvalidArgument, "must be a list of items"),
        ({"exclude": 3}, InvalidArgument, "must be a list of items"),
        ({"public_items": Path("/no/such/list.txt")}, SourceError, "cannot read the items"),
        ({"public_items": ["a"], "exclude": ["a"]}, InvalidArgument, "both public and excluded"),
        ({"public_items": [("a", "b")]}, InvalidArgument, "2 columns where the data's have 1"),
    ],
)
def test_lists_that_make_no_sense_are_refused(arguments: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        dpsu.release(DATA, **PRIVACY, max_items=3, **arguments)


@pytest.mark.parametrize("algorithm", PRIVATE)
def test_counts_are_close_and_in_the_statement(algorithm: str) -> None:
    items = 1 if algorithm == "optimal-single" else 3
    data = {n: (["and"] if n % 2 or items == 1 else ["and", "of"]) for n in range(4000)}
    release = dpsu.release(
        data, **PRIVACY, max_items=items, algorithm=algorithm, counts=True, public_items=["zebra"]
    )
    assert release.statement is not None
    counts, sigma = release.counts, release.statement.parameters["counts"]["sigma"]
    assert counts is not None
    true = {"and": 4000, "of": 2000, "zebra": 0}
    assert set(counts) == set(release.items)
    assert all(abs(counts[item] - true[item]) < 8 * sigma for item in counts)
    assert release.to_polars().columns == ["item", "holders"]
    found = dpsu.verify(release.statement)
    assert found.ok, str(found)


def test_counts_have_the_noise_that_is_stated_and_public_ones_too() -> None:
    """Without noise on items that nobody holds, their exact zero would speak."""
    public = [f"public {n}" for n in range(2000)]
    with seeded(4):
        release = dpsu.release(DATA, **PRIVACY, max_items=3, counts=True, public_items=public)
    counts = release.counts
    assert release.statement is not None
    assert counts is not None
    sigma = release.statement.parameters["counts"]["sigma"]
    noise = np.array([counts[item] for item in public])
    assert noise.std() == pytest.approx(sigma, rel=0.1)
    assert abs(noise.mean()) < 5 * sigma / np.sqrt(len(public))


def test_counts_are_off_unless_asked_for() -> None:
    release = dpsu.release(DATA, **PRIVACY, max_items=3)
    assert release.counts is None
    assert release.to_polars().columns == ["item"]


def test_counts_take_a_tenth_of_the_squared_mu() -> None:
    mechanism, counting = share_with_counts(find("focused-gaussian"), Request(1.0, 1e-6, 30))
    budget = mechanism.budget()
    assert budget is not None
    assert counting.budget.mu**2 / (budget.mu**2 + counting.budget.mu**2) == pytest.approx(0.1)
    assert budget.compose(counting.budget).delta(1.0) <= 1e-6


def test_an_item_column_called_holders_is_refused_with_counts() -> None:
    frame = pl.DataFrame({"user": range(400), "holders": ["x"] * 400})
    with pytest.raises(InvalidArgument, match="rename it"):
        dpsu.release(frame, user="user", item="holders", **PRIVACY, counts=True)
