"""Whether an error, or a frame handed to another library, tells what it must not."""

from collections.abc import Iterator

import polars as pl
import pyarrow as pa

SECRET = "alice-hiv-positive"
"""Planted in data that is then read in vain."""


def whole_chain(error: BaseException) -> Iterator[BaseException]:
    """The error and all errors behind it, causes and contexts alike."""
    waiting, seen = [error], set()
    while waiting:
        each = waiting.pop()
        if id(each) not in seen:
            seen.add(id(each))
            yield each
            waiting += [behind for behind in (each.__cause__, each.__context__) if behind is not None]


def told(error: BaseException) -> str:
    """All that the error and those behind it say."""
    return "\n".join(
        f"{each!s} {each!r} {each.args!r} {getattr(each, '__notes__', ())!r}" for each in whole_chain(error)
    )


def buffers_of(frame: pl.DataFrame) -> list[bytes]:
    """The memory that Arrow hands over for the first column: whole buffers, whatever the rows use of them."""
    chunks = pa.table(frame).column(0).chunks
    return [buffer.to_pybytes() for chunk in chunks for buffer in chunk.buffers() if buffer is not None]
