"""Letters between parts and shards, in pieces."""

import numpy as np
import polars as pl
import pytest

from dpsu.engines.spark import letters
from dpsu.engines.spark.letters import Letter, as_table, read


@pytest.mark.parametrize("size", [7, 1000, 1 << 22])
def test_a_letter_arrives_as_it_was_in_pieces_of_any_size(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(letters, "PIECE_BYTES", size)
    arrays = {
        "many": np.arange(1234),
        "none": np.zeros(0, np.bool_),
        "odd": np.array([True, False, True]),
        "strided": np.arange(20, dtype=np.uint64).reshape(5, 4)[:, ::2],
        "rows": np.ones((3, 2), np.uint64),
    }
    names = pl.DataFrame({"word": ["a", "longer than a view holds", ""] * 50})
    sent = [Letter(5, -1, arrays, 2), Letter(5, 3, names), Letter(-7, -1, {}), Letter(8, 1, None)]
    first, second, *rest = read(as_table(sent).to_batches())
    assert (first.place, first.sender, first.turn) == (5, -1, 2)
    assert first.content.keys() == arrays.keys()
    for name, array in arrays.items():
        got = first.content[name]
        assert got.dtype == array.dtype
        np.testing.assert_array_equal(got, array)
        assert got.flags.writeable
        assert got.flags.aligned
    assert second.content.equals(names)
    assert rest == sent[2:]
