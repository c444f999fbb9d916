"""Every kind of source gives the same sets."""

import gzip
import io
import json
import os

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dpsu.errors import InvalidArgument, SourceError
from dpsu.randomness.stream import Stream
from dpsu.sources.pairs import read_sets
from dpsu.sources.paths import find_files

STREAM = Stream(bytes(range(32)), seeded=True)

ROWS = [("ann", "tea"), ("ann", "milk"), ("bob", "tea"), ("ann", "tea"), ("cyd", "ä" * 20), ("bob", "ä" * 20)]
USERS, ITEMS = [user for user, _ in ROWS], [item for _, item in ROWS]
FRAME = pl.DataFrame({"extra": [1.5] * len(ROWS), "user": USERS, "item": ITEMS})


def read(source, **options):
    columns = {"user": "user", "item": "item"} | options
    return read_sets(source, stream=STREAM, **columns)


def assert_same(sets, expected):
    np.testing.assert_array_equal(sets.indptr, expected.indptr)
    np.testing.assert_array_equal(sets.items, expected.items)
    np.testing.assert_array_equal(sets.user_digests, expected.user_digests)
    np.testing.assert_array_equal(sets.item_digests, expected.item_digests)
    everything = np.arange(expected.n_items)
    assert sets.names.decode(everything).equals(expected.names.decode(everything))


@pytest.fixture(scope="module")
def expected():
    return read(FRAME)


def as_json_lines(rows=ROWS):
    return "".join(
        json.dumps({"extra": {"a": [1]}, "user": user, "item": item}) + "\n" for user, item in rows
    )


def as_separated(separator, rows=ROWS):
    return "".join(f"x{separator}{user}{separator}{item}\n" for user, item in [("user", "item"), *rows])


def test_the_sets_are_those_of_the_rows(expected):
    names = [expected.names.decode([code]).item() for code in range(expected.n_items)]
    rows = [
        expected.items[start:end] for start, end in zip(expected.indptr, expected.indptr[1:], strict=False)
    ]
    found = sorted(sorted(names[code] for code in row) for row in rows)
    assert found == sorted([["milk", "tea"], ["tea", "ä" * 20], ["ä" * 20]])
    assert (expected.n_users, expected.n_items) == (3, 3)


FRAMES = {
    "polars": lambda: FRAME,
    "lazy": lambda: FRAME.lazy(),
    "pandas": lambda: FRAME.to_pandas(),
    "pandas-arrow": lambda: FRAME.to_pandas(use_pyarrow_extension_array=True),
    "pandas-mixed-elsewhere": lambda: pd.DataFrame(
        {"user": USERS, "item": ITEMS, "other": [1, "a", None, 2.5, b"", ()]}
    ),
    "pyarrow": lambda: FRAME.to_arrow(),
    "pyarrow-reader": lambda: FRAME.to_arrow().to_reader(),
    "dictionary": lambda: pa.table(
        {"user": USERS, "item": pa.DictionaryArray.from_arrays([0, 1, 0, 0, 2, 2], ["tea", "milk", "ä" * 20])}
    ),
    "categorical": lambda: FRAME.with_columns(pl.col("item").cast(pl.Categorical)),
    "enum": lambda: FRAME.with_columns(pl.col("item").cast(pl.Enum(["unused", "tea", "ä" * 20, "milk"]))),
    "reversed": lambda: FRAME.reverse(),
    "chunked": lambda: pl.concat([FRAME[:1], FRAME[1:4], FRAME[4:]], rechunk=False),
}


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES.keys())
def test_frames(make, expected):
    assert_same(read(make()), expected)


def test_duckdb_relation(expected):
    with duckdb.connect() as connection:
        connection.register("rows", FRAME.to_arrow())
        assert_same(read(connection.sql("SELECT *, 1 AS more FROM rows")), expected)


COLLECTIONS = {
    "mapping": {"ann": {"tea", "milk"}, "bob": ["tea", "ä" * 20, "tea"], "cyd": ("ä" * 20,), "dee": []},
    "pairs": [("ann", ["tea"]), ("bob", ["tea", "ä" * 20]), ["cyd", ["ä" * 20]], ("ann", ["milk"])],
    "numpy": {np.str_("ann"): np.array(["tea", "milk"]), "bob": ["tea", "ä" * 20], "cyd": iter(["ä" * 20])},
}


@pytest.mark.parametrize("source", COLLECTIONS.values(), ids=COLLECTIONS.keys())
def test_collections(source, expected):
    assert_same(read(source, user=None, item=None), expected)


def test_a_generator_of_pairs(expected):
    pairs = ((user, [item]) for user, item in ROWS)
    assert_same(read(pairs, user=None, item=None), expected)


def write_parquet(path):
    FRAME.write_parquet(path)


def write_text(text):
    return lambda path: path.write_text(text, encoding="utf-8")


def write_gzip(text):
    return lambda path: path.write_bytes(gzip.compress(text.encode()))


FILES = {
    "a.parquet": write_parquet,
    "a.PARQUET": write_parquet,
    "with[odd]*name.parquet": write_parquet,
    "a.csv": write_text(as_separated(",")),
    "bom.csv": write_text("\ufeff" + FRAME.write_csv()),
    "a.tsv": write_text(as_separated("\t")),
    "a.csv.gz": write_gzip(as_separated(",")),
    "a.tsv.gz": write_gzip(as_separated("\t")),
    "a.jsonl": write_text(as_json_lines()),
    "a.ndjson": write_text(as_json_lines()),
    "a.jsonl.gz": write_gzip(as_json_lines()),
}


@pytest.mark.parametrize("name", FILES)
def test_files(name, tmp_path, expected):
    path = tmp_path / name
    FILES[name](path)
    assert_same(read(path), expected)
    assert_same(read(str(path)), expected)


def test_format_overrides_the_ending(tmp_path, expected):
    path = tmp_path / "rows.dat"
    path.write_text(as_separated("\t"), encoding="utf-8")
    assert_same(read(path, format="tsv"), expected)


def test_globs_and_lists_of_paths_of_several_formats(tmp_path, expected):
    (tmp_path / "deep").mkdir()
    FRAME[:2].write_parquet(tmp_path / "deep" / "1.parquet")
    FRAME[2:4].write_parquet(tmp_path / "2.parquet")
    FRAME[4:].write_parquet(tmp_path / "3.parquet")
    (tmp_path / "3.csv").write_text(as_separated(",", ROWS[4:]), encoding="utf-8")
    assert_same(read(f"{tmp_path}/**/*.parquet"), expected)
    assert_same(read([f"{tmp_path}/deep", tmp_path / "2.parquet", tmp_path / "3.csv"]), expected)


@pytest.fixture
def many_names(tmp_path):
    """A file under several names, and all of them."""
    real = tmp_path / "rows.csv"
    real.write_text(as_separated(","), encoding="utf-8")
    (tmp_path / "soft.csv").symlink_to(real)
    (tmp_path / "hard.csv").hardlink_to(real)
    (tmp_path / "folder").symlink_to(tmp_path, target_is_directory=True)
    return [real, f"{tmp_path}/./rows.csv", f"{tmp_path}/*.csv", tmp_path, f"{tmp_path}/folder/*.csv"]


def test_a_file_is_read_once_by_whatever_names(many_names, tmp_path, monkeypatch, expected):
    monkeypatch.chdir(tmp_path)
    for names in (many_names, ["rows.csv", *many_names], ["soft.csv", "hard.csv", "rows.csv"]):
        assert len(find_files(names, lambda file: True, "file")) == 1
        assert_same(read(names), expected)


def test_files_of_one_content_are_not_one_file(tmp_path):
    for name in ("1.csv", "2.csv"):
        (tmp_path / name).write_text("same")
    assert len(find_files([tmp_path], lambda file: True, "file")) == 2


def test_one_file_under_two_keys_is_read_for_both(tmp_path):
    """The keys of a folder are columns: a link under another key has other rows."""
    for user in ("ann", "bob"):
        (tmp_path / f"user={user}").mkdir()
    FRAME.select("item").write_parquet(tmp_path / "user=ann" / "a.parquet")
    (tmp_path / "user=bob" / "a.parquet").hardlink_to(tmp_path / "user=ann" / "a.parquet")
    assert read(tmp_path).n_users == 2


def test_columns_are_found_by_name_in_every_file(tmp_path, expected):
    (tmp_path / "1.csv").write_text(
        "user,item\n" + "".join(f"{u},{i}\n" for u, i in ROWS[:3]), encoding="utf-8"
    )
    (tmp_path / "2.csv").write_text(
        "item,user\n" + "".join(f"{i},{u}\n" for u, i in ROWS[3:]), encoding="utf-8"
    )
    FRAME[:3].write_parquet(tmp_path / "1.parquet")
    FRAME[3:].select("item", pl.lit(1).alias("new"), "user").write_parquet(tmp_path / "2.parquet")
    assert_same(read(f"{tmp_path}/*.csv"), expected)
    assert_same(read(f"{tmp_path}/*.parquet"), expected)


def test_files_may_differ_in_their_categories_and_in_the_width_of_integers(tmp_path, expected):
    FRAME[:3].with_columns(pl.col("item").cast(pl.Enum(["tea", "milk"]))).write_parquet(
        tmp_path / "1.parquet"
    )
    FRAME[3:].with_columns(pl.col("item").cast(pl.Enum(["ä" * 20, "tea"]))).write_parquet(
        tmp_path / "2.parquet"
    )
    assert_same(read(f"{tmp_path}/*.parquet"), expected)
    for dtype in (pl.Int16, pl.Int64):
        pl.DataFrame({"user": [1], "item": pl.Series([5], dtype=dtype)}).write_parquet(
            tmp_path / f"{dtype}.parquet"
        )
    numbers = read([tmp_path / "Int16.parquet", tmp_path / "Int64.parquet"]).names.decode([0])
    assert numbers.rows() == [(5,)]
    assert numbers.schema == {"item": pl.Int64}


def test_a_home_relative_path(tmp_path, monkeypatch, expected):
    monkeypatch.setenv("HOME", str(tmp_path))
    FRAME.write_parquet(tmp_path / "rows.parquet")
    assert_same(read("~/rows.parquet"), expected)


@pytest.mark.parametrize("key", ["user", "item"])
def test_hive_folders_give_their_keys_as_strings(key, tmp_path, expected):
    root = tmp_path / "data"
    for (value,), part in FRAME.partition_by(key, as_dict=True, include_key=False).items():
        folder = root / "year=2024" / f"{key}={value}"
        folder.mkdir(parents=True)
        part.write_parquet(folder / "part-0.parquet")
    (root / "_SUCCESS").write_text("")
    (root / ".part-0.parquet.crc").write_text("")
    assert_same(read(root), expected)


def test_leading_zeros_survive_in_text_formats(tmp_path):
    (tmp_path / "a.csv").write_text("user,item\n1,007\n2,7\n")
    assert read(tmp_path / "a.csv").names.decode([0, 1])["item"].to_list() == ["007", "7"]
    folder = tmp_path / "hive" / "item=007"
    folder.mkdir(parents=True)
    pl.DataFrame({"user": [1]}).write_parquet(folder / "a.parquet")
    assert read(tmp_path / "hive").names.decode([0])["item"].to_list() == ["007"]


def parquet_bytes():
    buffer = io.BytesIO()
    FRAME.write_parquet(buffer)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("format", "content"),
    [
        ("parquet", parquet_bytes()),
        ("csv", as_separated(",").encode()),
        ("csv", gzip.compress(as_separated(",").encode())),
        ("jsonl", as_json_lines().encode()),
    ],
    ids=["parquet", "csv", "csv.gz", "jsonl"],
)
def test_standard_input(format, content, monkeypatch, expected):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert_same(read("-", format=format), expected)


def test_an_empty_path_is_not_this_folder(tmp_path, monkeypatch):
    FRAME.write_parquet(tmp_path / "a.parquet")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidArgument, match="empty"):
        read("")


def test_a_pipe_is_no_missing_file(tmp_path):
    os.mkfifo(tmp_path / "rows.csv")
    with pytest.raises(SourceError, match="standard input"):
        read(tmp_path / "rows.csv")


def test_a_folder_that_may_not_be_read_is_named(tmp_path, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(SourceError, match=rf"{tmp_path.name}.*Permission denied"):
        read(tmp_path)


EMPTY = {
    "a.csv": lambda path: path.write_text("user,item\n"),
    "a.jsonl": lambda path: path.write_text(""),
    "a.parquet": lambda path: FRAME.clear().write_parquet(path),
}


@pytest.mark.parametrize("name", EMPTY)
def test_files_without_rows_are_valid(name, tmp_path):
    EMPTY[name](tmp_path / name)
    assert_empty(read(tmp_path / name), ["item"])


@pytest.mark.parametrize("source", [{}, [], {"ann": []}])
def test_collections_without_items_are_valid(source):
    assert_empty(read(source, user=None, item=None), ["item"])


def test_frames_without_rows_are_valid():
    assert_empty(read(FRAME.clear()), ["item"])
    assert_empty(read(pl.DataFrame({"user": [], "a": [], "b": []}), item=["a", "b"]), ["a", "b"])


def assert_empty(sets, columns):
    assert (sets.n_users, sets.n_items) == (0, 0)
    assert sets.indptr.tolist() == [0]
    assert sets.items.size == 0
    decoded = sets.names.decode(np.array([], dtype=np.int64))
    assert decoded.columns == columns
    assert decoded.height == 0
