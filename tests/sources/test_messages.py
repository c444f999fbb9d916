"""Errors about data name the column or the function, and no value."""

from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from leaks import told

import dpsu
from dpsu.errors import InvalidArgument, SourceError
from dpsu.report.numbers import counted

PRIVACY = {"epsilon": 1.0, "delta": 1e-6}


def test_mixed_types_name_the_column() -> None:
    frame = pd.DataFrame({"who": [1, 2], "what": ["secret", 3]})
    with pytest.raises(dpsu.DpsuError) as error:
        dpsu.release(frame, user="who", item="what", **PRIVACY)
    assert "'what'" in str(error.value)
    assert "'who'" not in str(error.value)
    assert "secret" not in str(error.value)


DATA = pl.DataFrame({"who": ["secret", "secret"], "what": ["a", "b"]})


@pytest.mark.parametrize("column", [DATA["who"], DATA["who"].to_numpy(), [b"secret"], 3, pl.col("who")])
def test_data_in_the_place_of_a_name_is_not_told(column: Any) -> None:
    with pytest.raises(InvalidArgument, match="user") as error:
        dpsu.release(DATA, user=column, item="what", **PRIVACY)
    assert "secret" not in told(error.value)


@pytest.mark.parametrize("series", [DATA["who"], DATA["who"].to_pandas()])
def test_a_series_has_no_columns(series: Any) -> None:
    with pytest.raises(InvalidArgument, match="series"):
        dpsu.release(series, user="who", item="what", **PRIVACY)


def test_a_query_that_fails_is_no_damaged_file() -> None:
    failing = DATA.lazy().with_columns(what=pl.col("what").cast(pl.Int64))
    with pytest.raises(SourceError, match="query") as error:
        dpsu.release(failing, user="who", item="what", **PRIVACY)
    assert "encoding" not in str(error.value)


@pytest.mark.parametrize(
    "arguments",
    [{"encoding": 3}, {"encoding": "hex"}, {"separator": 3}, {"query": 3}, {"sheet": 3}, {"ledger": 3}],
)
def test_arguments_of_another_type_are_named(arguments: dict[str, Any], tmp_path: Path) -> None:
    DATA.write_csv(tmp_path / "rows.csv")
    with pytest.raises(InvalidArgument, match=next(iter(arguments))):
        dpsu.release(tmp_path / "rows.csv", user="who", item="what", **PRIVACY, **arguments)


def test_a_tokenizer_that_returns_nothing_is_named() -> None:
    def forgets_to_return(text: str) -> None:
        text.split()

    with pytest.raises(dpsu.DpsuError, match=r"forgets_to_return.*None"):
        dpsu.release({1: ["a b"]}, text=True, tokenizer=forgets_to_return, **PRIVACY)


def test_one_item_is_singular() -> None:
    assert [counted(1), counted(0.6), counted(2000)] == ["1 item", "1 item", "2,000 items"]
    assert "1 items" not in repr(dpsu.release({n: ["bread"] for n in range(900)}, **PRIVACY))
    assert "1 item" in dpsu.plan(**PRIVACY).table().columns


@pytest.mark.parametrize("function", [dpsu.release, dpsu.ngrams, dpsu.plan, dpsu.compare])
def test_maxitems_suggests_max_items(function: object) -> None:
    with pytest.raises(dpsu.DpsuError, match="max_items"):
        function(maxitems=3)  # type: ignore[operator]
