"""The fixed-point units of weights."""

FIXED_POINT = 30
ONE = 1 << FIXED_POINT
"""A weight of 1 in fixed point; one unit is 2^-30."""

FINE_POINT = 40
FINE_ONE = 1 << FINE_POINT
"""A weight of 1 in MAD's units of 2^-40."""

LIMIT = 1 << 54
"""The largest total of MAD, in its units: 2^14 budgets. Fewer than 2^9 parts are added up without a limit between them."""
