"""How loops are compiled: nobody's collector stays off after it, and none of them writes beside its arrays."""

import gc
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.core import event
from numpy.typing import NDArray

from dpsu.compiled import _uncollected, kernel, larger, smaller


class Watch(event.Listener):
    """Whether the collector was on whenever something was compiled."""

    def __init__(self) -> None:
        self.collecting: list[bool] = []

    def on_start(self, event: event.Event) -> None:
        self.collecting.append(gc.isenabled())

    def on_end(self, event: event.Event) -> None: ...


@pytest.fixture
def fill(tmp_path, monkeypatch):
    """A loop that is not compiled yet."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))

    @kernel
    def numbers(size: int, values: NDArray[np.float64]) -> None:
        for k in range(size):
            values[k] = k

    return numbers


@pytest.mark.parametrize("before", [True, False])
def test_the_collector_rests_while_a_loop_is_compiled(fill, before):
    values, watch = np.zeros(3), Watch()
    (gc.enable if before else gc.disable)()
    try:
        with event.install_listener("numba:run_pass", watch):
            fill(3, values)
        assert gc.isenabled() is before
    finally:
        gc.enable()
    assert watch.collecting
    assert not any(watch.collecting)
    assert values.tolist() == [0, 1, 2]


def test_the_collector_comes_back_after_a_failure(fill):
    with pytest.raises(numba.core.errors.TypingError):
        fill(np.zeros(1), np.zeros(3))
    assert gc.isenabled()


def test_the_collector_wakes_when_the_last_of_several_is_done():
    with _uncollected:
        with _uncollected:
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


@numba.njit
def least_and_most(one, other):
    return smaller(one, other), larger(one, other)


@pytest.mark.parametrize(
    "pair",
    [
        (-3, 5),
        (5, -3),
        (np.uint64(2**63), np.uint64(1)),
        (np.uint64(1), np.uint64(2**63)),
        (0.5, -0.25),
        (-np.inf, 1.0),
    ],
)
def test_the_smaller_and_the_larger_of_two(pair):
    assert least_and_most(*pair) == (min(pair), max(pair))


def test_of_a_number_and_no_number_the_second_is_chosen():
    assert least_and_most(np.nan, 1.0) == (1.0, 1.0)
    assert np.isnan(least_and_most(1.0, np.nan)).all()


@pytest.mark.parametrize("pair", [(1, 0.5), (np.int32(7), 2**33), (np.uint64(5), -1)])
def test_numbers_of_two_types_are_not_compared(pair):
    with pytest.raises(numba.core.errors.TypingError, match="no common order"):
        least_and_most(*pair)


def test_arrays_with_gaps_are_refused(fill):
    with pytest.raises(TypeError, match="without gaps"):
        fill(3, np.zeros(6)[::2])


def test_every_kind_of_numbers_has_its_own_loop(fill):
    floats, words = np.zeros(3), np.zeros(3, np.uint8)
    fill(3, floats)
    fill(3, words)
    assert floats.tolist() == words.tolist() == [0, 1, 2]


def test_numbers_arrive_as_they_are(tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))

    @kernel
    def note(value: float, values: NDArray[np.float64]) -> None:
        values[0] = value

    values = np.zeros(1)
    for value in (0.25, np.float64(0.25), np.float32(0.25)):
        note(value, values)
        assert values[0] == 0.25
    for value in (-3, np.int32(-3)):
        note(value, values)
        assert values[0] == -3
    note(np.uint64(2**63), values)
    assert values[0] == 2.0**63
    with pytest.raises(TypeError):
        note(Fraction(1, 4), values)


def test_code_for_another_kind_of_arrays_is_not_taken_from_the_cache(fill, tmp_path):
    """Two processes that compile at the same time can leave the cache so."""
    for values in np.zeros(3), np.zeros(3, np.uint8):
        fill(3, values)
    one, other = sorted(tmp_path.rglob("*.nbc"))
    content = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(content)
    again = kernel(fill.__wrapped__)
    for values in np.zeros(3), np.zeros(3, np.uint8):
        again(3, values)
        assert values.tolist() == [0, 1, 2]


TESTS = Path(__file__).parent
LOOPS = [
    "test_kernels.py",
    "test_stream.py",
    "test_noise.py",
    "sets/test_encoding.py",
    "sets/test_rows.py",
    "test_engine_contract.py",
]


def between_fences(*tests):
    run = [sys.executable, "-m", "pytest", "-q", "-p", "fences", "-p", "no:xdist", *map(str, tests)]
    return subprocess.run(run, capture_output=True, text=True, cwd=TESTS)


def test_no_loop_writes_beside_its_arrays():
    found = between_fences(*LOOPS)
    assert found.returncode == 0, found.stdout


CLUMSY = """
import numpy as np
from dpsu.compiled import kernel

@kernel
def clumsy(size: int, values: np.ndarray) -> None:
    for k in range(size + 1):
        values[k] = k

def test_clumsy():
    clumsy(3, np.zeros(3))
"""


def test_a_loop_that_does_is_found(tmp_path):
    (tmp_path / "test_clumsy.py").write_text(CLUMSY)
    found = between_fences(tmp_path)
    assert "clumsy writes beside its arrays" in found.stdout
