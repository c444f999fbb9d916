"""Dictionary encoding: users and items become numbers in the order in which they first appear.

Encoding goes batch by batch and keeps the distinct values alone, so that the source itself need never be in
memory. Nothing is shared between two encoders: what one release has seen cannot turn up in another.
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars import selectors as cs

from dpsu.random_kernels import digest_bytes, digest_concatenated, digest_integers
from dpsu.sets.columns import WHOLE
from dpsu.sets.table import Codes, Keys, KeyTable, first_rows
from dpsu.sets.views import INLINE, padded, views_of

LOW_32 = np.uint64(0xFFFFFFFF)
LONG = np.uint64(0xFFFFFFFF)
"""The first word of the key of a long string; it would be a view of 2^32 - 1 bytes."""


class WholeColumn:
    """Integers, booleans, dates and times: the 64 bits of a value are its key."""

    def __init__(self, dtype: pl.DataType, seed: int) -> None:
        self._dtype = dtype
        self._physical = pl.Series([], dtype=dtype).to_physical().dtype
        self._table = KeyTable(seed)

    def __len__(self) -> int:
        return len(self._table)

    def encode(self, column: pl.Series) -> Codes:
        """The codes of these values."""
        wide = pl.UInt64 if self._dtype == pl.UInt64 else pl.Int64
        return self._table.encode(column.to_physical().cast(wide).to_numpy().view(np.uint64))

    def digests(self, digest_key: Keys) -> Keys:
        """The digest of every distinct value, in the order of their codes."""
        return digest_integers(self._table.keys.view(np.int64), digest_key)

    def names(self) -> pl.Series:
        """The distinct values in the type they came in, in the order of their codes."""
        keys = self._table.keys
        wide = pl.Series(keys if self._dtype == pl.UInt64 else keys.view(np.int64))
        return wide.cast(self._physical).cast(self._dtype)


def bytes_of(text: pl.Series) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Strings as UTF-8, or binary values: where each begins and ends, and all their bytes."""
    binary = text.cast(pl.Binary)
    offsets = np.zeros(len(binary) + 1, dtype=np.int64)
    np.cumsum(binary.bin.size().to_numpy(), out=offsets[1:])
    return offsets, binary.cast(pl.List(pl.UInt8)).explode(empty_as_null=False).to_numpy()


class TextColumn:
    """Strings, bytes and what is best told apart as text.

    The key of a short string is its view, that is the string itself. The key of a longer one is a 64-bit hash, and every
    such row is checked: two values with one hash would be taken for one item, released for the holders of both. So it is
    compared with the value its code stands for; should that fail, the hash gets another seed.
    """

    def __init__(self, dtype: pl.DataType, seed: int) -> None:
        # A categorical type carries all its categories, released or not: strings come back instead.
        categorical = isinstance(dtype, pl.Categorical | pl.Enum) or dtype == pl.Null
        self._dtype = pl.String() if categorical else dtype
        self._text = pl.Binary() if dtype == pl.Binary else pl.String()
        self._seed = seed
        self._pads = False
        self._table = KeyTable(seed, words=2)
        self._names = pl.Series([], dtype=self._text)

    def __len__(self) -> int:
        return len(self._names)

    def encode(self, column: pl.Series) -> Codes:
        """The codes of these values."""
        text = column.cast(self._text)
        while True:
            pads_now = self._pads
            keys, rows, long = self._keys(text)
            codes = self._table.encode(keys)
            fresh = first_rows(codes, len(self._names), len(self._table))
            names = pl.concat([self._names, text.gather(fresh)]).rechunk()
            # One string in two views would be two items: seen where the second comes first, and never again.
            self._pads = self._pads or bool((keys[fresh] != padded(keys[fresh])).any())
            if pads_now == self._pads and not (names.gather(pl.Series(codes[rows])) != long).any():
                self._names = names
                return codes
            self._reseed()

    def _keys(self, text: pl.Series) -> tuple[Keys, NDArray[np.int64], pl.Series]:
        """The key of every value, which rows have long ones, and those."""
        keys = padded(views_of(text)) if self._pads else views_of(text)
        rows = np.flatnonzero(keys.view(np.uint32)[:, 0] > INLINE)
        long = text if rows.size == len(text) else text.gather(rows)
        keys[rows, 0], keys[rows, 1] = LONG, self._hash(long)
        return keys, rows, long

    def _hash(self, text: pl.Series) -> Keys:
        return text.hash(self._seed).to_numpy()

    def _reseed(self) -> None:
        """Number the known values again under another seed: they keep their codes."""
        while True:
            self._seed = (self._seed + 1) % 2**64
            self._table = KeyTable(self._seed, words=2)
            self._table.encode(self._keys(self._names)[0])
            if len(self._table) == len(self._names):
                return

    def digests(self, digest_key: Keys) -> Keys:
        """The digest of every distinct value, in the order of their codes."""
        return digest_bytes(*bytes_of(self._names), digest_key)

    def names(self) -> pl.Series:
        """The distinct values in the type they came in, in the order of their codes."""
        return self._names.cast(self._dtype)


ColumnEncoder = WholeColumn | TextColumn


def column_encoder(dtype: pl.DataType, seed: int) -> ColumnEncoder:
    """The encoder for a column of this type."""
    whole = cs.expand_selector({"column": dtype}, WHOLE) and dtype not in (pl.Int128, pl.UInt128)
    return WholeColumn(dtype, seed) if whole else TextColumn(dtype, seed)


class KeyEncoder:
    """Users or items, named by one column or by several together.

    Each column has its own codes; the codes of two columns are joined into one 64-bit key, that key's
    code with the next column's, and so on.
    """

    def __init__(self, schema: pl.Schema, columns: list[str], digest_key: Keys) -> None:
        seed = int(digest_key[0])
        self._digest_key = digest_key
        self._columns = {column: column_encoder(schema[column], seed) for column in columns}
        self._joins = [KeyTable(seed) for _ in columns[1:]]

    def __len__(self) -> int:
        return len(self._joins[-1]) if self._joins else len(next(iter(self._columns.values())))

    def encode(self, batch: pl.DataFrame) -> Codes:
        """The codes of the rows of a batch."""
        first, *others = (encoder.encode(batch[column]) for column, encoder in self._columns.items())
        codes = first
        for table, other in zip(self._joins, others, strict=True):
            codes = table.encode(codes.astype(np.uint64) << np.uint64(32) | other.astype(np.uint64))
        return codes

    def digests(self) -> Keys:
        """The digest of every distinct key, in the order of their codes."""
        digests = [encoder.digests(self._digest_key) for encoder in self._columns.values()]
        if len(digests) == 1:
            return digests[0]
        parts = self._parts(np.arange(len(self)))
        return digest_concatenated(
            [digest[part] for digest, part in zip(digests, parts, strict=True)], self._digest_key
        )

    def names(self, order: NDArray[np.int64]) -> pl.DataFrame:
        """The columns of the keys with these codes."""
        parts = self._parts(order)
        return pl.DataFrame(
            [
                encoder.names().gather(part).alias(column)
                for (column, encoder), part in zip(self._columns.items(), parts, strict=True)
            ]
        )

    def _parts(self, codes: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """The code of each column in the keys with these codes."""
        parts = []
        for table in reversed(self._joins):
            keys = table.keys[codes]
            parts.append((keys & LOW_32).astype(np.int64))
            codes = (keys >> np.uint64(32)).astype(np.int64)
        return [codes, *reversed(parts)]
