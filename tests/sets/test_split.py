"""Parts of the users with the items that they hold."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from user_sets import sets_of

from dpsu.sets.split import split_users


@given(
    rows=st.lists(st.sets(st.integers(0, 9), min_size=1).map(sorted), min_size=1, max_size=12),
    chosen=st.lists(st.booleans(), min_size=12, max_size=12),
)
@settings(deadline=None)
def test_parts_hold_their_own_users_and_items_only(rows, chosen):
    sets = sets_of(rows)
    for part, mask in zip(split_users(sets, np.array(chosen[: len(rows)])), (True, False), strict=True):
        own = [row for row, heads in zip(rows, chosen, strict=False) if heads is mask]
        names = [part.names.decode(np.array([code]))["item"][0] for code in range(part.n_items)]
        found = [
            sorted(names[code] for code in part.items[first:last])
            for first, last in zip(part.indptr[:-1], part.indptr[1:], strict=True)
        ]
        assert found == own
        assert (
            sorted(names)
            == sorted(set().union(*own))
            == part.names.decode(np.arange(len(names)))["item"].to_list()
        )
        assert (part.item_digests == sets.item_digests[names]).all()
