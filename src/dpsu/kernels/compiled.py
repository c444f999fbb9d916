"""The one way loops are compiled here: cached on disk, free of the interpreter lock, IEEE arithmetic."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numpy.typing import NDArray

F = TypeVar("F", bound=Callable[..., Any])
A = TypeVar("A", bound=NDArray[Any])


def kernel(function: F) -> F:
    """Compile `function` on first use; later processes load it from the cache.

    No `fastmath`: the error bounds of the noise and the budget of a user's weights rest on IEEE rounding.
    """
    return cast(F, numba.njit(cache=True, nogil=True, error_model="numpy")(function))


def read_only(array: A) -> A:
    """The same memory, for a loop that only reads it: one compiled variant then serves writable and read-only arrays."""
    view = array.view()
    view.flags.writeable = False
    return view
