"""Spark sessions: finding one, the Python of its workers, and its errors."""

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from dpsu import errors
from dpsu.engines.choose import NO_SPARK
from dpsu.errors import DpsuError, InvalidArgument, SourceError
from dpsu.sources.discreet import raise_alone

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PROPERTIES = ("spark.job.description", "spark.jobGroup.id")
OURS = re.compile(r"dpsu\.errors\.(\w+): ([^\n]+)")

ADAPTIVE = "spark.sql.adaptive.enabled"
BATCH_ROWS, ROWS_OF_BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch", "10000"
MOST_ROWS = 100_000
"""A higher limit of rows does not keep batches small."""
BATCH_BYTES, MOST_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch", str(2**31 - 1)

REMEDIES = {
    r"SPARK_JOB_CANCELLED|OPERATION_CANCELED|Job \d+ cancelled": (
        "the Spark jobs of this release were cancelled; nothing was released"
    ),
    r"CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND|Checkpoint block rdd_\S+ not found": (
        "an executor was lost, and with it a table that this release needs; nothing was released. Pass "
        "spark_mode='barrier', where tasks start again, or set a checkpoint directory, for example with "
        "sparkContext.setCheckpointDir (docs/cluster.md)"
    ),
    r"ExecutorLostFailure|Lost executor": (
        "executors were lost several times, perhaps for lack of memory; nothing was released. Give them more "
        "spark.executor.memoryOverhead, or use more of them (docs/cluster.md)"
    ),
    r"OversizedAllocationException": (
        "a batch of rows has more than Arrow holds, 2 GB; nothing was released. Lower "
        "spark.sql.execution.arrow.maxRecordsPerBatch (docs/cluster.md)"
    ),
    r"flight\.PeerLost": (
        "tasks of the barrier stage lost each other several times; nothing was released. See whether executors are lost, "
        "and whether all of them reach each other on ephemeral ports, or pass spark_mode='exchange' (docs/cluster.md)"
    ),
    r"NOT_SUPPORTED_WITH_SERVERLESS|not supported on serverless": (
        "this platform has no cache and no checkpoints; set spark.dpsu.scratch to a schema for scratch tables that nobody "
        "else can read (docs/cluster.md)"
    ),
    r"BARRIER_STAGE|[Bb]arrier (execution mode|stage)": (
        "Spark could not run the barrier stage, perhaps for lack of free slots; nothing was released. Free executors, lower "
        "spark.dpsu.peers, or on Spark 4 pass spark_mode='exchange' (docs/cluster.md)"
    ),
}
"""What to do about failures of a cluster, by what Spark says."""


def session_for(source: Any) -> "SparkSession":
    """The session of a Spark frame; for tables and files, the active session or a new one."""
    if hasattr(source, "sparkSession"):
        return source.sparkSession
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise InvalidArgument(NO_SPARK) from None
    try:
        return SparkSession.builder.appName("dpsu").getOrCreate()
    except Exception as error:
        raise SourceError(
            f"no Spark session could be made ({type(error).__name__}); Spark 4 needs Java 17 or later, "
            "Spark 3.5 needs Java 8, 11 or 17: see docs/cluster.md"
        ) from None


def require_version(session: "SparkSession", mode: str | None) -> None:
    """Refuse Spark before 3.5, which has no barrier stages of `mapInArrow`, and the exchange before Spark 4."""
    if re.match(r"([12]|3\.[0-4])\.", session.version):
        raise InvalidArgument(
            f"the Spark engine needs Spark 3.5 or later, and this session has Spark {session.version}: use a newer cluster "
            "(docs/cluster.md), or the local engine with the rows as files or in an Arrow table."
        )
    if mode == "exchange" and is_spark_3(session):
        raise InvalidArgument(
            f"spark_mode='exchange' needs Spark 4, here and on the cluster, which has Spark {session.version}: pass "
            "spark_mode='task' or spark_mode='barrier' (docs/cluster.md)."
        )


def is_spark_3(session: "SparkSession") -> bool:
    """Whether the cluster, or this client of it, is Spark 3.5: it has neither `applyInArrow` nor `DataFrame.toArrow`."""
    import pyspark

    return any(version.startswith("3.") for version in (session.version, pyspark.__version__))


def context_of(session: "SparkSession") -> Any:
    """The Spark context; None through Connect, whose sessions have none."""
    try:
        return session.sparkContext
    except (AttributeError, NotImplementedError):
        return None


def named(column: str) -> str:
    """The name of a column as Spark reads it, including dots."""
    return "`" + column.replace("`", "``") + "`"


def setting(session: "SparkSession", name: str, default: str) -> str:
    """A setting of the session; some platforms let a session read its own settings only."""
    try:
        return session.conf.get(name, default) or default
    except Exception:
        return default


def whole_number(session: "SparkSession", name: str, default: int) -> int:
    """A setting that is a whole number."""
    value = setting(session, name, str(default))
    if not value.isdigit():
        raise InvalidArgument(f"the setting {name} must be a whole number, not {value!r}.")
    return int(value)


def task_slots(session: "SparkSession") -> tuple[int, int] | None:
    """How many tasks can run at once, and how many more than now; None where a platform hides it."""
    context = context_of(session)
    try:
        scala = context._jsc.sc()
        slots = scala.maxNumConcurrentTasks(scala.resourceProfileManager().defaultResourceProfile())
        running = sum(each.numRunningTasks() for each in scala.statusTracker().getExecutorInfos())
    except Exception:
        return None
    return slots, slots - running


def cores_of_executor(session: "SparkSession") -> int:
    """The cores that a task may use if its stage has no other one: those of its executor, which is all of local Spark."""
    found = task_slots(session) if _is_local(context_of(session)) else None
    said = [whole_number(session, name, 1) for name in ("spark.task.cpus", "spark.executor.cores")]
    return max(*said, found[0] if found else 1)


def _is_local(context: Any) -> bool:
    return context is not None and context.master.startswith("local")


def set_python(session: "SparkSession") -> Callable[[], None]:
    """Make the workers of this machine use this Python, unless the session sets one; returns how to undo it.

    On other machines the path may differ, and with Spark Connect the server decides: there the session must set it.
    """
    context = context_of(session)
    said = "PYSPARK_PYTHON" in os.environ or (context and context.getConf().contains("spark.pyspark.python"))
    if said or not _is_local(context):
        return lambda: None
    before, context.pythonExec = context.pythonExec, sys.executable

    def restore() -> None:
        context.pythonExec = before

    return restore


def checkpoint(table: "DataFrame") -> "DataFrame":
    """Compute the table now and drop its plan: in the session's checkpoint directory, or else on the executors."""
    context = context_of(table.sparkSession)
    folder = table.sparkSession.conf.get("spark.checkpoint.dir", None) or (
        context and context.getCheckpointDir()
    )
    with translated():
        return table.checkpoint() if folder else table.localCheckpoint()


def drop_checkpoint(table: "DataFrame") -> None:
    """Free a table on the executors, and delete its files in the checkpoint directory; a second call does nothing."""
    kept = table._jdf.queryExecution().logical().rdd()
    kept.unpersist(False)
    file = kept.getCheckpointFile()
    if file.isDefined():
        context = table.sparkSession.sparkContext
        path = context._jvm.org.apache.hadoop.fs.Path(file.get())
        path.getFileSystem(context._jsc.hadoopConfiguration()).delete(path, True)


def rows_of_batch(session: "SparkSession") -> int:
    """The most rows of an Arrow batch; 0 where they are not limited, or not to a small number."""
    rows = int(setting(session, BATCH_ROWS, ROWS_OF_BATCH))
    return rows if 0 < rows <= MOST_ROWS else 0


@contextmanager
def batches_of_rows(session: "SparkSession") -> Iterator[None]:
    """Limit the Arrow batches of this block by their rows alone, as Spark 4.0 does: for rows with short values.

    Later versions also limit their bytes, and count these after every row, which takes twice as long as writing it. A
    limit that the session sets stays, and so does any limit where rows are not limited to a small number.
    """
    stays = setting(session, BATCH_BYTES, "") or not rows_of_batch(session)
    with nullcontext() if stays else _set(session, BATCH_BYTES, MOST_BYTES):
        yield


def without_adapting(session: "SparkSession") -> AbstractContextManager[None]:
    """Plan the queries of this block once: to plan every exchange anew takes an eighth of a round, and finds nothing."""
    return _set(session, ADAPTIVE, "false")


@contextmanager
def _set(session: "SparkSession", name: str, value: str) -> Iterator[None]:
    """A setting for this block, where the platform lets a session set it."""
    try:
        before = session.conf.get(name, None)
        session.conf.set(name, value)
    except Exception:
        yield
        return
    try:
        yield
    finally:
        if before is None:
            session.conf.unset(name)
        else:
            session.conf.set(name, before)


@contextmanager
def grouped_jobs(session: "SparkSession", description: str, group: str) -> Iterator[None]:
    """Name the Spark jobs of this block, and give them the group of their release, so that it can be cancelled.

    A group that the caller has set stays. Connect has tags instead.
    """
    context = context_of(session)
    if context is None:
        session.addTag(group)
    else:
        before = {name: context.getLocalProperty(name) for name in PROPERTIES}
        context.setLocalProperty("spark.job.description", description)
        if before["spark.jobGroup.id"] is None:
            context.setLocalProperty("spark.jobGroup.id", group)
    try:
        yield
    finally:
        if context is None:
            session.removeTag(group)
        else:
            for name, value in before.items():
                context.setLocalProperty(name, value)


@contextmanager
def translated() -> Iterator[None]:
    """Turn Spark's errors into one line: errors of dpsu in workers are kept, all others are reduced to their type."""
    try:
        yield
    except DpsuError:
        raise
    except Exception as error:
        raise_alone(_translation(error))


def _translation(error: Exception) -> DpsuError:
    text = str(error)
    ours = OURS.search(text)
    if ours:
        kind: type[DpsuError] = getattr(errors, ours[1])
        return kind(ours[2])
    if "No module named 'dpsu'" in text:
        return SourceError(
            "the Spark workers have no dpsu: install it in their Python, spark.pyspark.python (docs/cluster.md)"
        )
    for pattern, remedy in REMEDIES.items():
        if re.search(pattern, text):
            return SourceError(remedy)
    condition = getattr(error, "getCondition", getattr(error, "getErrorClass", lambda: None))()
    return SourceError(
        f"Spark failed with {condition or type(error).__name__}; see its log, for the curator only"
    )
