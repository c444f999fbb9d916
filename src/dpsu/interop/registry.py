"""A statement as an entry of the registry of deployments (github.com/opendp/deployments-registry-data), in YAML.

Tiers 2 and 3 are filled from the statement: unit, epsilon, delta, mechanism, noise, composition. Fields that only the
curator knows are empty, with a comment. The keys are those of the registry's entries of autumn 2026.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from dpsu.algorithms.catalogue import CATALOGUE
from dpsu.errors import InvalidArgument
from dpsu.outcome.statement import Statement
from dpsu.report.facts import choice_in_words, in_words, item_in_words, user_in_words
from dpsu.report.measures import measured_of, measures_in_words
from dpsu.report.numbers import counted
from dpsu.report.replan import single_of

KINDS = {
    "single": "One mechanism.",
    "levels": "One mechanism for each length of n-grams; their budgets add up to the stated one.",
    "tuned": "The setting was chosen privately among several; the choice is part of the stated budget.",
    "series": "One mechanism over several periods; the stated budget is that of all periods together.",
}

CHOSEN = "Private steps choose the algorithm and max_items, one mechanism releases. The budget is that of all of them."

INTERNAL = ("shares", "levels", "tuning", "counts", "thresholds")
"""Parameters with many values, which are in the statement alone."""

MOST_VALUES = 12
"""The longest list of an entry, such as the shares of twelve months."""


class Blank(str):
    """A field that the curator fills; the text says what belongs there."""


def registry_entry(statement: Statement) -> str:
    """The YAML of the entry."""
    if statement.void:
        raise InvalidArgument(f"this statement promises nothing: {statement.void}.")
    head = [
        "# An entry for the registry of differentially private deployments, opendp/deployments-registry-data.",
        f"# Filled from a statement of dpsu {statement.version}; check it with `dpsu verify`.",
        "# Fields marked with CURATOR are yours to fill.",
    ]
    return "\n".join([*head, *_lines(_entry(statement))]) + "\n"


def _entry(statement: Statement) -> dict[str, Any]:
    return {
        "url_slug": Blank("short name for addresses: product-curator-year"),
        "deployment": {
            "basic": _basic(statement),
            "dp_variant": {
                "variant_name": "Approximate DP",
                "data_domain": _domain(statement),
                "unprotected_quantities": _unprotected(statement),
            },
            "privacy_loss": _privacy_loss(statement),
            "deployment_model": _model(statement),
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": _preprocessing(statement),
                "mechanisms": _mechanisms(statement),
                "composition": _composition(statement),
                "post_processing": _post_processing(statement),
                "justification": Blank("why these parameters were chosen"),
            },
            "administrative": _administrative(),
        },
    }


def _basic(statement: Statement) -> dict[str, Any]:
    return {
        "name": statement.title or Blank("name of the data product"),
        "data_curators": [
            {
                "data_curator_name": Blank("who publishes the data product"),
                "data_curator_type": Blank("Government, Industry or Nonprofit"),
            }
        ],
        "intended_use": Blank("what the data product is for"),
        "data_product_type": "Summary statistics" if measured_of(statement) else "Dataset",
        "data_product_region": Blank("which region the data describes"),
        "description": statement.note or Blank("what the data product is"),
        "publication_date": statement.date or Blank("YYYY-MM-DD"),
        "data_product_sector": Blank("Technology, Healthcare, Education, Government, Energy or Finance"),
    }


def _domain(statement: Statement) -> str:
    if not statement.data:
        return Blank("what one row of the data is")
    return f"Sets of items by user. One user is {user_in_words(statement.data)}. An item is {item_in_words(statement.data)}."


def _unprotected(statement: Statement) -> str:
    lists = [name for name in statement.lists or {} if name != "order"]
    if not lists:
        return "None by dpsu."
    which = f"list {lists[0]} was" if len(lists) == 1 else f"lists {', '.join(lists)} were"
    return f"None by dpsu. The {which} not made from the data, as the curator guarantees."


def _privacy_loss(statement: Statement) -> dict[str, Any]:
    budget = statement.budget
    details = (
        f"The release is also (mu, delta_new)-private with mu = {budget.mu:.6g} (Gaussian DP of shared items) and "
        f"delta_new = {budget.delta_new:.4g} (probability that an item of one user alone is released)."
        if budget
        else "The loss is at most epsilon, up to delta, by the proof that the statement names."
    )
    person = user_in_words(statement.data) if statement.data else "one user"
    return {
        "privacy_unit": "User-period-level" if "in period" in statement.unit else "User-level",
        "privacy_unit_details": (
            f"Two data sets are adjacent if they differ by {statement.unit}. One user is {person}. At most "
            f"{counted(statement.max_items)} of one user count; the others are left out before the mechanism."
        ),
        "privacy_parameters": {"epsilon": statement.epsilon, "delta": statement.delta},
        "privacy_parameters_details": f"{details} Not covered: {'; '.join(statement.not_covered)}.",
    }


def _model(statement: Statement) -> dict[str, Any]:
    series = statement.kind == "series"
    return {
        "model_name": "Central",
        "model_name_details": "The curator holds the data and runs dpsu; only the released items leave.",
        "actors": Blank("who may see the data, and who sees the data product"),
        "release_type": "Many releases" if series else "One release",
        "release_type_details": KINDS["series"]
        if series
        else Blank("whether the same users' data is used again"),
        "data_source_type": Blank("Static or Dynamic"),
        "access_type": "Non-interactive",
    }


def _administrative() -> dict[str, Any]:
    return {
        "evidence_sources": {
            "data_product": {
                "evidence_source_type": Blank(
                    "Peer-reviewed publication, Formal publication by the deploying organization, Authorized "
                    "organizational attestation or Other public source"
                ),
                "misc": {
                    "title": Blank("title of the page"),
                    "url": Blank("link to the data product or its report"),
                },
            }
        },
        "status": "Draft",
        "registry_authors": [Blank("name of the author of this entry")],
        "tier": 3,
    }


def _composition(statement: Statement) -> str:
    rule = (
        "Further releases compose as Gaussian DP: the squares of mu add, and the delta_new add."
        if statement.budget
        else "Further releases add their epsilons and deltas."
    )
    kind = CHOSEN if _chose_privately(statement) else KINDS[statement.kind]
    return f"{kind} {rule}"


def _post_processing(statement: Statement) -> str:
    measured = measured_of(statement)
    if not measured:
        return "None by dpsu."
    means = " Means are noisy sums divided by noisy counts." if measured.get("sums") else ""
    return (
        "Counts are rounded, and raised to 0 and to the holders that a released item needs, unless the curator asked for "
        f"raw counts.{means}"
    )


def _preprocessing(statement: Statement) -> str:
    privately = statement.kind == "tuned" or _chose_privately(statement)
    tuned = (
        "The setting was chosen privately on the data, within the stated budget."
        if privately
        else "dpsu tuned nothing on the data."
    )
    claims = "".join(f" The curator guarantees that {claim}." for claim in statement.rests_on)
    return tuned + claims


def _chose_privately(statement: Statement) -> bool:
    """Whether `auto` looked at the data before it chose."""
    return {"popular", "sizes", "chosen"} <= statement.parameters.keys()


def _mechanisms(statement: Statement) -> str:
    kind = CATALOGUE.get(statement.algorithm)
    what = f" ({kind.summary})" if kind else ""
    choice, parameters, measured = choice_in_words(statement), _parameters(statement), measured_of(statement)
    lines = [
        f"- Algorithm: {statement.algorithm}{what}, {statement.calibration} calibration, max_items {statement.max_items}.",
        f"- Chosen: {choice}." if choice else "",
        f"- Parameters, in units of the budget of one user: {', '.join(parameters)}." if parameters else "",
        f"- {measures_in_words(measured, levels=statement.kind == 'levels')}" if measured else "",
        f"- Library: dpsu {statement.version}; proof: {statement.proof}.",
        f"- Randomness: {statement.noise_source}.",
        "- Time and memory of the run are not protected.",
    ]
    return "\n".join(line for line in lines if line)


def _parameters(statement: Statement) -> list[str]:
    """The parameters with their names; of `auto` and of tuning, those of what was chosen."""
    told = single_of(statement)[0].parameters
    chosen = told.get("chosen")
    if isinstance(chosen, Mapping):
        told = chosen.get("parameters") or {}
    levels = told.get("levels")
    each = [f"level {place} ({'; '.join(_values(level))})" for place, level in enumerate(levels or [], 1)]
    return [*_values(told), *each]


def _values(parameters: Mapping[str, Any]) -> list[str]:
    """Parameters with their names; what has many values is in the statement alone."""
    found = []
    for name, value in parameters.items():
        if name in INTERNAL or value is None or (isinstance(value, list) and len(value) > MOST_VALUES):
            continue
        inner = f"({'; '.join(_values(value))})" if isinstance(value, Mapping) else in_words(value)
        found.append(f"{name} {inner}")
    return found


def _lines(entry: Mapping[str, Any], indent: int = 0) -> Iterator[str]:
    """A mapping as lines of YAML."""
    for name, value in entry.items():
        yield from _field(f"{' ' * indent}{name}:", value, indent)


def _field(head: str, value: Any, indent: int) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield head
        yield from _lines(value, indent + 2)
    elif isinstance(value, list):
        yield head
        for each in value:
            nested = list(_lines(each, indent + 4)) if isinstance(each, Mapping) else [f"    {_scalar(each)}"]
            yield f"{' ' * (indent + 2)}- {nested[0].strip()}"
            yield from nested[1:]
    elif isinstance(value, str) and _readable(value):
        yield f"{head} |-"
        yield from (f"{' ' * (indent + 2)}{line}" for line in value.split("\n"))
    else:
        yield f"{head} {_scalar(value)}"


def _readable(text: str) -> bool:
    """Whether this text of several lines can stand as it is, in a literal block."""
    lines = text.split("\n")
    return len(lines) > 1 and all(line.isprintable() and line.strip() == line != "" for line in lines)


def _scalar(value: Any) -> str:
    if isinstance(value, Blank):
        return f'"" # CURATOR: {value}'
    if isinstance(value, float):
        # YAML 1.1 takes 1e-07 for a string: the mantissa needs its point.
        text = repr(value)
        return text.replace("e", ".0e") if "e" in text and "." not in text else text
    return _quoted(value) if isinstance(value, str) else str(value)


def _quoted(text: str) -> str:
    """A double-quoted scalar; whatever cannot be printed is escaped."""
    escapes = {"\\": "\\\\", '"': '\\"', "\n": "\\n"}
    signs = (escapes.get(sign) or (sign if sign.isprintable() else f"\\U{ord(sign):08x}") for sign in text)
    return f'"{"".join(signs)}"'
