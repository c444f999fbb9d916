"""Statements of mechanisms that did not run, for tests of what is made of statements."""

from typing import Any

from experiments.edges import as_if_run

from dpsu.algorithms.algorithm import Algorithm
from dpsu.algorithms.catalogue import build
from dpsu.algorithms.job import promise_of
from dpsu.algorithms.mechanism import Mechanism
from dpsu.algorithms.request import Request
from dpsu.outcome.statement import Statement
from dpsu.randomness.stream import Stream
from dpsu.run import Terms, state
from dpsu.sources.source import Source


def statement_of(
    algorithm: Any, epsilon: float = 1.0, delta: float = 1e-6, max_items: int = 40, **options: Any
) -> Statement:
    """The statement of this algorithm; optimal-single always has one item per user."""
    calibration = options.pop("calibration", "exact")
    chosen = build(algorithm, **options)
    items = 1 if chosen.name == "optimal-single" else max_items
    return stated(chosen, chosen.calibrate(Request(epsilon, delta, items, calibration)))


def stated(algorithm: Algorithm, mechanism: Mechanism) -> Statement:
    """The statement of a calibrated mechanism over two columns."""
    source = Source.of("rows.parquet", user="author", item="word")
    made = state(promise_of(algorithm, mechanism), source, Terms(), Stream(bytes(32)), bytes(16))
    return as_if_run(made, mechanism)
