"""Options of sums and others, which stand beside counts."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

import typer

from dpsu.cli.options import given
from dpsu.errors import InvalidArgument


@dataclass(frozen=True, kw_only=True)
class MeasureOptions:
    """Sums beside counts, and what is said of items that are not released."""

    sum: Annotated[
        list[str] | None,
        typer.Option(help="Column to sum and bounds of a user's total, such as days:0:50; repeat it."),
    ] = None
    sums_share: Annotated[
        float | None, typer.Option(help="With --sum: share of the budget for all sums; default: 0.25.")
    ] = None
    sums_max_items: Annotated[
        int | None,
        typer.Option(
            help="With --sum: items of a user whose totals may all be at the bound; default: half of --counts-max-items."
        ),
    ] = None
    others: Annotated[
        bool, typer.Option("--others", help="Print one number for all items that are not released.")
    ] = False
    others_share: Annotated[
        float | None, typer.Option(help="With --others: share of the budget for it; default: 0.02.")
    ] = None

    def arguments(self, beside: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of the Python functions: those `beside` these, their counts with the shares of sums and others."""
        sums = [_bounds(text) for text in self.sum or []]
        if len(dict(sums)) < len(sums):
            raise InvalidArgument("--sum names a column twice: give each column once.")
        return {
            **beside,
            "counts": self._counts(beside["counts"]),
            "sums": dict(sums) or None,
            "others": self.others,
        }

    def _counts(self, counts: Any) -> Any:
        from dpsu.algorithms.holders import Counts

        of_sums = given(sums_share=self.sums_share, sums_max_items=self.sums_max_items)
        of_others = given(others_share=self.others_share)
        for asked, option, there in ((of_sums, "--sum", self.sum), (of_others, "--others", self.others)):
            if asked and not there:
                raise InvalidArgument(f"--{min(asked).replace('_', '-')} needs {option}.")
        if not of_sums and not of_others:
            return counts
        return replace(counts if isinstance(counts, Counts) else Counts(), **of_sums, **of_others)


def _bounds(text: str) -> tuple[str, tuple[float, float]]:
    """The column and the bounds that days:0:50 means."""
    column, *bounds = text.rsplit(":", 2)
    try:
        low, high = map(float, bounds)
    except ValueError:
        raise InvalidArgument(
            f"--sum takes a column and two bounds, such as days:0:50, not {text!r}."
        ) from None
    return column, (low, high)
