"""Errors of counts, sums and others are said wherever a plan or a statement is shown."""

from collections.abc import Iterator
from html import unescape
from typing import Any

import polars as pl
import pytest

import dpsu
from dpsu.algorithms.holders import half_width

PRIVACY = {"epsilon": 3.0, "delta": 1e-6}
COUNTS = dpsu.Counts(share=0.2, max_items=3, sums_max_items=7)
MEASURED: dict[str, Any] = {"counts": COUNTS, "sums": {"days": (-4, 9)}, "others": True}
TEXTS = {n: ["good morning"] for n in range(800)}


def single() -> dpsu.Release:
    frame = pl.DataFrame({"u": range(800), "i": ["a"] * 800, "days": [3.0] * 800})
    return dpsu.release(frame, user="u", item="i", **PRIVACY, **MEASURED, check_user=False)


def tuned() -> dpsu.Release:
    data = {n: ["a", "b"] for n in range(800)}
    return dpsu.tune(data, settings=[{"max_items": 2}], **PRIVACY, counts=COUNTS).release


def levels() -> dpsu.Release:
    return dpsu.ngrams(TEXTS, longest=2, **PRIVACY, counts=COUNTS)


def numbers(counts: dict[str, Any]) -> Iterator[str]:
    """The half-widths and cuts of all that is measured."""
    others = counts.get("others", {"sums": []})
    for each in (counts, *counts.get("sums", []), *others["sums"], *([others] if "sigma" in others else [])):
        yield f"{half_width(each['sigma']):,.10g}"
    yield from (str(counts["max_items"]), *(str(each["max_items"]) for each in counts.get("sums", [])))


@pytest.mark.parametrize("make", [single, tuned, levels])
def test_statements_say_the_errors_and_cuts(make: Any) -> None:
    statement = make().statement
    parameters = statement.parameters
    counts = (parameters["tuning"]["release"]["parameters"] if make is tuned else parameters)["counts"]
    shown = [str(statement), statement._repr_html_(), dpsu.report(statement).html, statement.to_registry()]
    assert counts["max_items"] == 3
    for text in shown:
        for number in numbers(counts):
            assert number in unescape(text)


def test_plans_say_what_the_statement_will() -> None:
    plan = dpsu.plan(**PRIVACY, **MEASURED)
    counts = single().statement.parameters["counts"]  # type: ignore[union-attr]
    for text in (str(plan), plan._repr_html_(), plan.to_html()):
        for number in numbers(counts):
            assert number in unescape(text)
    told = plan.to_dict()["counts"]
    assert (told["max_items"], told["sums_max_items"]) == (3, 7)
    assert told["half_width"] == half_width(counts["sigma"]) == single().to_polars()["half_width"][0]
    assert told["sums"] == {"days": half_width(counts["sums"][0]["sigma"])}
    assert set(told["others"]) == {"holders", "days"}


def test_nothing_is_said_without_counts() -> None:
    plan = dpsu.plan(**PRIVACY)
    assert "95 %" not in str(plan)
    statement = dpsu.release({n: ["a"] for n in range(500)}, **PRIVACY).statement
    assert "holders" not in str(statement)


@pytest.mark.parametrize("sigma", [1e-12, 0.0051, 1.0, 9.99 / 1.96, 51.03, 1e6, 1e20])
def test_a_half_width_has_three_digits_and_is_not_too_small(sigma: float) -> None:
    half = half_width(sigma)
    assert 1.96 * sigma * (1 - 1e-12) <= half <= 1.96 * sigma * 1.01
    assert half == float(f"{half:.3g}")
