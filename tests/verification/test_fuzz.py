"""Honest statements with random changes: whatever is still accepted must keep its promise by an independent bound.

The bound (slow_bounds.py) tries small sets of users one by one. DPSU_HOSTILE=long tries thirty times as many changes.
"""

import json
import os
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from honest import MAKERS, Fields, honest, mended
from slow_bounds import broken

from dpsu.verification.verify import verify

LONG = os.environ.get("DPSU_HOSTILE") == "long"
CHANGES, OF_THE_SLOW = (500, 100) if LONG else (16, 4)
SLOW = {
    "focused-gaussian",
    "focused-gaussian, paper",
    "counts beside focused",
    "counts and users",
    "levels",
    "sums and others",
}
SLOW |= {"levels, dpne", "levels with counts", "tuned, own policies", "tuned with counts", "tuned on a part"}
SLOW |= {
    "series of a year",
    "own policy",
    "own policy, unequal",
    "policy-gaussian, in passes",
    "mad, many items",
}
"""Statements that take more than a tenth of a second."""

BASES = [name for name in MAKERS if name not in ("text", "lists", "focused-gaussian, paper")]

FACTORS = (
    0.0,
    0.5,
    0.9,
    0.99,
    0.999,
    1 - 1e-6,
    1 - 1e-9,
    1 + 1e-9,
    1 + 1e-6,
    1.001,
    1.01,
    1.1,
    2.0,
    10.0,
    -1.0,
)
OTHERS: tuple[Any, ...] = (None, True, "1", [], {}, 0, 1, -1, 10**6, 1e-300, 1e300)
PROMISE = ("epsilon", "delta", "max_items", "parameters", "budget", "calibration", "algorithm", "kind")


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all numbers, strings and nulls inside."""
    if isinstance(value, dict | list):
        for step, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _leaves(inner, (*path, step))
    else:
        yield path


def _inside(fields: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        fields = fields[step]
    return fields


class Fuzzer:
    """Changes to one honest statement."""

    def __init__(self, name: str, seed: int) -> None:
        self.random = random.Random(f"{name} {seed}")
        self.fields = honest(name)
        places = [path for path in _leaves(self.fields) if path[0] in PROMISE]
        self.numbers = [path for path in places if _is_number(_inside(self.fields, path))]
        self.places = places

    def changed(self) -> Fields:
        """The statement after one to three changes."""
        steps: list[Callable[[], None]] = [
            *[self.scale] * 6,
            *[self.safer] * 6,
            self.swap,
            self.delete,
            self.duplicate,
            self.replace,
        ]
        for _ in range(self.random.choice((1, 1, 2, 3))):
            try:
                self.random.choice(steps)()
            except (KeyError, IndexError, TypeError):
                continue  # an earlier change took the place away
        return self.fields

    def scale(self) -> None:
        """A number becomes larger or smaller."""
        path = self.random.choice(self.numbers)
        inner, factor = _inside(self.fields, path[:-1]), self.random.choice(FACTORS)
        value = inner[path[-1]]
        inner[path[-1]] = round(value * factor) if isinstance(value, int) else value * factor

    def safer(self) -> None:
        """A number moves to where the promise may still be kept: more noise, higher thresholds, larger budgets."""
        names = ("sigma", "sigmas", "threshold", "thresholds", "mu", "delta_new", "epsilon", "delta")
        near = [path for path in self.numbers if path[-1] in names or path[-2] in names]
        path = self.random.choice(near)
        inner = _inside(self.fields, path[:-1])
        inner[path[-1]] *= self.random.choice((1 + 1e-9, 1 + 1e-6, 1.001, 1.01, 1.2, 3.0))

    def swap(self) -> None:
        """Two numbers change places."""
        first, second = self.random.sample(self.numbers, 2)
        one, other = _inside(self.fields, first[:-1]), _inside(self.fields, second[:-1])
        one[first[-1]], other[second[-1]] = other[second[-1]], one[first[-1]]

    def delete(self) -> None:
        """A key or an entry is gone."""
        path = self.random.choice(self.places)
        del _inside(self.fields, path[:-1])[path[-1]]

    def duplicate(self) -> None:
        """An entry of a list occurs twice."""
        within = [path for path in self.places if isinstance(path[-1], int)]
        if within:
            path = self.random.choice(within)
            inner = _inside(self.fields, path[:-1])
            inner.insert(path[-1], inner[path[-1]])

    def replace(self) -> None:
        """Something else stands in its place."""
        path = self.random.choice(self.places)
        _inside(self.fields, path[:-1])[path[-1]] = self.random.choice(OTHERS)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@pytest.mark.parametrize("name", BASES)
def test_what_is_accepted_keeps_its_promise(name: str) -> None:
    accepted = 0
    for seed in range(OF_THE_SLOW if name in SLOW else CHANGES):
        fields = Fuzzer(name, seed).changed()
        found = verify(mended(fields))
        if found.ok:
            accepted += 1
            assert not broken(fields), f"{broken(fields)}\n{found}\n{json.dumps(fields)}"
    assert accepted or name in SLOW or name == "optimal-single"


@pytest.mark.parametrize("name", BASES)
def test_the_bound_finds_nothing_in_honest_statements(name: str) -> None:
    assert broken(honest(name)) == []


def _with_less_noise(stated: Fields) -> None:
    """Less noise and lower thresholds, with a budget that pays for it."""
    parameters = stated["parameters"]
    for name in ("sigma", "threshold", "scale"):
        if name in parameters:
            parameters[name] *= 0.9
    for name in ("sigmas", "thresholds"):
        if name in parameters:
            parameters[name] = [0.9 * value for value in parameters[name]]
    if "certain_from" in parameters:
        parameters["certain_from"] -= 1
    if stated["budget"]:
        stated["budget"] = {"mu": 2 * stated["budget"]["mu"], "delta_new": 1.0}
    if "chosen" in parameters:
        _with_less_noise(parameters["chosen"])


@pytest.mark.parametrize("name", BASES)
def test_the_bound_has_power(name: str) -> None:
    """The same statements with nine tenths of the noise, and with budgets that pay for it."""
    fields = honest(name)
    if fields["kind"] == "tuned":
        for trial in fields["parameters"]["tuning"]["trials"]:
            _with_less_noise(trial)
    elif fields["kind"] == "levels":
        for level in fields["parameters"]["levels"]:
            _with_less_noise({"parameters": level, "budget": None})
    else:
        _with_less_noise(fields)
    assert broken(fields)
