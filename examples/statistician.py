"""A statistician: how exact are the counts, what does max_items cost, and which algorithm releases most?

    python examples/statistician.py

The data is synthetic (examples/hospital.py), so the exact counts may be shown beside the noisy ones.
"""

import polars as pl
from hospital import hospital

import dpsu

frame = hospital(patients=10_000)
truth = frame.group_by("code").agg(pl.col("patient").n_unique().alias("true_holders"))

# Counts with the half-width of their interval of 95 %.
release = dpsu.release(
    frame, user="patient", item="code", epsilon=2, delta=1e-7, max_items=30,
    counts=dpsu.Counts(max_items=12), sums={"days": (0, 60)},
)  # fmt: skip
table = release.to_polars().join(truth, on="code")
inside = (table["holders"] - table["true_holders"]).abs() <= table["half_width"]
print(release.head(5))
print(f"{inside.mean():.1%} of {table.height} intervals hold the true count")
assert inside.mean() > 0.8

# What max_items does, before any data is read.
plan = dpsu.plan(epsilon=2, delta=1e-7, max_items=30, shape=dpsu.Shape(10_000, 5, sizes="heavy"))
assert plan.outlook is not None
print({limit: round(items) for limit, items in plan.outlook.by_max_items.items()})

# Algorithms side by side; only for data that is public or synthetic.
found = dpsu.compare(
    frame, user="patient", item="code", epsilon=2, delta=1e-7, runs=2, data_is_public=True,
    algorithms=["weighted-gaussian", "ordered-laplace", "focused-gaussian"],
)  # fmt: skip
print(found.select("algorithm", "items", "spread", "ceiling"))
assert (found["items"] <= found["ceiling"] + 5 * found["ceiling"] ** 0.5).all()
