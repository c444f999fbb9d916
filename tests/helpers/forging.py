"""How statements are forged: an idea, the honest statement that it is tried on, and what it changes."""

from typing import Any, NamedTuple

from honest import Change, at

P = "parameters"
CHEAP = {"mu": 1e-9, "delta_new": 0.0}

WEIGHTED, COUNT, POLICY = "weighted-gaussian", "count-gaussian", "policy-gaussian"
LAPLACE, DESCENT = "weighted-laplace", "policy-laplace"
PART, SELECTION, LEVELS, DPNE = "tuned on a part", "tuned by selection", "levels", "levels, dpne"
FOCUSED = "focused-gaussian"


class Forgery(NamedTuple):
    """An idea, the honest statement that it is tried on, and what it changes."""

    idea: str
    base: str
    change: Change


def on(base: str, **ideas: Change) -> list[Forgery]:
    """Ideas about one honest statement."""
    return [Forgery(idea.replace("_", " "), base, change) for idea, change in ideas.items()]


def to(name: str, value: Any) -> Change:
    """A field of the statement."""
    return at(name, to=value)


def p(name: str, value: Any) -> Change:
    """A parameter."""
    return at(P, name, to=value)


def tuning(*path: Any, to: Any) -> Change:
    return at(P, "tuning", *path, to=to)


def trial(*path: Any, to: Any) -> Change:
    return tuning("trials", 0, *path, to=to)


def swapped(*path: Any) -> Change:
    """The first and the last entry of a list change places."""

    def swap(values: list[Any]) -> list[Any]:
        return [values[-1], *values[1:-1], values[0]]

    return at(*path, to=swap)
