"""What every engine must do, on one thread, on several, on peers and on Spark: one suite for all."""

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
import polars as pl
import pytest
from peer_threads import Together, desks
from spark_sessions import needs_exchange, on_spark, require_spark, small_parts

import dpsu
from dpsu.algorithms.catalogue import find
from dpsu.algorithms.lists import digests_of, typed
from dpsu.algorithms.request import Request
from dpsu.algorithms.weighted import even_rule
from dpsu.engines.choose import engine_for
from dpsu.engines.contract import Rule, Walk
from dpsu.engines.local import LocalEngine
from dpsu.errors import NullValues, TooLarge, UnsupportedType
from dpsu.kernels.descent import l1_descent
from dpsu.kernels.units import ONE
from dpsu.kernels.weights import count_holders, weigh_proportionally
from dpsu.randomness.stream import Stream
from dpsu.sources.pairs import read_sets
from dpsu.sources.source import Source

pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::FutureWarning", "ignore::DeprecationWarning"
)

STREAM = Stream(bytes(range(32)), seeded=True)


def corpus(users: int = 300, seed: int = 0) -> pl.DataFrame:
    """Random pairs with repeats, one item that everybody holds, and one user who holds most items."""
    rng = np.random.default_rng(seed)
    pairs = pl.DataFrame({"user": rng.integers(0, users, 3000), "item": rng.zipf(1.4, 3000) % 400})
    everybody = pl.DataFrame({"user": np.arange(users), "item": np.full(users, 1_000)})
    hoarder = pl.DataFrame({"user": np.full(500, users), "item": np.arange(500)})
    return pl.concat([pairs, everybody, hoarder]).select("user", item=pl.format("word {}", "item"))


class Bench:
    """An engine and the way to look at its tables."""

    def __init__(self, name: str) -> None:
        if name == "spark":
            require_spark()
        self.name = name

    def frame(self, frame: pl.DataFrame) -> Any:
        if self.name != "spark":
            return frame
        return on_spark(frame).repartition(3)

    def __enter__(self) -> "Bench":
        self.engine = self._engine()
        self.engine.__enter__()
        return self

    def _engine(self) -> Any:
        if self.name == "peers":
            return Together(desks(3))
        return LocalEngine(threads=3) if self.name == "threads" else engine_for(self.frame(corpus(3)))

    def __exit__(self, *error: object) -> None:
        self.engine.__exit__(*error)

    def read(self, frame: pl.DataFrame, drop_nulls: bool = False) -> Any:
        source = Source.of(self.frame(frame), user="user", item="item", drop_nulls=drop_nulls)
        return self.engine.read(source, STREAM)

    def table(self, items: Any) -> dict[tuple[int, int], dict[str, Any]]:
        """A row per item, by its digest."""
        if self.name == "peers":
            tables = [shard.columns for shard in items]
        elif self.name != "spark":
            tables = [items]
        else:
            from dpsu.engines.spark.letters import read

            letters = read(self.engine._shards_of(items, lambda shard: [shard]).toArrow().to_batches())
            tables = [letter.content.columns for letter in letters]
        return {
            tuple(map(int, table["digest"][i])): {
                name: column[i] for name, column in table.items() if name != "digest"
            }
            for table in tables
            for i in range(len(table["digest"]))
        }


ENGINES = [
    "local",
    "threads",
    "peers",
    *([pytest.param("spark", marks=needs_exchange)] if find_spec("pyspark") else []),
]
"""PySpark is in the environment of `make test-spark` alone."""


@pytest.fixture(params=ENGINES)
def bench(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    if request.param == "threads":
        sizes = {"FEWEST_PAIRS": 100, "BLOCK_PAIRS": 40, "FEWEST_ITEMS": 10, "MOST_ITEMS": 30}
        for name, value in sizes.items():
            monkeypatch.setattr(f"dpsu.engines.local.{name}", value)
    small_parts(monkeypatch, rows=600, text=20_000)
    with Bench(request.param) as made:
        yield made


@pytest.fixture
def oracle() -> Iterator[Bench]:
    with Bench("local") as made:
        yield made


def test_counts_are_those_of_a_group_by(bench: Bench) -> None:
    sets = bench.read(corpus())
    rows = bench.engine.bound(sets, 10**6, STREAM)
    table = bench.table(bench.engine.weigh(rows, bench.engine.items(sets), Rule(count_holders, unit=1.0)))
    expected = corpus().unique().group_by("item").len()["len"]
    assert sorted(row["total"] for row in table.values()) == sorted(expected)
    assert all(row["held"] for row in table.values())


def test_a_cut_keeps_the_same_items_on_every_engine(bench: Bench, oracle: Bench) -> None:
    tables = []
    for each in (bench, oracle):
        sets = each.read(corpus())
        rows = each.engine.bound(sets, 5, STREAM, round=3)
        tables.append(each.table(each.engine.weigh(rows, each.engine.items(sets), even_rule(5, norm=2))))
    assert tables[0] == tables[1]
    assert not all(row["held"] for row in tables[0].values())


def test_rules_see_the_values_of_the_items_and_closed_items_get_nothing(bench: Bench, oracle: Bench) -> None:
    def by_digest(columns: Any) -> Any:
        word = columns["digest"][:, 0]
        return {"value": (word % 1000) / 1000.0, "open": word % 3 > 0}

    tables = []
    caps = np.ones(501)
    for each in (bench, oracle):
        engine, sets = each.engine, each.read(corpus())
        items = engine.update(engine.items(sets), by_digest)
        rows = engine.bound(sets, 20, STREAM, round=1, keep=items)
        rule = Rule(weigh_proportionally, unit=1 / ONE, table=caps, reads="value")
        tables.append(
            each.table(engine.update(engine.weigh(rows, items, rule), lambda c: {"twice": 2 * c["total"]}))
        )
    assert tables[0] == tables[1]
    for row in tables[0].values():
        assert row["open"] or (row["total"] == 0 and not row["held"])
        assert row["twice"] == 2 * row["total"]
        assert "value" not in row


@pytest.mark.parametrize("parts", [1, 3])
def test_a_policy_leaves_the_same_weights(bench: Bench, oracle: Bench, parts: int) -> None:
    tables = []
    walk = Walk(l1_descent, 3 * ONE, ONE, 1, np.int64, 1 / ONE, parts)
    for each in (bench, oracle):
        sets = each.read(corpus())
        rows = each.engine.bound(sets, 20, STREAM)
        tables.append(each.table(each.engine.walk(rows, each.engine.items(sets), walk, STREAM)))
    assert tables[0] == tables[1]
    assert max(row["total"] for row in tables[0].values()) == parts * 3 * ONE


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("listed", [0, 50])
def test_an_order_of_users_and_items_leaves_the_same_weights(
    bench: Bench, oracle: Bench, parts: int, listed: int
) -> None:
    """Small sets first, and items of a list before all others: on every engine, in every part."""
    tables = []
    for each in (bench, oracle):
        sets = each.read(corpus())
        words = pl.DataFrame({"item": [f"word {n}" for n in range(listed)]})
        first = digests_of(typed(words, each.engine.item_types(sets), "order"), STREAM) if listed else None
        walk = Walk("fill_in_order", 3 * ONE, ONE, 1, np.int64, 1 / ONE, parts, small_first=True, first=first)
        rows = each.engine.bound(sets, 20, STREAM)
        tables.append(each.table(each.engine.walk(rows, each.engine.items(sets), walk, STREAM)))
    assert tables[0] == tables[1]
    assert max(row["total"] for row in tables[0].values()) == parts * 3 * ONE


@pytest.mark.parametrize("users", [0, 300])
def test_sizes_of_what_is_left_and_the_number_of_what_is_not(bench: Bench, users: int) -> None:
    """Without any rows there is noise all the same: an error would say that there are none."""
    frame = corpus().filter(pl.col("user") < users).unique()
    many = frame.group_by("item").len().filter(pl.col("len") >= 50)
    left = frame.join(many, on="item", how="anti").group_by("user").len()["len"].to_numpy()
    expected = [((least <= left) & (left < end)).sum() for least, end in ((1, 3), (3, 6), (6, 10**6))]
    engine, sets = bench.engine, bench.read(frame)
    rows = engine.bound(sets, 10**6, STREAM)
    items = engine.weigh(rows, engine.items(sets), Rule(count_holders, unit=1.0))
    items = engine.update(items, lambda columns: {"open": columns["total"] < 50})
    closed = engine.collect(items, lambda columns: np.array([np.count_nonzero(~columns["open"])]))
    found = engine.tally(engine.restrict(sets, items), (1, 3, 6), lambda sizes: sizes + 7)
    assert closed.sum() == many.height
    assert (np.asarray(found) == np.array(expected) + 7).all()


def test_names_are_those_of_the_released_items_in_their_type(bench: Bench) -> None:
    frame = corpus().select(
        user=pl.col("user").cast(pl.String), item=pl.col("item").str.slice(5).cast(pl.Int32)
    )
    sets = bench.read(frame)
    items = bench.engine.update(
        bench.engine.items(sets), lambda columns: {"released": np.ones(len(columns["digest"]), np.bool_)}
    )
    names = bench.engine.names(sets, items)
    names = names if bench.name != "spark" else pl.from_arrow(names.toArrow())
    assert names.schema == {"item": pl.Int32}
    assert names["item"].sort().equals(frame["item"].unique().sort())


def test_nulls_and_floats_are_refused_and_can_be_dropped(bench: Bench) -> None:
    frame = pl.DataFrame({"user": [1, 2, None], "item": ["a", None, "a"]})
    with pytest.raises(NullValues, match=r"'(user|item)'"):
        bench.read(frame)
    bench.read(frame, drop_nulls=True)
    with pytest.raises(UnsupportedType, match="floats"):
        bench.read(pl.DataFrame({"user": [1.5], "item": ["a"]}))


def test_too_many_users_are_refused(bench: Bench) -> None:
    sets = bench.read(corpus(users=50))
    bench.engine.require_users(sets, 51)
    with pytest.raises(TooLarge, match="50 users"):
        bench.engine.require_users(sets, 50)


def test_nothing_comes_of_nothing(bench: Bench) -> None:
    empty = corpus().head(0)
    with pytest.warns(dpsu.EmptyRelease):
        release = dpsu.release(bench.frame(empty), user="user", item="item", epsilon=1.0, delta=1e-6)
    assert release.items == []
    assert release.to_polars().schema == {"item": pl.String}


ALGORITHMS = [
    "focused-gaussian",
    "dp-sips",
    "mad2r",
    "weighted-gaussian",
    "policy-gaussian",
    "policy-laplace",
    "ordered-laplace",
    "auto",
]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("max_items", [5, 1000])
def test_threads_change_nothing_in_a_whole_selection(
    algorithm: str, max_items: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With users divided from the first cut to the last compaction, and with some items left out before."""
    mechanism = find(algorithm).calibrate(Request(3.0, 1e-2, max_items))
    sets = read_sets(corpus(2000), user="user", item="item", stream=STREAM)
    closed = np.arange(sets.n_items) % 7 == 0
    monkeypatch.setattr("dpsu.engines.local.FEWEST_PAIRS", 50)
    monkeypatch.setattr("dpsu.engines.local.BLOCK_PAIRS", 20)
    found = []
    for threads in (1, 2, 7):
        with LocalEngine(threads) as engine:
            divided = engine.leave_out(sets, sets.item_digests[closed])
            assert len(divided) == threads
            found.append(mechanism.select(engine, divided, STREAM)["released"])
    assert 0 < found[0].sum() < sets.n_items
    assert not (found[0] & closed).any()
    assert (found[0] == found[1]).all()
    assert (found[0] == found[2]).all()


def test_no_row_is_longer_than_it_says_and_what_is_held_stands_in_a_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dpsu.engines.local.FEWEST_PAIRS", 50)
    sets = read_sets(corpus(), user="user", item="item", stream=STREAM)
    rng = np.random.default_rng(0)
    with LocalEngine(3) as engine:
        for max_items in (1000, 400, 5, 3):
            rows = engine.bound(sets, max_items, STREAM)
            for _ in range(4):
                inside = np.concatenate([own.items[own.indptr[0] : own.indptr[-1]] for own in rows])
                held = np.any([own.held for own in rows], axis=0)
                assert np.flatnonzero(held).tolist() == np.unique(inside).tolist()
                assert all(np.diff(own.indptr).max(initial=0) <= own.longest <= max_items for own in rows)
                opened = rng.random(sets.n_items) < 0.7
                rows = engine.bound(rows, max_items, STREAM, keep={"open": opened})
