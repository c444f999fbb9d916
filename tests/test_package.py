"""What importing costs, the public names, and how often a release compiles."""

import doctest
import os
import subprocess
import sys
from pathlib import Path

import pytest

import dpsu


def test_importing_loads_nothing_heavy() -> None:
    code = "import dpsu, sys; print([name for name in ('numba', 'polars', 'scipy', 'mpmath') if name in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert shown.stdout == b"[]\n"


def test_a_public_verb_and_its_module_have_names_of_their_own() -> None:
    code = (
        "import dpsu, dpsu.api.release, types; "
        "print(callable(dpsu.release), isinstance(dpsu.api.release, types.ModuleType))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert shown.stdout == b"True True\n"


def test_the_module_runs_as_the_command() -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "dpsu", "--version"], capture_output=True, text=True, check=True
    )
    assert shown.stdout.strip() == dpsu.__version__


def test_old_names_say_the_new_ones() -> None:
    with pytest.raises(dpsu.DpsuError, match="list_algorithms"):
        dpsu.algorithms()  # type: ignore[operator]
    with pytest.raises(AttributeError, match="FocusedGaussian"):
        dpsu.Focus


def test_every_public_name_is_there() -> None:
    assert set(dir(dpsu)) >= set(dpsu.__all__)
    for name in dpsu.__all__:
        assert getattr(dpsu, name) is not None


@pytest.mark.parametrize(
    "name", [name for name in dpsu.__all__ if name not in ("datasets", "testing", "__version__")]
)
def test_every_public_name_has_an_example_that_runs(name: str) -> None:
    public = getattr(dpsu, name)
    examples = doctest.DocTestParser().get_doctest(public.__doc__, {}, name, None, None)
    assert examples.examples
    results = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(examples)
    assert results.failed == 0


@pytest.mark.parametrize("command", [["--help"], ["release", "--help"], ["ledger", "show", "--help"]])
def test_help_loads_nothing_heavy(command: list[str]) -> None:
    heavy = ("numpy", "scipy", "numba", "polars", "rich", "pydantic", "mpmath", "cryptography")
    code = (
        f"import sys; sys.argv[1:] = {command!r}\n"
        "from dpsu.cli import main\n"
        "try: main()\n"
        f"except SystemExit: print([name for name in {heavy!r} if name in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert shown.stdout.decode().splitlines()[-1] == "[]"


def test_a_plan_loads_no_compiler_and_no_frames() -> None:
    code = (
        "import dpsu, sys; print(dpsu.plan(epsilon=1, delta=1e-6)); "
        "print([name for name in ('numba', 'polars') if name in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert shown.stdout.decode().splitlines()[-1] == "[]"


FIRST_RELEASE = """
import dpsu
import polars as pl

rows = [(user, f"word{item}") for user in range(300) for item in range(user % 120 + 1)]
frame = pl.DataFrame(rows, schema=["user", "item"], orient="row")
with dpsu.testing.seeded(1):  # auto chooses by private noise, and its algorithms have other loops
    dpsu.release(frame, user="user", item="item", epsilon=3.0, delta=1e-4, max_items=50)
"""


def test_a_release_compiles_each_loop_for_one_kind_of_arguments(tmp_path: Path) -> None:
    """Whoever runs the first release waits for the compiler; a number of another type makes them wait twice."""
    run = [sys.executable, "-c", FIRST_RELEASE]
    subprocess.run(run, check=True, env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)})
    compiled = [path.name.split("-")[0] for path in tmp_path.rglob("*.nbc")]
    assert len(compiled) >= 8
    assert len(set(compiled)) == len(compiled)
