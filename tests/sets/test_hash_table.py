"""The hash table of keys."""

import pickle

import numpy as np
import pytest

from dpsu.sets.hash_table import KeyTable


@pytest.mark.parametrize("words", [1, 2])
@pytest.mark.parametrize("size", [0, 100_000])
def test_a_table_that_was_sent_has_the_same_codes(words: int, size: int) -> None:
    rng = np.random.default_rng(words)
    keys = rng.integers(0, 50_000, (size, words), np.uint64)
    table = KeyTable(7, words)
    codes = table.encode(keys)
    sent = pickle.dumps(table)
    arrived = pickle.loads(sent)
    assert np.array_equal(arrived.keys, table.keys)
    assert np.array_equal(arrived.encode(keys), codes)
    assert len(arrived) == len(table) == len(np.unique(keys, axis=0))
    assert len(sent) < 1000 + 8 * table.keys.size
    fresh = np.full((1, words), 2**60, np.uint64)
    assert arrived.encode(fresh) == len(table)
