"""Releases on Spark: the same sets as on this machine, whatever happens to the workers, and nothing in the logs."""

import base64
import gc
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from leaks import SECRET, told
from spark_sessions import EXCHANGE, needs_exchange, on_spark, require_spark, session, small_parts

import dpsu
from dpsu.algorithms.request import Request
from dpsu.engines.choose import engine_for
from dpsu.engines.spark.keeping import SCRATCH
from dpsu.engines.spark.letters import MANY_OBJECTS, even_places, in_task
from dpsu.engines.spark.session import drop_checkpoint
from dpsu.errors import ColumnNotFound, SourceError
from dpsu.randomness.stream import open_stream
from dpsu.sources.source import Source
from dpsu.testing import seeded

pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::FutureWarning", "ignore::DeprecationWarning"
)

ALGORITHMS = (
    dpsu.FocusedGaussian(rounds=4),
    dpsu.CountGaussian(),
    dpsu.WeightedLaplace(),
    dpsu.DpSips(),
    dpsu.Mad(),
    dpsu.Mad2r(),
    dpsu.PolicyGaussian(parts=8),
    dpsu.PolicyLaplace(parts=3),
    dpsu.OrderedLaplace(parts=3, order=[f"word{n}" for n in range(40, 0, -1)]),
)


LOG_AT_INFO = """
rootLogger.level = info
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {file}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %p %c %m%n%ex
"""


def words(users: int = 2000) -> pl.DataFrame:
    rng = np.random.default_rng(1)
    frame = pl.DataFrame(
        {"user": rng.integers(0, users, 12 * users), "item": rng.zipf(1.3, 12 * users) % 3000}
    )
    return frame.select("user", item=pl.format("word{}", "item"))


def both(frame: pl.DataFrame, mode: str | None = None, **options: Any) -> tuple[dpsu.Release, dpsu.Release]:
    """The same seeded release on this machine and on Spark."""
    with seeded(5):
        local = dpsu.release(frame, epsilon=3.0, delta=1e-5, **options)
    with seeded(5):
        return local, dpsu.release(on_spark(frame), epsilon=3.0, delta=1e-5, spark_mode=mode, **options)


IN_TASKS = (dpsu.FocusedGaussian(rounds=4), dpsu.PolicyLaplace(parts=3))
"""What tasks run is the local engine, or peers (tests/engines/test_peers.py), with every algorithm."""

RUNS = [
    *[pytest.param("exchange", algorithm, marks=needs_exchange) for algorithm in ALGORITHMS],
    *[("task", algorithm) for algorithm in IN_TASKS],
    *[("barrier", algorithm) for algorithm in (*IN_TASKS, dpsu.Auto(parts=2), dpsu.Mad2r())],
]


@pytest.mark.parametrize(("mode", "algorithm"), RUNS, ids=lambda run: getattr(run, "name", run))
def test_spark_releases_what_this_machine_does(algorithm: str, mode: str) -> None:
    local, spark = both(words(), mode, user="user", item="item", max_items=8, algorithm=algorithm)
    assert spark.items == local.items
    assert len(local) > 20
    assert spark.statement == local.statement


@needs_exchange
def test_users_without_any_word_are_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Alone in a part of an exchange they have no items there, and no letters come to it."""
    small_parts(monkeypatch, rows=1, text=1)
    frame = pl.DataFrame({"user": range(9), "body": ["..."] * 8 + ["hello"]})
    with pytest.warns(dpsu.EmptyRelease):
        local, spark = both(frame, "exchange", user="user", text="body", algorithm="weighted-gaussian")
    assert spark.items == local.items == []


def corpus_of(name: str) -> pl.DataFrame:
    """Part of a corpus that comes with the package; Spark has no unsigned numbers."""
    if name == "arxiv_titles_small":
        frame = dpsu.datasets.load(name).filter(pl.col("author") % 4 == 0)
    else:
        frame = dpsu.datasets.reddit_like(users=5_000)
    return frame.with_columns(pl.col(pl.UInt32).cast(pl.Int64))


@pytest.mark.parametrize("mode", ["barrier", EXCHANGE])
@pytest.mark.parametrize("name", ["reddit_like", "arxiv_titles_small"])
def test_corpora_give_the_same_release(name: str, mode: str) -> None:
    frame = corpus_of(name)
    columns = {"text": "text", "ngrams": (1, 2)} if "text" in frame.columns else {"item": "item"}
    local, spark = both(
        frame, mode, user=frame.columns[0], **columns, max_items=50, algorithm=dpsu.FocusedGaussian(rounds=3)
    )
    assert spark.items == local.items
    assert len(local) > 50


@pytest.mark.parametrize("mode", ["barrier", EXCHANGE])
def test_a_release_stays_on_spark_until_asked(
    mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    local, spark = both(words(), mode, user="user", item="item", algorithm="weighted-gaussian")
    monkeypatch.setattr(
        type(spark.to_spark()), "collect", lambda frame: pytest.fail("items left the cluster")
    )
    assert len(spark) == len(local)
    spark.write.parquet(str(tmp_path / "items"))
    assert pl.read_parquet(tmp_path / "items" / "*.parquet")["item"].sort().to_list() == local.items
    assert spark.to_spark().columns == ["item"]


@pytest.mark.parametrize("mode", ["barrier", EXCHANGE])
def test_tables_are_dropped_at_the_end(mode: str) -> None:
    source = on_spark(words())
    kept = session()._jsc.getPersistentRDDs
    before = set(kept())
    columns = {"user": "user", "item": "item", "spark_mode": mode}
    release = dpsu.release(source, **columns, epsilon=3.0, delta=1e-5, algorithm="dp-sips")
    assert len(set(kept()) - before) == 1
    assert len(release) > 20
    if mode == "exchange":
        drop_checkpoint(release.to_spark())
        assert set(kept()) <= before


@needs_exchange
def test_scratch_tables_do_where_there_is_no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a serverless platform; all of them are dropped, also after a failure."""
    source = on_spark(words())
    for name in ("persist", "cache", "checkpoint", "localCheckpoint"):
        monkeypatch.setattr(type(source), name, lambda *_: pytest.fail("there is no cache"))
    session().sql(f"CREATE DATABASE dpsu_scratch LOCATION '{tmp_path}'")
    session().conf.set(SCRATCH, "dpsu_scratch")

    def fail(engine: Any, items: Any) -> Any:
        assert session().catalog.listTables("dpsu_scratch")
        return engine.update(items, lambda columns: columns["no such column"])

    try:
        with seeded(5):
            release = dpsu.release(
                source, user="user", item="item", epsilon=3.0, delta=1e-5, algorithm="weighted-gaussian",
                spark_mode="exchange",
            )  # fmt: skip
        assert release.items == weighted_here()
        assert not session().catalog.listTables("dpsu_scratch")
        with pytest.raises(SourceError):
            weighted_on_spark(fail)
        assert not session().catalog.listTables("dpsu_scratch")
        assert not [left for left in tmp_path.rglob("*") if left.is_file()]
    finally:
        session().conf.unset(SCRATCH)
        session().sql("DROP DATABASE dpsu_scratch CASCADE")


@pytest.mark.parametrize("sign", [1, -1])
def test_places_fill_all_partitions_evenly(sign: int) -> None:
    from pyspark.sql.functions import spark_partition_id

    on_spark(words(10))
    for number, partitions in ((8, 8), (40, 8), (3, 8), (1, 1)):
        places = even_places(number, partitions, sign)
        assert places == sorted(places, key=abs)
        frame = session().createDataFrame([(place,) for place in places], "place long")
        spread = frame.repartition(partitions, "place").groupBy(spark_partition_id()).count().collect()
        assert sorted(row["count"] for row in spread) == sorted(
            len(places[first::partitions]) for first in range(min(number, partitions))
        )


def test_the_garbage_collection_after_a_task_searches_no_modules() -> None:
    everything = len(gc.get_objects())
    try:
        assert in_task(lambda: len(gc.get_objects()))() < min(everything, MANY_OBJECTS)
    finally:
        gc.unfreeze()


def test_errors_quote_no_data_on_the_driver_either(tmp_path: Path) -> None:
    def raises(text: str) -> list[str]:
        raise ValueError(text)

    texts = on_spark(pl.DataFrame({"user": ["ann"], "text": [SECRET]}))
    with pytest.raises(SourceError, match=r"tokenizer.*ValueError") as caught:
        dpsu.release(texts, user="user", text="text", tokenizer=raises, epsilon=1.0, delta=1e-6)
    assert SECRET not in told(caught.value)
    (tmp_path / "a.csv").write_text(f"{SECRET},tea\nbob,tea\n")
    with pytest.raises(ColumnNotFound) as headerless:
        dpsu.release(tmp_path / "a.csv", user="user", item="item", epsilon=1.0, delta=1e-6, engine="spark")
    assert SECRET not in told(headerless.value)


PRIVACY = {"epsilon": 1.0, "delta": 1e-6, "engine": "spark"}


def test_the_rows_of_json_lines_do_not_choose_the_type_of_items(tmp_path: Path) -> None:
    pairs = [{"user": user, "item": item} for user in range(2000) for item in (1, 2)]
    lines = [*map(json.dumps, pairs), '{"user": 7, "item": "x"}', '{"user": 7, "item": 1.5}']
    for name, part in (("one", lines[:-2]), ("other", lines)):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(part))
        release = dpsu.release(tmp_path / f"{name}.jsonl", user="user", item="item", **PRIVACY)
        assert {"1", "2"} <= {*release.items}


def test_csv_files_with_other_columns_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("user,item\nann,tea\n")
    (tmp_path / "b.csv").write_text("item,user\ntea,bob\n")
    with pytest.raises(SourceError):
        dpsu.release(tmp_path, user="user", item="item", **PRIVACY)


@needs_exchange
def test_tables_are_dropped_after_a_failure() -> None:
    def fail(engine: Any, items: Any) -> Any:
        assert set(kept()) - before
        return engine.update(items, lambda columns: columns["no such column"])

    on_spark(words())
    kept = session()._jsc.getPersistentRDDs
    before = set(kept())
    with pytest.raises(SourceError, match="KeyError"):
        weighted_on_spark(fail)
    # The table that failed to be made has no handle: it goes with the garbage.
    for _ in range(20):
        gc.collect()
        session()._jvm.System.gc()
        if set(kept()) <= before:
            return
        time.sleep(0.5)
    pytest.fail("tables are left after a failure")


def weighted_on_spark(meddle: Callable[[Any, Any], Any]) -> list[str]:
    """Weighted Gaussian verb by verb, with something done to the items before they are decoded."""
    with seeded(5):
        stream = open_stream()
    source = on_spark(words())
    mechanism = dpsu.WeightedGaussian().calibrate(Request(3.0, 1e-5))
    with engine_for(source) as engine:
        sets = engine.read(Source.of(source, user="user", item="item"), stream)
        items = meddle(engine, mechanism.select(engine, sets, stream))
        return sorted(row.item for row in engine.names(sets, items).collect())


def weighted_here() -> list[str]:
    with seeded(5):
        return dpsu.release(
            words(), user="user", item="item", epsilon=3.0, delta=1e-5, algorithm="weighted-gaussian"
        ).items


@needs_exchange
def test_a_killed_worker_changes_nothing(tmp_path: Path) -> None:
    marker = tmp_path / "killed"

    def kill_one(columns: Any) -> Any:
        try:
            marker.open("x").close()
        except FileExistsError:
            return {}
        os.kill(os.getpid(), signal.SIGKILL)
        return {}

    assert weighted_on_spark(lambda engine, items: engine.update(items, kill_one)) == weighted_here()
    assert marker.exists()


@needs_exchange
def test_evicted_tables_are_computed_again_to_the_same_bit() -> None:
    def evict(engine: Any, items: Any) -> Any:
        for table in engine._keeper._cached:
            table.unpersist(blocking=True)
        return items

    assert weighted_on_spark(evict) == weighted_here()


@pytest.mark.parametrize("mode", ["barrier", EXCHANGE])
def test_logs_show_neither_key_nor_items(tmp_path: Path, mode: str) -> None:
    """A run of its own with an event log and Spark's log at INFO; the control finds what must be there."""
    require_spark()
    marked = words().with_columns(pl.format("zq{}", "item").alias("item"))
    marked.write_parquet(tmp_path / "words.parquet")
    (tmp_path / "events").mkdir()
    (tmp_path / "log4j2.properties").write_text(LOG_AT_INFO.format(file=tmp_path / "events" / "spark.log"))
    script = f"""
import dpsu
from dpsu.testing import seeded
from pyspark.sql import SparkSession
spark = (
    SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.driver.memory", "1g")
    .config("spark.eventLog.enabled", "true").config("spark.eventLog.dir", {str(tmp_path / "events")!r})
    .config("spark.driver.extraJavaOptions", "-Dlog4j2.configurationFile={tmp_path / "log4j2.properties"}")
    .config("spark.eventLog.compress", "false").config("spark.sql.shuffle.partitions", "2").getOrCreate()
)
with seeded(5):
    release = dpsu.release(
        spark.read.parquet({str(tmp_path / "words.parquet")!r}), user="user", item="item", epsilon=3.0, delta=1e-5,
        algorithm=dpsu.FocusedGaussian(rounds=2), spark_mode={mode!r},
    )
assert len(release) > 20
spark.stop()
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    logs = run.stdout + run.stderr
    for file in (tmp_path / "events").rglob("*"):
        logs += file.read_bytes() if file.is_file() else b""
    with seeded(5):
        key = open_stream().key
    assert b"SparkListenerJobStart" in logs
    assert b"INFO org.apache.spark.scheduler.DAGScheduler" in logs
    assert b"words.parquet" in logs
    for secret in (key, key.hex().encode(), base64.b64encode(key)[:-2], repr(key)[2:-1].encode(), b"zqword"):
        assert secret not in logs
    assert ", ".join(str(byte) for byte in key).encode() not in logs


def test_the_command_runs_on_spark(tmp_path: Path) -> None:
    require_spark()
    words().write_parquet(tmp_path / "words.parquet")
    options = "--user user --item item --epsilon 3 --delta 1e-5 --algorithm weighted-gaussian --engine spark --quiet"
    command = [
        str(Path(sys.executable).parent / "dpsu"),
        "release",
        "words.parquet",
        *options.split(),
        "-o",
        "out.csv",
    ]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert len(pl.read_csv(tmp_path / "out.csv")) > 20


LOSE_EXECUTORS = """
import os, pathlib, signal, sys, time
import dpsu
import pyarrow as pa
from dpsu.algorithms.focused import FocusedGaussian, FocusedMechanism
from dpsu.errors import SourceError
from dpsu.engines.spark.engine import SparkEngine
from dpsu.testing import seeded
from pyspark.sql import SparkSession
spark = (
    SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.ui.enabled", "false")
    .config("spark.driver.memory", "1g").config("spark.sql.shuffle.partitions", "2").getOrCreate()
)
words, marker, driver = spark.read.parquet(sys.argv[1]), pathlib.Path(sys.argv[2]), os.getpid()

def executor(*_):
    stat = open(f"/proc/{os.getppid()}/stat").read()
    return int(stat.rpartition(")")[2].split()[1])

class Killing(FocusedMechanism):
    def rule(self, r):
        if r == 10 and os.getpid() != driver and not marker.exists():
            marker.touch()
            os.kill(executor(), signal.SIGKILL)
        return super().rule(r)

calibrate = FocusedGaussian.calibrate
FocusedGaussian.calibrate = lambda own, request: Killing(**vars(calibrate(own, request)))
with seeded(5):
    release = dpsu.release(
        words, user="user", item="item", epsilon=3.0, delta=1e-5, algorithm="focused-gaussian", spark_mode="barrier"
    )
release.save(sys.argv[3])
if spark.version < "4":  # no exchange
    spark.stop()
    sys.exit()

def names_after_a_loss(engine, sets, items, names=SparkEngine.names):
    pids = spark.range(1).mapInArrow(
        lambda batches: (pa.record_batch({"pid": pa.array([executor()])}) for _ in batches), "pid long"
    )
    os.kill(pids.first().pid, signal.SIGKILL)
    time.sleep(2)
    return names(engine, sets, items)

SparkEngine.names = names_after_a_loss
five_rounds = {"epsilon": 3.0, "delta": 1e-5, "algorithm": dpsu.FocusedGaussian(rounds=5), "spark_mode": "exchange"}
try:
    dpsu.release(words, user="user", item="item", **five_rounds)
except SourceError as error:
    print(error)
spark.sparkContext.setCheckpointDir(sys.argv[4])
with seeded(5):
    dpsu.release(words, user="user", item="item", **five_rounds).save(sys.argv[5])
spark.stop()
"""


@pytest.fixture(scope="module")
def losses(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A cluster that loses an executor in either way: its folder, and what it says."""
    require_spark()
    if not Path("/proc/self/stat").exists():
        pytest.skip("the executor's process is found in /proc")
    folder = tmp_path_factory.mktemp("losses")
    words().write_parquet(folder / "words.parquet")
    run = subprocess.run(
        [
            sys.executable,
            "-c",
            LOSE_EXECUTORS,
            *(
                str(folder / name)
                for name in ("words.parquet", "killed", "out.parquet", "kept", "kept.parquet")
            ),
        ],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
    )
    return folder, run.stdout


def test_an_executor_lost_in_round_10_of_a_barrier_stage_changes_nothing(losses: tuple[Path, str]) -> None:
    folder, _ = losses
    with seeded(5):
        columns = {"user": "user", "item": "item"}
        local = dpsu.release(words(), **columns, epsilon=3.0, delta=1e-5, algorithm="focused-gaussian")
    assert (folder / "killed").exists()
    assert pl.read_parquet(folder / "out.parquet")["item"].to_list() == local.items


@needs_exchange
def test_a_lost_executor_without_a_checkpoint_directory_stops_the_release(losses: tuple[Path, str]) -> None:
    """The items of the rounds before are gone, and no others take their place."""
    assert "setCheckpointDir" in losses[1]


@needs_exchange
def test_with_a_checkpoint_directory_a_lost_executor_changes_nothing(losses: tuple[Path, str]) -> None:
    five_rounds = {"epsilon": 3.0, "delta": 1e-5, "algorithm": dpsu.FocusedGaussian(rounds=5)}
    with seeded(5):
        local = dpsu.release(words(), user="user", item="item", **five_rounds)
    assert pl.read_parquet(losses[0] / "kept.parquet")["item"].to_list() == local.items


LOOK_INTO_THE_CHECKPOINTS = """
import os, sys
import dpsu
from dpsu.engines.spark.session import drop_checkpoint
from pyspark.sql import SparkSession
spark = (
    SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.driver.memory", "1g")
    .config("spark.sql.shuffle.partitions", "2").getOrCreate()
)
spark.sparkContext.setCheckpointDir(sys.argv[2])
release = dpsu.release(
    spark.read.parquet(sys.argv[1]), user="user", item="item", epsilon=3.0, delta=1e-5,
    algorithm=dpsu.FocusedGaussian(rounds=3), spark_mode="exchange",
)
for _ in range(2):
    print(sum(name.startswith("rdd-") for _, folders, _ in os.walk(sys.argv[2]) for name in folders))
    drop_checkpoint(release.to_spark())
spark.stop()
"""


@needs_exchange
def test_the_checkpoint_directory_keeps_the_release_alone(tmp_path: Path) -> None:
    """One table is left, that of the released items; the control deletes it and finds none."""
    require_spark()
    words().write_parquet(tmp_path / "words.parquet")
    run = subprocess.run(
        [
            sys.executable,
            "-c",
            LOOK_INTO_THE_CHECKPOINTS,
            str(tmp_path / "words.parquet"),
            str(tmp_path / "kept"),
        ],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
    )
    assert run.stdout.split() == ["1", "0"]
