"""Hints in error messages: what was probably meant."""

import inspect
from collections.abc import Callable, Iterable
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


OPTIONS = {
    "alpha": "PolicyGaussian(alpha=2)",
    "passes": "PolicyGaussian(passes=2)",
    "parts": "PolicyGaussian(parts=8)",
    "order": "OrderedLaplace(order=['a', 'b'])",
    "k": "KAnonymity(k=20)",
    "shares": "DpSips(shares=(0.1, 0.9))",
    "focus": "FocusedGaussian(rounds=32)",
    "rounds": "FocusedGaussian(rounds=32)",
    "d_max": "Mad(d_max=50)",
    "beta": "Mad(beta=2)",
    "b_min": "Mad2r(b_min=0.5)",
    "b_max": "Mad2r(b_max=2)",
    "c_lb": "Mad2r(c_lb=1)",
    "c_ub": "Mad2r(c_ub=3)",
}
"""Options of algorithms, which earlier versions took as arguments of `release`."""


def moved_option(name: str) -> str:
    """A sentence that says where an option of an algorithm goes, or nothing."""
    if name not in OPTIONS:
        return ""
    return f" It is an option of an algorithm: pass algorithm=dpsu.{OPTIONS[name]}."


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
                    hint = now or did_you_mean(name, known)
                    raise InvalidArgument(f"{_name_of(function)} has no argument {name!r}.{hint}")
            return function(*args, **kwargs)

        return checked

    return wrap


def _name_of(function: Callable[..., Any]) -> str:
    return function.__qualname__.removesuffix(".__init__")
