"""What the private steps of `auto` cost in time: python -m experiments.auto_cost [--runs 5] [--epsilon 3] [--data NAME …]

Every run reads the data, takes the private steps and releases by the branch that they choose, all with one engine; a row has
the seconds of each and the share of the private steps in the whole, in the middle of the runs.
"""

import argparse
import statistics
import time
from typing import Any

import numpy as np

from dpsu.algorithms.auto import AutoMechanism
from dpsu.engines.local import LocalEngine
from dpsu.randomness.stream import Stream
from dpsu.sources.source import Source
from experiments.auto_check import DATA, calibrated


def seconds(source: Source, mechanism: AutoMechanism, seed: int) -> list[float]:
    """The seconds of reading, of the private steps, and of the branch with the names of its items."""
    stream = Stream(np.random.default_rng([8, seed]).bytes(32), seeded=True)
    clock = [time.perf_counter()]
    with LocalEngine() as engine:
        sets: Any = engine.read(source, stream)
        clock.append(time.perf_counter())
        left, _ = mechanism.without_popular(engine, sets, stream)
        seen = mechanism.seen(engine, left, stream)
        clock.append(time.perf_counter())
        items = mechanism.branches[mechanism.choice(seen)].select(engine, left, stream)
        engine.names(sets, items)
        clock.append(time.perf_counter())
    return np.diff(clock).tolist()


def main() -> None:
    """A Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--epsilon", type=float, default=3.0)
    parser.add_argument(
        "--data", nargs="*", default=["Reddit-like", "arXiv", "400k users, 3 items, exponent 1.1"]
    )
    arguments = parser.parse_args()
    print("| data | pairs | reading | private steps | branch | share of the private steps |")
    print("|---|---:|---:|---:|---:|---:|")
    for name in arguments.data:
        frame = DATA[name]()
        source, mechanism = (
            Source.of(frame, user="user", item="item"),
            calibrated("auto", arguments.epsilon, "auto"),
        )
        assert isinstance(mechanism, AutoMechanism)
        seconds(source, mechanism, 0)  # compiles the loops
        runs = [seconds(source, mechanism, 1 + run) for run in range(arguments.runs)]
        told = [statistics.median(column) for column in zip(*runs, strict=True)]
        share = statistics.median(steps / sum((reading, steps, branch)) for reading, steps, branch in runs)
        columns = " | ".join(f"{each:.2f} s" for each in told)
        print(f"| {name} | {frame.height:,} | {columns} | {100 * share:.1f} % |", flush=True)


if __name__ == "__main__":
    main()
