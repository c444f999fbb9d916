"""Dictionary encoding: users and items become numbers in the order of first appearance.

Encoding works batch by batch and keeps only the distinct values, so the source never has to be in memory as a whole.
Two encoders share no state: values of one release cannot appear in another.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars import selectors as cs

from dpsu.randomness.digests import digest_bytes, digest_concatenated, digest_integers
from dpsu.sets.hash_table import Codes, Keys, KeyTable
from dpsu.sets.strings import INLINE, padded, strings_of, views_of
from dpsu.sets.user_sets import Names

WHOLE = cs.integer() | cs.boolean() | cs.date() | cs.time() | cs.datetime() | cs.duration()
"""Types whose values are stored as 64 bits."""

LOW_32 = np.uint64(0xFFFFFFFF)
LONG = np.uint64(0xFFFFFFFF)
"""The first word of the key of a long string; as a view it would have 2^32 - 1 bytes."""

FEW = 1 << 8

SLICE = 1 << 18
"""Rows that are digested at once: their bytes need room beside the rows."""

NO_ROWS, NO_KEYS = np.zeros(0, np.int64), np.zeros((0, 2), np.uint64)


class WholeColumn:
    """Integers, booleans, dates and times: the key of a value is its 64 bits."""

    def __init__(self, dtype: pl.DataType, seed: int) -> None:
        self.dtype = dtype
        self._physical = pl.Series([], dtype=dtype).to_physical().dtype
        self._table = KeyTable(seed)

    def __len__(self) -> int:
        return len(self._table)

    def encode(self, column: pl.Series) -> Codes:
        """The codes of these values."""
        values = column.to_physical().to_numpy()
        starts = np.flatnonzero(values[1:] != values[:-1]) + 1
        if 2 * starts.size > len(values):
            return self._encode(values)
        # In many files the rows of a user are consecutive: every run of equal values is looked up once.
        starts = np.concatenate([np.zeros(min(len(values), 1), np.int64), starts])
        return np.repeat(self._encode(values[starts]), np.diff(starts, append=len(values)))

    def _encode(self, values: NDArray[Any]) -> Codes:
        return self._table.encode(self._wide(values))

    def _wide(self, values: NDArray[Any]) -> NDArray[np.uint64]:
        wide = np.uint64 if self.dtype == pl.UInt64 else np.int64
        return values.astype(wide, copy=False).view(np.uint64)

    def absorb(self, other: "WholeColumn") -> Codes:
        """Add the values of another column; returns their codes here, in the order of their codes there."""
        return self._table.encode(other._table.keys)

    def counts_up(self) -> bool:
        """Whether the distinct values are integers without a gap."""
        if not self.dtype.is_integer() or not len(self):
            return False
        keys = self._table.keys
        return _spread(keys if self.dtype == pl.UInt64 else keys.view(np.int64)) == len(self)

    def digests(self, digest_key: bytes) -> Keys:
        """The digest of every distinct value, in the order of their codes."""
        return digest_integers(self._table.keys.view(np.int64), digest_key)

    def digests_of(self, column: pl.Series, digest_key: bytes) -> Keys:
        """The digest of every row."""
        return digest_integers(self._wide(column.to_physical().to_numpy()).view(np.int64), digest_key)

    def names(self) -> pl.Series:
        """The distinct values in their original type, in the order of their codes."""
        keys = self._table.keys
        wide = pl.Series(keys if self.dtype == pl.UInt64 else keys.view(np.int64))
        return wide.cast(self._physical).cast(self.dtype)


def bytes_of(text: pl.Series) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Strings as UTF-8, or binary values: the offsets, and all bytes."""
    binary = text.cast(pl.Binary)
    offsets = np.zeros(len(binary) + 1, dtype=np.int64)
    np.cumsum(binary.bin.size().to_numpy(), out=offsets[1:])
    return offsets, binary.cast(pl.List(pl.UInt8)).explode(empty_as_null=False).to_numpy()


class TextColumn:
    """Strings, bytes and types that are compared as text.

    The key of a short string is its view, which contains the string. The key of a longer string is a 64-bit hash, and
    every such row is checked: two values with the same hash would become one item, released for the holders of both. So
    each value is compared with the value of its code; if they differ, the hash gets another seed. All strings are
    assumed to be short until a long one is found. Only bytes are compared here; whether they are valid text is checked
    when an item is released.
    """

    def __init__(self, dtype: pl.DataType, seed: int) -> None:
        # A categorical type contains all its categories, released or not, so items are returned as strings.
        categorical = isinstance(dtype, pl.Categorical | pl.Enum) or dtype == pl.Null
        self.dtype = pl.String() if categorical else dtype
        self._text = pl.Binary() if dtype == pl.Binary else pl.String()
        self._seed = seed
        self._long, self._pads = False, False
        self._table = KeyTable(seed, words=2)
        self._long_strings = LongStrings(np.zeros(0, np.uint32), pl.Series([], dtype=pl.Binary))

    def __len__(self) -> int:
        return len(self._table)

    def encode(self, column: pl.Series) -> Codes:
        """The codes of these values."""
        text = column.cast(self._text).cast(pl.Binary)
        while True:
            known, taken_for = len(self._table), (self._long, self._pads)
            codes, rows, long, keys = self._number(text)
            # Unpadded Arrow views make equal strings differ; pad from the first one seen.
            self._long = self._long or bool((keys.view(np.uint32)[:, 0] > INLINE).any())
            self._pads = self._pads or bool((keys != padded(keys)).any())
            mistaken = rows.size > 0 and (long.of(codes[rows]) != _rows_of(text, rows)).any()
            if taken_for == (self._long, self._pads) and not mistaken:
                self._long_strings = long
                return codes
            self._reseed(self._strings(known))

    def absorb(self, other: "TextColumn") -> Codes:
        """Add the values of another column; returns their codes here, in the order of their codes there."""
        if self._long or other._long:
            return self.encode(other.names())
        return self._table.encode(other._table.keys)

    def _number(self, text: pl.Series) -> tuple[Codes, NDArray[np.int64], "LongStrings", Keys]:
        """The codes of these values in the table, the rows with long strings, all long strings so far, and the new keys."""
        codes, rows, new_keys = np.empty(len(text), np.uint32), [NO_ROWS], [NO_KEYS]
        long_codes, long_names = [self._long_strings.codes], [self._long_strings.names]
        start = 0
        for views in views_of(text):
            part, own = text[start : start + len(views)], codes[start : start + len(views)]
            keys, long = self._keys(views, part)
            fresh = self._table.number(keys, own)
            new_keys.append(keys.take(fresh, axis=0))
            if long.size:
                fresh = fresh[new_keys[-1][:, 0] == LONG]
                long_codes.append(own[fresh])
                long_names.append(part.gather(fresh))
            rows.append(start + long)
            start += len(views)
        strings = LongStrings(np.concatenate(long_codes), pl.concat(long_names).rechunk())
        return codes, np.concatenate(rows), strings, np.concatenate(new_keys)

    def _keys(self, views: Keys, text: pl.Series) -> tuple[Keys, NDArray[np.int64]]:
        """The key of every value, and the rows with long strings."""
        keys = padded(views) if self._pads else views
        rows = np.flatnonzero(views.view(np.uint32)[:, 0] > INLINE) if self._long else NO_ROWS
        if rows.size:
            keys = keys.copy()
            keys[rows, 0], keys[rows, 1] = LONG, self._hash(_rows_of(text, rows))
        return keys, rows

    def _hash(self, text: pl.Series) -> Keys:
        return text.hash(self._seed).to_numpy()

    def _reseed(self, strings: pl.Series) -> None:
        """Rebuild the table with another seed: the known values keep their codes."""
        while True:
            self._seed = (self._seed + 1) % 2**64
            self._table = KeyTable(self._seed, words=2)
            self._number(strings)
            if len(self._table) == len(strings):
                return

    def _strings(self, known: int) -> pl.Series:
        """The values of the first codes."""
        return self._long_strings.put_into(strings_of(self._table.keys[:known]))

    def counts_up(self) -> bool:
        """Whether the distinct values are the decimal digits of integers without a gap, as in a CSV file."""
        if self._text != pl.String or self._long or not len(self):
            return False
        keys = self._table.keys
        few = strings_of(keys[:FEW]).to_list()
        # These tests exclude most columns.
        if not all(map(bytes.isdigit, few)) or _spread(np.array([*map(int, few)])) > len(self):
            return False
        numbers = strings_of(keys).cast(pl.String).cast(pl.Int64, strict=False)
        return not numbers.has_nulls() and _spread(numbers.to_numpy()) == len(self)

    def digests(self, digest_key: bytes) -> Keys:
        """The digest of every distinct value, in the order of their codes."""
        return digest_bytes(*bytes_of(self.names()), digest_key)

    def digests_of(self, column: pl.Series, digest_key: bytes) -> Keys:
        """The digest of every row."""
        return digest_bytes(*bytes_of(column.cast(self._text)), digest_key)

    def names(self) -> pl.Series:
        """The bytes of the distinct values, in the order of their codes."""
        return self._strings(len(self))


def _spread(numbers: NDArray[Any]) -> int:
    """The number of integers from the smallest to the largest."""
    return int(numbers.max()) - int(numbers.min()) + 1


class LongStrings(NamedTuple):
    """The strings of a column that do not fit into a view, in the order of their codes."""

    codes: Codes
    names: pl.Series

    def of(self, codes: Codes) -> pl.Series:
        """The strings with these codes."""
        return self.names.gather(np.searchsorted(self.codes, codes))

    def put_into(self, strings: pl.Series) -> pl.Series:
        """The strings of all codes, with these inserted at their positions."""
        if not self.codes.size:
            return strings
        order = np.arange(len(strings))
        order[self.codes] = len(strings) + np.arange(len(self.names))
        return pl.concat([strings, self.names]).gather(order)


def _rows_of(text: pl.Series, rows: NDArray[np.int64]) -> pl.Series:
    """These rows; no copy if they are all rows."""
    return text if rows.size == len(text) else text.gather(rows)


ColumnEncoder = WholeColumn | TextColumn


def column_encoder(dtype: pl.DataType, seed: int) -> ColumnEncoder:
    """The encoder for a column of this type."""
    whole = cs.expand_selector({"column": dtype}, WHOLE) and dtype not in (pl.Int128, pl.UInt128)
    return WholeColumn(dtype, seed) if whole else TextColumn(dtype, seed)


class KeyEncoder:
    """Users or items, identified by one column or by several columns together.

    Each column has its own codes. The codes of two columns are joined into one 64-bit key, the code of this key is
    joined with the code of the next column, and so on.
    """

    def __init__(self, schema: pl.Schema, columns: list[str], digest_key: bytes) -> None:
        seed = int.from_bytes(digest_key[:8], "little")
        self._digest_key = digest_key
        self._columns = {column: column_encoder(schema[column], seed) for column in columns}
        self._joins = [KeyTable(seed) for _ in columns[1:]]

    def __len__(self) -> int:
        return len(self._joins[-1]) if self._joins else len(next(iter(self._columns.values())))

    def encode(self, batch: pl.DataFrame) -> Codes:
        """The codes of the rows of a batch."""
        return self._join(encoder.encode(batch[column]) for column, encoder in self._columns.items())

    def absorb(self, other: "KeyEncoder") -> Codes:
        """Add the keys of another encoder; returns their codes here, in the order of their codes there."""
        columns = zip(self._columns.values(), other._columns.values(), strict=True)
        codes = [own.absorb(theirs) for own, theirs in columns]  # type: ignore[arg-type]
        parts = other._parts(np.arange(len(other)))
        return self._join(of_column[part] for of_column, part in zip(codes, parts, strict=True))

    def _join(self, columns: Iterable[Codes]) -> Codes:
        codes, *others = columns
        for table, other in zip(self._joins, others, strict=True):
            codes = table.encode(codes.astype(np.uint64) << np.uint64(32) | other.astype(np.uint64))
        return codes

    def counts_up(self) -> bool:
        """Whether the keys are one column of integers, or of their digits, without a gap."""
        first, *others = self._columns.values()
        return not others and first.counts_up()

    def digests(self) -> Keys:
        """The digest of every distinct key, in the order of their codes."""
        digests = [encoder.digests(self._digest_key) for encoder in self._columns.values()]
        if len(digests) == 1:
            return digests[0]
        parts = self._parts(np.arange(len(self)))
        return digest_concatenated(
            [digest[part] for digest, part in zip(digests, parts, strict=True)], self._digest_key
        )

    def names(self, order: NDArray[np.int64]) -> Names:
        """The names of the keys with these codes."""
        parts = self._parts(order)
        columns = [
            encoder.names().gather(part).alias(column)
            for (column, encoder), part in zip(self._columns.items(), parts, strict=True)
        ]
        types = {column: encoder.dtype for column, encoder in self._columns.items()}
        return Names(pl.DataFrame(columns), types)

    def _parts(self, codes: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """The code of each column in the keys with these codes."""
        parts = []
        for table in reversed(self._joins):
            keys = table.keys[codes]
            parts.append((keys & LOW_32).astype(np.int64))
            codes = (keys >> np.uint64(32)).astype(np.int64)
        return [codes, *reversed(parts)]


def row_digests(frame: pl.DataFrame, digest_key: bytes) -> Keys:
    """The digest of every row as a key: what `KeyEncoder.digests` gives for it, without a table of distinct rows."""
    parts = [
        np.concatenate([NO_KEYS, *(encoder.digests_of(part, digest_key) for part in _slices(column))])
        for column in frame
        for encoder in [column_encoder(column.dtype, 0)]
    ]
    return parts[0] if len(parts) == 1 else digest_concatenated(parts, digest_key)


def _slices(column: pl.Series) -> Iterable[pl.Series]:
    return (column[start : start + SLICE] for start in range(0, len(column), SLICE))


ValueReader = Callable[[pl.DataFrame], dict[str, NDArray[np.int64]]]
"""The columns of a batch that are summed, in whole units."""


class PairEncoder:
    """The users and items of some batches, with their own numbering, and their pairs."""

    def __init__(
        self,
        schema: pl.Schema,
        user: list[str],
        item: list[str],
        digest_key: bytes,
        values: ValueReader | None = None,
    ) -> None:
        self.users = KeyEncoder(schema, user, digest_key)
        self.items = KeyEncoder(schema, item, digest_key)
        self.pairs: list[tuple[Codes, Codes]] = []
        self.values: list[dict[str, NDArray[np.int64]]] = []
        self._read_values = values

    def encode(self, batch: pl.DataFrame) -> None:
        """Add the pairs of a batch, and their values where there are any to be summed."""
        if self._read_values is not None:
            self.values.append(self._read_values(batch))
        self.pairs.append((self.users.encode(batch), self.items.encode(batch)))
