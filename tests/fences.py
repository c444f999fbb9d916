"""A plugin of pytest: arrays that compiled loops get lie between fences, and a loop that writes into one is stopped.

Loops have bare pointers, so nothing else would notice. Copies are fenced, and what a loop has changed in them is written
back: threads that fill parts of one array do not undo each other's work.
"""

from typing import Any, NamedTuple

import numpy as np

from dpsu import compiled

FENCE, MARK = 256, 0xA5


class Fenced(NamedTuple):
    """An array, its bytes between fences, and where they begin: as well aligned as any vector wants it."""

    array: np.ndarray[Any, Any]
    memory: np.ndarray[Any, Any]
    start: int

    @classmethod
    def copy(cls, array: np.ndarray[Any, Any]) -> "Fenced":
        memory = np.full(array.nbytes + 3 * FENCE, MARK, np.uint8)
        start = FENCE + -memory.ctypes.data % FENCE
        memory[start : start + array.nbytes] = array.reshape(-1).view(np.uint8)
        return cls(array, memory, start)

    def inside(self) -> np.ndarray[Any, Any]:
        return self.memory[self.start : self.start + self.array.nbytes]

    def whole(self) -> bool:
        return bool((np.delete(self.memory, slice(self.start, self.start + self.array.nbytes)) == MARK).all())


def fenced_c_function(function: Any, kinds: tuple[Any, ...], cache: Any) -> Any:
    run = c_function(function, kinds, cache)

    def call(*given: Any) -> Any:
        copies = [Fenced.copy(value) for value in given if isinstance(value, np.ndarray)]
        before = [copy.inside().copy() for copy in copies]
        places = iter([copy.memory.ctypes.data + copy.start for copy in copies])
        result = run(*[next(places) if isinstance(value, np.ndarray) else value for value in given])
        for copy, old in zip(copies, before, strict=True):
            if not copy.whole():
                raise MemoryError(f"{function.__name__} writes beside its arrays")
            changed = np.flatnonzero(copy.inside() != old)
            if changed.size:
                copy.array.reshape(-1).view(np.uint8)[changed] = copy.inside()[changed]
        return result

    return call


def passed_whole(value: Any) -> tuple[Any, Any]:
    kind, what = passed(value)
    return kind, value if isinstance(value, np.ndarray) else what


def pytest_configure() -> None:
    compiled._c_function = fenced_c_function
    compiled._passed = passed_whole


c_function, passed = compiled._c_function, compiled._passed
