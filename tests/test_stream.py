"""The keyed stream: standard vectors, slow twins, addresses, digests and sampling."""

import pickle
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpsu.random_kernels import (
    chacha_words,
    digest_bytes,
    digest_concatenated,
    digest_integers,
    long_rows,
    sample_rows,
)
from dpsu.stream import Purpose, Stream, open_stream
from dpsu.testing import seeded

STREAM = Stream(bytes(range(32)))
SIP_KEY = np.frombuffer(bytes(range(16)), dtype="<u8").astype(np.uint64)
MASK_32, MASK_64 = 2**32 - 1, 2**64 - 1


def random_digests(n, seed=0):
    return np.random.default_rng(seed).integers(0, 2**64, (n, 2), dtype=np.uint64)


def slow_chacha_block(key, address):
    """RFC 8439, section 2.3, on bytes."""

    def rotate(x, left):
        return (x << left | x >> (32 - left)) & MASK_32

    def quarter(x, a, b, c, d):
        for i, j, k, left in (a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7):
            x[i] = (x[i] + x[j]) & MASK_32
            x[k] = rotate(x[k] ^ x[i], left)

    data = b"expand 32-byte k" + key + address
    start = [int.from_bytes(data[i : i + 4], "little") for i in range(0, 64, 4)]
    x = list(start)
    for _ in range(10):
        for i in range(4):
            quarter(x, i, 4 + i, 8 + i, 12 + i)
        for i in range(4):
            quarter(x, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
    return b"".join(((a + b) & MASK_32).to_bytes(4, "little") for a, b in zip(x, start, strict=True))


def slow_siphash(key, message, wide):
    """SipHash-2-4 of bytes: 8 bytes, or 16 if `wide`."""
    k0, k1 = int.from_bytes(key[:8], "little"), int.from_bytes(key[8:], "little")
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]
    v[1] ^= 0xEE if wide else 0

    def rotate(x, left):
        return (x << left | x >> (64 - left)) & MASK_64

    def rounds(n):
        for _ in range(n):
            for a, b, left in (0, 1, 13), (2, 3, 16):
                v[a] = (v[a] + v[b]) & MASK_64
                v[b] = rotate(v[b], left) ^ v[a]
            v[0] = rotate(v[0], 32)
            for a, b, left in (2, 1, 17), (0, 3, 21):
                v[a] = (v[a] + v[b]) & MASK_64
                v[b] = rotate(v[b], left) ^ v[a]
            v[2] = rotate(v[2], 32)

    def output():
        return (v[0] ^ v[1] ^ v[2] ^ v[3]).to_bytes(8, "little")

    padded = message + bytes(7 - len(message) % 8) + bytes([len(message) % 256])
    for i in range(0, len(padded), 8):
        word = int.from_bytes(padded[i : i + 8], "little")
        v[3] ^= word
        rounds(2)
        v[0] ^= word
    v[2] ^= 0xEE if wide else 0xFF
    rounds(4)
    first = output()
    if not wide:
        return first
    v[1] ^= 0xDD
    rounds(4)
    return first + output()


def digests_of(strings, key=SIP_KEY):
    offsets = np.cumsum([0, *map(len, strings)])
    return digest_bytes(offsets, np.frombuffer(b"".join(strings), dtype=np.uint8), key)


@pytest.mark.parametrize(
    ("key", "address", "block"),
    [
        (
            bytes(range(32)),
            "01000000000000090000004a00000000",
            "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
            "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e",
        ),
        (
            bytes(32),
            "00000000000000000000000000000000",
            "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
            "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586",
        ),
    ],
    ids=["RFC 8439, 2.3.2", "RFC 8439, A.1 #1"],
)
def test_chacha_block_of_the_standard(key, address, block):
    key_words = np.frombuffer(key, dtype="<u4").astype(np.uint32)
    addresses = np.frombuffer(bytes.fromhex(address), dtype="<u8").astype(np.uint64).reshape(1, 2)
    assert chacha_words(key_words, addresses, 0, 8).astype("<u8").tobytes().hex() == block
    assert slow_chacha_block(key, bytes.fromhex(address)).hex() == block


@pytest.mark.parametrize("n", [0, 1, 15, 16, 17, 50])
def test_chacha_equals_its_slow_twin_on_full_and_partial_lanes(n):
    key = bytes(range(100, 132))
    addresses = random_digests(n, seed=n)
    words = chacha_words(np.frombuffer(key, dtype="<u4").astype(np.uint32), addresses, 2, 3)
    slow = [slow_chacha_block(key, row.astype("<u8").tobytes())[16:40] for row in addresses]
    assert words.shape == (n, 3)
    assert words.astype("<u8").tobytes() == b"".join(slow)


def test_siphash_of_the_reference_implementation():
    assert digests_of([b""]).tobytes().hex() == "a3817f04ba25a8e66df67214c7550293"
    assert slow_siphash(bytes(range(16)), bytes(range(15)), wide=False).hex() == "e545be4961ca29a1"


@settings(deadline=None)
@given(st.lists(st.binary(max_size=40)))
def test_digests_of_strings_equal_the_slow_twin(strings):
    slow = b"".join(slow_siphash(bytes(range(16)), string, wide=True) for string in strings)
    assert digests_of(strings).astype("<u8").tobytes() == slow


def test_digest_of_a_long_string():
    string = bytes(range(256)) * 5 + b"abc"
    assert digests_of([string]).astype("<u8").tobytes() == slow_siphash(bytes(range(16)), string, wide=True)


def test_integers_digest_as_their_eight_bytes():
    values = np.array([0, 1, -1, 2**62, -(2**63)])
    strings = [int(value).to_bytes(8, "little", signed=True) for value in values]
    np.testing.assert_array_equal(digest_integers(values, SIP_KEY), digests_of(strings))


def test_composite_keys_digest_their_columns_digests():
    first, second = digests_of([b"at", b"de"]), digest_integers(np.array([7, 8]), SIP_KEY)
    strings = [
        a.astype("<u8").tobytes() + b.astype("<u8").tobytes() for a, b in zip(first, second, strict=True)
    ]
    np.testing.assert_array_equal(digest_concatenated([first, second], SIP_KEY), digests_of(strings))


def test_a_key_has_32_bytes():
    with pytest.raises(ValueError, match="32 bytes"):
        Stream(b"short")


def test_words_have_the_documented_address():
    digests = random_digests(3)
    round, block = 13, slow_chacha_block
    for count, place in (1, 13 % 8), (2, 2 * (13 % 4)), (8, 0):
        subkey = STREAM.subkey(Purpose.NOISE, round // (8 // count), count).astype("<u4").tobytes()
        drawn = STREAM.words(Purpose.NOISE, round, digests, count).reshape(3, count)
        for digest, words in zip(digests, drawn, strict=True):
            expected = block(subkey, digest.astype("<u8").tobytes())[8 * place : 8 * (place + count)]
            assert words.astype("<u8").tobytes() == expected


def test_subkeys_are_blocks_of_the_key():
    address = (5).to_bytes(8, "little") + int(Purpose.KEEP).to_bytes(4, "little") + (17).to_bytes(4, "little")
    expected = slow_chacha_block(STREAM.key, address)[:32]
    assert STREAM.subkey(Purpose.KEEP, 5, 17).astype("<u4").tobytes() == expected


def test_no_two_addresses_share_a_word():
    digests = random_digests(20)
    drawn = [
        STREAM.words(purpose, round, digests, count).ravel()
        for purpose in Purpose
        for round in range(20)
        for count in (1, 2, 4, 8)
    ]
    extensions = [STREAM.extension(Purpose.NOISE, 0, digests[0], depth) >> 448 for depth in range(20)]
    words = np.concatenate([*drawn, np.array(extensions, dtype=np.uint64)])
    assert len(np.unique(words)) == len(words)


def test_words_of_different_rounds_and_purposes_are_uncorrelated():
    digests = random_digests(50_000)
    draws = [STREAM.words(p, r, digests) for p in (Purpose.NOISE, Purpose.KEEP) for r in (0, 1, 8)]
    correlation = np.corrcoef(np.array(draws).astype(float))
    assert np.abs(correlation - np.eye(6)).max() < 5 / np.sqrt(50_000)


def test_every_bit_is_fair():
    words = STREAM.words(Purpose.NOISE, 3, random_digests(100_000))
    ones = [int((words >> np.uint64(bit) & np.uint64(1)).sum()) for bit in range(64)]
    assert np.abs(np.array(ones) - 50_000).max() < 5 * np.sqrt(25_000)


def test_a_word_belongs_to_its_digest_alone():
    digests = random_digests(1000)
    whole = STREAM.words(Purpose.NOISE, 3, digests)
    some = np.random.default_rng(1).permutation(1000)[:77]
    np.testing.assert_array_equal(STREAM.words(Purpose.NOISE, 3, digests[some]), whole[some])
    np.testing.assert_array_equal(STREAM.words(Purpose.NOISE, 3, np.asfortranarray(digests)), whole)


def test_the_key_is_never_shown_but_travels():
    stream = Stream.fresh()
    for text in (repr(stream), str(stream), f"{stream}", repr([stream])):
        assert "hidden" in text
        assert stream.key.hex() not in text
        assert repr(stream.key) not in text
    assert pickle.loads(pickle.dumps(stream)) == stream


@pytest.mark.real_keys
def test_streams_are_fresh_and_unseeded_outside_tests():
    first, second = open_stream(), open_stream()
    assert first.key != second.key
    assert not first.seeded


def test_seeded_streams_repeat_in_order_and_differ():
    def keys(seed):
        with seeded(seed):
            return [open_stream().key for _ in range(3)]

    assert keys(1) == keys(1)
    assert len({*keys(1), *keys(2)}) == 6
    with seeded(1):
        assert open_stream().seeded
    assert not open_stream().seeded


def slow_priority(user_key, digest):
    hashed = slow_siphash(user_key.astype("<u8").tobytes(), digest.astype("<u8").tobytes(), wide=False)
    return int.from_bytes(hashed, "little")


def sampled(indptr, items, user_keys, item_digests, max_items):
    long = long_rows(indptr, max_items)
    held = np.zeros(len(item_digests), np.bool_)
    return sample_rows(indptr, items, long, user_keys[long], item_digests, max_items, held)


def slow_sample(row, user_key, item_digests, max_items):
    if len(row) <= max_items:
        return list(row)
    ranked = sorted(row, key=lambda item: slow_priority(user_key, item_digests[item]))
    return sorted(ranked[:max_items])


@settings(deadline=None)
@given(
    rows=st.lists(st.sets(st.integers(0, 29)), min_size=1, max_size=6),
    max_items=st.integers(1, 12),
    seed=st.integers(0, 2**32),
)
def test_sample_equals_its_slow_twin(rows, max_items, seed):
    rows = [sorted(row) for row in rows]
    indptr = np.cumsum([0, *map(len, rows)])
    items = np.array([item for row in rows for item in row], dtype=np.uint32)
    user_keys, item_digests = random_digests(len(rows), seed), random_digests(30, seed + 1)
    new_indptr, kept = sampled(indptr, items, user_keys, item_digests, max_items)
    slow = [slow_sample(row, key, item_digests, max_items) for row, key in zip(rows, user_keys, strict=True)]
    assert [kept[a:b].tolist() for a, b in pairwise(new_indptr)] == slow


def test_long_rows_sample_as_a_sort_would():
    items = np.arange(3000, dtype=np.uint32)
    digests, key = random_digests(3000), random_digests(1, seed=9)
    ranks = np.argsort(np.array([slow_priority(key[0], digest) for digest in digests], dtype=np.uint64))
    for max_items in (1, 10, 1500, 2999):
        indptr, kept = sampled(np.array([0, 3000]), items, key, digests, max_items)
        assert indptr.tolist() == [0, max_items]
        np.testing.assert_array_equal(kept, np.sort(ranks[:max_items]))


def test_equal_priorities_keep_the_earlier_items():
    digests = np.ones((6, 2), dtype=np.uint64)
    _, kept = sampled(np.array([0, 6]), np.arange(6, dtype=np.uint32), random_digests(1), digests, 4)
    assert kept.tolist() == [0, 1, 2, 3]


def test_every_subset_is_equally_likely():
    users, size, max_items = 40_000, 5, 2
    indptr = np.arange(users + 1) * size
    items = np.tile(np.arange(size, dtype=np.uint32), users)
    keys = STREAM.words(Purpose.BOUND, 0, random_digests(users), count=2)
    _, kept = sampled(indptr, items, keys, random_digests(size, seed=5), max_items)
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
    keys, digests = random_digests(200), random_digests(100, seed=1)
    whole_indptr, whole = sampled(indptr, items, keys, digests, 20)

    def part(bounds):
        first, last = bounds
        return sampled(indptr[first : last + 1], items, keys[first:last], digests, 20)

    with ThreadPoolExecutor(2) as pool:
        parts = list(pool.map(part, [(0, 77), (77, 200)]))
    np.testing.assert_array_equal(np.concatenate([kept for _, kept in parts]), whole)
    np.testing.assert_array_equal(parts[1][0], whole_indptr[77:] - whole_indptr[77])


def test_a_stream_of_rounds_has_the_words_of_its_stream():
    digests, others = random_digests(3000), random_digests(3000, seed=1)
    slices = [digests[:1000], digests[1000:], digests[:], others[::3], others[:1000]]
    rounds = STREAM.of_rounds()
    for r in [*range(20), 3, 11, 0]:
        for purpose in (Purpose.NOISE, Purpose.KEEP):
            for own in (*slices, digests.copy(), digests[np.arange(r, 900)]):
                np.testing.assert_array_equal(
                    rounds.words(purpose, r, own), STREAM.words(purpose, r, own), strict=True
                )
        np.testing.assert_array_equal(
            rounds.words(Purpose.BOUND, r, slices[0], count=2),
            STREAM.words(Purpose.BOUND, r, slices[0], count=2),
        )
        assert rounds.extension(Purpose.NOISE, r, digests[7], 1) == STREAM.extension(
            Purpose.NOISE, r, digests[7], 1
        )
    assert len(rounds._kept) == 2 * len(slices)


def test_a_stream_of_rounds_keeps_no_more_than_it_may(monkeypatch):
    monkeypatch.setattr("dpsu.stream.MOST_KEPT", 2)
    digests, rounds = random_digests(50), STREAM.of_rounds()
    for r in range(10):
        for first in range(0, 50, 10):
            own = digests[first : first + 10]
            np.testing.assert_array_equal(
                rounds.words(Purpose.NOISE, r, own), STREAM.words(Purpose.NOISE, r, own)
            )
    assert len(rounds._kept) == 2


def test_a_stream_of_rounds_knows_arrays_by_a_place_that_no_other_can_take():
    rounds = STREAM.of_rounds()
    for seed in range(200):
        own = random_digests(4096, seed)[:]
        np.testing.assert_array_equal(
            rounds.words(Purpose.NOISE, 0, own), STREAM.words(Purpose.NOISE, 0, own)
        )
        del own


def test_a_stream_of_rounds_is_a_plain_one_elsewhere():
    rounds = STREAM.of_rounds()
    rounds.words(Purpose.NOISE, 0, random_digests(5)[:])
    copy = pickle.loads(pickle.dumps(rounds))
    assert type(copy) is Stream
    assert copy == STREAM
    assert "hidden" in repr(rounds)
