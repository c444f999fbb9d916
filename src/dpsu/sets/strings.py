"""Strings as Arrow views: 16 bytes per string, without a Python object for each.

A view begins with the length in bytes. Up to INLINE bytes the string itself follows, padded with zeros, so that equal
views are equal strings. For a longer string, its first bytes and the position of the others follow. Not every writer
pads with zeros as Arrow requires; `padded` does.
"""

from collections.abc import Iterator

import numpy as np
import polars as pl
from nanoarrow import c_array_stream
from numpy.typing import NDArray

INLINE = 12
VIEW_FORMATS = ("vu", "vz")

_USED = np.full((INLINE + 2, 16), 0xFF, np.uint8)
for _length in range(INLINE + 1):
    _USED[_length, 4 + _length :] = 0
_USED = _USED.view(np.uint64)
"""The bits that a view of each length uses; the last entry is for strings longer than INLINE."""


def views_of(text: pl.Series) -> Iterator[NDArray[np.uint64]]:
    """A row of two words for every string or binary value of a column without nulls.

    One array per chunk of the column, without a copy.
    """
    stream = c_array_stream(text)
    if stream.get_schema().format not in VIEW_FORMATS:
        raise RuntimeError("this version of Polars does not export strings as Arrow views")
    for chunk in stream:
        if chunk.length:
            words = np.frombuffer(chunk.view().buffer(1), np.uint64).reshape(-1, 2)
            yield words[chunk.offset : chunk.offset + chunk.length]


def padded(views: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The views with zeros in all unused bytes."""
    lengths = views.view(np.uint32)[:, 0]
    return views & _USED[np.minimum(lengths, INLINE + 1)]


def strings_of(views: NDArray[np.uint64]) -> pl.Series:
    """The bytes of the short strings in these views; empty for longer ones."""
    lengths = views.view(np.uint32)[:, 0]
    lengths = np.where(lengths > INLINE, 0, lengths)
    padded_text = views.view(np.uint8)[:, 16 - INLINE :].reshape(-1)
    text = pl.Series(padded_text).reshape((len(views), INLINE)).cast(pl.List(pl.UInt8)).cast(pl.Binary)
    return pl.select(pl.lit(text).bin.slice(0, pl.lit(pl.Series(lengths)))).to_series()
