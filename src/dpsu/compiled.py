"""The one way loops are compiled here: cached on disk, free of the interpreter lock, IEEE arithmetic."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba.extending import register_jitable

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile `function`, which only fills arrays that it is given, on first use; later processes load it from the cache.

    No `fastmath`: the error bounds of the noise and the budget of a user's weights rest on IEEE rounding. What a loop over
    arrays does not need (calls from C, array expressions, memory of its own) is left out: the first release waits for it.
    """
    return _compiled(function, _nrt=False)


def allocating_kernel(function: F) -> F:
    """As `kernel`, for a function that makes arrays or raises; it takes longer to compile."""
    return _compiled(function)


def formula(function: F) -> F:
    """Let kernels call `function`, and leave it as it is for Python: a few scalars are not worth a compilation."""
    return register_jitable(function)


def _compiled(function: F, **options: Any) -> F:
    options |= {"no_cfunc_wrapper": True, "no_rewrites": True}
    return cast(F, numba.njit(cache=True, nogil=True, error_model="numpy", **options)(function))
