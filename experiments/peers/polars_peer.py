"""What one writes by hand: counts, Laplace noise, a threshold.

Arguments: pairs.csv epsilon delta max_items runs; JSON to standard output.
"""

import json
import math
import sys
import time

import numpy as np
import polars as pl


def select(pairs, epsilon, delta, max_items):
    drawn = pairs.unique().sample(fraction=1.0, shuffle=True)
    cut = drawn.filter(pl.int_range(pl.len()).over("user") < max_items)
    counts = cut.group_by("item").len()
    scale = max_items / epsilon
    tail = -math.expm1(math.log1p(-delta) / max_items)
    threshold = 1 - scale * math.log(2 * tail)
    noise = pl.Series(np.random.default_rng().laplace(0, scale, counts.height))
    return counts.filter(pl.col("len") + noise > threshold)["item"]


def main():
    pairs = pl.read_csv(sys.argv[1], infer_schema=False)
    epsilon, delta, max_items, runs = (
        float(sys.argv[2]),
        float(sys.argv[3]),
        int(sys.argv[4]),
        int(sys.argv[5]),
    )
    begin, busy = time.perf_counter(), time.process_time()
    counts = [len(select(pairs, epsilon, delta, max_items)) for _ in range(runs)]
    row = {
        "method": "counts, Laplace threshold",
        "version": f"Polars {pl.__version__}",
        "counts": counts,
        "seconds": (time.perf_counter() - begin) / runs,
        "processor_seconds": (time.process_time() - busy) / runs,
    }
    print(json.dumps([row]))


if __name__ == "__main__":
    main()
