"""Members of a known domain that nobody holds, in the rounds of a mechanism with candidates.

A domain of all valid n-grams has 10^8 members and more. Each has noise in every round, but the noise of most members can
release them neither early nor by the cut, so it changes nothing. The sequences of random words that could are a finite
set, which is counted exactly. So the members with such a sequence are found by the gaps between them, and the sequence of
each is drawn uniformly from the set: they have exactly the law of held members to whom nobody gives anything. Proof:
docs/ngrams.md.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dpsu.algorithms.candidates import CandidatesMechanism, begin, one_round
from dpsu.algorithms.known_domain import hits
from dpsu.algorithms.mechanism import CELLS_PER_SIGMA
from dpsu.engines.contract import Columns
from dpsu.privacy.false_share import smallest_normal
from dpsu.randomness.stream import Purpose, Stream

WORDS = 2**64

STEPS = 64
"""Steps per noise scale, in which sums of noise are bounded: fewer steps find more members than necessary."""

FARTHEST = 9.0
"""Words beyond this quantile, and sums below it, are not told apart."""

MARGIN = 1e-12
"""Relative margin on normal tails, far above their errors in floats."""

SPARE_BITS = 512
"""A number of a sequence is drawn from this many bits more than it has, so no chance is off by more than 2^-500."""


@dataclass(frozen=True)
class Round:
    """How words of one round bound its noise: a word below `ends[j]` is worth at most `first + j` steps.

    Sums above `limit` pass, and so does every word beyond the last end.
    """

    ends: Sequence[int]
    first: int
    limit: int


class Sequences:
    """All sequences of one word per round whose sum of steps passes the limit of some round: counted and numbered.

    Sums below `floor` are raised to it. Counts are whole numbers of any size.
    """

    def __init__(self, rounds: Sequence[Round], floor: int, words: int = WORDS) -> None:
        self._rounds, self._floor, self._words = rounds, floor, words
        self._size = max(each.limit for each in rounds) - floor + 1
        self._cumulated: dict[tuple[int, int], list[int]] = {}
        # The number of sequences of the rounds from r on that pass, by the sum before round r.
        self._passing: list[NDArray[Any]] = [np.array([0] * self._size, object)]
        for r in reversed(range(len(rounds))):
            reached = self._after(r)
            counts = reached[: self._size] * 0 + self._beyond(r)
            for j, width in enumerate(self._widths(r)):
                if width:
                    counts += width * reached[j : j + self._size]
            self._passing.insert(0, counts)

    @property
    def count(self) -> int:
        """The number of sequences."""
        return int(self._passing[0][-self._floor])

    @property
    def chance(self) -> Fraction:
        """The chance that a uniform sequence is one of them."""
        return Fraction(self.count, self._words ** len(self._rounds))

    def __getitem__(self, number: int) -> list[int]:
        """The sequence with this number, from 0 on."""
        found: list[int] = []
        place, passed = -self._floor, False
        for r, each in enumerate(self._rounds):
            if passed:
                word, number = divmod(number, self._full(r))
                found.append(word)
                continue
            before = self._before(r, place)
            j = bisect_right(before, number) - 1
            start = each.ends[j - 1] if j else 0
            total = place + self._floor + each.first + j
            passed = j == len(each.ends) or total > each.limit
            place = max(0, total - self._floor)
            left = self._full(r) if passed else int(self._passing[r + 1][place])
            word, number = divmod(number - before[j], left)
            found.append(start + word)
        return found

    def _full(self, r: int) -> int:
        """All sequences of the rounds after r."""
        return int(self._words ** (len(self._rounds) - 1 - r))

    def _widths(self, r: int) -> list[int]:
        ends = self._rounds[r].ends
        return [last - first for first, last in zip([0, *ends], ends, strict=False)]

    def _beyond(self, r: int) -> int:
        return (self._words - self._rounds[r].ends[-1]) * self._full(r)

    def _after(self, r: int) -> NDArray[Any]:
        """The number of sequences after round r that pass, by the sum after it: from the least that can occur."""
        each = self._rounds[r]
        sums = range(self._floor + each.first, self._floor + each.first + self._size + len(each.ends))
        later, full = self._passing[0], self._full(r)
        return np.array(
            [full if s > each.limit else later[max(0, s - self._floor)] for s in sums], dtype=object
        )

    def _before(self, r: int, place: int) -> list[int]:
        """The number of sequences from round r on whose first word is below each end, from this sum before it."""
        if (r, place) not in self._cumulated:
            each, later, full = self._rounds[r], self._passing[r + 1], self._full(r)
            sums = range(place + self._floor + each.first, place + self._floor + each.first + len(each.ends))
            counts = (
                width * (full if s > each.limit else int(later[max(0, s - self._floor)]))
                for s, width in zip(sums, self._widths(r), strict=True)
            )
            self._cumulated[r, place] = [0, *accumulate(counts)]
        return self._cumulated[r, place]


def sequences(mechanism: CandidatesMechanism) -> Sequences:
    """The sequences of words whose noise could release a member that nobody holds.

    A rounded increment exceeds its ideal by at most half a cell.
    """
    boundary, rounds = mechanism.base.boundary, mechanism.base.focus.rounds
    step = CELLS_PER_SIGMA // STEPS
    # Two cells move a tail by far more than the rounding of `tails` (as in `candidates._may_pass`).
    cut = math.floor((mechanism.noise * smallest_normal(mechanism.reach) / boundary.cell - 2) / step)
    found = []
    for r, scale in enumerate(boundary.scales):
        spread = scale / boundary.cell / step
        most = math.ceil(FARTHEST * spread)
        early = (2 * int(mechanism.limits_in_cells(r)[1]) - (r + 1)) // (2 * step)
        ends = [_words_below(place / spread) for place in range(-most, most + 1)]
        found.append(Round(ends, -most, min(early, cut) if r == rounds - 1 else early))
    return Sequences(found, floor=-math.ceil(FARTHEST * STEPS))


def _words_below(quantile: float) -> int:
    """A number of first words whose normal quantiles, with all bits that are to come, are below this one."""
    if quantile > 0:
        return WORDS - math.ceil(math.ldexp(float(special.ndtr(-quantile)) * (1 + MARGIN), 64))
    return math.floor(math.ldexp(float(special.ndtr(quantile)) * (1 - MARGIN), 64))


@dataclass(frozen=True, repr=False)
class DrawnStream(Stream):
    """The stream of members that were drawn: the words of the n-th are those of its sequence."""

    drawn: NDArray[np.uint64] = field(default_factory=lambda: np.zeros((0, 0), np.uint64))

    def words(
        self, purpose: Purpose, round: int, digests: NDArray[np.uint64], count: int = 1
    ) -> NDArray[np.uint64]:
        """The word of each member in this round; the digest of a member is its place."""
        assert purpose == Purpose.NOISE
        return np.ascontiguousarray(self.drawn[digests[:, 0].astype(np.int64), round])

    def extension(self, purpose: Purpose, round: int, digest: NDArray[np.uint64], depth: int) -> int:
        """Further bits of the uniform that begins with the word."""
        return super().extension(Purpose.ABSENT, FURTHER + round, digest, depth)


NUMBERS, FURTHER = 1, 2
"""Rounds of the purpose ABSENT: numbers of sequences; further bits of words, a round for each. `hits` has round 0."""


def drawn_stream(possible: Sequences, members: int, rounds: int, stream: Stream) -> DrawnStream:
    """A uniform sequence for each of so many members."""
    size = 8 * rounds + SPARE_BITS // 8

    def number(draw: int) -> int:
        bits = int.from_bytes(stream.derived(size, Purpose.ABSENT, NUMBERS, draw), "big")
        return bits * possible.count >> (8 * size)

    drawn = [possible[number(draw)] for draw in range(members)]
    return DrawnStream(stream.key, stream.seeded, np.array(drawn, np.uint64).reshape(-1, rounds))


@dataclass(frozen=True, repr=False)
class Unheld:
    """Members of a domain that noise alone could release, by number, and what they have after all rounds."""

    members: list[int]
    columns: Columns


def draw_unheld(mechanism: CandidatesMechanism, domain: int, stream: Stream) -> Unheld:
    """Run all rounds for the members of `range(domain)` that noise alone could release, as if nobody held any."""
    possible, rounds = sequences(mechanism), mechanism.base.focus.rounds
    members = hits(domain, possible.chance, stream)
    own, size = drawn_stream(possible, len(members), rounds, stream), len(members)
    columns: dict[str, Any] = {
        "digest": np.stack([np.arange(size), np.zeros(size)], axis=1).astype(np.uint64),
        "total": np.zeros(size, np.int64),
        "held": np.zeros(size, np.bool_),
        "listed": np.ones(size, np.bool_),
    }
    columns |= begin(columns, discover=False)
    for r in range(rounds):
        columns |= one_round(columns, mechanism, own, r)
    return Unheld(members, columns)
