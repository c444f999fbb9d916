"""How loops are compiled: cached on disk, without the interpreter lock, in IEEE arithmetic."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numpy.typing import NDArray

F = TypeVar("F", bound=Callable[..., Any])
A = TypeVar("A", bound=NDArray[Any])

IEEE: Any = {"nogil": True, "error_model": "numpy"}
"""No `fastmath`: the error bounds of the noise and the budget of a user's weights rest on IEEE rounding."""

FROM_PYTHON: Any = {"cache": True, "no_cfunc_wrapper": True}
"""No entry point for C callers: it is not used, and compiling it takes time."""


def kernel(function: F) -> F:
    """Compile `function` on first use; later processes load it from the cache."""
    return cast(F, numba.njit(**FROM_PYTHON, **IEEE)(function))


def inlined(function: F) -> F:
    """A helper that is inlined into its callers: it compiles faster than a function of its own."""
    return cast(F, numba.njit(inline="always", **IEEE)(function))


def read_only(array: A) -> A:
    """The same memory, for a loop that only reads it: one compiled variant then serves writable and read-only arrays."""
    view = array.view()
    view.flags.writeable = False
    return view
