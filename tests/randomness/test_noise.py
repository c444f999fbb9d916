"""Noise and the decision: equal to ideal arithmetic on every input, and of the right distribution."""

import math
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from normals import computed_normals
from scipy import stats

import dpsu.randomness.noise
from dpsu.errors import InvalidArgument, TooLarge
from dpsu.privacy.laplace import LaplaceThreshold, ReleaseCurve
from dpsu.randomness.noise import NORMAL_ERROR, gaussian_cells, geometric, keep, keep_counts
from dpsu.randomness.stream import Purpose, Stream

STREAM = Stream(bytes(range(32)))
SIGMA = 3.7306
GRID = {"unit": 2.0**-30, "scale": SIGMA, "cell": SIGMA * 2.0**-16}


class ChosenWords(Stream):
    """A stream whose first words are the digests' own first halves, so that a test can choose them."""

    def words(self, purpose, round, digests, count=1):
        return np.ascontiguousarray(digests[:, 0])


CHOSEN = ChosenWords(bytes(range(32)))


def random_digests(n, seed=0):
    return np.random.default_rng(seed).integers(0, 2**64, (n, 2), dtype=np.uint64)


def digests_of(words):
    return np.array([[word, i] for i, word in enumerate(words)], dtype=np.uint64)


def slow_uniform(stream, purpose, round, digest):
    """The first 1088 bits of an item's uniform."""
    word = int(stream.words(purpose, round, digest.reshape(1, 2))[0])
    deeper = [stream.extension(purpose, round, digest, depth) for depth in (0, 1)]
    return Fraction(word << 1024 | deeper[0] << 512 | deeper[1], 2**1088)


def slow_normal(u):
    """The normal quantile to 900 bits, by Newton's method on the distribution function."""
    with mpmath.workprec(1200):
        u = mpmath.mpf(u.numerator) / u.denominator
        z = mpmath.sqrt(2) * mpmath.erfinv(2 * mpmath.mpf(u) - 1)
        for _ in range(2):
            z -= (mpmath.ncdf(z) - u) / mpmath.npdf(z)
        assert abs(mpmath.ncdf(z) / u - 1) < mpmath.mpf(2) ** -900
        sign, mantissa, exponent, _ = z._mpf_
    return (-1) ** sign * int(mantissa) * Fraction(2) ** exponent


def slow_cells(totals, digests, stream, *, round, unit, scale, cell):
    cells = []
    for total, digest in zip(totals.tolist(), digests, strict=True):
        z = slow_normal(slow_uniform(stream, Purpose.NOISE, round, digest))
        value = (Fraction(unit) * Fraction(total) + Fraction(scale) * z) / Fraction(cell)
        cells.append(math.floor(value + Fraction(1, 2)))
    return cells


def test_computed_normals_are_far_within_the_assumed_error():
    rng = np.random.default_rng(0)
    words = [2**63 + int(2**k * rng.uniform(1, 2)) for k in range(1, 62) for _ in range(10)]
    words += [2**64 - 1 - word for word in words]
    words += [int(2**k * rng.uniform(1, 2)) for k in range(28, 63) for _ in range(30)]
    words += [2**64 - 1 - int(2**k * rng.uniform(1, 2)) for k in range(28, 63) for _ in range(10)]
    words += np.linspace(2**50, 2**64 - 2**50, 2000).astype(np.uint64).tolist()
    words += [round(2**64 * (0.5 + sign * 0.425)) + step for sign in (-1, 1) for step in (-5000, 5000)]
    worst = 0.0
    for word, z, width in zip(words, *computed_normals(words), strict=True):
        with mpmath.workprec(
            160
        ):  # one step of Newton's method from z squares an error that is small already
            computed, slope = mpmath.ncdf(z) * mpmath.mpf(2) ** 64, mpmath.npdf(z) * mpmath.mpf(2) ** 64
            low, middle, high = ((word + part - computed) / slope for part in (0, mpmath.mpf(0.5), 1))
            worst = max(worst, float(abs(middle / z)))
            assert high - low < width
    assert worst < NORMAL_ERROR / 8


def test_the_far_tail_is_left_to_high_precision():
    assert (computed_normals([0, 2**27, 2**64 - 1, 2**64 - 2**27])[1] == math.inf).all()


@pytest.mark.parametrize(
    ("unit", "scale", "cell"),
    [(2.0**-30, SIGMA, SIGMA * 2.0**-16), (2.0**-40, 1.3, 1.3 * 2.0**-16), (0.1, 0.7, 0.3), (1.0, 1e-3, 7.0)],
)
def test_cells_equal_ideal_arithmetic(unit, scale, cell):
    totals = np.random.default_rng(1).integers(-(2**20), 2**40, 60)
    arguments = totals, random_digests(60), STREAM
    numbers = {"round": 5, "unit": unit, "scale": scale, "cell": cell}
    assert gaussian_cells(*arguments, **numbers).tolist() == slow_cells(*arguments, **numbers)


@settings(max_examples=40, deadline=None)
@given(
    total=st.one_of(st.integers(-(2**60), 2**60), st.floats(-1e6, 1e6)),
    word=st.one_of(st.integers(0, 2**64 - 1), st.integers(0, 50), st.integers(2**64 - 50, 2**64 - 1)),
    unit=st.sampled_from([1.0, 2.0**-30, 0.1]),
    scale=st.floats(0.01, 100.0),
    cells_per_scale=st.sampled_from([1.0, 3.0, 2.0**16]),
)
def test_cells_of_any_total_and_word_equal_ideal_arithmetic(total, word, unit, scale, cells_per_scale):
    totals, digests = np.array([total]), digests_of([word])
    numbers = {"round": 0, "unit": unit, "scale": scale, "cell": scale / cells_per_scale}
    slow = slow_cells(totals, digests, CHOSEN, **numbers)
    if abs(slow[0]) < 2**63:
        assert gaussian_cells(totals, digests, CHOSEN, **numbers).tolist() == slow


def test_totals_that_put_the_value_on_a_boundary():
    """Such a total is within a rounding error of a cell's edge; the doubles next to it are on either side."""
    digests = random_digests(8)
    scale, cell = SIGMA, SIGMA * 2.0**-16
    totals, owners = [], []
    for i, digest in enumerate(digests):
        z = slow_normal(slow_uniform(STREAM, Purpose.NOISE, 2, digest))
        edge = (Fraction(1_000_000 + i) + Fraction(1, 2)) * Fraction(cell) - Fraction(scale) * z
        near = float(edge)
        totals += [np.nextafter(near, -math.inf), near, np.nextafter(near, math.inf)]
        owners += [i] * 3
    arguments = np.array(totals), digests[owners], STREAM
    numbers = {"round": 2, "unit": 1.0, "scale": scale, "cell": cell}
    cells = gaussian_cells(*arguments, **numbers)
    assert cells.tolist() == slow_cells(*arguments, **numbers)
    np.testing.assert_array_equal(cells[2::3] - cells[::3], 1)


def test_totals_on_an_edge_without_noise_to_speak_of():
    """At u = 1/2 the quantile is 0: the value is the edge itself, and only the bits of u decide."""
    words = [2**63 - 1, 2**63, 2**63 + 1, 2**63 - 2]
    totals = np.array([0.5, 0.5, -0.5, 2.0**40 + 0.5])
    numbers = {"round": 0, "unit": 1.0, "scale": 1.0, "cell": 1.0}
    cells = gaussian_cells(totals, digests_of(words), CHOSEN, **numbers)
    assert cells.tolist() == [0, 1, 0, 2**40]
    assert cells.tolist() == slow_cells(totals, digests_of(words), CHOSEN, **numbers)


def test_huge_totals_keep_their_last_bit():
    totals = np.array([2**60, 2**60 + 1, -(2**60) - 1, 2**53 + 1, 2**62 + 3])
    digests = np.repeat(random_digests(1), 5, axis=0)
    numbers = {"round": 0, "unit": 1.0, "scale": 2.0, "cell": 1.0}
    cells = gaussian_cells(totals, digests, STREAM, **numbers)
    assert cells.tolist() == slow_cells(totals, digests, STREAM, **numbers)
    assert cells[1] - cells[0] == 1


@pytest.mark.parametrize("word", [0, 1, 2**20, 2**24 + 7, 2**28, 2**64 - 1, 2**64 - 2**20])
def test_tails(word):
    totals, digests = np.array([12345]), digests_of([word])
    cells = gaussian_cells(totals, digests, CHOSEN, round=0, **GRID)
    assert cells.tolist() == slow_cells(totals, digests, CHOSEN, round=0, **GRID)
    assert abs(cells[0]) > 5.5 * 2**16


def test_what_does_not_fit_is_an_error():
    with pytest.raises(TooLarge, match="64-bit"):
        gaussian_cells(np.array([2**62]), random_digests(1), STREAM, round=0, unit=4.0, scale=1.0, cell=1.0)


@pytest.mark.parametrize("name", ["unit", "scale", "cell"])
@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_numbers_that_are_no_scale(name, value):
    with pytest.raises(InvalidArgument, match=name):
        gaussian_cells(np.array([1]), random_digests(1), STREAM, round=0, **{**GRID, name: value})


def test_settling_more_values_changes_none(monkeypatch):
    totals, digests = np.random.default_rng(2).integers(0, 2**36, 4000), random_digests(4000)
    usual = gaussian_cells(totals, digests, STREAM, round=0, **GRID)
    settled = []
    context = dpsu.randomness.noise._own_context  # every settlement asks for it
    monkeypatch.setattr(dpsu.randomness.noise, "NORMAL_ERROR", 2.0**-22)
    monkeypatch.setattr(dpsu.randomness.noise, "_own_context", lambda: settled.append(1) or context())
    np.testing.assert_array_equal(gaussian_cells(totals, digests, STREAM, round=0, **GRID), usual)
    assert 50 < len(settled) < 200


def test_the_settlement_reads_further_words_until_they_decide(monkeypatch):
    """Extensions that continue the very digits of the edge leave it open; the first other one decides."""
    with mpmath.workprec(3000):
        digits = int(mpmath.floor(mpmath.ncdf(mpmath.mpf(1)) * mpmath.mpf(2) ** (64 + 512 * 3)))
    blocks = [digits >> 1024 & (2**512 - 1), digits >> 512 & (2**512 - 1), digits & (2**512 - 1)]
    totals, digests = np.array([0.5]), digests_of([digits >> 1536])
    for last, expected in (blocks[2] - 2**256, 1), (blocks[2] + 2**256, 2):
        depths = []

        def extension(purpose, round, digest, depth, last=last, depths=depths):
            depths.append(depth)
            return [blocks[0], blocks[1], last][depth]

        stream = ChosenWords(bytes(32))
        object.__setattr__(stream, "extension", extension)
        assert gaussian_cells(totals, digests, stream, round=0, unit=1.0, scale=1.0, cell=1.0)[0] == expected
        assert depths == [0, 1, 2]


def test_noise_is_normal():
    """Kolmogorov and Smirnov on a million draws, and the number of draws in the tails."""
    n = 1_000_000
    cells = gaussian_cells(np.zeros(n, np.int64), random_digests(n), STREAM, round=7, **GRID)
    z = cells * 2.0**-16
    assert stats.kstest(z, "norm").pvalue > 1e-4
    for edge in (2.0, 3.0, 4.0, 4.5):
        for tail in (z > edge, z < -edge):
            expected = n * stats.norm.sf(edge)
            assert abs(tail.sum() - expected) < 5 * math.sqrt(expected)


def test_noise_is_independent_over_rounds():
    n = 100_000
    rounds = [
        gaussian_cells(np.zeros(n, np.int64), random_digests(n), STREAM, round=r, **GRID) for r in range(10)
    ]
    assert np.abs(np.corrcoef(rounds) - np.eye(10)).max() < 5 / math.sqrt(n)


def test_any_part_on_any_thread_draws_the_same():
    totals, digests = np.random.default_rng(3).integers(0, 2**36, 1000), random_digests(1000)
    whole = gaussian_cells(totals, digests, STREAM, round=1, **GRID)
    some = np.random.default_rng(4).permutation(1000)[:99]
    np.testing.assert_array_equal(
        gaussian_cells(totals[some], digests[some], STREAM, round=1, **GRID), whole[some]
    )
    with ThreadPoolExecutor(2) as pool:
        slices = [slice(0, 333), slice(333, 1000)]
        parts = pool.map(lambda s: gaussian_cells(totals[s], digests[s], STREAM, round=1, **GRID), slices)
    np.testing.assert_array_equal(np.concatenate(list(parts)), whole)


CURVES = [ReleaseCurve(1.0, 1e-5), ReleaseCurve(0.01, 0.1), ReleaseCurve(20.0, 1e-15)]
CURVES += [LaplaceThreshold(1.0, 15.44), LaplaceThreshold(20.0, 1.2)]


def as_fraction(number):
    sign, mantissa, exponent, _ = number._mpf_
    return (-1) ** sign * int(mantissa) * Fraction(2) ** exponent


@pytest.mark.parametrize("curve", CURVES, ids=repr)
def test_coins_equal_ideal_arithmetic_next_to_the_curve(curve):
    """Words a few steps around the curve's value: all of them within the error bound, half of them below."""
    totals, words = [], []
    end = int(2.1 * curve.midpoint * 2**30)
    for total in [0, 1, end, *np.random.default_rng(0).integers(0, end, 30).tolist()]:
        limit = int(as_fraction(curve.probability_mp(Fraction(total, 2**30), 128)) * 2**64)
        for word in (limit - 2, limit - 1, limit, limit + 1, limit + 2, limit // 2, 2**63):
            if 0 <= word < 2**64:
                totals.append(total)
                words.append(word)
    digests = digests_of(words)
    kept = keep(np.array(totals), digests, CHOSEN, curve, unit=2.0**-30)
    slow = [
        slow_uniform(CHOSEN, Purpose.KEEP, 0, digest)
        < as_fraction(curve.probability_mp(Fraction(total, 2**30), 900))
        for total, digest in zip(totals, digests, strict=True)
    ]
    assert kept.tolist() == slow
    assert 0.2 < np.mean(slow) < 0.8


@pytest.mark.parametrize("curve", CURVES, ids=repr)
def test_settling_more_coins_changes_none(curve, monkeypatch):
    totals, digests = (
        np.random.default_rng(5).integers(0, int(2.1 * curve.midpoint * 2**30), 3000),
        random_digests(3000),
    )
    usual = keep(totals, digests, STREAM, curve, unit=2.0**-30)
    floats = totals * 2.0**-30
    np.testing.assert_array_equal(keep(floats, digests, STREAM, curve, unit=1.0), usual)
    monkeypatch.setattr(dpsu.randomness.noise, "KEEP_ERROR", 2.0**-10)
    np.testing.assert_array_equal(keep(totals, digests, STREAM, curve, unit=2.0**-30), usual)


@pytest.mark.parametrize("curve", CURVES, ids=repr)
def test_coins_fall_as_often_as_the_curve_says(curve):
    n = 100_000
    for x in (0.0, 0.7 * curve.midpoint, curve.midpoint, 1.1 * curve.midpoint, 2.1 * curve.midpoint):
        kept = keep(np.full(n, x), random_digests(n), STREAM, curve, unit=1.0)
        chance = float(curve.probability_mp(Fraction(x), 64))
        assert abs(kept.mean() - chance) <= 5 * math.sqrt(chance * (1 - chance) / n)


def test_coins_of_rounds_are_independent():
    n = 50_000
    tosses = [
        keep(np.full(n, 15.44), random_digests(n), STREAM, CURVES[3], unit=1.0, round=r) for r in (0, 1, 8)
    ]
    assert np.abs(np.corrcoef(np.array(tosses).astype(float)) - np.eye(3)).max() < 5 / math.sqrt(n)


def test_coins_by_count_are_exact():
    """Probabilities of 0 and 1 are certain, and one that ends far below the 64th bit is read to its end."""
    probabilities = np.array([0.0, 2.0**-70, 0.3, 1.0])
    limit = int(Fraction(0.3) * 2**64)
    words = [0, 2**64 - 1, 0, 1, limit - 1, limit, limit + 1, 0, 2**64 - 1, 2**64 - 1]
    counts = np.array([0, 0, 1, 1, 2, 2, 2, 3, 3, 1000])
    digests = digests_of(words)
    kept = keep_counts(counts, digests, CHOSEN, probabilities)
    slow = [
        slow_uniform(CHOSEN, Purpose.KEEP, 0, digest) < Fraction(probabilities[min(count, 3)])
        for count, digest in zip(counts, digests, strict=True)
    ]
    assert kept.tolist() == slow
    assert kept.tolist()[:2] + kept.tolist()[7:] == [False, False, True, True, True]


def test_coins_by_count_fall_as_often_as_the_table_says():
    n = 100_000
    probabilities = np.array([0.0, 0.2, 0.9])
    counts = np.arange(n) % 4
    kept = keep_counts(counts, random_digests(n), STREAM, probabilities)
    shares = [kept[counts == count].mean() for count in range(4)]
    np.testing.assert_allclose(shares, [0.0, 0.2, 0.9, 0.9], atol=5 * math.sqrt(0.25 / (n / 4)))


def slow_geometric(stream, epsilon, place):
    """The difference of two geometric numbers, each floor(-ln(u) / epsilon), to 900 bits."""

    def number(half):
        u = slow_uniform(stream, Purpose.SIZE, 0, np.array([place, half], np.uint64))
        with mpmath.workprec(1200):
            return int(
                mpmath.floor(-mpmath.log(mpmath.mpf(u.numerator) / u.denominator) / mpmath.mpf(epsilon))
            )

    return number(0) - number(1)


EPSILONS = [1e-9, 0.0024, 0.7, 40.0]


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_sizes_of_noise_equal_ideal_arithmetic(epsilon):
    assert [geometric(STREAM, epsilon, place) for place in range(100)] == [
        slow_geometric(STREAM, epsilon, place) for place in range(100)
    ]


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_sizes_of_noise_equal_ideal_arithmetic_where_a_word_is_on_an_edge(epsilon):
    """Both numbers begin with a word that a multiple of epsilon falls into, so only further bits decide."""
    with mpmath.workprec(200):
        edges = [
            int(mpmath.floor(mpmath.exp(-number * mpmath.mpf(epsilon)) * 2**64)) for number in range(1, 40)
        ]
    words = {word + step for word in edges for step in (-1, 0, 1)} | {0, 1, 2**63, 2**64 - 2, 2**64 - 1}
    words = sorted(word for word in words if 0 <= word < 2**64)
    assert [geometric(CHOSEN, epsilon, word) for word in words] == [
        slow_geometric(CHOSEN, epsilon, word) for word in words
    ]


def test_settling_more_sizes_changes_none(monkeypatch):
    usual = [geometric(STREAM, 0.03, place) for place in range(100)]
    monkeypatch.setattr(dpsu.randomness.noise, "LOG_ERROR", 2.0**-7)
    assert [geometric(STREAM, 0.03, place) for place in range(100)] == usual


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_sizes_of_noise_are_two_sided_geometric(epsilon):
    n = 20_000
    drawn = np.array([geometric(STREAM, epsilon, place) for place in range(n)])
    for number in (0, 1, -1, 3, -3):
        chance = math.tanh(epsilon / 2) * math.exp(-epsilon * abs(number))
        assert abs((drawn == number).mean() - chance) <= 5 * math.sqrt(chance * (1 - chance) / n)


def test_no_items_no_noise():
    none = np.zeros(0, np.int64), np.zeros((0, 2), np.uint64), STREAM
    assert len(gaussian_cells(*none, round=0, **GRID)) == 0
    assert len(keep_counts(*none, np.array([0.0, 1.0]))) == 0
