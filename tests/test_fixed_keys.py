"""Tests draw the same noise in every run, whichever test comes first."""

import pytest
from fixed_keys import keys_of

import dpsu
from dpsu.randomness.stream import Stream


def keys(number: int) -> list[bytes]:
    return [Stream.fresh().key for _ in range(number)]


@pytest.fixture(scope="module")
def shared() -> bytes:
    return Stream.fresh().key


def test_keys_are_those_of_the_test(request: pytest.FixtureRequest, shared: bytes) -> None:
    drawn = keys(3)
    with keys_of(request.node.nodeid):
        assert keys(3) == drawn
    with keys_of("another test"):
        assert not {*keys(3)} & {*drawn}
    assert len({shared, *drawn, *keys(1)}) == 5


def test_a_fixture_that_tests_share_has_its_own(shared: bytes) -> None:
    with keys_of("tests/test_fixed_keys.py::shared 0"):
        assert keys(1) == [shared]


@pytest.mark.real_keys
def test_a_marked_test_draws_the_keys_of_the_operating_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.urandom", lambda size: b"\1" * size)
    assert keys(1) == [b"\1" * 32]


def test_statements_are_not_void() -> None:
    release = dpsu.release({n: ["a"] for n in range(300)}, epsilon=3.0, delta=1e-6)
    assert release.statement is not None
    assert release.statement.void is None
