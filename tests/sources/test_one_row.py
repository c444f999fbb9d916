"""One user's rows change neither the type of the items nor how the rows of others are read."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dpsu.errors import ColumnNotFound, SourceError, UnsupportedType
from dpsu.randomness.stream import Stream
from dpsu.sources.layout import PLAIN, Layout
from dpsu.sources.pairs import read_sets

STREAM = Stream(bytes(range(32)), seeded=True)
OTHERS = [(user, item) for user in range(2000) for item in (1, 2)]
PLACES = [0, 7, len(OTHERS)]


def items(source: Any, layout: Layout = PLAIN, **columns: str) -> list[Any]:
    """The items of all users, which must have one type."""
    sets = read_sets(source, **(columns or {"user": "who", "item": "what"}), stream=STREAM, layout=layout)
    return sorted(sets.names.decode(range(sets.n_items)).to_series().to_list())  # type: ignore[arg-type]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("value", ["x", 1.5, 1e50, 2**63, 2**100, "007", True, {"a": 1}], ids=repr)
def test_json_lines(value: Any, place: int, tmp_path: Path) -> None:
    rows = [*OTHERS[:place], (5, value), *OTHERS[place:]]
    lines = [json.dumps({"who": user, "what": item}) for user, item in rows]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    if isinstance(value, dict) and place < len(OTHERS):
        with pytest.raises((UnsupportedType, SourceError)):
            items(tmp_path / "a.jsonl")
        return
    read = items(tmp_path / "a.jsonl")
    assert {"1", "2"} < {*read}
    assert len(read) == 3


def test_keys_of_json_lines_may_be_missing_from_the_first_rows(tmp_path: Path) -> None:
    lines = ['{"who": 1, "whatever": 2}'] * 200 + ['{"who": 1, "what": 2}']
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    with pytest.raises(ColumnNotFound, match="'what'"):
        items(tmp_path / "a.jsonl", user="who", item="waht")
    sets = read_sets(tmp_path / "a.jsonl", user="who", item="what", stream=STREAM, drop_nulls=True)
    assert sets.n_items == 1


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("value", ["x", 1.5, 1e50, 2**62, b"\xff\x00"], ids=repr)
def test_sqlite(value: Any, place: int, tmp_path: Path) -> None:
    pytest.importorskip("adbc_driver_sqlite")
    database = sqlite3.connect(tmp_path / "a.db")
    database.execute('create table t (who, "wh`at")')
    rows = [*OTHERS[:place], (5, value), *OTHERS[place:]]
    database.executemany("insert into t values (?, ?)", rows)
    database.commit()
    database.close()
    query = Layout(query="select * from t; ")
    read = items(f"sqlite://{tmp_path}/a.db", query, user="who", item="wh`at")
    assert {"1", "2"} < {*read}
    assert len(read) == 3
    with pytest.raises(ColumnNotFound, match="'nothing'"):
        items(f"sqlite://{tmp_path}/a.db", query, user="who", item="nothing")


def test_a_misspelt_sqlite_file_is_not_made(tmp_path: Path) -> None:
    pytest.importorskip("adbc_driver_sqlite")
    with pytest.raises(SourceError, match="SQLite"):
        items(f"sqlite://{tmp_path}/no.db", Layout(query="select 1"))
    assert not [*tmp_path.iterdir()]


def test_numbers_of_collections_stay_64_bit_integers() -> None:
    sets = read_sets({1: [1, 2], 2**63: [1]}, stream=STREAM)
    assert sets.names.decode(range(2)).to_series().dtype == pl.Int64  # type: ignore[arg-type]
    with pytest.raises(UnsupportedType, match="items"):
        read_sets({1: [1, 2], 2: [2**63]}, stream=STREAM)
