"""The one way loops are compiled here: cached on disk, free of the interpreter lock, IEEE arithmetic."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numpy.typing import NDArray

F = TypeVar("F", bound=Callable[..., Any])
A = TypeVar("A", bound=NDArray[Any])

IEEE: Any = {"nogil": True, "error_model": "numpy"}
"""No `fastmath`: the error bounds of the noise and the budget of a user's weights rest on IEEE rounding."""

FROM_PYTHON: Any = {"cache": True, "no_cfunc_wrapper": True}
"""No entry for callers in C: nobody needs it, and the first release would wait for it."""


def kernel(function: F) -> F:
    """Compile `function` on first use; later processes load it from the cache."""
    return cast(F, numba.njit(**FROM_PYTHON, **IEEE)(function))


def inlined(function: F) -> F:
    """A part of loops, compiled as if it stood in them: that takes less time than a function, and spares the call."""
    return cast(F, numba.njit(inline="always", **IEEE)(function))


def read_only(array: A) -> A:
    """The same memory, for a loop that only reads it: one compiled variant then serves writable and read-only arrays."""
    view = array.view()
    view.flags.writeable = False
    return view
