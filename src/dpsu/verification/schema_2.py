"""Schema 2, which 0.2 writes: it says what the data is and what the caller must guarantee."""

import re
from collections.abc import Mapping
from datetime import date
from typing import Any

from dpsu.verification.checks import Check, Fields, is_whole, listed, only
from dpsu.verification.policies import OWN
from dpsu.verification.schemas import Schema, is_sha256

PROMISE = (
    "kind",
    "algorithm",
    "calibration",
    "epsilon",
    "delta",
    "max_items",
    "parameters",
    "budget",
    "proof",
)
"""What the promise rests on, in the form that all schemas are read into; with `data` for n-grams in levels."""

ABOUT = ("data", "lists", "rests_on", "date", "title", "note", "released_sha256", "version")
PINNED = ("schema", "digest", "unit", "noise_source", "not_covered", "void")

MOST_WORDS = 16
LONGEST = 2000
RULES = ("words", "whitespace", "chars")
ICU = "icu"
"""The rule that depends on the version of a library, which the statement has."""

LISTS = {
    "public_items": "sha256",
    "exclude": "salted_sha256",
    "order": "sha256",
    "candidates": "sha256",
}
"""The name of the digest of each list."""

MOST_LISTED = 2**63


UNIT = "one user, added or removed"
UNIT_OF_SERIES = "one user, added or removed, in all periods together"
UNIT_OF_PERIOD = re.compile(
    r"one user in period ([0-9A-Za-z][0-9A-Za-z ._:/+-]{0,63}(?<! )), added or removed"
)

NOT_COVERED = (
    "replacing one user by another: that is two changes, a removal and an addition",
    "items that are not in the output: some users may have them all the same",
    "other releases about the same users: their budgets add up",
    "groups whose data says much about each other, such as a family: each user is protected, not the group",
    "people who can observe the machine during the release: run time, memory and other traces",
)
ACROSS_PERIODS = "the same user in other periods: every period has a promise of its own"


def varied(fields: Fields) -> tuple[str, tuple[str, ...]]:
    """A series protects a user in all periods together; the caller may promise one period alone instead."""
    unit = fields["unit"]
    if fields["kind"] == "series":
        return UNIT_OF_SERIES, NOT_COVERED
    if period_of(unit) is not None:
        return unit, (*NOT_COVERED, ACROSS_PERIODS)
    return UNIT, NOT_COVERED


def period_of(unit: Any) -> str | None:
    """The period that the promise is about alone, if there is one."""
    found = UNIT_OF_PERIOD.fullmatch(unit) if isinstance(unit, str) else None
    return found[1] if found else None


def form(fields: Fields) -> list[Check]:
    """The fields that schema 1 does not have are well formed."""
    return [
        Check("kind", fields["kind"] in ("single", "levels", "tuned", "series"), str(fields["kind"])),
        Check("date", _is_date(fields["date"]), str(fields["date"])),
        *(Check(name, _is_line(fields[name]), "one line, or none") for name in ("title", "note")),
        Check("data", _is_data(fields["data"]), "which columns, or which text"),
        Check("lists", _are_lists(fields["lists"]), "counts and digests"),
        Check("lists of levels", _may_have_lists(fields), "not with a known domain"),
        Check("list of the order", _has_order(fields), "if and only if the order of items is public"),
        Check("list of candidates", _has_candidates(fields), "is the one of the false share"),
    ]


def read(fields: Fields) -> tuple[Fields, list[str]]:
    """The promise as it is, and the claims that it rests on."""
    sizes = fields["data"].get("ngrams")
    promise = {name: fields[name] for name in PROMISE} | {"ngrams": sizes}
    hint = _hint(promise) if promise["algorithm"] == "auto" else []
    period = period_of(fields["unit"])
    stated = claims(fields["data"], fields["lists"], own_policies(promise), period)
    return promise, [*stated, *hint, *_bounds(promise)]


def _hint(promise: Fields) -> list[str]:
    """The claim about the hint of `auto`, if it has one."""
    hint = promise["parameters"]["asked"]["typical_items"]
    return [] if hint is None else [f"typical_items {hint!r} was not computed from this data"]


def _bounds(promise: Fields) -> list[str]:
    """The claim about the bounds of sums, if there are any."""
    told = promise if promise["kind"] != "tuned" else promise["parameters"]["tuning"]["release"]
    bounded = "sums" in told["parameters"].get("counts", ())
    return ["the bounds of the sums were not computed from this data"] if bounded else []


def own_policies(promise: Fields) -> list[tuple[str, int, bool]]:
    """Name, norm and symmetry of the caller's own policies, each once."""
    told = [promise]
    if promise["kind"] == "tuned":
        tuning = promise["parameters"]["tuning"]
        told = [*tuning["trials"], tuning["release"]]
    stated = [each["parameters"] for each in told if each["algorithm"] == OWN]
    return sorted({(each["policy"], each["norm"], each["symmetric"]) for each in stated})


def claims(
    data: Fields, lists: Fields, policies: list[tuple[str, int, bool]], period: str | None
) -> list[str]:
    """All that the caller must guarantee, in the words and the order of schema 2."""
    stated = [_of_users(data)]
    if period is not None:
        stated.append(f"all of the data is from period {period}")
    tokenizer = data.get("tokenizer")
    if tokenizer is not None and tokenizer["kind"] == "function":
        stated.append(
            f"the tokenizer {tokenizer['name']!r} depends on the given text alone: "
            "it remembers no other text and was not trained on this data"
        )
    stated += [f"the list {name} was not made from this data" for name in LISTS if name in lists]
    stated += [
        f"the policy {name!r} is ℓ{norm}-contractive" + (" and symmetric" if symmetric else "")
        for name, norm, symmetric in policies
    ]
    return stated


def _of_users(data: Fields) -> str:
    if data["form"] == "columns":
        columns = ", ".join(map(repr, data["user"]))
        named = f"column {columns}" if len(data["user"]) == 1 else f"columns {columns}"
        return f"all rows of one person have the same value in the {named}"
    if data["form"] == "collection":
        return "all items of one person belong to one entry of the collection"
    return f"one person wrote one of the {data['form']}"


def _may_have_lists(fields: Fields) -> bool:
    """Levels over a known domain have no lists: public items of the text would decide what is valid."""
    parameters = fields["parameters"]
    share = isinstance(parameters, Mapping) and "false_share" in parameters
    return not (fields["lists"] and (fields["algorithm"] == "dpne" or share))


def _has_order(fields: Fields) -> bool:
    """Whether there is a list of the order if the order is public, and none otherwise."""
    parameters = fields["parameters"]
    told = parameters.get("item_order") if isinstance(parameters, Mapping) else None
    return ("order" in fields["lists"]) == (told == "public")


def _has_candidates(fields: Fields) -> bool:
    """Whether there is a list of candidates if the parameters speak of one, of the same length, and none otherwise."""
    parameters, found = fields["parameters"], fields["lists"].get("candidates")
    told = parameters.get("candidates") if isinstance(parameters, Mapping) else None
    if told is None or found is None:
        return told is None and found is None
    return isinstance(told, Mapping) and bool(found["count"] == told.get("count"))


def _is_date(value: Any) -> bool:
    if not (isinstance(value, str) and re.fullmatch(r"\d{4}-\d{2}-\d{2}", value)):
        return False
    date.fromisoformat(value)
    return True


def _is_line(value: Any) -> bool:
    return value is None or (isinstance(value, str) and len(value) <= LONGEST and value.isprintable())


def _is_data(data: Any) -> bool:
    """Columns of users and of items or text; or a collection, lines or files, of items or of text."""
    form = data.get("form") if isinstance(data, Mapping) else None
    if form == "columns" and "item" in data:
        only(data, ("form", "user", "item"), "data")
        return _are_columns(data["user"]) and _are_columns(data["item"])
    if form == "collection" and "text" not in data:
        only(data, ("form",), "data")
        return True
    if form not in ("columns", "collection", "lines", "files"):
        return False
    only(data, ("form", "text", "tokenizer", "ngrams", *(["user"] if form == "columns" else [])), "data")
    if form == "columns":
        placed = _are_columns(data["user"]) and isinstance(data["text"], str | None)
    else:
        placed = data["text"] is None
    return placed and _is_tokenizer(data["tokenizer"]) and _are_sizes(data["ngrams"])


def _are_columns(names: Any) -> bool:
    found = listed(names, "columns", 10_000)
    return all(isinstance(name, str) for name in found) and len({*found}) == len(found)


def _is_tokenizer(tokenizer: Any) -> bool:
    icu = isinstance(tokenizer, Mapping) and (tokenizer.get("kind"), tokenizer.get("name")) == ("rule", ICU)
    told = only(tokenizer, ("kind", "name", *(["version"] if icu else [])), "the tokenizer")
    if icu:
        version = told["version"]
        return (
            isinstance(version, str) and re.fullmatch(r"[0-9]{1,4}(\.[0-9]{1,4}){0,3}", version) is not None
        )
    if not isinstance(told["name"], str):
        return False
    return told["name"] in RULES if told["kind"] == "rule" else told["kind"] in ("pattern", "function")


def _are_sizes(sizes: Any) -> bool:
    found = listed(sizes, "ngrams", MOST_WORDS)
    return all(is_whole(size, MOST_WORDS) for size in found) and found == sorted({*found})


def _are_lists(lists: Any) -> bool:
    only(lists, (), "lists", optional=LISTS)
    for name, told in lists.items():
        only(told, ("count", LISTS[name]), name)
        if not (told["count"] == 0 or is_whole(told["count"], MOST_LISTED)) or isinstance(
            told["count"], bool
        ):
            return False
        if not is_sha256(told[LISTS[name]]):
            return False
    return True


SCHEMA_2 = Schema(
    names=(*PROMISE, *ABOUT, *PINNED),
    unit=UNIT,
    noise_source=(
        "AES-256 under keys derived from 256 fresh bits of the operating system; every draw is rounded to a grid "
        "exactly as its ideal would be"
    ),
    not_covered=NOT_COVERED,
    version=r"\d+\.\d+\.\d+([.+-]?[0-9A-Za-z.+-]+)?",
    form=form,
    read=read,
    varied=varied,
)
