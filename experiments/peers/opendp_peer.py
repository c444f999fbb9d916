"""OpenDP's noise and threshold on weights: pairs.csv epsilon delta max_items runs, JSON to standard output."""

import importlib.metadata
import json
import sys
import time

import opendp.prelude as dp
import polars as pl

GRANULARITY = -16  # noise in steps of 2^-16; the finest takes minutes

dp.enable_features("contrib")


def smallest(holds, low, high):
    """The smallest value that holds, to six digits."""
    while high / low > 1 + 1e-6:
        middle = (low * high) ** 0.5
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def measurement(norm, scale, threshold):
    domain = dp.map_domain(dp.atom_domain(T=str), dp.atom_domain(T=float, nan=False))
    distance = dp.l02inf_distance if norm == 2 else dp.l01inf_distance
    make = dp.m.make_gaussian_threshold if norm == 2 else dp.m.make_laplace_threshold
    return make(domain, distance(dp.absolute_distance(T=float)), scale, threshold, k=GRANULARITY)


def calibrate(norm, epsilon, delta, max_items):
    """Noise and threshold at the smallest values that OpenDP's privacy map admits."""
    moved = (max_items, 1.0, 1.0)

    def enough_noise(scale):
        if norm == 1:
            return measurement(norm, scale, 1e6).map(moved)[0] <= epsilon
        profile, _ = dp.c.make_zCDP_to_approxDP(measurement(norm, scale, 1e6)).map(moved)
        return profile.epsilon(delta / 2) <= epsilon

    scale = smallest(enough_noise, 0.01, 1000.0)
    room = delta if norm == 1 else delta / 2
    threshold = smallest(lambda value: measurement(norm, scale, value).map(moved)[1] <= room, 1.01, 1e5)
    return measurement(norm, scale, threshold)


def weigh(pairs, norm, max_items):
    """What users give to items: an even division of one budget, after a cut to max_items."""
    drawn = pairs.sample(fraction=1.0, shuffle=True)
    cut = drawn.filter(pl.int_range(pl.len()).over("user") < max_items)
    weights = cut.with_columns(weight=pl.len().over("user").cast(pl.Float64) ** (-1 / norm))
    totals = weights.group_by("item").agg(pl.col("weight").sum())
    return dict(zip(totals["item"].to_list(), totals["weight"].to_list(), strict=True))


def main():
    pairs = pl.read_csv(sys.argv[1], infer_schema=False)
    epsilon, delta, max_items, runs = (
        float(sys.argv[2]),
        float(sys.argv[3]),
        int(sys.argv[4]),
        int(sys.argv[5]),
    )
    rows = []
    for method, norm in (
        ("make_gaussian_threshold on ℓ2 weights", 2),
        ("make_laplace_threshold on ℓ1 weights", 1),
    ):
        noisy = calibrate(norm, epsilon, delta, max_items)
        begin, busy = time.perf_counter(), time.process_time()
        counts = [len(noisy(weigh(pairs, norm, max_items))) for _ in range(runs)]
        rows.append(
            {
                "method": method,
                "version": importlib.metadata.version("opendp"),
                "counts": counts,
                "seconds": (time.perf_counter() - begin) / runs,
                "processor_seconds": (time.process_time() - busy) / runs,
            }
        )
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
