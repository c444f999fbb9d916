"""How loops are compiled: a shared cache serves processes that fill it at once, and bounds can be checked."""

import os
import subprocess
import sys

import numpy as np
import pytest

from dpsu.kernels.compiled import kernel, read_only

LOOPS = """
import sys
import numpy as np
from dpsu.kernels.compiled import kernel

@kernel
def doubled(values):
    return values + values

@kernel
def summed(values):
    total = 0.0
    for value in doubled(values):
        total += value
    return total

sys.stdout.write(str(summed(np.arange(4.0))))
"""

OVERRUN = """
import numpy as np
from dpsu.kernels.compiled import kernel

@kernel
def overrun(values):
    for k in range(values.size + 1):
        values[k] = k

overrun(np.zeros(3))
"""


def started(script, cache):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    return subprocess.Popen(
        [sys.executable, script], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def test_processes_that_fill_the_cache_at_once_do_not_hurt_each_other(tmp_path):
    script, cache = tmp_path / "loops.py", tmp_path / "cache"
    script.write_text(LOOPS)
    for number in (2, 1):  # the last one reads what the others wrote
        processes = [started(script, cache) for _ in range(number)]
        outputs = [process.communicate() for process in processes]
        assert not any(process.returncode for process in processes), outputs
        assert {out for out, _ in outputs} == {b"12.0"}
    assert len(list(cache.rglob("*.nbc"))) == 2


def test_an_overrun_is_found_where_bounds_are_checked(tmp_path):
    """`make test-bounds` runs the loops' tests with this setting; it must be able to fail."""
    (tmp_path / "overrun.py").write_text(OVERRUN)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "NUMBA_BOUNDSCHECK": "1"}
    found = subprocess.run(
        [sys.executable, tmp_path / "overrun.py"], env=environment, capture_output=True, text=True
    )
    assert found.returncode != 0
    assert "IndexError" in found.stderr


def test_read_only_arrays_cannot_be_written_by_a_loop():
    @kernel
    def fill(values):
        values[0] = 1.0

    values = np.zeros(3)
    with pytest.raises(Exception, match=r"(?i)read-?only|cannot modify"):
        fill(read_only(values))
    assert values.tolist() == [0, 0, 0]
