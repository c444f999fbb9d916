"""The keyed stream: standard vectors, addresses, and words that are as good as random."""

import pickle

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES256
from cryptography.hazmat.primitives.ciphers.modes import ECB

from dpsu.randomness.stream import Encryption, Purpose, Stream, open_stream
from dpsu.testing import seeded

STREAM = Stream(bytes(range(32)))


def random_digests(n, seed=0):
    return np.random.default_rng(seed).integers(0, 2**64, (n, 2), dtype=np.uint64)


def test_encryption_is_that_of_the_standard():
    """FIPS 197, appendix C.3."""
    plain = bytes.fromhex("00112233445566778899aabbccddeeff")
    blocks = np.frombuffer(plain * 3, dtype="<u8").astype(np.uint64).reshape(3, 2)
    encrypted = Encryption(bytes(range(32))).encrypt(blocks)
    assert encrypted.astype("<u8").tobytes().hex() == "8ea2b7ca516745bfeafc49904b496089" * 3


def test_derived_keys_are_those_of_the_standard():
    """RFC 5869, appendix A.1: the expand step."""
    key = bytes.fromhex("077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5")
    expected = "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"
    assert Stream(key).derived(42, bytes.fromhex("f0f1f2f3f4f5f6f7f8f9")).hex() == expected


def test_a_key_has_32_bytes():
    with pytest.raises(ValueError, match="32 bytes"):
        Stream(b"short")


@pytest.mark.parametrize("n", [0, 1, 2, 5000])
def test_words_have_the_documented_address(n):
    digests = random_digests(n)
    cipher = Cipher(AES256(STREAM.derived(32, Purpose.NOISE, 13)), ECB()).encryptor()
    expected = [cipher.update(digest.astype("<u8").tobytes()) for digest in digests]
    both = STREAM.words(Purpose.NOISE, 13, digests, count=2)
    assert both.shape == (n, 2)
    assert both.astype("<u8").tobytes() == b"".join(expected)
    np.testing.assert_array_equal(STREAM.words(Purpose.NOISE, 13, digests), both[:, 0])


def test_no_two_addresses_share_a_word():
    digests = random_digests(20)
    drawn = [
        STREAM.words(purpose, round, digests, count=2).ravel() for purpose in Purpose for round in range(20)
    ]
    extensions = [
        STREAM.extension(purpose, round, digests[0], depth) >> 448
        for purpose in (Purpose.NOISE, Purpose.KEEP)
        for round in range(3)
        for depth in range(20)
    ]
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


def test_steps_have_keys_of_their_own_and_keep_the_seed() -> None:
    stream = Stream(bytes(32), seeded=True)
    keys = [stream.key, *(stream.step(number).key for number in range(5)), stream.step(0).step(0).key]
    assert len(set(keys)) == len(keys)
    assert stream.step(3) == Stream(bytes(32), seeded=True).step(3)
    assert stream.step(3).seeded
    assert not Stream(bytes(32)).step(3).seeded
