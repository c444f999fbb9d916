"""Compiled loops by name: algorithms name a loop, and an engine loads and compiles it when it runs.

So a calibration does not load numba, and a rule travels to a Spark worker as a name.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

Loop = str | Callable[..., Any]
"""The name of a loop below, or the compiled loop of a caller's own policy."""

HOMES = {
    "weigh_evenly": "dpsu.kernels.weights",
    "weigh_proportionally": "dpsu.kernels.weights",
    "count_holders": "dpsu.kernels.weights",
    "weigh_by_root": "dpsu.kernels.measures",
    "weigh_rerouted": "dpsu.kernels.mad",
    "weigh_with_bias": "dpsu.kernels.mad",
    "l1_descent": "dpsu.kernels.descent",
    "fill_in_order": "dpsu.kernels.descent",
    "l2_descent": "dpsu.kernels.descent",
    "l1_descent_in_l2": "dpsu.kernels.descent",
}


def find_loop(loop: Loop) -> Callable[..., Any]:
    """The compiled loop."""
    if not isinstance(loop, str):
        return loop
    found: Callable[..., Any] = getattr(import_module(HOMES[loop]), loop)
    return found
