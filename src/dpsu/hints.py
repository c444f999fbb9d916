"""Hints in error messages: what was probably meant."""

import inspect
from collections.abc import Callable, Iterable
from dataclasses import fields
from difflib import get_close_matches
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from dpsu.errors import InvalidArgument

P = ParamSpec("P")
R = TypeVar("R")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A sentence that suggests the nearest known name, or nothing."""
    near = get_close_matches(name, list(known), n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


def moved_option(name: str) -> str:
    """A sentence that says which algorithms have this option, which version 0.1 took as an argument; or nothing."""
    from dpsu.algorithms.catalogue import CATALOGUE

    owners = [kind for kind in CATALOGUE.values() if name in {each.name for each in fields(kind)}]  # type: ignore[arg-type]
    private = [kind for kind in owners if kind.private]
    calls = [f"dpsu.{kind.__name__}({name}=...)" for kind in private or owners]
    if name == "focus":
        calls = ["dpsu.FocusedGaussian(rounds=...)"]
    return f" It is an option of an algorithm: pass algorithm={' or '.join(calls)}." if calls else ""


def known_arguments(**moved: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a function refuse a keyword argument that it does not have, and say which one was probably meant.

    `moved` has the arguments of earlier versions, each with a sentence that says what to write now.
    """

    def wrap(function: Callable[P, R]) -> Callable[P, R]:
        known = [name for name in inspect.signature(function).parameters if name != "self"]

        @wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            for name in kwargs:
                if name not in known:
                    now = f" {moved[name]}" if name in moved else moved_option(name)
                    hint = now or did_you_mean(name, [*known, *moved])
                    raise InvalidArgument(f"{_name_of(function)} has no argument {name!r}.{hint}")
            return function(*args, **kwargs)

        return checked

    return wrap


def _name_of(function: Callable[..., Any]) -> str:
    return function.__qualname__.removesuffix(".__init__")
