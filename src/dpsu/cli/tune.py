"""`dpsu tune`."""

from enum import StrEnum
from itertools import product
from typing import Annotated, Any

import typer

import dpsu
from dpsu.cli.options import DataOptions, EngineOptions, ListOptions, PrivacyOptions, RecordOptions
from dpsu.cli.outputs import OutputOptions
from dpsu.cli.terminal import notes, say, stages
from dpsu.errors import InvalidArgument


class MethodName(StrEnum):
    """How a setting is chosen."""

    part = "part"
    selection = "selection"


def tune(
    data: DataOptions,
    outputs: OutputOptions,
    privacy: PrivacyOptions,
    lists: ListOptions,
    record: RecordOptions,
    where: EngineOptions,
    max_items: Annotated[
        list[int] | None, typer.Option(help="Number of items to try; repeat it. Default: 300.")
    ] = None,
    algorithm: Annotated[
        list[str] | None, typer.Option(help="Algorithm to try; repeat it. Default: focused-gaussian.")
    ] = None,
    alpha: Annotated[
        list[float] | None, typer.Option(help="Policies: alpha to try; repeat it. Default: 3.")
    ] = None,
    method: Annotated[
        MethodName, typer.Option(help="Try settings on a part of the users, or on all by private selection.")
    ] = MethodName.part,
    tuning_share: Annotated[float, typer.Option(help="Method part: share of the users for tuning.")] = 0.1,
    tries: Annotated[float, typer.Option(help="Method selection: mean number of tries.")] = 4.0,
) -> None:
    """Choose a setting privately, then release. All combinations of the given values are tried.

    dpsu tune posts.parquet --user author --item word --max-items 30 --max-items 300 --epsilon 1 --delta 1e-7 -o words.txt
    """
    outputs.check(data.files, record, lists, item=data.item)
    settings = _settings(algorithm, max_items, alpha)
    with stages(outputs.silent) as progress, notes(outputs.quiet):
        tuned = dpsu.tune(
            **data.arguments(),
            **privacy.arguments(),
            **lists.arguments(),
            **record.arguments(),
            **where.arguments(),
            settings=settings,
            method=method.value,
            tuning_share=tuning_share,
            tries=tries,
            progress=progress,
        )
    if not outputs.silent:
        chosen = tuned.setting["algorithm"]
        step = f", alpha {chosen.alpha:g}" if alpha else ""
        say(f"chosen: {chosen.name}, max_items {tuned.setting['max_items']}{step}")
    outputs.hand_over(tuned.release)


def _settings(
    algorithms: list[str] | None, max_items: list[int] | None, alphas: list[float] | None
) -> list[dict[str, Any]]:
    """All combinations of the values that were given."""
    from dpsu.algorithms.catalogue import NAMED_DEFAULT, build

    if not (algorithms or max_items or alphas):
        raise InvalidArgument(
            "there is nothing to choose from: give several --max-items, --algorithm or --alpha."
        )
    names, sizes, steps = algorithms or [NAMED_DEFAULT], max_items or [300], alphas or [3.0]
    chosen = [build(name, **({"alpha": alpha} if alphas else {})) for name, alpha in product(names, steps)]
    return [{"algorithm": each, "max_items": size} for each, size in product(chosen, sizes)]
