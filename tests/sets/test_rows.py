"""Pairs become rows: sorted, without repeats, whatever the batches and the width of a word."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsu.sets import rows


def slow_rows(pairs, user_places, item_order):
    """The rows by users' places, each in the order of items; items numbered as they first appear, the others after them."""
    item_places = {int(code): place for place, code in enumerate(item_order)}
    held = [set() for _ in user_places]
    for users, items in pairs:
        for user, item in zip(users.tolist(), items.tolist(), strict=True):
            held[user_places[user]].add(item)
    ordered = [sorted(items, key=item_places.get) for items in held]
    codes = list(dict.fromkeys(item for row in ordered for item in row))
    codes += [code for code in item_order.tolist() if code not in codes]
    return [[codes.index(item) for item in row] for row in ordered], codes


@pytest.mark.parametrize("most_buckets", [rows.MOST_BUCKETS, -32])
@given(data=st.data())
@settings(deadline=None, max_examples=60)
def test_pairs_become_rows(most_buckets, data):
    """-32 bits of buckets are those of data too large for words of 32 bits."""
    n_users, n_items = data.draw(st.integers(1, 40)), data.draw(st.integers(1, 20))
    batch = st.lists(st.tuples(st.integers(0, n_users - 1), st.integers(0, n_items - 1)), max_size=60)
    pairs = [
        tuple(np.array(part, np.uint32).reshape(-1, 2).T.copy())
        for part in data.draw(st.lists(batch, max_size=4))
    ]
    user_places = np.array(data.draw(st.permutations(range(n_users))), np.uint32)
    item_order = np.array(data.draw(st.permutations(range(n_items))), np.int64)
    expected, codes = slow_rows(pairs, user_places, item_order)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "MOST_BUCKETS", most_buckets)
        indptr, items, found = rows.group_by_user(pairs, user_places, item_order)
    assert [row.tolist() for row in np.split(items, indptr[1:-1])] == expected
    assert indptr[0] == 0
    assert indptr[-1] == items.size
    assert found.tolist() == codes
    assert pairs == []


def test_users_of_every_bucket_are_found():
    """More users than there are buckets, and items enough that words of 32 bits need more buckets than the fewest."""
    n_users, n_items = 5000, 1 << 22
    rng = np.random.default_rng(4)
    users, items = rng.integers(0, n_users, 20_000), rng.integers(0, n_items, 20_000)
    user_places = rng.permutation(n_users).astype(np.uint32)
    item_order = rng.permutation(n_items)
    pairs = [(users.astype(np.uint32), items.astype(np.uint32))]
    indptr, row_items, codes = rows.group_by_user(pairs, user_places, item_order)
    for user in range(n_users):
        place = user_places[user]
        assert set(codes[row_items[indptr[place] : indptr[place + 1]]]) == set(items[users == user])
