"""A standalone Spark cluster of this machine for the benchmarks: a master and workers on loopback, stopped at the end."""

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

LOOPBACK = "127.0.0.1"
WAIT = 120.0


def _free_port() -> int:
    with socket.socket() as found:
        found.bind((LOOPBACK, 0))
        return int(found.getsockname()[1])


@contextmanager
def cluster(workers: int = 2, memory: str = "3g") -> Iterator[str]:
    """The address of a master with this number of workers of one core."""
    import pyspark

    home = Path(pyspark.__file__).parent
    start = [str(home / "bin" / "spark-class"), "org.apache.spark.deploy"]
    port = _free_port()
    address = f"spark://{LOOPBACK}:{port}"
    env = {
        **os.environ,
        "SPARK_LOCAL_IP": LOOPBACK,
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_HOME": str(home),
    }
    with tempfile.TemporaryDirectory() as folder:

        def run(name: str, *arguments: str) -> "subprocess.Popen[bytes]":
            log = (Path(folder) / f"{name}.log").open("wb")
            kind = name.partition("-")[0]
            call = [start[0], f"{start[1]}.{kind}.{kind.capitalize()}", *arguments]
            return subprocess.Popen(call, stdout=log, stderr=log, env=env)

        running = [run("master", "--host", LOOPBACK, "--port", str(port), "--webui-port", "0")]
        try:
            _wait_for(port)
            running += [
                run(
                    f"worker-{number}", "--host", LOOPBACK, "--cores", "1", "--memory", memory,
                    "--webui-port", "0", "--work-dir", f"{folder}/work-{number}", address,
                )
                for number in range(workers)
            ]  # fmt: skip
            yield address
        finally:
            for process in reversed(running):
                process.terminate()
            for process in running:
                try:
                    process.wait(20)
                except subprocess.TimeoutExpired:
                    process.kill()


def processor_seconds() -> float:
    """The processor time of this process and of all that descend from it, the cluster among them."""
    parents, spent = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            told = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        parents[int(folder.name)], spent[int(folder.name)] = int(told[1]), sum(map(int, told[11:15]))

    def ours(process: int) -> bool:
        return process == os.getpid() or (process in parents and ours(parents[process]))

    return sum(ticks for process, ticks in spent.items() if ours(process)) / os.sysconf("SC_CLK_TCK")


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + WAIT
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex((LOOPBACK, port)) == 0:
                return
        time.sleep(0.2)
    raise TimeoutError("the Spark master did not start")


@contextmanager
def session(address: str, executors: int = 2, memory: str = "2g", **settings: str) -> Iterator[Any]:
    """A session on the cluster, when all its executors are there."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = (
        SparkSession.builder.master(address)
        .appName("dpsu benchmarks")
        .config("spark.driver.host", LOOPBACK)
        .config("spark.driver.bindAddress", LOOPBACK)
        .config("spark.driver.memory", "1g")
        .config("spark.executor.memory", memory)
        .config("spark.executor.cores", "1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
    )
    if "PYTHONPATH" in os.environ:
        builder = builder.config("spark.executorEnv.PYTHONPATH", os.environ["PYTHONPATH"])
    for name, value in settings.items():
        builder = builder.config(name.replace("_", "."), value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("ERROR")
    try:
        deadline = time.monotonic() + WAIT
        while len(made.sparkContext._jsc.sc().statusTracker().getExecutorInfos()) <= executors:
            if time.monotonic() > deadline:
                raise TimeoutError("the executors did not start")
            time.sleep(0.2)
        yield made
    finally:
        made.stop()
