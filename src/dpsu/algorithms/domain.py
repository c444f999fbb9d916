"""The n-grams that could come out of a level: those whose two parts the level before has released.

What has been released is known to everybody, and so is all that follows from it.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dpsu.algorithms.lists import digests_of
from dpsu.randomness.stream import Stream
from dpsu.sets.user_sets import Digests, digest_order, places
from dpsu.sources.corpus import TextRule, runs_of, tokenise


@dataclass(frozen=True, repr=False)
class Domain:
    """All n-grams whose two parts are among `before` released ones; `words` are those that occur in them.

    Digests are those of the `stream` of the whole release.
    """

    before: int
    joins: "Joins"
    words: list[str]
    rule: TextRule
    stream: Stream

    @classmethod
    def of(cls, released: pl.DataFrame, size: int, rule: TextRule, stream: Stream) -> "Domain":
        """The domain that these n-grams of `size` words define."""
        split = [own for own in _words_of(released.to_series(), rule) if len(own) == size]
        words = sorted({word for own in split for word in own})
        code = {word: place for place, word in enumerate(words)}
        parts = np.array([[code[word] for word in own] for own in split], np.uint32).reshape(-1, size)
        frame = pl.DataFrame({rule.name: pl.Series(words, dtype=pl.String)})
        return cls(released.height, Joins(parts, digests_of(frame, stream)), words, rule, stream)

    def __len__(self) -> int:
        return len(self.joins)

    def members(self, numbers: list[int]) -> pl.DataFrame:
        """The n-grams with these numbers."""
        rows = self.joins.words(numbers).tolist()
        names = [self.rule.joiner.join(self.words[code] for code in row) for row in rows]
        return pl.DataFrame({self.rule.name: pl.Series(names, dtype=pl.String)})

    def digests(self, names: pl.DataFrame) -> Digests:
        """The digests of n-grams with these names, as in every table of items."""
        return digests_of(names, self.stream)


def _words_of(names: pl.Series, rule: TextRule) -> list[list[str]]:
    """The words of each n-gram: none contains white space."""
    return names.str.split(rule.joiner).to_list() if rule.joiner else runs_of(tokenise(names, rule.tokenizer))


class Joins:
    """All n-grams whose first and last n-1 words are in a set of (n-1)-grams: counted, and numbered without being listed.

    The numbers follow the digests of words, since the codes of words depend on the order in which the text was read.
    """

    def __init__(self, parts: NDArray[np.uint32], digests: Digests) -> None:
        used = np.unique(parts)
        order = digest_order(digests[used])
        self._codes: NDArray[np.uint32] = used[order]
        parts = places(order)[np.searchsorted(used, parts)]
        self._parts = parts = parts[np.lexsort(parts.T[::-1])]
        heads, tails = parts[:, :-1], parts[:, 1:]
        shared = np.unique(np.vstack([tails, heads]), axis=0, return_inverse=True)[1].reshape(-1)
        ends_in, begins_with = shared[: len(parts)], shared[len(parts) :]
        width = int(shared.max(initial=-1)) + 1
        self._left, self._right = np.argsort(ends_in, kind="stable"), np.argsort(begins_with, kind="stable")
        lefts, self._rights = np.bincount(ends_in, minlength=width), np.bincount(begins_with, minlength=width)
        self._first_left = np.cumsum(lefts) - lefts
        self._first_right = np.cumsum(self._rights) - self._rights
        self._ends = np.cumsum(lefts * self._rights)

    def __len__(self) -> int:
        return int(self._ends[-1]) if self._ends.size else 0

    def words(self, members: list[int]) -> NDArray[np.uint32]:
        """The words of the members with these numbers, a row for each."""
        numbers = np.array(members, np.int64)
        block = np.searchsorted(self._ends, numbers, side="right")
        inside = numbers - np.concatenate([[0], self._ends])[block]
        left, right = np.divmod(inside, self._rights[block])
        heads = self._parts[self._left[self._first_left[block] + left]]
        tails = self._parts[self._right[self._first_right[block] + right]]
        found: NDArray[np.uint32] = self._codes[np.hstack([heads, tails[:, -1:]])]
        return found
