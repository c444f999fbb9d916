"""The columns of users and items, and their checks."""

from collections.abc import Iterable, Sequence

import polars as pl
from polars import selectors as cs

from dpsu.errors import ColumnNotFound, InvalidArgument, NullValues, UnsupportedType
from dpsu.hints import did_you_mean
from dpsu.sets.keys import WHOLE

ColumnNames = str | Sequence[str]

SHOWN_COLUMNS = 20
NO_HEADER = "; CSV, TSV and Excel need a first line that names the columns, JSON lines need them as keys"

TEXT = cs.string() | cs.categorical() | cs.enum() | cs.binary() | cs.decimal()


def key_columns(names: ColumnNames | None, role: str) -> list[str]:
    """The columns that together identify a user or an item, as a list."""
    if names is None:
        raise InvalidArgument(
            f"no {role} column is given; pass the column that identifies the {role}: {role}=…"
        )
    # Not quoted: a caller may have passed a column of data for its name.
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise InvalidArgument(
            f"{role} must be the name of a column, or a list of names, not {type(names).__name__}"
        )
    columns = [names] if isinstance(names, str) else [*names]
    if not columns:
        raise InvalidArgument(f"{role}=[] names no column; a composite key needs at least one")
    twice = next((name for place, name in enumerate(columns) if name in columns[:place]), None)
    if twice is not None:
        raise InvalidArgument(f"{role} names the column {twice!r} twice; name every column once")
    return columns


def require_apart(user: list[str], item: list[str]) -> None:
    """Refuse keys with which every item would belong to one user alone, so that none could be released."""
    if set(user) <= set(item):
        raise InvalidArgument(
            f"the item ({', '.join(item)}) contains the user ({', '.join(user)}): "
            "no two users could share an item"
        )


def require_columns(
    columns: Iterable[str], available: Sequence[str], label: str, *, schema_names: bool = True, hint: str = ""
) -> None:
    """Every column must exist. The error lists the existing columns if their names come from the schema of the source.

    In a text format the names may be data: the first row of a file without a header. Then the error shows only a name
    that is similar to the requested one.
    """
    for column in columns:
        if column not in available:
            has = f"; it has {_shown(available)}" if schema_names else NO_HEADER
            raise ColumnNotFound(
                f"there is no column {column!r} in {label}{has}{hint}.{did_you_mean(column, available)}"
            )


def _shown(names: Sequence[str]) -> str:
    shown = ", ".join(name if len(name) <= 40 else name[:39] + "…" for name in names[:SHOWN_COLUMNS])
    return (shown or "no columns") + (", …" if len(names) > SHOWN_COLUMNS else "")


def require_types(schema: pl.Schema, label: str) -> None:
    """Every column must have a type with a reliable equality, on every engine."""
    usable = set(cs.expand_selector(schema, WHOLE | TEXT))
    for column, dtype in schema.items():
        if column in usable or dtype == pl.Null:
            continue
        if dtype.is_float():
            reason = "equality of floats is not stable; cast the column to integers or strings"
        elif isinstance(dtype, pl.List | pl.Array):
            reason = "a row must have one user and one item; explode the lists into rows"
        elif isinstance(dtype, pl.Struct):
            reason = "pass its fields as separate columns, as a composite key"
        else:
            reason = "cast the column to integers or strings"
        raise UnsupportedType(f"column {column!r} of {label} has the type {_type_name(dtype)}: {reason}")


def _type_name(dtype: pl.DataType) -> str:
    return str(dtype.base_type()).lower()


def require_values(batch: pl.DataFrame, label: str) -> None:
    """No user and no item may be null."""
    for column in batch:
        if column.null_count():
            raise null_error(column.name, label)


def null_error(column: str, label: str) -> NullValues:
    """The error for nulls in a column of users or items."""
    return NullValues(
        f"column {column!r} of {label} has nulls, but every row must name a user and an item; "
        "to leave such rows out, pass drop_nulls=True (--drop-nulls)"
    )
