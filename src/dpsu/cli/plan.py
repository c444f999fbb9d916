"""`dpsu plan`."""

import dpsu
from dpsu.cli.options import (
    AlgorithmOptions,
    AsJson,
    CalibrationName,
    CalibrationOption,
    MaxItemsOrAuto,
    PrivacyOptions,
    max_items_of,
)
from dpsu.cli.terminal import notes


def plan(
    privacy: PrivacyOptions,
    algorithm: AlgorithmOptions,
    max_items: MaxItemsOrAuto = "auto",
    calibration: CalibrationOption = CalibrationName.exact,
    as_json: AsJson = False,
) -> None:
    """Show what a release will do. Noise, threshold, and how many users must share an item; no data is read."""
    with notes(quiet=False):
        made = dpsu.plan(
            **privacy.arguments(),
            **algorithm.arguments(),
            max_items=max_items_of(max_items),
            calibration=calibration.value,
        )
    print(made.to_json() if as_json else made)
