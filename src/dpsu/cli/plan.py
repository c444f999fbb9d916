"""`dpsu plan`."""

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

import dpsu
from dpsu.cli.measures import MeasureOptions
from dpsu.cli.options import (
    AlgorithmOptions,
    AsJson,
    CalibrationName,
    CalibrationOption,
    CandidateOptions,
    CountOptions,
    MaxItemsOrAuto,
    PrivacyOptions,
    given,
    max_items_of,
)
from dpsu.cli.paths import require_apart
from dpsu.cli.terminal import notes, say, stages, tell
from dpsu.errors import InvalidArgument


class SizesName(StrEnum):
    """How the sizes of users' sets are distributed."""

    fixed = "fixed"
    heavy = "heavy"


def plan(
    privacy: PrivacyOptions,
    algorithm: AlgorithmOptions,
    counts: CountOptions,
    measures: MeasureOptions,
    listed: CandidateOptions,
    max_items: MaxItemsOrAuto = "auto",
    calibration: CalibrationOption = CalibrationName.exact,
    users: Annotated[
        int | None, typer.Option(help="Number of users. Without --delta, the plan uses 1/(100 users).")
    ] = None,
    items_per_user: Annotated[
        float | None, typer.Option(help="With --users: mean number of items of a user; simulates a release.")
    ] = None,
    zipf: Annotated[
        float | None, typer.Option(help="Exponent of Zipf's law, by which items are popular; default: 1.")
    ] = None,
    sizes: Annotated[
        SizesName | None, typer.Option(help="All users' sets have the same size, or sizes are heavy-tailed.")
    ] = None,
    items: Annotated[
        int | None, typer.Option(help="Number of items that exist; default: one per 8 pairs.")
    ] = None,
    like: Annotated[
        str | None, typer.Option(help="Public file: simulates a release of its data; see --data-is-public.")
    ] = None,
    user: Annotated[str | None, typer.Option(help="With --like: column that names the user.")] = None,
    item: Annotated[str | None, typer.Option(help="With --like: column that names the item.")] = None,
    text: Annotated[
        str | None, typer.Option(help="With --like: column of text whose words are items.")
    ] = None,
    data_is_public: Annotated[
        bool, typer.Option("--data-is-public", help="The file of --like is public or synthetic.")
    ] = False,
    html: Annotated[
        Path | None, typer.Option(help="File for a page with sliders, .html; half a minute.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="File for a chart: .png, .svg or .pdf.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show what to expect of a release. Noise, threshold and, for a shape, how many items; no private data is read."""
    _check_outputs(html, plot, like)
    shape = _shape(users, items_per_user, zipf=zipf, sizes=sizes and sizes.value, items=items)
    if users is not None:
        privacy = _with_delta(privacy, users)
    with notes(quiet=False):
        made = dpsu.plan(
            **privacy.arguments(),
            **algorithm.arguments(),
            **measures.arguments(counts.arguments()),
            **listed.arguments(),
            max_items=max_items_of(max_items),
            calibration=calibration.value,
            **given(shape=shape, like=like, user=user, item=item, text=text),
            data_is_public=data_is_public,
        )
    if html is not None:
        from dpsu.outcome.write import write_text

        with stages(as_json) as progress:
            write_text(made.to_html(progress), html)
    if plot is not None:
        made.plot(plot)
    if as_json:
        print(made.to_json())
    else:
        tell(made)


def _check_outputs(html: Path | None, plot: Path | None, like: str | None) -> None:
    if html is None and plot is None:
        return
    from dpsu.outcome.write import require_page

    require_apart({"--html": html, "--plot": plot}, [like] if like else [])
    if html is not None:
        require_page(html)
    if plot is not None:
        from dpsu.report.charts import check_chart

        check_chart(plot)


def _shape(users: int | None, items_per_user: float | None, **others: Any) -> "dpsu.Shape | None":
    """The shape that the options describe; `--users` alone only advises a delta."""
    if users is not None and items_per_user is not None:
        return dpsu.Shape(users, items_per_user, **given(**others))
    if items_per_user is not None or given(**others):
        raise InvalidArgument("a shape needs --users and --items-per-user.")
    return None


def _with_delta(privacy: PrivacyOptions, users: int) -> PrivacyOptions:
    """The privacy with the delta that is advised for so many users, if none is given."""
    if users < 1:
        raise InvalidArgument("--users must be at least 1.")
    advised = 1 / (100 * users)
    if privacy.delta is None:
        say(f"note: the plan uses delta {advised:.3g}, which is 1 / (100 × users)")
        return replace(privacy, delta=advised)
    if privacy.delta > advised:
        say(f"note: for {users:,} users choose a delta of at most {advised:.3g}, which is 1 / (100 × users)")
    return privacy
