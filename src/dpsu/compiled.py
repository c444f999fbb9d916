"""The one way loops are compiled here: cached on disk, free of the interpreter lock, IEEE arithmetic."""

import gc
from collections.abc import Callable
from functools import wraps
from threading import Lock
from typing import Any, TypeVar, cast

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core.errors import TypingError
from numba.extending import intrinsic, register_jitable

F = TypeVar("F", bound=Callable[..., Any])

ZERO: Any = np.int64(0)
"""Where counting begins: a bare 0 has a type of its own to the compiler, which goes over all types once more to drop it."""


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


def _prefetch_ir(typing: Any, array: Any, place: Any) -> Any:
    """Ask for the memory of `array[place]`; no effect but on time."""
    byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        place = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        ask = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        builder.call(ask, [place, number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, types.uint64), build


prefetch: Any = intrinsic(_prefetch_ir)


def _chosen_ir(sign: str) -> Any:
    """Of two numbers the one that compares so to the other, else the other: one instruction, where a branch has blocks."""

    def choose(typing: Any, one: Any, other: Any) -> Any:
        if one != other:
            raise TypingError(f"{one} and {other} have no common order here")

        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            if isinstance(one, types.Float):
                wins = builder.fcmp_ordered(sign, *arguments)
            else:
                compare = builder.icmp_signed if one.signed else builder.icmp_unsigned
                wins = compare(sign, *arguments)
            return builder.select(wins, *arguments)

        return one(one, one), build

    return intrinsic(choose)


smaller: Any = _chosen_ir("<")
larger: Any = _chosen_ir(">")


class _Uncollected:
    """No garbage is looked for within: compilation makes a million small objects, and next to no garbage.

    Threads that overlap count as one: the first puts the collector to rest, and the last wakes it if it was awake before.
    """

    def __init__(self) -> None:
        self._lock, self._inside, self._awake = Lock(), 0, False

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._awake = gc.isenabled()
                gc.disable()
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._awake and not self._inside:
                gc.enable()


_uncollected = _Uncollected()


def _compiled(function: F, **options: Any) -> F:
    options |= {"no_cfunc_wrapper": True, "no_rewrites": True}
    compiled = numba.njit(cache=True, nogil=True, error_model="numpy", **options)(function)
    compile_one = compiled.compile

    @wraps(compile_one)
    def alone(*given: Any, **named: Any) -> Any:
        with _uncollected:
            return compile_one(*given, **named)

    compiled.compile = alone
    return cast(F, compiled)
