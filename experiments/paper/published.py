"""What the paper printed: the numbers of its tables, with the two misprints mended (docs/errata.md)."""

MAX_ITEMS = (1, 10, 50, 100, 200)

MAIN_TABLE = {
    "count-laplace": ((4484, 32), (3666, 7), (2199, 8), (1502, 14), (882, 4)),
    "count-gaussian": ((3179, 15), (6616, 18), (6998, 23), (6470, 12), (5492, 14)),
    "weighted-laplace": ((4479, 26), (4309, 15), (4012, 10), (3875, 9), (3726, 17)),
    "weighted-gaussian": ((3194, 11), (6591, 18), (8570, 14), (8904, 24), (8996, 30)),
    "policy-laplace": ((4387, 14), (12838, 42), (15421, 15), (14923, 2), (14346, 24)),
    "policy-gaussian-l1": ((3169, 13), (11010, 15), (16181, 33), (16954, 58), (17113, 16)),
    "policy-gaussian": ((3180, 14), (10918, 24), (16188, 34), (17024, 16), (17211, 37)),
}
"""Items released and their standard deviation over 5 shuffles, by `MAX_ITEMS`."""

SET_SIZES = {1: 2.78, 10: 29.82, 50: 79.16, 100: 93.13, 300: 99.59}
"""The percentage of users with at most so many words."""

HELD_BY = {5: 34699, 10: 23471, 15: 18461, 18: 16612, 20: 15550, 25: 13638}
"""Words that at least k users have."""

COVERAGE = {
    5: (24.5, 48.9),
    10: (62.8, 72.2),
    15: (79.8, 91.8),
    18: (88.7, 102.1),
    20: (94.8, 109.0),
    25: (108.1, 124.3),
}
"""Printed: what Policy Laplace and Policy Gaussian release at D = 100, in percent of `HELD_BY`."""

COVERED = (14739, 16954)
"""The two counts behind `COVERAGE`; the second is that of ℓ1-descent."""

PASSES_MAX_ITEMS = (1, 10, 50, 100, 200, 300)

PASSES = {
    "policy-laplace": (
        (4236, 4257),
        (12452, 12389),
        (15056, 15080),
        (14562, 14567),
        (14005, 13979),
        (13702, 13678),
    ),
    "policy-gaussian": ((3135, 3131), (10784, 10817), (15763, 15809), None, None, None),
}
"""Items after one pass and after two, by `PASSES_MAX_ITEMS`; None where the Gaussian half repeats the Laplace half."""

ALPHA = {"policy-laplace": 3.0, "policy-gaussian": 3.0, "policy-gaussian-l1": 5.0}
"""The alpha of the main table."""
