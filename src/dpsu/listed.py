"""Items that the caller lists: public ones, which come out at no cost, and those that never come out.

Neither takes part in a release: users give nothing to them, so their budgets go to other items. Which items are listed
says nothing about the data, as long as the list was not made from it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dpsu.algorithms.counts import Counting, noisy_absent, noisy_holders
from dpsu.engines import Columns, Engine
from dpsu.engines.local import LocalEngine
from dpsu.errors import InvalidArgument, SourceError
from dpsu.sets import UserSets
from dpsu.sets.encode import KeyEncoder
from dpsu.stream import Stream

HOLDERS = "holders"

READERS: dict[str, Callable[[Path], pl.DataFrame]] = {
    ".parquet": pl.read_parquet,
    ".csv": lambda path: pl.read_csv(path, infer_schema=False),
    ".tsv": lambda path: pl.read_csv(path, infer_schema=False, separator="\t"),
    ".jsonl": pl.read_ndjson,
    ".ndjson": pl.read_ndjson,
}


@dataclass(frozen=True, repr=False)
class Listed:
    """The two lists as frames, in whatever types they came."""

    public: pl.DataFrame | None = None
    excluded: pl.DataFrame | None = None
    notes: tuple[str, ...] = ()

    def described(self, salt: bytes) -> dict[str, Any]:
        """What the statement says of the lists: lengths and digests; that of `exclude` is salted."""
        return {}

    def __bool__(self) -> bool:
        return self.public is not None or self.excluded is not None

    def leave_out(self, engine: Engine, sets: Any, stream: Stream) -> Any:
        """The sets as if nobody held a listed item."""
        if not self:
            return sets
        assert isinstance(engine, LocalEngine)
        public, excluded = (_digests(frame, sets, stream) for frame in (self.public, self.excluded))
        if _among(public, excluded).any():
            raise InvalidArgument("an item is both public and excluded; it can be one of them.")
        return engine.leave_out(sets, _among(sets.item_digests, np.concatenate([public, excluded])))

    def names(self, engine: Engine, sets: Any, items: Any, counting: Counting | None, stream: Stream) -> Any:
        """What comes out: the released items and the public ones, with noisy counts of their holders if asked."""
        if not self and not counting:
            return engine.names(sets, items)
        public = _typed(self.public, sets)
        digests = _digests(self.public, sets, stream)
        shown: Columns = {**items, "released": items["released"] | _among(items["digest"], digests)}
        absent = public.filter(~_among(digests, items["digest"]))
        if counting:
            _require_free(sets.names.columns)
            cut, sigma = counting.request.max_items, counting.sigma
            shown = noisy_holders(engine, sets, shown, max_items=cut, sigma=sigma, stream=stream)
            of_absent = digests[~_among(digests, items["digest"])]
            absent = absent.with_columns(
                pl.Series(HOLDERS, noisy_absent(of_absent, sigma=sigma, stream=stream))
            )
        return pl.concat([engine.names(sets, shown), absent]).sort(sets.names.columns)


def read_lists(public_items: Any, exclude: Any, rule: Any = None) -> Listed:
    """The lists that the caller gives: a Path to a file, a frame or series, or any iterable of items."""
    return Listed(_frame(public_items, "public_items"), _frame(exclude, "exclude"))


def _frame(items: Any, role: str) -> pl.DataFrame | None:
    if items is None:
        return None
    if isinstance(items, Path):
        return _read(items)
    if hasattr(items, "__arrow_c_stream__"):
        frame = pl.DataFrame(items)
    elif isinstance(items, str) or not isinstance(items, Iterable):
        raise InvalidArgument(
            f"{role} must be a list of items, a frame or a pathlib.Path, not {type(items).__name__}."
        )
    else:
        rows = [item if isinstance(item, tuple) else (item,) for item in items]
        frame = (
            pl.DataFrame(rows, orient="row")
            if rows
            else pl.DataFrame({"item": pl.Series([], dtype=pl.String)})
        )
    return frame


def _read(path: Path) -> pl.DataFrame:
    try:
        if path.suffix.lower() in READERS:
            return READERS[path.suffix.lower()](path)
        return pl.DataFrame(
            {"item": path.read_text(encoding="utf-8").splitlines()}, schema={"item": pl.String}
        )
    except (OSError, UnicodeError, pl.exceptions.PolarsError) as error:
        raise SourceError(f"cannot read the items in {path}: {error}.") from error


def _typed(frame: pl.DataFrame | None, sets: UserSets) -> pl.DataFrame:
    """The listed items in the columns and types of the data's, each once."""
    empty = sets.names.decode(np.zeros(0, np.uint32))
    if frame is None:
        return empty
    if set(empty.columns) <= set(frame.columns):
        frame = frame.select(empty.columns)
    if frame.width != empty.width:
        raise InvalidArgument(f"listed items have {frame.width} columns where the data's have {empty.width}.")
    try:
        typed = frame.rename(dict(zip(frame.columns, empty.columns, strict=True))).cast(empty.schema)
    except pl.exceptions.PolarsError as error:
        raise InvalidArgument(
            f"listed items must be of the data's type, {', '.join(map(str, empty.dtypes))}: some are not."
        ) from error
    return typed.drop_nulls().unique(maintain_order=True)


def _digests(frame: pl.DataFrame | None, sets: UserSets, stream: Stream) -> NDArray[np.uint64]:
    typed = _typed(frame, sets)
    encoder = KeyEncoder(typed.schema, typed.columns, stream.digest_key)
    encoder.encode(typed)
    return encoder.digests()


def _among(digests: NDArray[np.uint64], others: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which of the digests are among the others; second words are asked where first words agree."""
    found = np.isin(digests[:, 0], others[:, 0])
    wanted = set(map(tuple, others.tolist()))
    candidates = np.flatnonzero(found)
    found[candidates] = [tuple(digest) in wanted for digest in digests[candidates].tolist()]
    return found


def _require_free(columns: list[str]) -> None:
    if HOLDERS in columns:
        raise InvalidArgument(
            f"counts come as the column {HOLDERS!r}, which the items have already: rename it."
        )
