"""Ordered Laplace: its twin, the worst sensitivity over small databases, a lone user, and the public order."""

import itertools
import json

import numpy as np
import polars as pl
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from leaks import SECRET, told
from user_sets import copies_of, numbered, sets_of

import dpsu
from dpsu.algorithms.catalogue import build
from dpsu.algorithms.request import Request
from dpsu.engines.contract import Walk
from dpsu.engines.local import LocalEngine
from dpsu.errors import InvalidArgument
from dpsu.kernels.compiled import kernel
from dpsu.kernels.descent import fill_in_order
from dpsu.kernels.units import ONE
from dpsu.randomness.stream import Purpose, Stream
from dpsu.testing import seeded

STREAM = Stream(bytes(range(32)))
PRIVACY = {"epsilon": 3.0, "delta": 1e-6}

some_sets = st.lists(st.sets(st.integers(0, 7), min_size=1).map(sorted), min_size=1, max_size=12).map(
    numbered
)


def mechanism_for(epsilon=1.0, delta=1e-6, max_items=300, calibration="exact", **options):
    return dpsu.OrderedLaplace(**options).calibrate(Request(epsilon, delta, max_items, calibration))


def walked(sets, cutoff, parts=1, first=None, threads=1):
    walk = Walk("fill_in_order", cutoff, ONE, 1, np.int64, 1 / ONE, parts, small_first=True, first=first)
    with LocalEngine(threads) as engine:
        rows = engine.bound(sets, 10**6, STREAM)
        return engine.walk(rows, engine.items(sets), walk, STREAM)["total"]


# The twin: users by size and digest, items in the order of the row or of a list, parts by the keyed hash.


@pytest.mark.parametrize("threads", [1, 3])
@settings(deadline=None, max_examples=60)
@given(
    rows=some_sets,
    cutoff=st.sampled_from([ONE, 3 * ONE // 2, 5 * ONE // 2]),
    parts=st.sampled_from([1, 3]),
    seed=st.integers(0, 50),
    data=st.data(),
)
def test_the_walk_is_the_oracles(threads, rows, cutoff, parts, seed, data):
    sets = sets_of(rows, seed)
    listed = data.draw(st.lists(st.integers(0, sets.n_items - 1), unique=True))
    place = {
        item: (item not in listed, *(listed.index(i) for i in [item] if i in listed), item)
        for item in range(8)
    }
    part = (STREAM.words(Purpose.PART, 0, sets.user_digests) % np.uint64(parts)).tolist()
    expected = reference.ordered(rows, place, sets.user_digests[:, 0].tolist(), part, cutoff)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dpsu.engines.local.FEWEST_PAIRS", 2)
        found = walked(sets, cutoff, parts, sets.item_digests[listed] if listed else None, threads)
    assert dict(enumerate(found.tolist())) == expected


# The worst sensitivity: all databases of three users over three items, then larger ones at random.

SUBSETS = [own for size in (1, 2, 3) for own in itertools.permutations(range(3), size)]
"""Every user with a common order of their own even: the proof needs no more than that it is fixed."""


def weights_of(policy, users, places, cutoff, items):
    """The weights after users, small sets first, and those of one size by their places."""
    order = sorted(range(len(users)), key=lambda user: (len(users[user]), places[user]))
    indptr = np.cumsum([0, *map(len, users)]).astype(np.int64)
    weights = np.zeros(items, np.int64)
    held = np.array([item for own in users for item in own], np.uint32)
    policy(indptr, held, np.array(order, np.int64), cutoff, ONE, weights)
    return weights


def moved(policy, users, places, extra, cutoff, items):
    """What the user in question moves in ℓ1, and whether all of it is upwards."""
    others = [own for k, own in enumerate(users) if k != extra]
    their_places = [place for k, place in enumerate(places) if k != extra]
    more = weights_of(policy, users, places, cutoff, items)
    less = weights_of(policy, others, their_places, cutoff, items)
    return int(np.abs(more - less).sum()), bool((more >= less).all())


@pytest.mark.parametrize("cutoff", [1.25, 1.75])
def test_no_small_database_moves_by_more_than_one_budget(cutoff):
    found = {
        moved(fill_in_order, users, range(3), extra, int(cutoff * ONE), 3)
        for users in itertools.product(SUBSETS, repeat=3)
        for extra in range(3)
    }
    assert max(apart for apart, _ in found) == ONE
    assert all(upwards for _, upwards in found)


def random_databases(count, seed):
    """Users with subsets of a few items, in one common order, and a cutoff; the extra user may stand anywhere."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        items, users = rng.integers(2, 9), rng.integers(2, 25)
        rows = [
            sorted(rng.choice(items, rng.integers(1, items + 1), replace=False).tolist())
            for _ in range(users)
        ]
        yield (
            rows,
            rng.permutation(users).tolist(),
            int(rng.integers(users)),
            int(rng.uniform(1, 4) * ONE),
            items,
        )


def test_no_random_database_moves_by_more_than_one_budget():
    found = [moved(fill_in_order, *case) for case in random_databases(8000, seed=1)]
    assert max(apart for apart, _ in found) == ONE
    assert all(upwards for _, upwards in found)


@kernel
def fill_the_fullest(indptr, items, order, cutoff, budget, weights):
    """Like ordered-laplace, but the order of a user's items looks at their weights."""
    for user in order:
        row = items[indptr[user] : indptr[user + 1]]
        left = budget
        for item in row[np.argsort(-weights[row])]:
            given = min(cutoff - weights[item], left)
            weights[item] += given
            left -= given


def test_the_search_catches_an_order_that_looks_at_weights():
    found = [moved(fill_the_fullest, *case)[0] for case in random_databases(500, seed=1)]
    assert max(found) > 1.5 * ONE


# A lone user.


@pytest.mark.parametrize("max_items", [1, 300, 10**6])
def test_the_curve_does_not_depend_on_max_items(max_items):
    one, other = mechanism_for(max_items=max_items), mechanism_for()
    assert one.selection == other.selection
    assert one.walk == other.walk


def test_a_lone_user_shows_one_item_at_most_and_that_as_rarely_as_promised():
    """The first new item takes all that is left of the budget, so the chance is delta itself."""
    mechanism, times = mechanism_for(1.0, 0.05), 100_000
    table = mechanism.select(LocalEngine(), copies_of([[0, 1, 2]], times), STREAM)
    out = table["released"].reshape(times, 3).sum(axis=1)
    assert out.max() == 1
    assert out.mean() == pytest.approx(0.05, abs=6 * (0.05 * 0.95 / times) ** 0.5)


def test_the_papers_threshold_allows_one_item_a_whole_budget():
    by_paper = mechanism_for(calibration="paper").selection.parameters()["threshold"]
    assert by_paper == pytest.approx(reference.threshold_laplace(1.0, 1e-6, 300, lambda t: 1.0))


@pytest.mark.parametrize(
    ("privacy", "options"),
    [
        ((1e-6, 1e-6), {"alpha": 1e6}),
        ((2.32883e-4, 1e-6), {"alpha": 1e6, "parts": 1000}),
        ((1e-5, 1e-9), {"alpha": 1e5}),
    ],
)
def test_cutoffs_whose_totals_leave_64_bits_are_refused(privacy, options):
    with pytest.raises(InvalidArgument, match="64 bits"):
        mechanism_for(*privacy, **options)


@pytest.mark.parametrize("parts", [1, 2, 1000])
def test_all_parts_together_stay_within_64_bits(parts):
    walk = (
        mechanism_for(1e-3, 1e-6, alpha=1e6, parts=1).walk if parts == 1 else mechanism_for(parts=parts).walk
    )
    sets = sets_of([[0]] * 3)
    assert walk.cutoff * walk.parts < 2**62
    assert walked(sets, walk.cutoff, parts).tolist() == [3 * ONE]


# The chance of a plan: holders who share all their items.


@pytest.mark.parametrize("parts", [1, 4])
@pytest.mark.parametrize(("holders", "size"), [(1, 3), (7, 1), (30, 4), (26, 2), (500, 5)])
def test_the_chance_of_a_plan_is_that_of_users_who_share_their_items(holders, size, parts):
    mechanism = mechanism_for(2.0, 1e-3, parts=parts)
    totals = walked(sets_of([list(range(size))] * holders), mechanism.walk.cutoff, parts)
    expected = mechanism.selection.probability(totals * mechanism.walk.unit).mean()
    found = mechanism.chance(np.array([holders]), size)[0]
    assert found == pytest.approx(expected, rel=1e-9 if parts == 1 else 0.35)


# The public order.

USERS = {f"user {n}": ["a", "b", "c", "d", "e"] for n in range(20)}


def test_a_public_order_says_which_items_come_out():
    for order in (["d", "b"], pl.DataFrame({"item": ["d", "b"]}), [*"db", "d", "nobody's"]):
        release = dpsu.release(USERS, **PRIVACY, algorithm=dpsu.OrderedLaplace(order=order))
        assert {"b", "d"} <= {*release.items}
        assert len(release) <= 4
        found = dpsu.verify(release.statement)
        assert found.ok, str(found)
        assert "the list order was not made from this data" in release.statement.rests_on
        assert release.statement.parameters["item_order"] == "public"


def test_an_order_comes_from_a_file(tmp_path):
    (tmp_path / "order.txt").write_text("d\nb\n", encoding="utf-8")
    stated = []
    for order in (tmp_path / "order.txt", ["d", "b"], ["b", "d"]):
        with seeded(1):
            release = dpsu.release(USERS, **PRIVACY, algorithm=dpsu.OrderedLaplace(order=order))
        stated.append((release.items, release.statement.lists))
    assert stated[0] == stated[1]
    assert stated[1][1] != stated[2][1]


def test_without_an_order_the_statement_names_no_list():
    release = dpsu.release(USERS, **PRIVACY, algorithm="ordered-laplace")
    assert release.statement.parameters["item_order"] == "keyed"
    assert release.statement.lists == {}
    assert dpsu.verify(release.statement).ok


def test_an_order_stands_beside_other_lists_and_counts():
    release = dpsu.release(
        {n: ["a", "b", "c"] for n in range(500)},
        **PRIVACY,
        max_items=3,
        algorithm=dpsu.OrderedLaplace(order=["c", "a"]),
        public_items=["z", "a"],
        exclude=["b"],
        counts=True,
    )
    assert release.items == ["a", "c", "z"]
    assert list(release.statement.lists) == ["public_items", "exclude", "order"]
    assert dpsu.verify(release.statement).ok


@pytest.mark.parametrize("order", [SECRET, 3, [1, "a"], [("a", "b")], [1.5, 2.5]])
def test_an_order_that_does_not_fit_is_refused_before_anything_is_spent(order, tmp_path):
    ledger = tmp_path / "ledger.json"
    with pytest.raises(dpsu.DpsuError) as refused:
        dpsu.release(USERS, **PRIVACY, algorithm=dpsu.OrderedLaplace(order=order), ledger=ledger)
    assert SECRET not in told(refused.value)
    assert not ledger.exists() or json.loads(ledger.read_text())["entries"] == []


def test_other_algorithms_have_no_order_and_settings_cannot_have_one():
    with pytest.raises(InvalidArgument, match="no option 'order'"):
        build("policy-laplace", order=["a"])
    with pytest.raises(InvalidArgument, match="OrderedLaplace"):
        dpsu.release(USERS, **PRIVACY, algorithm="ordered-laplace", order=["a"])
    with pytest.raises(InvalidArgument, match="OrderedLaplace"):
        dpsu.tune(USERS, **PRIVACY, settings=[{"algorithm": "ordered-laplace", "order": ["a"]}])
    with pytest.raises(InvalidArgument, match="order"):
        dpsu.tune(USERS, **PRIVACY, settings=[{"algorithm": dpsu.OrderedLaplace(order=["a"])}])


def test_an_algorithm_with_an_order_is_a_value(tmp_path):
    """Read once, compared and hashed by its items, and no list among the options."""
    listed, path = ["d", "b"], tmp_path / "order.txt"
    path.write_text("d\nb\n", encoding="utf-8")
    made = [
        dpsu.OrderedLaplace(order=each) for each in (listed, ("d", "b"), path, pl.DataFrame({"x": listed}))
    ]
    listed.append("c")
    path.unlink()
    assert len(set(made)) == 1
    assert made[0].order.count == 2
    assert {*"db"}.isdisjoint(repr(made[0].order).split("'"))
    assert made[0] != dpsu.OrderedLaplace(order=["b", "d"])
    assert made[0] != dpsu.OrderedLaplace()
    assert build(made[0], parts=2) == dpsu.OrderedLaplace(parts=2, order=["d", "b"])
    assert made[0].for_engine(8).options() == {"parts": 8}


def test_an_order_can_be_compared_and_planned():
    """Twenty budgets fill two items, and a third in part."""
    algorithms = [dpsu.OrderedLaplace(alpha=15, order=order) for order in (["d", "b"], ["c"])]
    frame = dpsu.compare(USERS, **PRIVACY, algorithms=algorithms, runs=2, data_is_public=True)
    assert 2 <= frame["items"].min() <= frame["items"].max() <= 3
    plan = dpsu.plan(**PRIVACY, algorithm=algorithms[0])
    assert plan.users_needed() == dpsu.plan(**PRIVACY, algorithm=dpsu.OrderedLaplace(alpha=15)).users_needed()
