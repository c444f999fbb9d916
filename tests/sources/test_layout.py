"""Files as people have them: German Excel, UTF-16, workbooks; and SQLite and DuckDB."""

import gzip
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import zstandard
from leaks import SECRET, told

import dpsu
from dpsu.errors import ColumnNotFound, InvalidArgument, SourceError, UnsupportedType
from dpsu.randomness.stream import Stream
from dpsu.sources.layout import Layout
from dpsu.sources.pairs import read_sets

STREAM = Stream(bytes(range(32)), seeded=True)
ROWS = [("Jörg", "Käse", "1,50"), ("Anna", "Brot", "2,00"), ("Jörg", "Brot", "2,00")]


def german(separator: str = ";") -> str:
    return "\r\n".join(map(separator.join, [("Kunde", "Ware", "Preis"), *ROWS])) + "\r\n"


def items(source: Any, item: str = "Ware", **layout: Any) -> list[str]:
    format = layout.pop("format", None)
    sets = read_sets(source, user="Kunde", item=item, stream=STREAM, format=format, layout=Layout(**layout))
    assert sets.n_users == 2
    return sorted(sets.names.decode(range(sets.n_items)).to_series().to_list())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("content", "layout"),
    [
        (german().encode("utf-8-sig"), {}),
        (german("\t").encode("utf-16"), {}),
        (german("\t").encode(), {}),
        (german("|").encode("utf-16-be").join([b"\xfe\xff", b""]), {}),
        (german().encode("cp1252"), {"encoding": "cp1252"}),
        (german(":").encode(), {"separator": ":"}),
    ],
    ids=["semicolons", "utf-16", "tabs", "utf-16-be", "cp1252", "colons"],
)
def test_german_excel(content: bytes, layout: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(content)
    assert items(tmp_path / "a.csv", **layout) == ["Brot", "Käse"]
    assert items(tmp_path / "a.csv", "Preis", **layout) == ["1,50", "2,00"]


def test_a_workbook_that_is_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.xlsx").write_bytes(SECRET.encode())
    with pytest.raises(SourceError, match=r"a\.xlsx") as caught:
        items(tmp_path / "a.xlsx")
    assert SECRET not in told(caught.value)


def test_errors_suggest_the_option_and_quote_nothing(tmp_path: Path) -> None:
    (tmp_path / "latin.csv").write_bytes(german().replace("Brot", SECRET).encode("cp1252"))
    with pytest.raises(SourceError, match="--encoding cp1252") as caught:
        items(tmp_path / "latin.csv")
    assert SECRET not in told(caught.value)
    (tmp_path / "colons.csv").write_text(german(":"))
    with pytest.raises(ColumnNotFound, match="--separator"):
        items(tmp_path / "colons.csv")
    (tmp_path / "umlaut.csv").write_bytes(german().replace("Ware", "Getränk").encode("cp1252"))
    with pytest.raises(ColumnNotFound, match="--encoding cp1252"):
        items(tmp_path / "umlaut.csv", "Getränk")
    (tmp_path / "old_mac.csv").write_bytes(german().replace("\r\n", "\r").encode())
    with pytest.raises(SourceError, match="carriage return"):
        items(tmp_path / "old_mac.csv")
    with pytest.raises(InvalidArgument, match="encoding"):
        Layout(encoding="klingon")


def test_the_rows_do_not_change_the_separator(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("Kunde,Ware\n1,a;b;c;d\n2,x\n")
    assert items(tmp_path / "a.csv") == ["a;b;c;d", "x"]


def test_json_lines_in_another_encoding(tmp_path: Path) -> None:
    lines = pl.DataFrame(ROWS, schema=["Kunde", "Ware", "Preis"], orient="row").write_ndjson()
    (tmp_path / "latin.jsonl").write_bytes(lines.encode("cp1252"))
    with pytest.raises(SourceError, match="--encoding cp1252"):
        items(tmp_path / "latin.jsonl")
    assert items(tmp_path / "latin.jsonl", encoding="cp1252") == ["Brot", "Käse"]
    (tmp_path / "marked.jsonl").write_bytes(lines.encode("utf-16"))
    assert items(tmp_path / "marked.jsonl") == ["Brot", "Käse"]


@pytest.mark.parametrize("option", [{"sheet": "a"}, {"separator": ";"}, {"encoding": "cp1252"}])
def test_an_option_without_use_is_refused(option: dict[str, str], tmp_path: Path) -> None:
    pl.DataFrame(ROWS, schema=["Kunde", "Ware", "Preis"], orient="row").write_parquet(tmp_path / "a.parquet")
    with pytest.raises(InvalidArgument, match=next(iter(option))):
        items(tmp_path / "a.parquet", **option)


def test_names_of_files_are_no_patterns(tmp_path: Path) -> None:
    lines = pl.DataFrame(ROWS, schema=["Kunde", "Ware", "Preis"], orient="row").write_ndjson()
    for name, content in (("a[1]*.jsonl", lines), ("a[1]*.csv", german())):
        (tmp_path / name).write_text(content, newline="")
        assert items(tmp_path / name) == ["Brot", "Käse"]


def test_compressed_files(tmp_path: Path) -> None:
    (tmp_path / "a.csv.zst").write_bytes(zstandard.compress(german().encode()))
    assert items(tmp_path / "a.csv.zst") == ["Brot", "Käse"]
    lines = pl.DataFrame(ROWS, schema=["Kunde", "Ware", "Preis"], orient="row").write_ndjson()
    (tmp_path / "a.jsonl.zst").write_bytes(zstandard.compress(lines.encode()))
    assert items(tmp_path / "a.jsonl.zst") == ["Brot", "Käse"]


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress], ids=["plain", "gz", "zst"])
def test_encodings_of_compressed_files(pack: Any, tmp_path: Path) -> None:
    ending = {gzip.compress: ".gz", zstandard.compress: ".zst"}.get(pack, "")
    file = tmp_path / f"a.csv{ending}"
    for encoding in ("utf-16", "utf-32", "utf-8-sig"):
        file.write_bytes(pack(german().encode(encoding)))
        assert items(file) == ["Brot", "Käse"]
    file.write_bytes(pack(german().encode("cp1252")))
    assert items(file, encoding="cp1252") == ["Brot", "Käse"]
    with pytest.raises(SourceError, match="--encoding"):
        items(file)


def test_nulls_of_streams_and_queries_are_dropped() -> None:
    table = pa.table({"Kunde": ["a", None, "b"], "Ware": ["x", "y", "z"], "more": [1, 2, None]})
    with duckdb.connect() as connection:
        connection.register("t", table)
        for source, layout in ((table.to_reader(1), Layout()), (connection, Layout(query="select * from t"))):
            sets = read_sets(source, user="Kunde", item="Ware", stream=STREAM, layout=layout, drop_nulls=True)
            assert sorted(sets.names.decode(range(sets.n_items)).to_series()) == ["x", "z"]  # type: ignore[arg-type]


def test_workbooks_in_and_out(tmp_path: Path) -> None:
    fastexcel = pytest.importorskip("fastexcel")
    texts = ["007", "=1+1", "http://x.org", "Käse"]
    release = dpsu.release(dict.fromkeys(range(500), texts), epsilon=1, delta=1e-6, counts=True)
    release.save(tmp_path / "out.xlsx")
    sheet = fastexcel.read_excel(tmp_path / "out.xlsx").load_sheet("items").to_polars()
    assert sheet["item"].to_list() == sorted(texts)
    assert sheet["holders"].to_list() == release.to_polars()["holders"].to_list()
    assert b"<f>" not in b"".join(unpacked(tmp_path / "out.xlsx"))
    pairs = read_sets(tmp_path / "out.xlsx", user="holders", item="item", stream=STREAM)
    assert sorted(pairs.names.decode(range(4)).to_series()) == sorted(texts)  # type: ignore[arg-type]


def unpacked(path: Path) -> list[bytes]:
    import zipfile

    with zipfile.ZipFile(path) as book:
        return [book.read(name) for name in book.namelist()]


def test_sheets_by_name(tmp_path: Path) -> None:
    xlsxwriter = pytest.importorskip("xlsxwriter")
    with xlsxwriter.Workbook(tmp_path / "a.xlsx") as book:
        for name in ("leer", "Daten"):
            sheet = book.add_worksheet(name)
            for row, cells in enumerate([("Kunde", "Ware", "Preis"), *ROWS]):
                sheet.write_row(row, 0, cells)
    assert items(tmp_path / "a.xlsx", sheet="Daten") == ["Brot", "Käse"]
    for wrong in (None, "Datei"):
        with pytest.raises(InvalidArgument, match="sheet"):
            items(tmp_path / "a.xlsx", sheet=wrong)


def test_csv_for_excel_has_no_formulas_and_is_read_back(tmp_path: Path) -> None:
    release = dpsu.release({n: ["=1+1", "＝1", "Käse", "007"] for n in range(500)}, epsilon=1, delta=1e-6)
    release.save(tmp_path / "out.csv", excel=True)
    assert (tmp_path / "out.csv").read_bytes().decode("utf-16") == "item\n007\n'=1+1\nKäse\n'＝1\n"
    with pytest.raises(InvalidArgument, match="csv"):
        release.save(tmp_path / "out.parquet", excel=True)


def test_sqlite_and_duckdb(tmp_path: Path) -> None:
    adbc = pytest.importorskip("adbc_driver_sqlite.dbapi")
    path = str(tmp_path / "a.db")
    with adbc.connect(path) as connection:
        with connection.cursor() as cursor:
            cursor.adbc_ingest(
                "t", pa.table({"Kunde": [row[0] for row in ROWS], "Ware": [row[1] for row in ROWS]})
            )
        connection.commit()
        assert items(connection, query="select * from t") == ["Brot", "Käse"]
    assert items(f"sqlite://{path}", query="select Kunde, Ware from t") == ["Brot", "Käse"]
    with duckdb.connect() as connection:
        connection.register(
            "t", pl.DataFrame(ROWS, schema=["Kunde", "Ware", "Preis"], orient="row").to_arrow()
        )
        assert items(connection, query="select * from t") == ["Brot", "Käse"]


@pytest.mark.parametrize("batch", [1, 1000])
def test_streams_of_views_are_read(batch: int) -> None:
    names = ["Kunde", "Ware"]
    columns = [
        pa.array([f"{row[place]} of a long name" for row in ROWS], pa.string_view()) for place in (0, 1)
    ]
    table = pa.table(dict(zip(names, columns, strict=True)))
    stream = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(batch))
    assert items(stream) == ["Brot of a long name", "Käse of a long name"]


def test_a_column_that_cannot_be_read_is_named(capfd: pytest.CaptureFixture[str]) -> None:
    with duckdb.connect() as connection, pytest.raises(UnsupportedType, match="'Dauer'"):
        items(connection, query="select 1 as Kunde, 'a' as Ware, interval 1 day as Dauer")
    assert capfd.readouterr().err == ""


def test_a_query_that_fails_at_a_row_is_not_quoted() -> None:
    with duckdb.connect() as connection:
        query = f"select i as Kunde, cast('{SECRET}' || i as int) as Ware from range(9) t(i)"
        with pytest.raises(SourceError, match="query") as caught:
            items(connection, query=query)
    assert SECRET not in told(caught.value)


def test_an_address_needs_a_query_and_is_not_quoted() -> None:
    for query in (None, "select 1"):
        with pytest.raises(dpsu.DpsuError) as caught:
            read_sets(
                f"postgresql://me:{SECRET}@nowhere.invalid/x",
                user="a",
                item="b",
                stream=STREAM,
                layout=Layout(query=query),
            )
        assert SECRET not in told(caught.value)


@pytest.mark.parametrize("kind", ["mysql", "s3", "https", "postgresql"])
def test_other_addresses_are_not_quoted_as_paths(kind: str) -> None:
    address = f"{kind}://me:{SECRET}@nowhere.invalid/x"
    words = f"host=nowhere.invalid user=me password={SECRET}"
    for source in (address, [address, "b.csv"], f" {address}", address.replace("//", "/"), words):
        with pytest.raises(dpsu.DpsuError) as caught:
            read_sets(source, user="a", item="b", stream=STREAM)
        assert SECRET not in told(caught.value)


def test_of_a_misspelt_column_the_others_show_the_separator(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(german())
    with pytest.raises(ColumnNotFound, match="'Ware'"):
        items(tmp_path / "a.csv", "ware")


def test_a_pandas_index_is_no_column() -> None:
    frame = pd.DataFrame({"Kunde": ["a", "b"], "Ware": ["x", "y"]}).set_index("Kunde")
    with pytest.raises(InvalidArgument, match="reset_index"):
        items(frame)
    with pytest.raises(InvalidArgument, match="reset_index"):
        read_sets(frame.rename_axis(None), user="index", item="Ware", stream=STREAM)
    assert items(frame.reset_index()) == ["x", "y"]
