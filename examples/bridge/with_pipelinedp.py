"""Counts and sums of released codes with PipelineDP: the items that dpsu released are its public partitions.

pip install pipeline-dp polars
python with_pipelinedp.py stays.parquet items.parquet
"""

import sys

import pipeline_dp
import polars as pl

stays, items = map(pl.read_parquet, sys.argv[1:])
totals = stays.group_by("patient", "code").agg(pl.col("days").sum())
budget = pipeline_dp.NaiveBudgetAccountant(total_epsilon=0.5, total_delta=1e-7)
engine = pipeline_dp.DPEngine(budget, pipeline_dp.LocalBackend())
params = pipeline_dp.AggregateParams(
    noise_kind=pipeline_dp.NoiseKind.GAUSSIAN,
    metrics=[pipeline_dp.Metrics.PRIVACY_ID_COUNT, pipeline_dp.Metrics.SUM],
    max_partitions_contributed=5,
    max_contributions_per_partition=1,
    min_value=0,
    max_value=10,
)
extract = pipeline_dp.DataExtractors(
    privacy_id_extractor=lambda row: row["patient"],
    partition_extractor=lambda row: row["code"],
    value_extractor=lambda row: row["days"],
)
found = engine.aggregate(totals.to_dicts(), params, extract, public_partitions=items["code"].to_list())
budget.compute_budgets()
rows = [(code, numbers.privacy_id_count, numbers.sum) for code, numbers in found]
print(pl.DataFrame(rows, schema=["code", "patients", "days"], orient="row").top_k(3, by="patients"))
