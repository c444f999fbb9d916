"""`dpsu release`."""

from typing import Annotated

import typer

import dpsu
from dpsu.cli.measures import MeasureOptions
from dpsu.cli.options import (
    AlgorithmOptions,
    CalibrationName,
    CalibrationOption,
    CandidateOptions,
    DataOptions,
    EngineOptions,
    ListOptions,
    MaxItemsOrAuto,
    PrivacyOptions,
    RecordOptions,
    Unsafe,
    max_items_of,
)
from dpsu.cli.outputs import OutputOptions
from dpsu.cli.terminal import notes, stages


def release(
    data: DataOptions,
    outputs: OutputOptions,
    privacy: PrivacyOptions,
    algorithm: AlgorithmOptions,
    lists: ListOptions,
    listed: CandidateOptions,
    measures: MeasureOptions,
    record: RecordOptions,
    where: EngineOptions,
    max_items: MaxItemsOrAuto = "auto",
    calibration: CalibrationOption = CalibrationName.exact,
    unsafe: Unsafe = False,
    period: Annotated[
        str | None,
        typer.Option(help="Period of the data, such as 2026-01: the promise is about a user in it alone."),
    ] = None,
) -> None:
    """Release the items that many users share.

    dpsu release posts.parquet --user author --item word --epsilon 1 --delta 1e-7 -o words.parquet
    """
    outputs.check(
        data.files,
        record,
        lists,
        order=algorithm.order,
        candidates=listed.candidates,
        beside=bool(measures.sum or measures.others),
        tokenizer=data.tokenizer if data.text or data.user_per else None,
        item=data.item,
    )
    with stages(outputs.silent) as progress, notes(outputs.quiet):
        released = dpsu.release(
            **data.arguments(),
            **privacy.arguments(),
            **algorithm.arguments(),
            **measures.arguments(lists.arguments()),
            **listed.arguments(),
            **record.arguments(),
            **where.arguments(),
            max_items=max_items_of(max_items),
            calibration=calibration.value,
            unsafe=unsafe,
            period=period,
            progress=progress,
        )
    outputs.hand_over(released)
