"""A statement as an HTML page: one file, no network, no script."""

import base64
import json
import math
from collections.abc import Sequence
from dataclasses import fields
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from dpsu.algorithms.algorithm import Algorithm
from dpsu.algorithms.catalogue import CATALOGUE
from dpsu.algorithms.holders import CountingTerms, share_with_counts
from dpsu.algorithms.mechanism import Mechanism
from dpsu.algorithms.request import Request
from dpsu.api.plan import Plan
from dpsu.errors import DpsuError
from dpsu.outcome.statement import Statement
from dpsu.outcome.write import write_text
from dpsu.privacy.loss import chance_above
from dpsu.report.facts import facts, in_words, parameters_in_words
from dpsu.report.numbers import counted

HEADLINE = "What this list can and cannot reveal about a person"
WHY_NO_CURVE = {
    "single": "The curve cannot be computed from this statement; <code>dpsu plan</code> draws it for given parameters.",
    "levels": "Each level of n-grams has its own thresholds, and an n-gram is released only if its parts are: there is no "
    "single curve.",
    "series": "Every period of a series has its own thresholds, and totals are carried from period to period: there is no "
    "single curve.",
    "tuned": "The setting was chosen among several, each with its own thresholds: there is no single curve.",
}
PASSED_BY_A_LITTLE = (
    "There is no bound on how often the first factor is exceeded slightly; the table bounds how often it is exceeded "
    "by more. "
)
PRIORS = (0.01, 0.1, 0.5)
TIMES = (1.0, 1.1, 2.0, 10.0)
"""Multiples of e^epsilon for which the page bounds the probability of a larger change of odds."""

SET_SIZES = (1, 10, 100)
POINTS = 33
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 340, 52, 20, 34, 44


def write_report(statement: Statement, path: str | Path, released: int | None = None) -> None:
    """Write the page; `released` is the number of items in the file, if known."""
    write_text(page(statement, released), path)


def page(statement: Statement, released: int | None = None) -> str:
    """The page about this statement."""
    template = Template(files("dpsu.report").joinpath("page.html").read_text(encoding="utf-8"))
    return template.substitute(
        title=escape(statement.title or HEADLINE),
        lead=_lead(statement, released),
        promise=_promise(statement),
        about=_about(statement),
        curve=_curve(statement),
        strength=_strength(statement),
        grounds=_grounds(statement),
        limits=_list(statement.not_covered),
        parameters=_parameters(statement),
        verify=_verify(statement),
        version=escape(statement.version),
    )


def plan_of(statement: Statement) -> Plan | None:
    """The plan of this statement; None if it cannot be computed from the statement alone.

    Levels and tuned releases have several mechanisms, and a custom policy is not in the statement.
    """
    if statement.kind != "single":
        return None
    parameters = {name: value for name, value in statement.parameters.items() if name != "counts"}
    try:
        kind = CATALOGUE[statement.algorithm]
        options = {field.name: parameters[field.name] for field in fields(kind) if field.name in parameters}  # type: ignore[arg-type]
        mechanism = _calibrated(kind(**options), statement)
    except (DpsuError, LookupError, TypeError, ValueError, ArithmeticError):
        return None
    same = json.loads(json.dumps(mechanism.parameters())) == json.loads(json.dumps(parameters))
    return Plan(statement.algorithm, mechanism) if same else None


def _calibrated(algorithm: Algorithm, statement: Statement) -> Mechanism:
    how: Any = statement.calibration
    request = Request(statement.epsilon, statement.delta, statement.max_items, how)
    if "counts" in statement.parameters:
        terms = CountingTerms(share=statement.parameters["counts"]["share"])
        return share_with_counts(algorithm, request, terms)[0]
    return algorithm.calibrate(request)


def _lead(statement: Statement, released: int | None) -> str:
    number = "" if released is None else f"{released:,} "
    many = f"The file contains {number}item{'' if released == 1 else 's'}"
    counted = " and a noisy number of the people who have each" if "counts" in statement.parameters else ""
    return f"{many} that many people share{counted}. Items that only a few people have are left out."


def _promise(statement: Statement) -> str:
    if statement.void:
        return f'<div class="promise void"><p><strong>Nothing is promised:</strong> {escape(statement.void)}.</p></div>'
    return (
        '<div class="promise"><p>The promise protects every single person. Take any set of possible files. The '
        "probability that the released file is one of them is, with the person's data, at most "
        f"<strong>{_factor(statement.epsilon)} times</strong> the probability without it, plus "
        f"{_one_in(statement.delta)}. The same holds with the two exchanged.</p><p>In technical terms: the output is "
        f"({statement.epsilon:g}, {statement.delta:g})-differentially private for {escape(statement.unit)}. At most "
        f"{counted(statement.max_items)} of one person count.</p></div>"
    )


def _about(statement: Statement) -> str:
    rows = facts(statement)
    if not rows:
        return "<p>The statement does not describe the data.</p>"
    return f"<table><caption>As the publisher describes it</caption><tbody>{_rows(rows)}</tbody></table>"


def _grounds(statement: Statement) -> str:
    if not statement.rests_on:
        return "<p>The statement lists nothing that the publisher must guarantee.</p>"
    return (
        "<p>The promise holds only if all of the following is true. It cannot be computed; the publisher guarantees it:</p>"
        f"{_list(statement.rests_on)}"
    )


def _strength(statement: Statement) -> str:
    epsilon, delta = statement.epsilon, statement.delta
    suspicions = [
        (f"{prior:.0%}", _percent(1 / (1 + (1 - prior) / prior * math.exp(-epsilon)))) for prior in PRIORS
    ]
    if epsilon <= 1:
        verdict = "Values of epsilon up to 1 are commonly called strong."
    elif epsilon <= 5:
        verdict = "Values of epsilon between 1 and 5 are common in practice, and a compromise."
    else:
        verdict = (
            "Values of epsilon above 5 promise little in the worst case; real attacks may gain far less."
        )
    chances = [(_factor(epsilon, times), _bound(statement, times)) for times in TIMES]
    return (
        "<p>Suppose somebody suspects that a person is in the data. If the file changes the odds by the factor "
        f"{_factor(epsilon)} (epsilon {epsilon:g}), they become this certain:</p>"
        f"{_numbers('What the file can reveal about one person', ('certainty before', 'certainty after'), suspicions)}"
        f"<p>{verdict}</p><p>Delta, {_one_in(delta)}, is not the probability that the odds change by more. That "
        "probability has a separate bound, which follows from the numbers of this release:</p>"
        f"{_numbers('How likely the file reveals more', ('odds change by more than', 'probability, at most'), chances)}"
        f"<p>{'' if statement.budget else PASSED_BY_A_LITTLE}Delta should be at most one divided by a hundred times the "
        "number of people in the data.</p>"
    )


def _bound(statement: Statement, times: float) -> str:
    """A bound on the probability that the odds change by more than `times` e^epsilon."""
    loss = statement.epsilon + math.log(times)
    chance = chance_above(loss, epsilon=statement.epsilon, delta=statement.delta, budget=statement.budget)
    return "no bound" if chance >= 1 else _one_in(chance)


def _numbers(caption: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of numbers."""
    top = "".join(f'<th class="number" scope="col">{name}</th>' for name in head)
    body = "".join(
        "<tr>" + "".join(f'<td class="number">{value}</td>' for value in row) + "</tr>" for row in rows
    )
    return f"<table><caption>{caption}</caption><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def _curve(statement: Statement) -> str:
    plan = plan_of(statement)
    if plan is None:
        return f"<p>{WHY_NO_CURVE.get(statement.kind, WHY_NO_CURVE['single'])}</p>"
    sizes = [size for size in SET_SIZES if size <= statement.max_items]
    users = _ladder(plan, sizes)
    chances = {size: np.asarray(plan.chance(users, size)) for size in sizes}
    needed = plan.users_needed(0.5, sizes[0]) or 0
    sentence = (
        f"An item is released with probability 1/2 if about <strong>{needed:,} people</strong> have it and no other item"
        + (f", or {plan.users_needed(0.5, sizes[1]) or 0:,} if each has {sizes[1]}" if len(sizes) > 1 else "")
        + ". An item that only one person has is released only with a very small probability, which is part of delta."
    )
    return (
        f"<p>{sentence}</p><figure>{_svg(users, chances)}<figcaption>The probability that an item is released, by the "
        "number of people who share it. The label of a curve is the number of items of each person.</figcaption></figure>"
        f"{_table(users, chances)}"
    )


def _ladder(plan: Plan, sizes: Sequence[int]) -> list[int]:
    low = plan.users_needed(0.005, sizes[0]) or 1
    high = plan.users_needed(0.995, sizes[-1]) or 100 * low
    return [int(n) for n in np.unique(np.geomspace(low, max(high, low + 1), POINTS).round())]


def _svg(users: list[int], chances: dict[int, Any]) -> str:
    low, high = math.log(users[0]), math.log(users[-1])

    def x(n: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (math.log(n) - low) / max(high - low, 1e-9)

    def y(chance: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - chance)

    parts = [
        f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(c):.1f}" y2="{y(c):.1f}"/>'
        f'<text x="{LEFT - 8}" y="{y(c) + 4:.1f}" text-anchor="end">{c:.0%}</text>'
        for c in (0, 0.25, 0.5, 0.75, 1)
    ]
    parts += [
        f'<text x="{x(n):.1f}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{n:,}</text>'
        for n in _ticks(users)
    ]
    parts.append(
        f'<text x="{(LEFT + WIDTH) / 2}" y="{HEIGHT - 4}" text-anchor="middle">people who share the item</text>'
    )
    for k, (size, values) in enumerate(chances.items(), 1):
        points = " ".join(f"{x(n):.1f},{y(float(c)):.1f}" for n, c in zip(users, values, strict=True))
        parts.append(f'<polyline class="curve s{k}" points="{points}"/>')
        legend = LEFT + (k - 1) * 200
        parts.append(
            f'<line class="curve s{k}" x1="{legend}" x2="{legend + 34}" y1="14" y2="14"/>'
            f'<text class="label l{k}" x="{legend + 42}" y="18">{counted(size)} each</text>'
        )
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="chart-title"><title id="chart-title">'
        f"The probability that an item is released increases with the number of people; the table has the numbers.</title>"
        f"{''.join(parts)}</svg>"
    )


def _ticks(users: list[int]) -> list[int]:
    """Round numbers on a logarithmic axis, at most eight."""
    ticks = [
        digit * 10**power
        for power in range(int(math.log10(users[0])), int(math.log10(users[-1])) + 1)
        for digit in (1, 2, 5)
        if users[0] <= digit * 10**power <= users[-1]
    ]
    return ticks[:: math.ceil(len(ticks) / 8)] if ticks else [users[0], users[-1]]


def _table(users: list[int], chances: dict[int, Any]) -> str:
    head = "".join(f'<th class="number" scope="col">{counted(size)} each</th>' for size in chances)
    rows = "".join(
        f'<tr><th class="number" scope="row">{n:,}</th>'
        + "".join(f'<td class="number">{_percent(float(values[k]))}</td>' for values in chances.values())
        + "</tr>"
        for k, n in enumerate(users)
        if k % 2 == 0
    )
    return (
        "<details><summary>The numbers of the curve</summary><table><caption>Probability that an item is released</caption>"
        f'<thead><tr><th class="number" scope="col">people</th>{head}</tr></thead><tbody>{rows}</tbody></table></details>'
    )


def _parameters(statement: Statement) -> str:
    rows = [
        ("kind", statement.kind),
        ("algorithm", statement.algorithm),
        ("calibration", statement.calibration),
        ("epsilon", statement.epsilon),
        ("delta", statement.delta),
        ("max_items", statement.max_items),
        *parameters_in_words(statement),
        *(vars(statement.budget) if statement.budget else {}).items(),
        ("randomness", statement.noise_source),
        ("proof", statement.proof),
    ]
    return (
        '<div class="wide" tabindex="0" role="region" aria-label="Parameters"><table><caption>Noise and thresholds in units '
        f"of the budget of one person</caption><tbody>{_rows(rows)}</tbody></table></div>"
    )


def _rows(rows: Sequence[tuple[str, Any]]) -> str:
    return "".join(
        f'<tr><th scope="row">{escape(str(name))}</th><td>{escape(in_words(value))}</td></tr>'
        for name, value in rows
    )


def _verify(statement: Statement) -> str:
    text = statement.to_json()
    link = base64.b64encode(text.encode()).decode()
    digest = (
        f"<p>The SHA-256 of the file is <code>{escape(statement.released_sha256)}</code>.</p>"
        if statement.released_sha256
        else ""
    )
    return (
        "<p>The promise can be recomputed from the statement alone, with interval arithmetic and without the data:</p>"
        '<pre tabindex="0"><code>pip install dpsu\ndpsu verify statement.json</code></pre>'
        f'<p><a download="statement.json" href="data:application/json;base64,{link}">Save the statement</a>, which is '
        f"embedded in this page.</p>{digest}<details><summary>Show the statement</summary>"
        f'<pre tabindex="0"><code>{escape(text)}</code></pre></details>'
    )


def _list(entries: Sequence[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(entry)}</li>" for entry in entries) + "</ul>"


def _factor(epsilon: float, times: float = 1.0) -> str:
    value = times * math.exp(min(epsilon, 700))
    return f"{value:.3g}" if value < 1000 else f"{value:.2e}"


def _percent(chance: float) -> str:
    if 0.9995 < chance < 1:
        return "over 99.9 %"
    return f"{100 * chance:.1f} %" if chance >= 0.001 or chance == 0 else "under 0.1 %"


def _one_in(chance: float) -> str:
    return f"one in {round(1 / chance):,}" if chance > 1e-12 else f"{max(chance, 1e-300):.0e}"
