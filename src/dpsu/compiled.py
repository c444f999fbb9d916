"""The one way loops are compiled here: cached on disk, free of the interpreter lock, IEEE arithmetic."""

import gc
from collections.abc import Callable
from ctypes import CFUNCTYPE, c_double, c_int64, c_uint64, c_void_p
from functools import wraps
from operator import index
from threading import Lock
from typing import Any, TypeVar, cast

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core.caching import FunctionCache
from numba.core.ccallback import CFunc
from numba.core.errors import TypingError
from numba.extending import intrinsic, overload, register_jitable

F = TypeVar("F", bound=Callable[..., Any])

IEEE: Any = {"error_model": "numpy"}
"""No `fastmath`: the error bounds of the noise and the budget of a user's weights rest on IEEE rounding."""

BARE: Any = {**IEEE, "no_rewrites": True, "_nrt": False}
ARRAYS: Any = {**IEEE, "no_rewrites": True, "no_cfunc_wrapper": True, "nogil": True}
"""What loops do without (array expressions, memory of their own, calls from C) is left out: it takes time to compile."""

ZERO: Any = np.int64(0)
"""Where counting begins: a bare 0 has a type of its own to the compiler, which goes over all types once more to drop it."""


def kernel(function: F) -> F:
    """Compile `function`, which only fills memory that it is given, on first use; later processes load it from the cache.

    Arrays arrive in it as bare pointers: they are indexed from 0 on, and their sizes are said beside. With all that numba
    knows of arrays it would compile half as long again, and the first release waits for it.
    """
    variants: dict[tuple[Any, ...], Callable[..., Any]] = {}
    cache = _CheckedCache(function)  # type: ignore[no-untyped-call]

    @wraps(function)
    def call(*given: Any) -> Any:
        kinds, passed = zip(*map(_passed, given), strict=True)
        if kinds not in variants:
            with _compiling:  # threads that come together wait for the first
                if kinds not in variants:
                    variants[kinds] = _c_function(function, kinds, cache)
        return variants[kinds](*passed)

    overload(call, jit_options=IEEE, strict=False)(lambda *given: function)
    return cast(F, call)


def array_kernel(function: F) -> F:
    """As `kernel`, for a function that needs whole arrays: makes some, or may raise."""
    compiled = numba.njit(cache=True, **ARRAYS)(function)
    compile_one = compiled.compile

    @wraps(compile_one)
    def alone(*given: Any, **named: Any) -> Any:
        with _uncollected:
            return compile_one(*given, **named)

    compiled.compile = alone
    return cast(F, compiled)


def formula(function: F) -> F:
    """Let kernels call `function`, and leave it as it is for Python: a few scalars are not worth a compilation."""
    return register_jitable(function)


def _prefetch_ir(typing: Any, array: Any, place: Any) -> Any:
    """Ask for the memory of `array[place]`; no effect but on time."""
    byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data, place = arguments
        if not isinstance(array, types.CPointer):  # compiled code that calls a kernel gives it whole arrays
            data = context.make_array(array)(context, builder, data).data
        place = builder.bitcast(builder.gep(data, [place]), byte)
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
_compiling = Lock()


def _passed(value: Any) -> tuple[Any, int | float]:
    """The kind of an argument, and what a function of C gets for it."""
    if isinstance(value, np.ndarray):
        if not value.flags.c_contiguous:
            raise TypeError("a compiled loop takes arrays without gaps")
        return value.dtype, value.ctypes.data
    if isinstance(value, float | np.floating):
        return float, float(value)
    return np.uint64 if isinstance(value, np.uint64) else int, index(value)


NUMBERS: dict[Any, Any] = {
    int: (types.int64, c_int64),
    np.uint64: (types.uint64, c_uint64),
    float: (types.float64, c_double),
}
"""Numbers to the compiler, and in C."""


class _CheckedCache(FunctionCache):
    """Numba's cache, which two processes that fill it together can leave with the code of one kind for another's."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled code for this signature and no other, if there is any: with pointers nothing else would notice."""
        found = super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        return found if found is not None and found.signature == sig else None


def _c_function(function: Any, kinds: tuple[Any, ...], cache: FunctionCache) -> Callable[..., Any]:
    """The function for arguments of these kinds, without the interpreter's lock while it runs."""
    arguments = [NUMBERS.get(kind) or (_pointer_to(kind), c_void_p) for kind in kinds]
    result = (types.void, None) if function.__annotations__["return"] is None else NUMBERS[int]
    compiler_types, c_types = zip(*arguments, strict=True)
    compiled: Any = CFunc(function, (compiler_types, result[0]), locals={}, options=BARE)
    compiled._cache = cache
    with _uncollected:
        compiled.compile()
    entry: Any = CFUNCTYPE(result[1], *c_types)(compiled.address)
    entry.compiled = compiled  # the code lives as long as this
    return cast(Callable[..., Any], entry)


def _pointer_to(dtype: Any) -> Any:
    """To elements of an array; the compiler has bits for booleans, arrays have bytes."""
    return types.CPointer(types.uint8 if dtype == np.bool_ else numba.from_dtype(dtype))  # type: ignore[no-untyped-call]
