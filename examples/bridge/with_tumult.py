"""Counts and sums of released codes with Tumult Analytics: the items that dpsu released are its key set.

pip install tmlt.analytics
PYSPARK_PYTHON=$(which python) python with_tumult.py stays.parquet items.parquet
"""

import sys

from pyspark.sql import SparkSession, functions
from tmlt.analytics import (
    AddRowsWithID,
    ApproxDPBudget,
    KeySet,
    MaxGroupsPerID,
    MaxRowsPerGroupPerID,
    QueryBuilder,
    Session,
)

spark = SparkSession.builder.getOrCreate()
stays, items = map(spark.read.parquet, sys.argv[1:])
totals = stays.groupBy("patient", "code").agg(functions.sum("days").alias("days"))
whole = ApproxDPBudget(0.5, 1e-7)
session = Session.from_dataframe(whole, "totals", totals, protected_change=AddRowsWithID("patient"))
codes = items.select("code")
bounded = (
    QueryBuilder("totals")
    .join_public(codes)  # released codes only, before each patient is cut to 5 of them
    .enforce(MaxGroupsPerID("code", 5))
    .enforce(MaxRowsPerGroupPerID("code", 1))
    .groupby(KeySet.from_dataframe(codes))
)
half = ApproxDPBudget(0.25, 0.5e-7)
patients = session.evaluate(bounded.count(name="patients"), half)
days = session.evaluate(bounded.sum("days", 0, 10, name="days"), half)
print(patients.join(days, "code").orderBy("patients", ascending=False).limit(3).toPandas())
