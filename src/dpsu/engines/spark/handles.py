"""What the methods of the Spark engine pass on: tables of parts and of shards."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from dpsu.engines.contract import Step
from dpsu.engines.spark.letters import NAMES, SELF
from dpsu.engines.spark.parts import Cut
from dpsu.outcome.columns import LISTED

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Item(NamedTuple):
    """The columns of an item, as Spark and Arrow describe them."""

    spark: Any
    arrow: "pa.Schema"

    @classmethod
    def string(cls, column: str) -> "Item":
        """An item that is a string."""
        from pyspark.sql.types import StructType

        return cls(StructType().add(column, "string"), pa.schema([(column, pa.string())]))

    def with_listed(self) -> "Item":
        """The same with the column that says which items are candidates."""
        from pyspark.sql.types import BooleanType, StructField, StructType

        spark = StructType([*self.spark.fields, StructField(LISTED, BooleanType())])
        return Item(spark, self.arrow.append(pa.field(LISTED, pa.bool_())))


@dataclass(frozen=True, repr=False)
class Sets:
    """The parts of the users with all their rows, and the table with the names of their items, whose columns are `item`.

    `table` is the table of items if it has more columns than their digests. `listed` says that there are candidates.
    """

    parts: "DataFrame"
    names: "DataFrame"
    item: Item
    table: "Items | None" = None
    listed: bool = False


@dataclass(frozen=True, repr=False)
class Texts:
    """The texts of the users by part."""

    parts: "DataFrame"
    item: Item


@dataclass(frozen=True, repr=False)
class SparkRows:
    """Bounded sets: parts, and a sampling step that is applied whenever they are weighed.

    `sampled` says that the parts themselves are sampled, so that a further step only leaves closed items out.
    """

    parts: "DataFrame"
    cut: Cut | None = None
    sampled: bool = True


@dataclass(repr=False)
class Items:
    """The shards of the items, which may have to be computed: in `found` are those that parts have announced, in `table`
    the columns that were added to them, and letters with weights if those have to be added, of type `given`; then follow
    the `steps`.

    `rounds` is the number of weighings since a table was kept.
    """

    found: "DataFrame"
    table: "DataFrame | None" = None
    given: type[np.generic] | None = None
    steps: tuple[Step, ...] = ()
    rounds: int = 0


def names_of(table: "DataFrame") -> "DataFrame":
    """The names of the items of all parts."""
    return table.where(f"sender = {NAMES}")


def states_of(table: "DataFrame") -> "DataFrame":
    """The parts without the names of their items."""
    return table.where(f"sender = {SELF}")
