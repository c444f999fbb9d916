"""Pairs become rows: sorted, without repeats, whatever the batches and the width of a word."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsu.sets import csr as rows
from dpsu.sets.csr import Batch, group_by_user


def slow_rows(batches, n_users, n_items):
    """The rows by places, without repeats; items numbered as they first appear, the others after them."""
    held = [set() for _ in range(n_users)]
    for users, items, user_places, item_places in batches:
        for user, item in zip(users.tolist(), items.tolist(), strict=True):
            held[user_places[user]].add(int(item_places[item]))
    order = list(dict.fromkeys(place for row in held for place in sorted(row)))
    order += [place for place in range(n_items) if place not in order]
    return [[order.index(place) for place in sorted(row)] for row in held], order


@st.composite
def batch_of(draw, n_users, n_items):
    """Each batch has codes of its own, for some of the users and items."""
    own_users = draw(st.lists(st.integers(0, n_users - 1), min_size=1, unique=True))
    own_items = draw(st.lists(st.integers(0, n_items - 1), min_size=1, unique=True))
    code = st.tuples(st.integers(0, len(own_users) - 1), st.integers(0, len(own_items) - 1))
    users, items = np.array(draw(st.lists(code, max_size=60)), np.uint32).reshape(-1, 2).T.copy()
    return Batch(users, items, np.array(own_users, np.uint32), np.array(own_items, np.uint32))


@pytest.mark.parametrize("most_buckets", [rows.MOST_BUCKETS, -32])
@given(data=st.data())
@settings(deadline=None, max_examples=60)
def test_pairs_become_rows(most_buckets, data):
    """-32 bits of buckets are those of data too large for words of 32 bits."""
    n_users, n_items = data.draw(st.integers(1, 40)), data.draw(st.integers(1, 20))
    batches = data.draw(st.lists(batch_of(n_users, n_items), max_size=4))
    expected, order = slow_rows(batches, n_users, n_items)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "MOST_BUCKETS", most_buckets)
        indptr, items, found = group_by_user(batches, n_users, n_items)
    assert [row.tolist() for row in np.split(items, indptr[1:-1])] == expected
    assert indptr[0] == 0
    assert indptr[-1] == items.size
    assert found.tolist() == order
    assert batches == []


def test_users_of_every_bucket_are_found():
    """More users than there are buckets, and items enough that words of 32 bits need more buckets than the fewest."""
    n_users, n_items = 5000, 1 << 22
    rng = np.random.default_rng(4)
    users, items = (rng.integers(0, n, 20_000).astype(np.uint32) for n in (n_users, n_items))
    user_places, item_places = (rng.permutation(n).astype(np.uint32) for n in (n_users, n_items))
    batches = [Batch(users, items, user_places, item_places)]
    indptr, row_items, order = group_by_user(batches, n_users, n_items)
    for user in range(n_users):
        place = user_places[user]
        row = row_items[indptr[place] : indptr[place + 1]]
        assert set(order[row]) == set(item_places[items[users == user]])
