"""What all sections share: the privacy they ask for, and how much a run measures."""

from dataclasses import dataclass
from math import exp
from pathlib import Path

EPSILON, DELTA, MAX_ITEMS = 3.0, exp(-10), 100

USERS = 223_388
SIZES = (10**6, 3 * 10**6, 10**7, 3 * 10**7, 10**8)
LARGE = (3 * 10**8,)
REPETITIONS = 7

QUICK_USERS = 4_000
QUICK_SIZES = (10**5, 3 * 10**5)
QUICK_LARGE = (10**6,)
QUICK_REPETITIONS = 3


@dataclass(frozen=True)
class Settings:
    """The size of a run. `pairs` are the sizes of the growth, `scratch` a folder for what is thrown away.

    `titles` is a Parquet file (author, text) in place of the titles that are part of the package.
    """

    users: int
    repetitions: int
    pairs: tuple[int, ...]
    large: tuple[int, ...]
    scratch: Path
    quick: bool = False
    titles: Path | None = None
