"""A synthetic hospital: patients, the codes of their diagnoses, and the days that each stay took. Public and seeded.

    python examples/hospital.py hospital.parquet

40 000 patients have 4 codes in the median; codes follow Zipf's law. A patient can come back with the same code: there is one
row per stay, with its length in days. The counts and sums of docs/counts.md and their tests are measured on this data.
"""

import sys

import numpy as np
import polars as pl

PATIENTS, CODES = 40_000, 20_000
MEDIAN_CODES, SPREAD = 4, 0.6
AGAIN, SHAPE, DAYS = 0.1, 4.0, 2.0


def hospital(patients: int = PATIENTS, seed: int = 0) -> pl.DataFrame:
    """Rows (patient, code, days), one per stay.

    The number of codes of a patient is lognormal, rounded, and at least 1. Codes are drawn without replacement, the code of
    rank r with a probability proportional to 1/r. Each code has one stay and, with probability 1/10 each time, one more; a
    stay takes two days and a gamma distributed number of days, 2 in the mean, to a tenth.
    """
    rng = np.random.default_rng(seed)
    sizes = np.maximum(1, np.rint(rng.lognormal(np.log(MEDIAN_CODES), SPREAD, patients))).astype(np.int64)
    # The codes with the smallest values of an exponential clock are a draw without replacement. Drawing more than needed and
    # dropping repeats is the same draw, faster.
    cumulative = np.cumsum(1 / np.arange(1, CODES + 1))
    users = np.repeat(np.arange(patients), 3 * sizes + 20)
    codes = np.searchsorted(cumulative, rng.random(users.size) * cumulative[-1], side="right")
    drawn = pl.DataFrame({"patient": users, "code": codes}).unique(maintain_order=True)
    place = pl.int_range(pl.len()).over("patient")
    held = drawn.with_columns(pl.Series("size", sizes[drawn["patient"].to_numpy()])).filter(
        place < pl.col("size")
    )
    rows = held.drop("size")[np.repeat(np.arange(held.height), rng.geometric(1 - AGAIN, held.height))]
    days = np.rint(10 * (2 + rng.gamma(SHAPE, DAYS / SHAPE, rows.height))) / 10
    names = rng.permutation(CODES)
    label = pl.Series("code", [f"C{name:05d}" for name in names])
    return pl.DataFrame(
        {
            "patient": rows["patient"],
            "code": label.gather(rows["code"]),
            "days": days,
        }
    ).sample(fraction=1.0, shuffle=True, seed=seed)


if __name__ == "__main__":
    hospital().write_parquet(sys.argv[1])
