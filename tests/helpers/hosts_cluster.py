"""A standalone Spark cluster on the hosts of a network: the driver and the master on host 0, a worker on each other.

As a program it is the driver: it answers each line of standard input, a call, with a line of standard output.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from hosts import Network

BLOCKS = 7100
"""The port of Spark's block managers: traffic between workers is that of Spark if it has this port, else that of peers."""

HELD = "heldbyeverybody"
"""The item of all users."""

WAIT = 240.0

SETTINGS = {
    "spark.blockManager.port": str(BLOCKS),
    "spark.driver.memory": "512m",
    "spark.driver.port": "7078",
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    "spark.shuffle.compress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.stage.maxConsecutiveAttempts": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


class Driver:
    """The driver, from the test's side."""

    def __init__(self, process: "subprocess.Popen[str]", log: Path) -> None:
        self._process, self._log = process, log

    def ask(self, name: str, **arguments: Any) -> Any:
        """What a function of this module answers in the driver."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([name, arguments]) + "\n")
        self._process.stdin.flush()
        return self.answer()

    def answer(self) -> Any:
        """The next answer; the first says that the cluster is there."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"the driver has ended: see {self._log}"
        return json.loads(line)


def start_cluster(net: Network, names: dict[int, str], folder: Path) -> Driver:
    """Start a cluster with a worker on each of these hosts, under the address or name that Spark is to know it by.

    It ends with the network.
    """
    import pyspark

    home = Path(pyspark.__file__).parent
    deploy = [str(home / "bin" / "spark-class"), "org.apache.spark.deploy"]
    master, address = f"spark://{net.address(0)}:7077", net.address(0)
    env = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_DAEMON_MEMORY": "256m",
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }

    def run(host: int, kind: str, *arguments: str) -> None:
        command = [deploy[0], f"{deploy[1]}.{kind}.{kind.capitalize()}", *arguments]
        with (folder / f"{kind}-{host}.log").open("wb") as log:
            net.start(host, command, stdout=log, stderr=log, env=env)

    run(0, "master", "--host", address, "--port", "7077", "--webui-port", "0")
    for host, name in names.items():
        work = str(folder / f"work-{host}")
        sizes = ["--cores", "1", "--memory", "512m", "--webui-port", "0", "--work-dir", work]
        run(host, "worker", "--host", name, *sizes, master)
    command = [sys.executable, __file__, master, address, str(len(names))]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with (folder / "driver.log").open("wb") as log:
        made = Driver(net.start(0, command, stderr=log, env=env, **pipes), folder / "driver.log")
    made.answer()
    return made


# -- within the driver


def pairs() -> Any:
    """Sets of items, one of which all users hold."""
    import numpy as np
    import polars as pl

    rng = np.random.default_rng(2)
    frame = pl.DataFrame({"user": np.arange(20_000) % 2000, "item": rng.zipf(1.5, 20_000) % 900})
    held = pl.DataFrame({"user": range(2000), "item": [HELD] * 2000})
    return pl.concat([frame.select("user", item=pl.format("word{}", "item")), held])


def released(source: Any, **options: Any) -> list[str]:
    """The items of a release under a fixed key."""
    import dpsu
    from dpsu.testing import seeded

    how = {"algorithm": dpsu.FocusedGaussian(rounds=2), **options}
    with seeded(5):
        return dpsu.release(source, user="user", item="item", epsilon=3.0, delta=1e-5, **how).items


def here(session: Any) -> list[str]:
    """The release of the local engine."""
    return released(pairs())


def on_cluster(session: Any, **options: Any) -> list[str] | str:
    """The release on the cluster, or the message of its error."""
    from dpsu.errors import DpsuError

    try:
        return released(session.createDataFrame(pairs().to_arrow()), **options)
    except DpsuError as error:
        return str(error)


def on_cluster_told(session: Any, **options: Any) -> tuple[list[str] | str, list[str]]:
    """The same, and the stages that were told."""
    stages: list[str] = []
    return on_cluster(session, progress=stages.append, **options), stages


def serve(master: str, address: str, executors: int) -> None:
    """Answer calls until standard input ends."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName("tests")
    own = {"spark.driver.host": address, "spark.executorEnv.PYTHONPATH": os.environ["PYTHONPATH"]}
    for name, value in {**SETTINGS, **own}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    deadline = time.monotonic() + WAIT
    while len(session.sparkContext._jsc.sc().statusTracker().getExecutorInfos()) <= executors:
        if time.monotonic() > deadline:
            raise TimeoutError("the executors did not start")
        time.sleep(0.1)
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        name, arguments = json.loads(line)
        print(json.dumps(globals()[name](session, **arguments)), flush=True)


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2], int(sys.argv[3]))
