"""Counts and sums of released codes with OpenDP: the items that dpsu released are its public keys.

pip install 'opendp[polars]'
python with_opendp.py stays.parquet items.parquet
"""

import sys

import opendp.prelude as dp
import polars as pl

dp.enable_features("contrib")
stays, items = map(pl.scan_parquet, sys.argv[1:])
# One row per patient and code, released codes only. Both look at one patient at a time.
totals = stays.join(items, on="code", how="semi").group_by("patient", "code").agg(pl.col("days").sum())
context = dp.Context.compositor(
    data=totals,
    privacy_unit=dp.unit_of(contributions=1, identifier="patient"),
    privacy_loss=dp.loss_of(epsilon=0.5),
    split_evenly_over=1,
    margins=[dp.polars.Margin(max_length=1_000_000)],  # a public bound on the number of rows, for float sums
)
query = (
    context.query()
    .truncate_per_group(1, by=["code"])
    .truncate_num_groups(5, by=["code"], keep="first")  # keep="sample" fails in 0.16.0
    .group_by("code")
    .agg(
        dp.len(signed=True).alias("patients"),
        pl.col("days").fill_null(0.0).fill_nan(0.0).dp.sum((0.0, 10.0)),
    )
    .with_keys(items.select("code"))
)
print(query.summarize(alpha=0.05).select("column", "accuracy"))
print(query.release().collect().top_k(3, by="patients"))
