"""The choice of the engine."""

from typing import Any, Literal, get_args

from dpsu.engines.contract import Engine
from dpsu.errors import InvalidArgument

EngineName = Literal["local", "spark"]
Mode = Literal["task", "barrier", "exchange"]
"""How a release runs on Spark (docs/cluster.md)."""

NO_SPARK = "the Spark engine needs PySpark: pip install 'dpsu[spark]'"
ENGINES = get_args(EngineName)
MODES = get_args(Mode)


def engine_for(source: Any, name: str | None = None, spark_mode: Mode | None = None) -> Engine:
    """The engine of this name; by default Spark for Spark frames and the local engine for everything else."""
    from dpsu.engines.local import LocalEngine
    from dpsu.engines.spark.tables import is_spark_frame

    if name not in (None, *ENGINES):
        raise InvalidArgument(f"there is no engine {name!r}; there are {', '.join(ENGINES)}.")
    if name == "local" and is_spark_frame(source):
        raise InvalidArgument(
            "a Spark frame is released on Spark; for the local engine pass source.toArrow(), or in Spark 3.5 "
            "source.toPandas()."
        )
    if spark_mode not in (None, *MODES):
        raise InvalidArgument(f"there is no spark_mode {spark_mode!r}; there are {', '.join(MODES)}.")
    if name == "spark" or is_spark_frame(source):
        try:
            from dpsu.engines.spark.engine import SparkEngine
        except ImportError:  # PyArrow comes with PySpark
            raise InvalidArgument(NO_SPARK) from None
        return SparkEngine(source, spark_mode)
    if spark_mode is not None:
        raise InvalidArgument("spark_mode is for the Spark engine: pass a Spark frame or engine='spark'.")
    return LocalEngine()
