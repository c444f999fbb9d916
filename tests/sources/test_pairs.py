"""What cannot be read is refused in one line that says what to do."""

import gzip
import io
from datetime import UTC, datetime
from decimal import Decimal

import duckdb
import pandas as pd
import polars as pl
import pytest

from dpsu.errors import ColumnNotFound, InvalidArgument, NullValues, SourceError, TooLarge, UnsupportedType
from dpsu.randomness.stream import Stream
from dpsu.sources.pairs import read_sets

STREAM = Stream(bytes(32), seeded=True)
FRAME = pl.DataFrame({"author": ["ann", "bob"], "word": ["tea", "tea"]})


def refused(error, source, *, user="author", item="word", **options):
    """The message of the refusal, which must be one line."""
    with pytest.raises(error) as caught:
        read_sets(source, user=user, item=item, stream=STREAM, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    return message


def test_missing_files(tmp_path):
    assert "none.parquet" in refused(SourceError, tmp_path / "none.parquet")
    assert "*.parquet" in refused(SourceError, f"{tmp_path}/*.parquet")
    assert str(tmp_path) in refused(SourceError, tmp_path)
    assert "a.csv" in refused(SourceError, [str(tmp_path / "a.csv"), str(tmp_path / "b.csv")])


@pytest.mark.parametrize("name", ["rows", "rows.ods", "rows.parquet.gz", "rows.gz", ".parquet"])
def test_unknown_endings_name_the_known_ones(name, tmp_path):
    FRAME.write_parquet(tmp_path / name)
    message = refused(SourceError, tmp_path / name)
    assert ".parquet" in message
    assert ".ndjson" in message
    assert "--format" in message


def test_unknown_formats(tmp_path):
    FRAME.write_parquet(tmp_path / "a.parquet")
    assert "'parquet'" in refused(InvalidArgument, tmp_path / "a.parquet", format="parket")
    assert "format=" in refused(InvalidArgument, FRAME, format="csv")


def test_an_unreadable_file(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    FRAME.write_parquet(path)

    def denied(*_arguments):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.open", denied)
    assert "Permission denied" in refused(SourceError, path)


def parquet():
    buffer = io.BytesIO()
    FRAME.write_parquet(buffer)
    return buffer.getvalue()


CSV = b"author,word\nann,secret-tea\n"
JSON = b'{"author": "ann", "word": "secret-tea"}\n'

OTHERS = {
    "csv.parquet": (CSV, "as Parquet"),
    "cut.parquet": (parquet()[:-20], "as Parquet"),
    "empty.parquet": (b"", "as Parquet"),
    "parquet.csv": (parquet(), "looks like Parquet"),
    "json.csv": (JSON, "looks like JSON lines"),
    "empty.csv": (b"", "as CSV"),
    "latin1.csv": (CSV + b"bob,caf\xe9\n", "UTF-8"),
    "quote.csv": (CSV + b'bob,"secret-milk\n', "damaged"),
    "ragged.csv": (CSV + b"bob,secret-milk,secret-beer\n", "damaged"),
    "csv.jsonl": (CSV, "as JSON lines"),
    "parquet.jsonl": (parquet(), "looks like Parquet"),
    "cut.jsonl": (JSON + JSON[:20], "as JSON lines"),
    "cut.csv.gz": (gzip.compress(CSV * 1000)[:-20], "damaged"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_files_that_are_not_what_they_say(name, tmp_path):
    content, expected = OTHERS[name]
    (tmp_path / name).write_bytes(content)
    message = refused(SourceError, tmp_path / name)
    assert expected in message
    assert "secret" not in message


def test_files_of_different_types(tmp_path):
    FRAME.write_parquet(tmp_path / "1.parquet")
    pl.DataFrame({"author": ["ann"], "word": [7]}).write_parquet(tmp_path / "2.parquet")
    assert "'word'" in refused(SourceError, f"{tmp_path}/*.parquet")


@pytest.mark.parametrize(
    "make", [lambda f: f, pl.DataFrame.lazy, pl.DataFrame.to_pandas, pl.DataFrame.to_arrow]
)
def test_missing_columns_in_frames(make):
    message = refused(ColumnNotFound, make(FRAME), user="autor")
    assert "'autor'" in message
    assert "'author'" in message


def test_missing_columns_in_a_duckdb_relation():
    with duckdb.connect() as connection:
        assert "'wort'" in refused(ColumnNotFound, connection.sql("SELECT 1 AS author, 2 AS wort"))


def test_missing_columns_in_files_name_the_file(tmp_path):
    path = tmp_path / "a.parquet"
    path.write_bytes(parquet())
    assert str(path) in refused(ColumnNotFound, path, item="body")
    wide = pl.DataFrame({f"column{i}": [1] for i in range(100)} | {"x" * 1000: [1]})
    assert len(refused(ColumnNotFound, wide)) < 400


def test_columns_must_be_given():
    assert "user=" in refused(InvalidArgument, FRAME, user=None)
    assert "item=" in refused(InvalidArgument, FRAME, item=None)
    assert "item" in refused(InvalidArgument, FRAME, item=[])
    assert "word" in refused(InvalidArgument, FRAME, item=["word", "word"])
    assert "author" in refused(InvalidArgument, FRAME, item="author")
    assert "author" in refused(InvalidArgument, FRAME, item=["word", "author"])


def test_standard_input_needs_a_format():
    assert "--format" in refused(InvalidArgument, "-")


@pytest.mark.parametrize("column", ["author", "word"])
def test_nulls_are_refused_or_dropped(column, tmp_path):
    holed = FRAME.with_columns(pl.when(pl.col("author") == "ann").then(pl.col(column)).alias(column))
    holed.write_csv(tmp_path / "a.csv")
    holed.write_parquet(tmp_path / "a.parquet")
    for source in (holed, holed.to_pandas(), tmp_path / "a.csv", tmp_path / "a.parquet"):
        message = refused(NullValues, source)
        assert f"column {column!r}" in message
        assert "drop_nulls=True" in message
        assert "--drop-nulls" in message
        assert read_sets(source, user="author", item="word", stream=STREAM, drop_nulls=True).n_users == 1


def test_nulls_elsewhere_do_not_matter():
    frame = FRAME.with_columns(other=pl.lit(None))
    assert read_sets(frame, user="author", item="word", stream=STREAM, drop_nulls=True).n_users == 2


def test_nulls_in_collections():
    assert "drop_nulls" in refused(NullValues, {"ann": ["tea", None]}, user=None, item=None)
    assert "drop_nulls" in refused(NullValues, {None: ["tea"]}, user=None, item=None)
    only_null = read_sets({"ann": [None]}, stream=STREAM, drop_nulls=True)
    assert only_null.n_users == 0


TYPES = {
    "float": ([1.5, 2.5], "not stable"),
    "list": ([["a"], ["b"]], "explode"),
    "array": (pl.Series([[1], [2]], dtype=pl.Array(pl.Int8, 1)), "explode"),
    "struct": ([{"a": 1}, {"a": 2}], "composite key"),
    "object": (pl.Series([object(), object()], dtype=pl.Object), "cast"),
}


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("column", ["author", "word"])
def test_types_that_cannot_name(name, column):
    values, reason = TYPES[name]
    message = refused(UnsupportedType, FRAME.with_columns(pl.Series(column, values)))
    assert f"column {column!r}" in message
    assert f"type {name}" in message
    assert reason in message


def test_integers_that_pandas_made_floats():
    assert "floats" in refused(UnsupportedType, pd.DataFrame({"author": [1, 2], "word": [1, None]}))


@pytest.mark.parametrize("column", ["author", "word"])
def test_mixed_types_in_a_pandas_column(column):
    frame = pd.DataFrame({"author": [1, 2], "word": ["a", "b"]}).assign(**{column: ["a", 1]})
    assert f"'{column}'" in refused((SourceError, UnsupportedType), frame)


MOMENT = datetime(2026, 1, 2)


@pytest.mark.parametrize(
    ("items", "reason"),
    [
        ([Decimal("1.5"), Decimal("1.55")], "digits"),
        ([MOMENT.replace(tzinfo=UTC), MOMENT], "time zones"),
        ([MOMENT.date(), MOMENT], "date, datetime"),
        ([b"tea", "tea"], "bytes, str"),
    ],
    ids=["decimals", "time zones", "a date among times", "bytes among strings"],
)
def test_objects_of_pandas_whose_type_one_user_can_change(items, reason):
    """One more digit, or the first time zone, would have changed all items that are released."""
    frame = pd.DataFrame({"author": [1, 2], "word": pd.Series(items, dtype=object)})
    assert reason in refused(UnsupportedType, frame)


COLLECTIONS = {
    "mixed items": ({"zoe": ["tea", 1]}, UnsupportedType, "int, str"),
    "mixed users": ({"zoe": ["tea"], 1: ["tea"]}, UnsupportedType, "int, str"),
    "booleans among integers": ({"zoe": [1, True]}, UnsupportedType, "bool, int"),
    "floats": ({"zoe": [1.0]}, UnsupportedType, "not stable"),
    "tuples": ({"zoe": [("new", "york")]}, UnsupportedType, "explode"),
    "objects": ({"zoe": [frozenset("a")]}, UnsupportedType, "cast"),
    "huge integers": ({"zoe": [2**200]}, UnsupportedType, "64-bit"),
    "lone surrogates": ({"zoe": ["\ud800"]}, UnsupportedType, "strings"),
    "decimals": ({"zoe": [Decimal("1.5")]}, UnsupportedType, "digits"),
    "time zones": ({"zoe": [MOMENT], "ann": [MOMENT.replace(tzinfo=UTC)]}, UnsupportedType, "time zones"),
    "a string for items": ({"zoe": "tea"}, InvalidArgument, "collection"),
    "a number for items": ([("zoe", 1)], InvalidArgument, "collection"),
    "not pairs": ([("zoe", "tea", "milk")], InvalidArgument, "pairs"),
    "not iterable": (7, InvalidArgument, "'int'"),
}


@pytest.mark.parametrize("name", COLLECTIONS)
def test_collections_that_cannot_be_read(name):
    source, error, reason = COLLECTIONS[name]
    message = refused(error, source, user=None, item=None)
    assert reason in message
    assert "zoe" not in message


def test_collections_have_no_columns():
    assert "leave" in refused(InvalidArgument, {"ann": ["tea"]})


def test_more_pairs_than_fit_name_spark(monkeypatch):
    monkeypatch.setattr("dpsu.sources.pairs.MOST_PAIRS", 1)
    assert "Spark" in refused(TooLarge, FRAME)
