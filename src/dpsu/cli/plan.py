"""`dpsu plan`: what a choice of privacy means, before any data is touched."""

import dpsu
from dpsu.cli.options import (
    AlgorithmName,
    Alpha,
    AsJson,
    CalibrationName,
    CalibrationOption,
    Delta,
    Epsilon,
    K,
    MaxItems,
    Passes,
    given,
    privacy,
)
from dpsu.cli.terminal import notes


def plan(
    epsilon: Epsilon = None,
    delta: Delta = None,
    max_items: MaxItems = 300,
    algorithm: AlgorithmName = None,
    calibration: CalibrationOption = CalibrationName.exact,
    alpha: Alpha = None,
    passes: Passes = None,
    k: K = None,
    as_json: AsJson = False,
) -> None:
    """Show noise, threshold and how many users must share an item, before any data is touched."""
    with notes(quiet=False):
        made = dpsu.plan(
            max_items=max_items,
            calibration=calibration.value,
            **privacy(epsilon, delta),
            **given(algorithm=algorithm, alpha=alpha, passes=passes, k=k),
        )
    print(made.to_json() if as_json else made)
