"""`dpsu plan`."""

import dpsu
from dpsu.cli.options import (
    AlgorithmOptions,
    AsJson,
    CalibrationName,
    CalibrationOption,
    CountOptions,
    MaxItems,
    MeasureOptions,
    PrivacyOptions,
)
from dpsu.cli.terminal import notes


def plan(
    privacy: PrivacyOptions,
    algorithm: AlgorithmOptions,
    counts: CountOptions,
    measures: MeasureOptions,
    max_items: MaxItems = 300,
    calibration: CalibrationOption = CalibrationName.exact,
    as_json: AsJson = False,
) -> None:
    """Show what a release will do. Noise, threshold, and how many users must share an item; no data is read."""
    with notes(quiet=False):
        made = dpsu.plan(
            **privacy.arguments(),
            **algorithm.arguments(),
            **counts.arguments(),
            **measures.arguments(),
            max_items=max_items,
            calibration=calibration.value,
        )
    print(made.to_json() if as_json else made)
