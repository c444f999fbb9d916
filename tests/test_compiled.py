"""How loops are compiled: without looking for garbage meanwhile, and nobody's collector stays off after it."""

import gc

import numba
import numpy as np
import pytest
from numba.core import event

from dpsu.compiled import kernel


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
    def numbers(values):
        for k in range(values.size):
            values[k] = k

    return numbers


@pytest.mark.parametrize("before", [True, False])
def test_the_collector_rests_while_a_loop_is_compiled(fill, before):
    values, watch = np.zeros(3), Watch()
    (gc.enable if before else gc.disable)()
    try:
        with event.install_listener("numba:compile", watch):
            fill(values)
        assert gc.isenabled() is before
    finally:
        gc.enable()
    assert watch.collecting == [False]
    assert values.tolist() == [0, 1, 2]


def test_the_collector_comes_back_after_a_failure(fill):
    with pytest.raises(numba.core.errors.TypingError):
        fill("no array")
    assert gc.isenabled()
