"""A statement as an HTML page for the people who must judge it: one file, no network, no script.

The page begins with who is protected, what was released, what is promised and what is not. The curve follows. Parameters,
numbers and the statement itself are folded. Printed, the page has two sheets.
"""

import base64
import math
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

from dpsu.outcome.statement import OF_PERIOD, Statement
from dpsu.outcome.write import write_text
from dpsu.privacy.loss import chance_above
from dpsu.report.curve import curve_section
from dpsu.report.facts import discovers, facts, invents, item_in_words, parameters_in_words, user_in_words
from dpsu.report.measures import half, limits_for_people, measured_of, measures_table
from dpsu.report.numbers import counted
from dpsu.report.tables import ROUNDING, at_most, bullets, fact_rows, numbers_table, one_in

HEADLINE = "What this list can and cannot reveal about a person"
SHOWN_ON_TOP = ("one user is", "an item is", "false items", "date")
PASSED_BY_A_LITTLE = (
    "There is no bound on how often the first factor is exceeded slightly; the table bounds how often it is exceeded "
    "by more. "
)
EACH = {"levels": " for each length of phrases", "series": " in a period"}
OF_WHAT = {"series": "the files of all periods together"}
"""What the promise speaks of, if not of one file."""
PRIORS = (0.01, 0.1, 0.5)
TIMES = (1.0, 1.1, 2.0, 10.0)
"""Multiples of e^epsilon for which the page bounds the probability of a larger change of odds."""


def write_report(statement: Statement, path: str | Path, released: int | None = None) -> None:
    """Write the page; `released` is the number of items in the file, if known."""
    write_text(page(statement, released), path)


def page(statement: Statement, released: int | None = None) -> str:
    """The page about this statement."""
    template = Template(files("dpsu.report").joinpath("page.html").read_text(encoding="utf-8"))
    return template.substitute(
        title=escape(statement.title or HEADLINE),
        person=_person(statement),
        released=_released(statement, released),
        promise=_promise(statement),
        limits=bullets(statement.not_covered),
        curve=curve_section(statement),
        counts=_counts(statement),
        strength=_strength(statement),
        grounds=_grounds(statement),
        about=_about(statement),
        parameters=_parameters(statement),
        verify=_verify(statement),
        version=escape(statement.version),
    )


def _person(statement: Statement) -> str:
    unit = escape(statement.unit)
    if not statement.data:
        return f"<p>Every single person. The unit is: {unit}. The statement does not describe the data.</p>"
    person = escape(user_in_words(statement.data))
    return (
        f"<p>Every single person. One person, also called a user, is {person}. The promise compares the data with and "
        f"without this person (unit: {unit}).</p>"
    )


def _released(statement: Statement, released: int | None) -> str:
    number = "" if released is None else f"{released:,} "
    listed = _listed(statement)
    shared = "" if listed else " that many people share"
    told = [f"The file contains {number}item{'' if released == 1 else 's'}{shared}."]
    if statement.data:
        told.append(f"An item is {escape(item_in_words(statement.data))}.")
    told += [*_numbers(statement), *listed]
    if statement.kind == "series" and {"period", "periods"} <= statement.parameters.keys():
        told.append(
            f"These are the new items of period {statement.parameters['period']} of {statement.parameters['periods']}; the "
            "promise covers all periods together."
        )
    told.append(_left_out(statement, bool(listed)))
    date = f' Released on <span class="date">{escape(statement.date)}</span>.' if statement.date else ""
    return f"<p>{' '.join(told)}{date}</p>"


def _listed(statement: Statement) -> list[str]:
    """Why items may be in the file that few people have, or none: public lists, and phrases that were guessed."""
    told, parameters = [], statement.parameters
    candidates = parameters.get("candidates")
    if isinstance(candidates, Mapping):
        told.append(
            f"Items of a public list of {candidates['count']:,} are marked. On average at most "
            f"{at_most(candidates['false_share'])} of the marked items are ones that nobody has."
        )
    if statement.kind == "levels" and "false_share" in parameters:
        told.append(
            f"On average at most {at_most(parameters['false_share'])} of the phrases of several words are ones that nobody "
            "wrote."
        )
    elif invents(statement):
        told.append("Some phrases of several words may be ones that nobody wrote; their share has no bound.")
    if "public_items" in (statement.lists or {}):
        told.append("The items of a public list are always in the file, also those that nobody has.")
    return told


def _left_out(statement: Statement, listed: bool) -> str:
    """Which items are not in the file."""
    if not discovers(statement):
        told = "Items outside the public lists are left out."
    else:
        told = f"{'Other items' if listed else 'Items'} that only a few people have are left out."
    excluded = (
        " The items of a list of exclusions are left out, too."
        if "exclude" in (statement.lists or {})
        else ""
    )
    return told + excluded


def _numbers(statement: Statement) -> list[str]:
    """What the file says of every item, and of the items that are not in it."""
    measured = measured_of(statement)
    if not measured:
        return []
    told = [
        f"Each item has a noisy number of the people who have it, within {half(measured['sigma'])} in 95 % of cases."
    ]
    sums = " and of ".join(escape(str(each["column"])) for each in measured.get("sums", []))
    if sums:
        told.append(f"It also has a noisy sum and a noisy mean of {sums} over these people.")
    if "others" in measured:
        told.append("There are also noisy numbers about all other items together, which are not in the file.")
    return told


def _promise(statement: Statement) -> str:
    if statement.void:
        return f'<p class="void"><strong>Nothing is promised:</strong> {escape(statement.void)}.</p>'
    return (
        f"<p>Whatever somebody concludes from {OF_WHAT.get(statement.kind, 'the file')}, the probability of that conclusion "
        f"is at most <strong>{_factor(statement.epsilon)} times</strong> as large with a person's "
        f"data{_of_period(statement)} as without it, plus {one_in(statement.delta)}, and the same with the two exchanged. "
        "This holds for every person, whatever else the reader knows.</p>"
        f'<p class="soft">In technical terms: the output is ({statement.epsilon:g}, {statement.delta:g})-differentially '
        f"private. At most {counted(statement.max_items)} of one person count{EACH.get(statement.kind, '')}"
        f"{_in_chosen(statement)}.</p>"
    )


def _in_chosen(statement: Statement) -> str:
    """The items of one person that count in the algorithm that `auto` chose, if they are fewer."""
    chosen = statement.parameters.get("chosen")
    own = chosen.get("max_items") if isinstance(chosen, Mapping) else None
    fewer = isinstance(own, int) and own < statement.max_items
    return f", {own:,} of them in the algorithm that was chosen" if fewer else ""


def _of_period(statement: Statement) -> str:
    """The period whose data is protected, if the promise is about one period alone."""
    found = OF_PERIOD.fullmatch(statement.unit)
    return f" of period {escape(found[1])}" if found else ""


def _counts(statement: Statement) -> str:
    """The errors of counts, sums and others."""
    measured = measured_of(statement)
    if not measured:
        return ""
    found = measures_table(measured) + limits_for_people(measured, levels=statement.kind == "levels")
    return (
        f'<section aria-labelledby="counts"><h2 id="counts">How exact the numbers are</h2>{found}</section>'
    )


def _about(statement: Statement) -> str:
    rows = [(name, value) for name, value in facts(statement) if name not in SHOWN_ON_TOP]
    if not rows:
        return ""
    return f"<table><caption>As the publisher describes it</caption><tbody>{fact_rows(rows)}</tbody></table>"


def _grounds(statement: Statement) -> str:
    if not statement.rests_on:
        return "<p>The statement lists nothing that the publisher must guarantee.</p>"
    return (
        "<p>The promise holds only if the following is true. No program can check it; the publisher guarantees it:</p>"
        f"{bullets(statement.rests_on)}"
    )


def _strength(statement: Statement) -> str:
    if statement.void:
        return "<p>Nothing is promised, so nothing limits what the file can reveal.</p>"
    epsilon, delta = statement.epsilon, statement.delta
    suspicions = [
        (f"{100 * prior:g} %", at_most(1 / (1 + (1 - prior) / prior * math.exp(-epsilon))))
        for prior in PRIORS
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
        f"{numbers_table('What the file can reveal about one person', ('certainty before', 'certainty after'), suspicions)}"
        f"<p>{verdict}</p><p>Delta, {one_in(delta)}, is not the probability that the odds change by more. That "
        "probability has a separate bound, which follows from the numbers of this release:</p>"
        f"{numbers_table('How likely the file reveals more', ('odds change by more than', 'probability, at most'), chances)}"
        f"<p>{'' if statement.budget else PASSED_BY_A_LITTLE}Delta should be at most one divided by a hundred times the "
        "number of people in the data.</p>"
    )


def _bound(statement: Statement, times: float) -> str:
    """A bound on the probability that the odds change by more than `times` e^epsilon."""
    loss = statement.epsilon + math.log(times)
    chance = chance_above(loss, epsilon=statement.epsilon, delta=statement.delta, budget=statement.budget)
    return "no bound" if chance >= 1 else one_in(chance)


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
        f"of the budget of one person</caption><tbody>{fact_rows(rows)}</tbody></table></div>"
    )


def _verify(statement: Statement) -> str:
    text = statement.to_json()
    link = base64.b64encode(text.encode()).decode()
    digest, option = "", ""
    if statement.released_sha256:
        option = " --released FILE"
        digest = (
            "<p>With the released file, the command also checks that it is the one of this statement. Its SHA-256 is "
            f"<code>{escape(statement.released_sha256)}</code>.</p>"
        )
    return (
        "<p>The promise can be recomputed from the statement alone, with interval arithmetic and without the data:</p>"
        f'<pre tabindex="0"><code>dpsu verify statement.json{option}</code></pre>'
        f'<p class="screen"><a download="statement.json" href="data:application/json;base64,{link}">Save the statement</a>, '
        f"which is embedded in this page.</p>{digest}<details><summary>Show the statement</summary>"
        f'<pre tabindex="0"><code>{escape(text)}</code></pre></details>'
    )


def _factor(epsilon: float, times: float = 1.0) -> str:
    """A factor that the odds do not pass, rounded up to three digits."""
    value = times * math.exp(min(epsilon, 700))
    unit = 10.0 ** (math.floor(math.log10(value)) - 2)
    value = math.ceil(value / unit * (1 - ROUNDING)) * unit
    return f"{value:.3g}" if value < 1000 else f"{value:.2e}"
