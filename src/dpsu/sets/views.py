"""The 16 bytes by which Arrow stands for a string, over its C stream interface: no library, no Python object per string.

A view begins with the length in bytes. Up to INLINE bytes the string itself follows, padded with zeros, so that equal views
are equal strings; of a longer one there are the first bytes and where the others lie. Arrow asks for the zeros, but not
everyone who writes views sees to them: `padded` does.
"""

import ctypes
from collections.abc import Iterator

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dpsu.compiled import ZERO, kernel, larger, smaller

INLINE = 12
LENGTH, BYTE = np.uint64(0xFFFFFFFF), np.uint64(0xFF)
VIEW_FORMATS = (b"vu", b"vz")

_USED = np.full((INLINE + 2, 16), 0xFF, np.uint8)
for _length in range(INLINE + 1):
    _USED[_length, 4 + _length :] = 0
_USED = _USED.view(np.uint64)
"""The bits that a view of each length uses; the last is for all that are longer than INLINE."""


class _Array(ctypes.Structure):
    """ArrowArray; a release callback of null marks the end of a stream."""


class _Schema(ctypes.Structure):
    """ArrowSchema, of which only the format is read."""


class _Stream(ctypes.Structure):
    """ArrowArrayStream."""


_Array._fields_ = [
    *((name, ctypes.c_int64) for name in ("length", "null_count", "offset", "n_buffers", "n_children")),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.c_void_p),
    ("dictionary", ctypes.c_void_p),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Array))),
    ("private_data", ctypes.c_void_p),
]
_Schema._fields_ = [
    *((name, ctypes.c_char_p) for name in ("format", "name", "metadata")),
    *((name, ctypes.c_int64) for name in ("flags", "n_children")),
    ("children", ctypes.c_void_p),
    ("dictionary", ctypes.c_void_p),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Schema))),
    ("private_data", ctypes.c_void_p),
]
_Stream._fields_ = [
    ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Stream), ctypes.POINTER(_Schema))),
    ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Stream), ctypes.POINTER(_Array))),
    ("get_last_error", ctypes.c_void_p),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]

_pointer_in = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_in.restype, _pointer_in.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def views_of(text: pl.Series) -> Iterator[NDArray[np.uint64]]:
    """A row of two words for every string or binary value of a column without nulls.

    They come in the parts that the column has, uncopied: each is there until the next is asked for.
    """
    capsule = text.__arrow_c_stream__()  # which releases the stream when it goes
    stream = ctypes.cast(_pointer_in(capsule, b"arrow_array_stream"), ctypes.POINTER(_Stream))
    _require_views(stream)
    while True:
        part = _Array()
        failed = stream.contents.get_next(stream, ctypes.byref(part))
        if failed:
            raise RuntimeError(f"Polars could not export a column (error {failed})")
        if not part.release:
            return
        try:
            if part.length:
                words = (ctypes.c_uint64 * (2 * part.length)).from_address(part.buffers[1] + 16 * part.offset)
                yield np.frombuffer(words, np.uint64).reshape(-1, 2)
        finally:
            part.release(ctypes.byref(part))


def padded(views: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The views with zeros for all that is not theirs."""
    lengths = views.view(np.uint32)[:, 0]
    return views & _USED[np.minimum(lengths, INLINE + 1)]


def strings_of(views: NDArray[np.uint64]) -> pl.Series:
    """The bytes of the short strings that these views stand for; nothing for longer ones."""
    lengths = views.view(np.uint32)[:, 0]
    lengths = np.where(lengths > INLINE, 0, lengths)
    padded_text = views.view(np.uint8)[:, 16 - INLINE :].reshape(-1)
    text = pl.Series(padded_text).reshape((len(views), INLINE)).cast(pl.List(pl.UInt8)).cast(pl.Binary)
    return pl.select(pl.lit(text).bin.slice(0, pl.lit(pl.Series(lengths)))).to_series()


@kernel
def spread_of_digits(size: int, words: NDArray[np.uint64], ends: NDArray[np.int64]) -> int:
    """Widen `ends` to the least and the greatest number that `size` short strings write in decimal digits.

    `words` are those of their views. The result is 1 as soon as a string is no such number, else 0.
    """
    for row in range(size):
        first, second = words[2 * row], words[2 * row + 1]
        length = np.int64(first & LENGTH)
        number = ZERO
        for place in range(length):
            shift = np.uint64(8 * ((place + 4) % 8))
            digit = np.int64(((first if place < 4 else second) >> shift) & BYTE) - 48
            if digit < 0 or digit > 9:
                return 1
            number = 10 * number + digit
        if length == 0:
            return 1
        ends[0] = smaller(ends[0], number)
        ends[1] = larger(ends[1], number)
    return 0


def _require_views(stream: "ctypes._Pointer[_Stream]") -> None:
    schema = _Schema()
    failed = stream.contents.get_schema(stream, ctypes.byref(schema))
    if failed or schema.format not in VIEW_FORMATS:
        raise RuntimeError("this version of Polars does not export strings as Arrow views")
    schema.release(ctypes.byref(schema))
