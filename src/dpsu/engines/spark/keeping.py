"""Tables that Spark keeps between the rounds of the exchange engine, and how they are removed.

They are cached on the executors and checkpointed. Where a platform has neither, and through Connect, whose clients cannot
remove checkpoints, they are scratch tables in a schema of the caller's.
"""

import os
from typing import TYPE_CHECKING, Protocol

from dpsu.engines.spark.session import checkpoint, context_of, drop_checkpoint, named, setting, translated
from dpsu.errors import InvalidArgument

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCRATCH = "spark.dpsu.scratch"
"""Setting: the schema for scratch tables."""


class Keeper(Protocol):
    """Where tables are kept until they are dropped. All of them contain exact values."""

    def keep(self, table: "DataFrame") -> "DataFrame":
        """The table, computed now and read again many times."""

    def renew(self, table: "DataFrame") -> "DataFrame":
        """The table, computed now and without its plan."""

    def close(self) -> None:
        """Drop all tables."""


def keeper_for(session: "SparkSession") -> Keeper:
    """Scratch tables if the session has a schema for them, else the cache."""
    schema = setting(session, SCRATCH, "")
    return Scratch(session, schema) if schema else Cache()


def require_keeper(session: "SparkSession") -> None:
    """Refuse the exchange where its tables, which contain exact sums, could not be removed."""
    if context_of(session) is None and not setting(session, SCRATCH, ""):
        raise InvalidArgument(
            "spark_mode='exchange' keeps tables with exact sums between rounds, and a Connect client cannot remove them "
            f"from the executors: set {SCRATCH} to a schema for scratch tables that nobody else can read, or set "
            "spark.dpsu.peers for a barrier stage (docs/cluster.md)."
        )


class Cache:
    """Caches and checkpoints. If a cached table is lost, Spark computes exactly the same table again."""

    def __init__(self) -> None:
        self._cached: list[DataFrame] = []
        self._checkpoints: list[DataFrame] = []

    def keep(self, table: "DataFrame") -> "DataFrame":
        """Compute and cache the table: what it is computed from may be dropped before it is read."""
        self._cached.append(table.persist())
        with translated():
            table.count()
        return table

    def renew(self, table: "DataFrame") -> "DataFrame":
        """Checkpoint the table. Earlier ones stay: others may be computed from them."""
        self._checkpoints.append(checkpoint(table))
        return self._checkpoints[-1]

    def close(self) -> None:
        """Drop all tables."""
        for table in self._cached:
            table.unpersist()
        for table in self._checkpoints:
            drop_checkpoint(table)


class Scratch:
    """Tables in a schema."""

    def __init__(self, session: "SparkSession", schema: str) -> None:
        self._session, self._schema = session, schema
        self._names: list[str] = []

    def keep(self, table: "DataFrame") -> "DataFrame":
        """Write the table, and read it again."""
        name = f"{self._schema}.{named(f'dpsu_scratch_{os.urandom(8).hex()}')}"
        self._names.append(name)
        with translated():
            table.write.saveAsTable(name)
            return self._session.table(name)

    def renew(self, table: "DataFrame") -> "DataFrame":
        """The same: a table that was read has no plan."""
        return self.keep(table)

    def close(self) -> None:
        """Drop all tables."""
        while self._names:
            with translated():
                self._session.sql(f"DROP TABLE IF EXISTS {self._names.pop()}")
