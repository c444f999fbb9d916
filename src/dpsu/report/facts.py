"""The facts of a statement as text: what a user is, what an item is, which lists were used."""

from collections.abc import Mapping, Sequence
from typing import Any

from dpsu.outcome.statement import Statement
from dpsu.report.numbers import counted

USERS = {
    "lines": "one line of the text files",
    "files": "one text file",
    "collection": "one entry of the collection",
}


def facts(statement: Statement) -> list[tuple[str, str]]:
    """The names and values that the statement has; statements of schema 1 have none."""
    data, lists = statement.data, statement.lists or {}
    found = [
        ("date", statement.date),
        ("one user is", user_in_words(data) if data else None),
        ("an item is", item_in_words(data) if data else None),
        *((f"list {name}", _list_in_words(entry)) for name, entry in lists.items()),
        ("false items", false_items_in_words(statement)),
        ("outside the list", None if discovers(statement) else "no item is released"),
        ("note", statement.note),
    ]
    return [(name, value) for name, value in found if value]


def false_items_in_words(statement: Statement) -> str | None:
    """What is said of items that nobody holds, if there is a list of candidates or a known domain of n-grams."""
    parameters, of, held = statement.parameters, "released items of the list", "holds"
    if invents(statement):
        return "n-grams of several words may be ones that nobody wrote; their share has no bound"
    if statement.kind == "levels":
        of, held = "n-grams of several words", "wrote"
    else:
        parameters = parameters.get("candidates", {})
    share = parameters.get("false_share")
    if share is None:
        return None
    whole = round(1 / share)
    told = f"1 in {whole:,}" if abs(share * whole - 1) < 1e-9 else f"the share {share:g}"
    return f"on average at most {told} of the {of} is one that nobody {held}"


def invents(statement: Statement) -> bool:
    """Whether n-grams that nobody wrote can come out, in any number."""
    return statement.kind == "levels" and statement.algorithm == "dpne"


def discovers(statement: Statement) -> bool:
    """Whether items can come out that are on no list."""
    candidates = statement.parameters.get("candidates")
    return not isinstance(candidates, Mapping) or candidates.get("discover") is not False


def choice_in_words(statement: Statement) -> str | None:
    """What `auto` saw and chose, or what a hint chose; how a setting was tuned."""
    parameters = statement.parameters
    tuning, chosen = parameters.get("tuning"), parameters.get("chosen")
    if isinstance(tuning, Mapping):
        return in_words(tuning.get("how"))
    if statement.algorithm != "auto" or not isinstance(chosen, Mapping):
        return None
    steps = [parameters.get(name) for name in ("popular", "sizes", "demand")]
    popular, sizes, demand = (step if isinstance(step, Mapping) else {} for step in steps)
    if not (popular and sizes and demand):
        return f"{branch_in_words(chosen)}, by a hint"
    users = ", ".join(f"{count} have {sizes_of_bin}" for sizes_of_bin, count in _bins(sizes))
    found = popular.get("items")
    items = counted(found, "very popular item") if isinstance(found, int) else "no number"
    return (
        f"{branch_in_words(chosen)}, by three private steps. With epsilon {_epsilon(popular)} the first found {items}. With "
        f"epsilon {_epsilon(sizes)} the second counted users by the number of their other items, with noise: {users}. With "
        f"epsilon {_epsilon(demand)} the third estimated how many users' weights would fill these items, with noise: "
        f"{demand.get('budgets')} (width {demand.get('width')})"
    )


def _epsilon(step: Mapping[str, Any]) -> str:
    """The epsilon of a private step in a few digits."""
    epsilon = step.get("epsilon")
    return f"{epsilon:.4g}" if isinstance(epsilon, float) else str(epsilon)


def branch_in_words(chosen: Mapping[str, Any]) -> str:
    """The algorithm that `auto` chose, with its max_items."""
    return f"{chosen.get('algorithm')}, max_items {chosen.get('max_items')}"


def _bins(sizes: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The sizes of sets in each bin, such as 4-5, and the noisy number of users."""
    bins, users = sizes.get("bins"), sizes.get("users")
    if (
        not isinstance(users, list)
        or not isinstance(bins, list)
        or not all(isinstance(each, int) for each in bins)
    ):
        return []
    lasts = [first - 1 for first in bins[1:]]
    names = [
        f"{first}" if first == last else f"{first}-{last}" for first, last in zip(bins, lasts, strict=False)
    ]
    return list(zip([*names, *(f"{first} or more" for first in bins[-1:])], users, strict=False))


def user_in_words(data: Mapping[str, Any]) -> str:
    """What one user is."""
    if data.get("form") == "columns":
        return f"all rows with the same value in the {_columns(data['user'])}"
    return USERS.get(data["form"], str(data["form"]))


def item_in_words(data: Mapping[str, Any]) -> str:
    """What one item is."""
    if "tokenizer" not in data:
        return (
            f"a value of the {_columns(data['item'])}" if "item" in data else "an element of a user's entry"
        )
    sizes, tokenizer = data["ngrams"], data["tokenizer"]
    what = "a word" if sizes == [1] else f"a phrase of {_either(sizes)} words"
    of = f" in the {_columns([data['text']])}" if isinstance(data["text"], str) else ""
    return f"{what}{of} (tokenizer: the {tokenizer['kind']} {tokenizer['name']!r})"


def in_words(value: Any) -> str:
    """Plain data in one line."""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        return ", ".join(map(in_words, value))
    if isinstance(value, Mapping):
        return "; ".join(f"{name} {in_words(entry)}" for name, entry in value.items())
    return str(value)


def parameters_in_words(statement: Statement) -> list[tuple[str, str]]:
    """The parameters by name; one row per level of n-grams; for tuning the method without its trials."""
    found: list[tuple[str, Any]] = []
    for name, value in statement.parameters.items():
        if name == "levels" and isinstance(value, list):
            found += [(f"level {place}", level) for place, level in enumerate(value, 1)]
        elif name == "tuning" and isinstance(value, Mapping):
            found.append(
                (name, {key: told for key, told in value.items() if key not in ("trials", "release")})
            )
        else:
            found.append((name, value))
    return [(name, in_words(value)) for name, value in found]


def _list_in_words(entry: Any) -> str:
    """The length of a list and its digest."""
    if isinstance(entry, Mapping) and isinstance(entry.get("count"), int):
        digests = {name: value for name, value in entry.items() if name != "count"}
        entries = "1 entry" if entry["count"] == 1 else f"{entry['count']:,} entries"
        return f"{entries}; {in_words(digests)}"
    return in_words(entry)


def _either(sizes: Sequence[int]) -> str:
    *first, last = map(str, sizes)
    return f"{', '.join(first)} or {last}" if first else last


def _columns(names: Sequence[str]) -> str:
    return f"{'column' if len(names) == 1 else 'columns'} {', '.join(map(repr, names))}"
