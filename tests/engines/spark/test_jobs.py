"""Jobs on Spark: every feature of the local engine, and nothing but the release on the driver."""

import logging
import os
import signal
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from leaks import SECRET, told
from spark_sessions import EXCHANGE, SPARK_3, needs_exchange, on_spark, session, small_parts

import dpsu
from dpsu.engines.spark import telling
from dpsu.engines.spark.frames import map_rows
from dpsu.engines.spark.jobs import BLOCKS_AT_ONCE, LIMIT
from dpsu.engines.spark.session import (
    BATCH_BYTES,
    BATCH_ROWS,
    MOST_BYTES,
    batches_of_rows,
    rows_of_batch,
    set_python,
    setting,
)
from dpsu.engines.spark.whole import BLOCK, packed, unpacked
from dpsu.errors import InvalidArgument, NullValues, SourceError
from dpsu.testing import seeded

pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::FutureWarning", "ignore::DeprecationWarning"
)

PRIVACY = {"epsilon": 3.0, "delta": 1e-5}
COLUMNS = {"user": "user", "item": "item"}


def baskets() -> pl.DataFrame:
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"user": rng.integers(0, 2000, 24_000), "item": rng.zipf(1.3, 24_000) % 3000})
    spent = pl.Series("spent", rng.integers(1, 9, 24_000))
    return frame.select("user", item=pl.format("word{}", "item")).with_columns(spent)


def test_a_series_is_refused_and_takes_the_rows_of_the_frame(tmp_path: Path) -> None:
    frame = on_spark(baskets())
    series = dpsu.Series.create(tmp_path / "w.series", periods=2, **PRIVACY)
    with pytest.raises(InvalidArgument, match="toArrow"):
        series.release(frame, **COLUMNS)
    rows = frame.select("user", "item")
    assert series.release(rows.toPandas() if SPARK_3 else rows.toArrow(), **COLUMNS).items
    assert series.done == [1]


def test_a_limit_of_batches_is_lifted_for_a_while_unless_the_session_has_its_own() -> None:
    conf = session().conf
    with batches_of_rows(session()):
        assert conf.get(BATCH_BYTES, None) == MOST_BYTES
    assert conf.get(BATCH_BYTES, None) is None
    conf.set(BATCH_BYTES, "1m")
    try:
        with batches_of_rows(session()):
            assert conf.get(BATCH_BYTES, None) == "1m"
        assert conf.get(BATCH_BYTES, None) == "1m"
    finally:
        conf.unset(BATCH_BYTES)


@pytest.mark.parametrize("rows", ["0", "-1", str(2**31 - 1)])
def test_a_limit_stays_where_the_rows_of_a_batch_have_none_that_is_small(rows: str) -> None:
    conf = session().conf
    conf.set(BATCH_ROWS, rows)
    try:
        with batches_of_rows(session()):
            assert conf.get(BATCH_BYTES, None) is None
        source = baskets()
        with seeded(4):
            wanted = released(source)
        with seeded(4):
            assert released(on_spark(source), spark_mode="task").items == wanted.items
    finally:
        conf.unset(BATCH_ROWS)


def test_one_task_gets_few_blocks_of_rows_in_a_batch() -> None:
    """Otherwise it would wait for all rows before it reads the first, and Arrow holds no more than 2 GB of them."""

    def blocks(batches: Any) -> Any:
        for batch in batches:
            yield pa.record_batch({"found": pa.array([len(batch.column(0).drop_null())])})

    frame = on_spark(baskets().select("user")).repartition(11)
    rows = rows_of_batch(session())
    pack = partial(packed, nulls=rows // BLOCKS_AT_ONCE)
    restore_python = set_python(session())
    try:
        with batches_of_rows(session()):
            sent = map_rows(frame, pack, BLOCK).repartition(1)
            found = [row.found for row in sent.mapInArrow(blocks, "found long").collect()]
        returned = sent.mapInArrow(unpacked, frame.schema).collect()
    finally:
        restore_python()
    assert sum(found) == 11
    assert max(found) <= BLOCKS_AT_ONCE
    assert sorted(row.user for row in returned) == sorted(baskets()["user"])


def texts() -> pl.DataFrame:
    rng = np.random.default_rng(2)
    lines = [" ".join(f"w{n}" for n in rng.zipf(1.5, 12) % 60) for _ in range(1500)]
    return pl.DataFrame({"user": np.arange(1500) % 700, "text": lines})


def released(source: Any, **options: Any) -> dpsu.Release:
    """In 8 parts, as policies and `auto` have on Spark unless the caller says otherwise."""
    return dpsu.release(source, **COLUMNS, **PRIVACY, **{"algorithm": dpsu.Auto(parts=8), **options})


def levels(source: Any, **how: Any) -> dpsu.Release:
    options = {"longest": 2, "counts": True, **PRIVACY, **how}
    return dpsu.ngrams(source, user="user", text="text", **options)


def listed_levels(source: Any, **how: Any) -> dpsu.Release:
    """With fewer items than users have: what is not sampled once never counts."""
    return levels(source, false_share=0.4, counts=False, max_items=2, **how)


def levels_of_dpne(source: Any, **how: Any) -> dpsu.Release:
    return levels(source, method="dpne", longest=3, **how)


def tuned(source: Any, **how: Any) -> dpsu.Release:
    settings = [{"max_items": 5}, {"algorithm": dpsu.PolicyGaussian(parts=8), "max_items": 20}]
    found = dpsu.tune(source, **COLUMNS, **PRIVACY, settings=settings, **how)
    assert found.setting in settings
    return found.release


def candidates_alone(source: Any, **how: Any) -> dpsu.Release:
    listed = [f"word{n}" for n in range(150)]
    return released(source, candidates=listed, false_share=0.4, discover=False, max_items=2, **how)


LISTED = [f"word{n}" for n in range(50)] + [f"none{n}" for n in range(200)]

FEATURES: dict[str, tuple[Callable[[], pl.DataFrame], Callable[..., dpsu.Release]]] = {
    "sums": (baskets, lambda source, **how: released(source, sums={"spent": (0, 8)}, others=True, **how)),
    "public items": (
        baskets,
        lambda source, **how: released(source, public_items=["word1", "none"], counts=True, **how),
    ),
    "exclude": (baskets, lambda source, **how: released(source, exclude=["word1"], **how)),
    "candidates": (
        baskets,
        lambda source, **how: released(source, candidates=LISTED, false_share=0.4, **how),
    ),
    "candidates alone": (baskets, candidates_alone),
    "levels": (texts, levels),
    "listed levels": (texts, listed_levels),
    "levels of dpne": (texts, levels_of_dpne),
    "tune": (baskets, tuned),
}


IN_EXCHANGE: dict[str, dict[str, Any]] = {
    "sums": {"algorithm": dpsu.FocusedGaussian(rounds=2)},
    "exclude": {"algorithm": dpsu.FocusedGaussian(rounds=2)},
    "candidates": {"algorithm": dpsu.FocusedGaussian(rounds=2)},
    "candidates alone": {"algorithm": dpsu.FocusedGaussian(rounds=4)},
}
"""A round is a Spark job there; one feature of a single release is tested with `auto`."""


@pytest.mark.parametrize("mode", ["task", "barrier", EXCHANGE])
@pytest.mark.parametrize("feature", FEATURES)
def test_every_feature_gives_what_this_machine_does_in_every_mode(feature: str, mode: str) -> None:
    data, release = FEATURES[feature]
    how = IN_EXCHANGE.get(feature, {}) if mode == "exchange" else {}
    with seeded(5):
        local = release(data(), **how)
    source, kept = on_spark(data()), session()._jsc.getPersistentRDDs
    before = set(kept())
    with seeded(5):
        spark = release(source, spark_mode=mode, **how)
    assert len(set(kept()) - before) <= 1  # the release itself
    assert len(local) > 10
    assert spark.head(5).equals(local.head(5))
    assert spark.to_polars().equals(local.to_polars())
    assert spark.to_spark().count() == len(local)
    assert (spark.users, spark.others) == (local.users, local.others)
    hidden = {"exclude_salt", "lists"}
    mine, theirs = (vars(each.statement) for each in (spark, local))
    assert {name: mine[name] for name in mine if name not in hidden} == {
        name: theirs[name] for name in theirs if name not in hidden
    }


@needs_exchange
def test_users_without_items_leave_parts_without_items(monkeypatch: pytest.MonkeyPatch) -> None:
    """Almost all texts have no words, and two items come from one part."""
    small_parts(monkeypatch, rows=5, text=100)
    frame = pl.DataFrame({"user": range(40), "text": ["!"] * 39 + ["hello world"]})
    how: dict[str, Any] = {"algorithm": dpsu.FocusedGaussian(rounds=1), "spark_mode": "exchange"}
    with pytest.warns(dpsu.EmptyRelease):
        release = dpsu.release(on_spark(frame), user="user", text="text", **PRIVACY, **how)
    assert release.items == []


@needs_exchange
def test_progress_tells_rounds_and_any_number_of_partitions_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some platforms set the number of partitions to "auto"."""
    frame, stages = baskets().select("user", "item"), []
    monkeypatch.setattr("dpsu.engines.spark.engine.setting", lambda *_: "auto")
    how: dict[str, Any] = {"algorithm": dpsu.FocusedGaussian(rounds=2)}
    with seeded(5):
        local = released(frame, **how)
    with seeded(5):
        spark = released(on_spark(frame), **how, spark_mode="exchange", progress=stages.append)
    assert spark.items == local.items
    assert [stage for stage in stages if stage.startswith("round")] == ["round 1 of 2", "round 2 of 2"]


@pytest.mark.parametrize("mode", ["task", "barrier"])
def test_workers_tell_the_driver_their_rounds(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """If they cannot reach it, or its address cannot be read by Arrow Flight, nothing else changes."""
    frame, stages = baskets().select("user", "item"), []
    how: dict[str, Any] = {"algorithm": dpsu.FocusedGaussian(rounds=3), "spark_mode": mode}

    def run(**more: Any) -> list[Any]:
        with seeded(5):
            return released(on_spark(frame), **how, **more).items

    shown = run(progress=stages.append)
    assert stages[0] == "reading"
    rounds = [f"round {number} of 3" for number in (1, 2, 3)]
    assert stages[2:] == ["weighing and deciding", *rounds, "decoding"]

    nowhere = {"spark.driver.bindAddress": "127.0.0.1"}
    monkeypatch.setattr(
        telling,
        "setting",
        lambda session, name, default: nowhere.get(name) or setting(session, name, default),
    )
    for address in ("127.0.0.2", "::1"):
        heard: list[str] = []
        nowhere["spark.driver.host"] = address
        assert run(progress=heard.append) == shown
        assert heard == stages[:2]


def test_a_worker_tells_levels() -> None:
    stages: list[str] = []
    how: dict[str, Any] = {"user": "user", "text": "text", "longest": 2, **PRIVACY}
    dpsu.ngrams(on_spark(texts()), **how, progress=stages.append)
    assert stages[2:] == ["level 1 of 2", "level 2 of 2"]


def test_nobody_listens_without_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    servers: list[Any] = []
    monkeypatch.setattr(telling, "_server", lambda *asked: servers.append(asked))
    for progress in (None, False, print):
        released(on_spark(baskets()), algorithm="weighted-gaussian", spark_mode="task", progress=progress)
    assert [tell for _, tell in servers] == [print]


def test_an_error_of_a_peer_is_told_and_quotes_no_data() -> None:
    def raises(text: str) -> list[str]:
        raise ValueError(text)

    source = on_spark(texts().with_columns(text=pl.lit(SECRET)))
    with pytest.raises(SourceError, match=r"tokenizer.*ValueError") as caught:
        dpsu.release(source, user="user", text="text", tokenizer=raises, spark_mode="barrier", **PRIVACY)
    assert SECRET not in told(caught.value)


def test_progress_does_not_tell_whether_there_are_rows() -> None:
    frame = pl.DataFrame({"user": [1], "item": ["word"]})
    told_of: list[list[str]] = [[], []]
    for rows, stages in enumerate(told_of):
        with pytest.warns(dpsu.EmptyRelease):
            released(
                on_spark(frame.head(rows)),
                algorithm=dpsu.FocusedGaussian(rounds=2),
                spark_mode="task",
                progress=stages.append,
            )
    assert told_of[0] == told_of[1]
    assert "round 2 of 2" in told_of[0]


@pytest.mark.parametrize("rows", [0, 1])
def test_peers_without_rows(rows: int) -> None:
    """All rows belong to one user, or there are none."""
    frame = pl.DataFrame({"user": [1] * 30, "item": [f"word{n}" for n in range(30)]}).head(30 * rows)
    with pytest.warns(dpsu.EmptyRelease):
        assert released(on_spark(frame), spark_mode="barrier").items == []


@needs_exchange
def test_without_room_for_peers_the_exchange_is_taken_or_the_reason_is_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    source = on_spark(baskets().select("user", "item"))
    settings = {"spark.dynamicAllocation.enabled": "true", LIMIT: "20000"}
    for module in ("barrier", "session"):
        monkeypatch.setattr(
            f"dpsu.engines.spark.{module}.setting", lambda _, name, default: settings.get(name, default)
        )
    with pytest.raises(InvalidArgument, match="dynamicAllocation"):
        released(source, spark_mode="barrier")
    with caplog.at_level(logging.INFO, "dpsu.spark"):
        released(source, algorithm="weighted-gaussian")
    assert "dynamicAllocation" in caplog.text
    assert "exchange" in caplog.text
    settings[LIMIT] = "many"
    with pytest.raises(InvalidArgument, match=LIMIT):
        released(source)


def test_only_released_items_come_to_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the driver gets is searched for items of one user; a released item must be found."""
    alone = pl.DataFrame({"user": np.arange(500), "item": [f"secret{n}" for n in range(500)]})
    source = on_spark(pl.concat([baskets().select("user", "item"), alone]))
    frame, arrived = type(source), []
    collect = frame.collect

    def watched(table: Any) -> Any:
        arrived.append(collect(table))
        return arrived[-1]

    monkeypatch.setattr(frame, "collect", watched)
    release = released(source, spark_mode="task")
    everything = repr(arrived)
    assert release.items[0] in everything
    assert "secret" not in everything


WAYS = [("1000000", "task"), ("20000", "barrier"), *([] if SPARK_3 else [("100", "exchange")])]
"""The way for these baskets by the number of rows that a task may have."""


def test_rows_decide_the_way_and_the_output_does_not_show_it(caplog: pytest.LogCaptureFixture) -> None:
    source, releases = on_spark(baskets().select("user", "item")), []
    try:
        with caplog.at_level(logging.INFO, "dpsu.spark"):
            for limit, way in WAYS:
                session().conf.set(LIMIT, limit)
                caplog.clear()
                with seeded(5):
                    releases.append(released(source, algorithm=dpsu.FocusedGaussian(rounds=2)))
                assert way in caplog.text
    finally:
        session().conf.unset(LIMIT)
    few, *more = releases
    for many in more:
        assert few.items == many.items
        assert few.statement == many.statement
        assert few.to_spark().schema.names == many.to_spark().schema.names
        assert few.to_spark().rdd.glom().collect() == many.to_spark().rdd.glom().collect()


def test_a_way_that_cannot_be_taken_is_refused() -> None:
    source = on_spark(baskets().select("user", "item"))
    with pytest.raises(InvalidArgument, match="spark_mode"):
        released(source, spark_mode="driver")
    with pytest.raises(InvalidArgument, match="spark_mode"):
        released(baskets(), spark_mode="task")


def on_version(version: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Baskets on a session that says it has this version."""
    source = on_spark(baskets().select("user", "item"))
    monkeypatch.setattr(type(source.sparkSession), "version", property(lambda _: version))
    return source


def test_an_older_spark_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    source = on_version("3.4.4", monkeypatch)
    with pytest.raises(InvalidArgument, match=r"3\.4\.4"):
        released(source)


def test_spark_3_5_has_no_exchange(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is refused before anything is spent, and never chosen: neither for many rows nor without room for peers."""
    source = on_version("3.5.6", monkeypatch)
    ledger = dpsu.Ledger.create(tmp_path / "ledger.jsonl", epsilon=5.0, delta=1e-3)
    before = (tmp_path / "ledger.jsonl").read_bytes()
    with pytest.raises(InvalidArgument, match=r"3\.5\.6.*'barrier'"):
        released(source, spark_mode="exchange", ledger=ledger)
    try:
        with caplog.at_level(logging.INFO, "dpsu.spark"):
            for limit, obstacle in (("100", LIMIT), ("20000", "dynamicAllocation")):
                session().conf.set(LIMIT, limit)
                with pytest.raises(InvalidArgument, match=rf"{LIMIT}.*{obstacle}"):
                    released(source, ledger=ledger)
                monkeypatch.setattr(
                    "dpsu.engines.spark.barrier.setting",
                    lambda _, name, default: {"spark.dynamicAllocation.enabled": "true"}.get(name, default),
                )
    finally:
        session().conf.unset(LIMIT)
    assert "exchange" not in caplog.text
    assert (tmp_path / "ledger.jsonl").read_bytes() == before


@pytest.mark.parametrize("mode", ["task", "barrier", EXCHANGE])
def test_columns_may_have_any_names(mode: str) -> None:
    """Spark reads a dot as that of a field, and a backtick as a quotation mark."""
    frame = baskets().select(pl.col("user").alias("the.user"), pl.col("item").alias("the `item`"))
    how: dict[str, Any] = {
        "user": "the.user",
        "item": "the `item`",
        "algorithm": "weighted-gaussian",
        **PRIVACY,
    }
    with seeded(5):
        local = dpsu.release(frame, **how)
    with seeded(5):
        spark = dpsu.release(on_spark(frame), **how, spark_mode=mode)
    assert spark.to_polars().equals(local.to_polars())
    assert spark.to_spark().columns == ["the `item`"]


@pytest.mark.parametrize("mode", ["task", "barrier", EXCHANGE])
def test_items_keep_their_types(mode: str) -> None:
    """Times with a zone come out in UTC, whatever the zone of the session."""
    day = pl.datetime(2026, 1, 1, time_unit="us") + pl.duration(hours=pl.col("user") % 3)
    frame = pl.DataFrame({"user": np.arange(2000)}).with_columns(
        day.alias("there"),
        day.dt.replace_time_zone("UTC").alias("then"),
        day.dt.date().alias("on"),
        (pl.col("user") % 2).cast(pl.Decimal(10, 2)).alias("price"),
        (pl.col("user") % 3 == 1).alias("new"),
    )
    columns = {"user": "user", "item": frame.columns[1:]}
    how: dict[str, Any] = {**columns, **PRIVACY, "algorithm": "weighted-gaussian", "check_user": False}
    session().conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        with seeded(5):
            local = dpsu.release(frame, **how)
        with seeded(5):
            spark = dpsu.release(on_spark(frame), **how, spark_mode=mode)
        assert len(local) == 6
        assert spark.to_polars().equals(local.to_polars())
        assert spark.to_polars().schema == local.to_polars().schema
        assert spark.to_spark().dtypes == on_spark(frame).drop("user").dtypes
        assert {*spark.to_spark().collect()} == {*on_spark(frame).drop("user").collect()}
    finally:
        session().conf.unset("spark.sql.session.timeZone")


@pytest.mark.parametrize("mode", ["task", "barrier", EXCHANGE])
@pytest.mark.parametrize("listed", ["public_items", "candidates"])
def test_listed_times_are_those_of_the_data(mode: str, listed: str) -> None:
    """In any zone of the session, held or not, with counts of them."""
    times = [datetime(2026, 1, day, tzinfo=UTC) for day in range(1, 6)]
    frame = pl.DataFrame({"user": np.arange(3000), "item": [times[user % 3] for user in range(3000)]})
    how: dict[str, Any] = {**COLUMNS, **PRIVACY, "algorithm": dpsu.FocusedGaussian(rounds=2), "counts": True}
    how |= {listed: times, **({"false_share": 0.4} if listed == "candidates" else {})}
    session().conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        with seeded(5):
            local = dpsu.release(frame, **how, check_user=False)
        with seeded(5):
            spark = dpsu.release(on_spark(frame), **how, check_user=False, spark_mode=mode)
        assert set(times[:3]) <= set(local.items)
        assert spark.to_polars().equals(local.to_polars())
        assert spark.to_polars().schema == local.to_polars().schema
    finally:
        session().conf.unset("spark.sql.session.timeZone")


def test_nulls_are_refused_before_anything_is_spent(tmp_path: Path) -> None:
    source = on_spark(pl.DataFrame({"user": [1, 2], "item": ["a", None]}))
    ledger = dpsu.Ledger.create(tmp_path / "ledger.jsonl", epsilon=5.0, delta=1e-3)
    before = (tmp_path / "ledger.jsonl").read_bytes()
    with pytest.raises(NullValues, match="item"):
        released(source, ledger=ledger)
    assert (tmp_path / "ledger.jsonl").read_bytes() == before


def test_a_killed_task_is_run_again_and_gives_the_same_release(tmp_path: Path) -> None:
    marker, driver = tmp_path / "killed", os.getpid()

    def kill_once(text: str) -> list[str]:
        if os.getpid() != driver and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return text.split()

    found = []
    for source in (texts(), on_spark(texts())):
        with seeded(5):
            release = dpsu.release(source, user="user", text="text", tokenizer=kill_once, **PRIVACY)
        found.append(release.items)
    assert marker.exists()
    assert found[0] == found[1]
    assert len(found[0]) > 10


@pytest.mark.parametrize("release", [released, levels, listed_levels, tuned])
def test_a_second_release_has_a_key_of_its_own_and_is_that_of_this_machine(
    release: Callable[..., dpsu.Release],
) -> None:
    data = texts() if release in (levels, listed_levels) else baskets().select("user", "item")
    found = []
    for source in (data, on_spark(data)):
        with seeded(5):
            found.append([release(source).to_polars() for _ in range(2)])
    (first, second), on_cluster = found
    assert not first.equals(second)
    assert on_cluster[0].equals(first)
    assert on_cluster[1].equals(second)


def test_tables_folders_and_pandas_frames_are_sources(tmp_path: Path) -> None:
    frame = baskets().select("user", "item")
    with seeded(5):
        wanted = released(frame).items
    source = on_spark(frame)
    source.createOrReplaceTempView("dpsu_baskets")
    source.write.parquet(str(tmp_path / "folder" / "month=1"))
    # pandas-on-Spark 3.5 cannot be imported with NumPy 2.
    pandas = [] if SPARK_3 else [source.pandas_api()]
    for given in ("dpsu_baskets", str(tmp_path / "folder"), tmp_path / "folder", *pandas):
        with seeded(5):
            assert released(given, engine="spark").items == wanted
    session().catalog.dropTempView("dpsu_baskets")
    for wrong, match in (("no_such.table", "table"), (pl.DataFrame(), "createDataFrame")):
        with pytest.raises(InvalidArgument, match=match):
            released(wrong, engine="spark")


def test_one_release_can_be_found_and_cancelled(caplog: pytest.LogCaptureFixture) -> None:
    source = on_spark(baskets().select("user", "item"))
    tracker, groups = session().sparkContext.statusTracker(), []
    for _ in range(2):
        with caplog.at_level(logging.INFO, "dpsu.spark"):
            released(source)
        groups.append(caplog.text.split()[-1])
        assert tracker.getJobIdsForGroup(groups[-1])
    assert groups[0] != groups[1]
    assert not tracker.getJobIdsForGroup("dpsu")


def test_a_cancelled_release_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    marker, driver = tmp_path / "begun", os.getpid()

    def slow(text: str) -> list[str]:
        if os.getpid() != driver:
            marker.touch()
            time.sleep(0.5)
        return text.split()

    def cancel() -> None:
        deadline = time.monotonic() + 300
        while not marker.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        session().sparkContext.cancelJobGroup(caplog.text.split()[-1])

    source = on_spark(texts())
    watcher = threading.Thread(target=cancel)
    with caplog.at_level(logging.INFO, "dpsu.spark"):
        watcher.start()
        with pytest.raises(SourceError, match="cancelled"):
            dpsu.release(source, user="user", text="text", tokenizer=slow, **PRIVACY)
        watcher.join()


def test_a_release_becomes_a_table(tmp_path: Path) -> None:
    release = released(on_spark(baskets().select("user", "item")))
    release.write.option("path", str(tmp_path / "table")).saveAsTable("dpsu_vocabulary")
    try:
        assert sorted(row.item for row in session().table("dpsu_vocabulary").collect()) == release.items
    finally:
        session().sql("DROP TABLE dpsu_vocabulary")
    assert f"{len(release):,}" in release.report().html


def test_a_ledger_on_a_driver_that_goes_away_is_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = on_spark(baskets().select("user", "item"))
    settings = {"spark.submit.deployMode": "cluster"}
    monkeypatch.setattr(
        "dpsu.engines.spark.jobs.setting", lambda _, name, default: settings.get(name, default)
    )
    ledger = dpsu.Ledger.create(tmp_path / "ledger.db", epsilon=5.0, delta=1e-3)
    with pytest.warns(dpsu.errors.CuratorNote, match="driver"):
        released(source, ledger=ledger)
