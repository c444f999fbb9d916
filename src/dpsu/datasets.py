"""Example corpora: two that are part of the package and a synthetic one of any size. All are public."""

from importlib import resources

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dpsu.errors import InvalidArgument
from dpsu.hints import did_you_mean
from dpsu.kernels.compiled import kernel

CORPORA = ("arxiv_titles_small", "shakespeare_speakers")

REDDIT_USERS = 223_388
REDDIT_RANKS = 2_000_000
#: Set sizes of AskReddit's users, and the share of users with a larger set; the last share is one user.
REDDIT_SIZES = np.array([1, 10, 50, 100, 300, 850, 2000])
REDDIT_LARGER = np.array([0.9722, 0.7018, 0.2084, 0.0687, 0.0041, 10 / REDDIT_USERS, 1 / REDDIT_USERS])


def load(name: str) -> pl.DataFrame:
    """A corpus that is part of the package.

    "arxiv_titles_small": titles of papers by 25,000 first authors (author, text); arXiv metadata, CC0 1.0.

    "shakespeare_speakers": the lines of each character of the plays (uid, author, text); public domain.
    """
    if name not in CORPORA:
        raise InvalidArgument(
            f"there is no corpus {name!r}; there are {', '.join(CORPORA)}.{did_you_mean(name, CORPORA)}"
        )
    return pl.read_parquet((resources.files("dpsu") / "data" / f"{name}.parquet").read_bytes())


def words(frame: pl.DataFrame, *, user: str, text: str) -> pl.DataFrame:
    """One row (user, word) for every word: web addresses removed, lower case, runs of a-z and 0-9."""
    found = pl.col(text).str.replace_all(r"https?://\S+", "").str.to_lowercase().str.extract_all("[a-z0-9]+")
    return (
        frame.lazy()
        .select(pl.col(user), found.alias("word"))
        .explode("word", empty_as_null=False, keep_nulls=False)
        .collect()
    )


def reddit_like(users: int = REDDIT_USERS, seed: int = 0) -> pl.DataFrame:
    """A synthetic corpus (user, item) of integers with the set sizes and the popularity of AskReddit's words.

    A user's set size is drawn from the inverse distribution through `REDDIT_SIZES`; its logarithm is linear in that of
    the share of larger sets. The items are drawn without replacement, the item of rank r with a probability
    proportional to (r + 2)^-1.1 (1 + (r/7000)^2)^-0.45. The ids do not depend on the rank.
    """
    if users < 0:
        raise InvalidArgument(f"users={users}: a corpus has at least 0 users")
    rng = np.random.default_rng(seed)
    exponential = rng.exponential(size=users)
    sizes = np.ceil(np.exp(np.interp(exponential, -np.log(REDDIT_LARGER), np.log(REDDIT_SIZES)))).astype(
        np.int64
    )
    rank = np.arange(1, REDDIT_RANKS + 1)
    cumulative = np.cumsum((rank + 2) ** -1.1 * (1 + (rank / 7000) ** 2) ** -0.45)
    ranks = draw_sets(sizes, cumulative, rng)
    ids = rng.permutation(REDDIT_RANKS).astype(np.uint32)
    holders = np.repeat(np.arange(users, dtype=np.int32), sizes)
    return pl.DataFrame({"user": holders, "item": ids[ranks]})


@kernel
def draw_sets(
    sizes: NDArray[np.int64], cumulative: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """For each user the given number of distinct positions, drawn in sequence by the weights of the cumulative sums."""
    places = np.empty(sizes.sum(), dtype=np.int64)
    last_holder = np.full(cumulative.size, -1, dtype=np.int64)
    drawn = 0
    for user in range(sizes.size):
        end = drawn + sizes[user]
        while drawn < end:
            place = np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right")
            if last_holder[place] != user:
                last_holder[place] = user
                places[drawn] = place
                drawn += 1
    return places
