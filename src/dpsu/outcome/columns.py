"""The names of the columns that counts and sums add to the items."""

from collections.abc import Iterable, Mapping
from typing import Any

from dpsu.errors import InvalidArgument

HOLDERS, HALF = "holders", "half_width"
LISTED = "listed"
"""The column that says which items are candidates."""


def sum_of(column: str) -> str:
    """The column of the sums of `column`."""
    return f"{column}_sum"


def half_width_of(column: str) -> str:
    """The column of the half-widths of these sums."""
    return half_name(sum_of(column))


def half_name(numbers: str) -> str:
    """The column with the half-widths of these numbers: holders or a sum."""
    return HALF if numbers == HOLDERS else f"{numbers}_{HALF}"


def mean_of(column: str) -> str:
    """The column of the means of `column`."""
    return f"{column}_mean"


def measured_columns(sums: Mapping[str, Any] | list[str]) -> list[str]:
    """All columns that stand beside the items, for sums of these columns."""
    further = [make(name) for name in sums for make in (sum_of, half_width_of, mean_of)]
    return [HOLDERS, HALF, *further]


def require_free(columns: Iterable[str], sums: Mapping[str, Any]) -> None:
    """Refuse items with a column that counts and sums need, before anything is read or spent."""
    taken = {*columns} & {*measured_columns(sums)}
    if taken:
        raise InvalidArgument(
            f"counts come as the column {min(taken)!r}, which the items have already: rename it."
        )


def columns_beside(parameters: Mapping[str, Any]) -> list[str]:
    """The columns beside the items of a release with these parameters in its statement."""
    while "tuning" in parameters:
        parameters = parameters["tuning"]["release"]["parameters"]
    if "counts" not in parameters:
        return []
    return measured_columns([each["column"] for each in parameters["counts"].get("sums", [])])
