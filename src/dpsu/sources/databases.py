"""Databases as sources: the result of a query, read batch by batch as Arrow.

An address has a password. No error shows the address, the query or a message of the database, which may quote data.
"""

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl
from nanoarrow import c_array_stream
from polars import selectors as cs
from polars.io.plugins import register_io_source

from dpsu.errors import DpsuError, InvalidArgument, SourceError, UnsupportedType
from dpsu.sources.columns import require_columns

DATABASE = "the result of the query"
NOT_SHOWN = "Its message is not shown, because it may quote data"

UNREADABLE = re.compile(r"ti|\+[urv]|d:.*,256$")
"""Arrow formats that Polars lacks: intervals, unions, run ends, views of lists, and decimals of 256 bits."""

VIEWS = re.compile(r"v[uz]$")
"""Arrow formats that nanoarrow cannot hand over batch by batch (0.9 reads beyond its buffers)."""

DRIVERS = {
    "postgresql": ("adbc_driver_postgresql.dbapi", "dpsu[postgresql]"),
    "postgres": ("adbc_driver_postgresql.dbapi", "dpsu[postgresql]"),
    "sqlite": ("adbc_driver_sqlite.dbapi", "dpsu[sqlite]"),
}
"""Kinds of addresses, each with its driver and the extra that installs it."""


def require_no_address(source: Any) -> None:
    """Refuse the address of a database without a query, before it is taken for a path and quoted."""
    if isinstance(source, str) and source.partition("://")[0] in DRIVERS and "://" in source:
        raise InvalidArgument("a database needs a query: pass query='select …' (--query)")


def scan_query(source: Any, query: str, columns: list[str]) -> pl.LazyFrame:
    """The columns of the result of a query; `source` is an address, or a connection of ADBC or DuckDB."""
    with ExitStack() as opened:
        try:
            stream = _run(_connection(source, opened), query, columns, opened)
        except DpsuError:
            raise
        except Exception as error:
            failed = _kind_of(error)
        else:
            return scan_stream(stream, columns, DATABASE, opened)
    raise SourceError(
        f"the database refused the connection or the query: {failed}. {NOT_SHOWN}; try both with a client of the database"
    )


def _connection(source: Any, opened: ExitStack) -> Any:
    if not isinstance(source, str):
        return source
    kind, apart, rest = source.partition("://")
    if not apart or kind not in DRIVERS:
        raise InvalidArgument(
            f"query= needs the address of a database ({', '.join(f'{name}://…' for name in DRIVERS)}) or a "
            "connection of ADBC or DuckDB"
        )
    module, extra = DRIVERS[kind]
    try:
        driver = import_module(module)
    except ImportError:
        raise InvalidArgument(f"this database needs a driver: pip install '{extra}'.") from None
    if kind == "sqlite" and not rest.startswith((":", "file:")) and not Path(rest).is_file():
        raise SourceError(
            "there is no such SQLite file; sqlite:///data/shop.db is the path /data/shop.db, sqlite://shop.db is a file in "
            "this folder"
        )
    return opened.enter_context(driver.connect(rest if kind == "sqlite" else source))


def _run(connection: Any, query: str, columns: list[str], opened: ExitStack) -> Any:
    """The result of the query, as an object with the Arrow stream interface."""
    if type(connection).__module__.partition(".")[0] in ("duckdb", "_duckdb"):
        return connection.sql(query)
    if not hasattr(connection, "cursor"):
        raise InvalidArgument("query= needs the address of a database, or a connection of ADBC or DuckDB")
    cursor = connection.cursor()
    if not hasattr(cursor, "fetch_record_batch"):
        raise InvalidArgument("this connection does not speak Arrow; use an ADBC driver or DuckDB")
    opened.enter_context(cursor)
    if _is_sqlite(connection):
        query = _as_text(cursor, query, columns)
    cursor.execute(query)
    return cursor.fetch_record_batch()


def _is_sqlite(connection: Any) -> bool:
    asked = getattr(connection, "adbc_get_info", None)
    return asked is not None and asked().get("vendor_name") == "SQLite"


def _as_text(cursor: Any, query: str, columns: list[str]) -> str:
    """A query for the columns as text.

    SQLite has a type for each value and none for a column; the driver would take that of all values from the first rows,
    and so from single users.
    """
    within = f"(\n{query.strip().rstrip(';')}\n)"
    cursor.execute(f"select * from {within} limit 0")
    require_columns(columns, cursor.fetch_record_batch().schema.names, DATABASE)
    # A name in double quotes would be a constant if there were no such column; in grave accents it is none.
    names = ["`" + column.replace("`", "``") + "`" for column in columns]
    texts = (
        f"case typeof({name}) when 'blob' then hex({name}) else cast({name} as text) end as {name}"
        for name in names
    )
    return f"select {', '.join(texts)} from {within}"


def _kind_of(error: Exception) -> str:
    """The type of an error and its SQLSTATE, which is a fixed code."""
    state = getattr(error, "sqlstate", None)
    known = isinstance(state, str) and len(state) == 5 and state.isalnum()
    return f"{type(error).__name__}{f' (SQLSTATE {state})' if known else ''}"


def scan_stream(stream: Any, columns: list[str], label: str, used: ExitStack | None = None) -> pl.LazyFrame:
    """The columns of an Arrow stream, which is read once, batch by batch; what is `used` is closed after the last one."""
    with _running(label):
        opened = c_array_stream(stream)
    formats = {child.name: [*_formats(child)] for child in opened.get_schema().children}
    require_columns(columns, [*formats], label)
    for name, own in formats.items():
        if any(map(UNREADABLE.match, own)):
            raise UnsupportedType(
                f"column {name!r} of {label} has a type that cannot be read, such as an interval: leave it out, or cast "
                "it to text"
            )
    categories = cs.categorical() | cs.enum()
    if any(map(VIEWS.match, chain(*formats.values()))):
        return pl.DataFrame(opened).lazy().select(columns).with_columns(categories.cast(pl.String))
    schema = pl.Schema(opened.get_schema())
    until_end = used.pop_all() if used else ExitStack()

    def batches(
        with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        with until_end:
            for array in _each(opened, label):
                # Each batch has its own categories; strings are the same in all batches.
                batch = (
                    pl.DataFrame(array)
                    .select(with_columns or columns)
                    .with_columns(categories.cast(pl.String))
                )
                yield batch if predicate is None else batch.filter(predicate)

    plain = pl.DataFrame(schema=schema).select(columns).with_columns(categories.cast(pl.String)).schema
    return register_io_source(batches, schema=plain)


def _each(arrays: Any, label: str) -> Iterator[Any]:
    with _running(label):
        yield from arrays


@contextmanager
def _running(label: str) -> Iterator[None]:
    """A query can fail at its start and at any row, with a message that quotes data."""
    try:
        yield
    except Exception as error:
        raise SourceError(f"{label} ended with an error: {_kind_of(error)}. {NOT_SHOWN}") from None


def _formats(schema: Any) -> Iterator[str]:
    """The Arrow formats of a column and of all within it."""
    yield schema.format
    for part in (*schema.children, *([schema.dictionary] if schema.dictionary is not None else [])):
        yield from _formats(part)
