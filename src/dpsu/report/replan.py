"""The plan behind a statement: what its mechanism gives, computed again from the numbers that it states."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dpsu.algorithms.algorithm import Algorithm
from dpsu.algorithms.candidates import OF_WEIGHTS, CandidateList, with_candidates
from dpsu.algorithms.catalogue import CATALOGUE
from dpsu.algorithms.holders import CountingTerms, share_with_counts
from dpsu.algorithms.mechanism import Floats, Mechanism
from dpsu.algorithms.request import Request
from dpsu.algorithms.series import SeriesMechanism, series_told
from dpsu.algorithms.series_chance import chances_by_period
from dpsu.algorithms.share import focused_within
from dpsu.api.plan import Plan
from dpsu.errors import DpsuError
from dpsu.outcome.statement import Statement
from dpsu.privacy.budget import Budget

UNUSABLE = (DpsuError, LookupError, TypeError, ValueError, ArithmeticError, AttributeError)
"""Exceptions raised by statements that have other parameters than the mechanism of that name."""

MOST_PERIODS = 60
"""Chances in longer series are not simulated: it would take minutes."""

AGREEMENT = 1e-6


def plan_of(statement: Statement) -> Plan | None:
    """The plan of this statement; None if it cannot be computed from the statement alone.

    Levels have several mechanisms (`plan_of_level`), a tuned statement holds another one, and a custom policy is not in
    the statement.
    """
    try:
        if statement.kind == "series":
            return Plan(statement.algorithm, _series(statement))
        if statement.kind != "single":
            return None
        if statement.algorithm == "auto":
            return _plan_of_branch(statement.parameters["chosen"])
        parameters = {name: value for name, value in statement.parameters.items() if name != "counts"}
        kind = CATALOGUE[statement.algorithm]
        options = {field.name: parameters[field.name] for field in fields(kind) if field.name in parameters}  # type: ignore[arg-type]
        mechanism = _calibrated(_with_list(kind(**options), parameters.get("candidates")), statement)
    except UNUSABLE:
        return None
    same = json.loads(json.dumps(mechanism.parameters())) == json.loads(json.dumps(parameters))
    return Plan(statement.algorithm, mechanism) if same else None


def _plan_of_branch(chosen: Mapping[str, Any]) -> Plan | None:
    """The plan of the branch that `auto` chose."""
    budget = chosen["budget"]
    if budget is None:
        return plan_of(Statement(**chosen))
    request = Request(chosen["epsilon"], chosen["delta"], chosen["max_items"])
    mechanism = focused_within(request, Budget(**budget))
    close = np.allclose(mechanism.boundary.thresholds, chosen["parameters"]["thresholds"], rtol=AGREEMENT)
    return Plan(chosen["algorithm"], mechanism) if close else None


def plan_of_level(statement: Statement, level: Mapping[str, Any]) -> Plan | None:
    """The plan of one level of n-grams; None if its domain is known from the level before."""
    try:
        request = Request(statement.epsilon, statement.delta, level["max_items"])
        mechanism = focused_within(request, Budget(1 / level["sigma"], level["delta_new"]))
        close = np.allclose(mechanism.boundary.thresholds, level["thresholds"], rtol=AGREEMENT)
    except UNUSABLE:
        return None
    return Plan("focused-gaussian", mechanism) if close else None


def single_of(statement: Statement) -> tuple[Statement, str]:
    """The statement itself and ""; for a tuned one, that of the release with the chosen setting, and how it was chosen."""
    tuning = statement.parameters.get("tuning")
    if (
        statement.kind != "tuned"
        or not isinstance(tuning, Mapping)
        or not isinstance(tuning.get("release"), Mapping)
    ):
        return statement, ""
    names = ("kind", "algorithm", "calibration", "max_items", "parameters", "epsilon", "delta", "budget")
    chosen = {name: tuning["release"].get(name) for name in names}
    budget = chosen["budget"]
    chosen["budget"] = Budget(**budget) if isinstance(budget, Mapping) else budget
    return replace(statement, **chosen), str(tuning.get("way"))


def _with_list(algorithm: Algorithm, candidates: Any) -> Algorithm:
    """The algorithm with a list of candidates, if the statement has one; chances do not depend on what is in the list."""
    if candidates is None:
        return algorithm
    extremes = (candidates[OF_WEIGHTS[0]], candidates[OF_WEIGHTS[1]]) if OF_WEIGHTS[0] in candidates else None
    listed = CandidateList(candidates["count"], "", pl.DataFrame(), extremes=extremes)
    return with_candidates(algorithm, listed, candidates["false_share"], candidates["discover"])


def _calibrated(algorithm: Algorithm, statement: Statement) -> Mechanism:
    how: Any = statement.calibration
    request = Request(statement.epsilon, statement.delta, statement.max_items, how)
    if "counts" in statement.parameters:
        terms = CountingTerms(share=statement.parameters["counts"]["share"])
        return share_with_counts(algorithm, request, terms)[0]
    return algorithm.calibrate(request)


@dataclass(frozen=True)
class _ByPeriod(SeriesMechanism):
    """A series of which the chances by the end of one period are asked."""

    period: int = 1

    def chance(self, holders: NDArray[np.int64], set_size: int) -> Floats:
        return np.asarray(chances_by_period(self, holders, set_size)[self.period - 1], np.float64)


def _series(statement: Statement) -> Mechanism:
    told = statement.parameters
    if statement.budget is None or not 1 <= told["period"] <= told["periods"] <= MOST_PERIODS:
        raise ValueError("there are no chances for this series")
    request = Request(statement.epsilon, statement.delta, statement.max_items)
    series = series_told(request, statement.budget.delta_new, told)
    return _ByPeriod(
        **{field.name: getattr(series, field.name) for field in fields(series)}, period=told["period"]
    )
