"""Digests of names and the sampling of rows, against slow twins."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations, pairwise

import numpy as np
import pytest
import reference
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES256
from cryptography.hazmat.primitives.ciphers.modes import ECB
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import dpsu.randomness.digests
from dpsu.randomness.digests import digest_bytes, digest_concatenated, digest_integers, sample_rows
from dpsu.randomness.stream import Purpose, Stream

KEY = bytes(range(100, 132))
STREAM = Stream(bytes(range(32)))


def random_digests(n, seed=0):
    return np.random.default_rng(seed).integers(0, 2**64, (n, 2), dtype=np.uint64)


def slow_digest(message):
    """CBC-MAC over blocks of 16 bytes, the first of which begins with the length."""
    padded = len(message).to_bytes(8, "little") + message
    padded += bytes(-len(padded) % 16)
    state, cipher = bytes(16), Cipher(AES256(KEY), ECB()).encryptor()
    for k in range(0, len(padded), 16):
        state = cipher.update(bytes(a ^ b for a, b in zip(state, padded[k : k + 16], strict=True)))
    return state


def digests_of(strings):
    offsets = np.cumsum([0, *map(len, strings)])
    return digest_bytes(offsets, np.frombuffer(b"".join(strings), dtype=np.uint8), KEY)


@settings(deadline=None)
@given(st.lists(st.binary(max_size=60)))
def test_digests_equal_the_slow_twin(strings):
    assert digests_of(strings).astype("<u8").tobytes() == b"".join(map(slow_digest, strings))


@pytest.mark.parametrize("size", [0, 7, 8, 9, 23, 24, 25, 40, 1283, 4096, 4097, 4104, 4111])
def test_digests_of_all_lengths(size, monkeypatch):
    monkeypatch.setattr(dpsu.randomness.stream, "PIECE", 1024)
    strings = (bytes(range(256)) * 17)[:size], b"x", b"y" * size
    assert digests_of(strings).astype("<u8").tobytes() == b"".join(map(slow_digest, strings))


def test_no_string_is_another_with_zeros_behind():
    digests = digests_of([b"", b"\0", b"\0" * 8, b"\0" * 9, b"a", b"a\0", b"a" * 8, b"a" * 8 + b"\0" * 16])
    assert len({*map(tuple, digests.tolist())}) == 8


def test_slices_change_nothing(monkeypatch):
    strings = [bytes([k % 251]) * (k % 50) for k in range(1000)]
    whole = digests_of(strings)
    monkeypatch.setattr(dpsu.randomness.digests, "SLICE", 7)
    np.testing.assert_array_equal(digests_of(strings), whole)


def test_integers_digest_as_their_eight_bytes():
    values = np.array([0, 1, -1, 2**62, -(2**63)])
    strings = [int(value).to_bytes(8, "little", signed=True) for value in values]
    np.testing.assert_array_equal(digest_integers(values, KEY), digests_of(strings))


def test_composite_keys_digest_their_columns_digests():
    first, second = digests_of([b"at", b"de"]), digest_integers(np.array([7, 8]), KEY)
    strings = [
        a.astype("<u8").tobytes() + b.astype("<u8").tobytes() for a, b in zip(first, second, strict=True)
    ]
    np.testing.assert_array_equal(digest_concatenated([first, second], KEY), digests_of(strings))


def sampled(indptr, items, users, digests, max_items):
    return sample_rows(indptr, items, users, digests, max_items, STREAM, 0)


def slow_priorities(user, digests):
    """The stream's word for every item of one user, drawn one by one."""
    return [int(STREAM.words(Purpose.BOUND, 0, (user ^ digest).reshape(1, 2))[0]) for digest in digests]


@settings(deadline=None)
@given(
    rows=st.lists(st.sets(st.integers(0, 29)).map(sorted), min_size=1, max_size=6),
    max_items=st.integers(1, 12),
    seed=st.integers(0, 2**32),
    block=st.sampled_from([1, 10, 1 << 16]),
)
def test_sample_equals_its_slow_twin(rows, max_items, seed, block):
    indptr = np.cumsum([0, *map(len, rows)])
    items = np.array([item for row in rows for item in row], dtype=np.uint32)
    users, digests = random_digests(len(rows), seed), random_digests(30, seed + 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dpsu.randomness.digests, "SLICE", block)
        new_indptr, kept = sampled(indptr, items, users, digests, max_items)
    slow = reference.bound(rows, [slow_priorities(user, digests) for user in users], max_items)
    assert [kept[a:b].tolist() for a, b in pairwise(new_indptr)] == slow


def test_equal_priorities_keep_the_earlier_items():
    digests = np.ones((6, 2), dtype=np.uint64)
    _, kept = sampled(np.array([0, 6]), np.arange(6, dtype=np.uint32), random_digests(1), digests, 4)
    assert kept.tolist() == [0, 1, 2, 3]


def test_every_subset_is_equally_likely():
    users, size, max_items = 40_000, 5, 2
    indptr = np.arange(users + 1) * size
    items = np.tile(np.arange(size, dtype=np.uint32), users)
    _, kept = sampled(indptr, items, random_digests(users), random_digests(size, seed=5), max_items)
    counts = Counter(map(tuple, kept.reshape(users, max_items).tolist()))
    observed = [counts[subset] for subset in combinations(range(size), max_items)]
    assert sum(observed) == users
    assert stats.chisquare(observed).pvalue > 1e-4


def test_a_users_sample_does_not_depend_on_other_users():
    rng = np.random.default_rng(0)
    sizes = rng.integers(0, 60, 200)
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    items = np.concatenate([np.sort(rng.choice(100, size, replace=False)) for size in sizes]).astype(
        np.uint32
    )
    users, digests = random_digests(200), random_digests(100, seed=1)
    whole_indptr, whole = sampled(indptr, items, users, digests, 20)

    def part(bounds):
        first, last = bounds
        return sampled(indptr[first : last + 1], items, users[first:last], digests, 20)

    with ThreadPoolExecutor(2) as pool:
        parts = list(pool.map(part, [(0, 77), (77, 200)]))
    np.testing.assert_array_equal(np.concatenate([kept for _, kept in parts]), whole)
    np.testing.assert_array_equal(parts[1][0], whole_indptr[77:] - whole_indptr[77])
