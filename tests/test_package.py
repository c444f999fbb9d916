"""The wheel, in an environment that has nothing else; and what importing costs."""

import doctest
import os
import subprocess
import sys
import venv
from importlib import metadata
from pathlib import Path

import polars as pl
import pytest

import dpsu

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def empty_environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the built wheel and its dependencies alone."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    venv.create(folder / "env", with_pip=True)
    pip = [
        str(folder / "env" / "bin" / "python"),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]
    subprocess.run([*pip, *map(str, folder.glob("*.whl"))], check=True, capture_output=True)
    return folder / "env" / "bin"


def test_the_wheel_runs_where_nothing_else_is(empty_environment: Path, tmp_path: Path) -> None:
    source, target = tmp_path / "posts.csv", tmp_path / "words.csv"
    pl.DataFrame({"author": range(500), "word": ["hello"] * 500}).write_csv(source)
    command = [
        empty_environment / "dpsu", "release", source, "--user", "author", "--item", "word",
        "--epsilon", "1", "--delta", "1e-6", "-o", target,
    ]  # fmt: skip
    run = subprocess.run(list(map(str, command)), capture_output=True, check=False)
    assert run.returncode == 0, run.stderr
    assert target.read_text() == "word\nhello\n"
    corpus = "import dpsu; print(dpsu.datasets.load('shakespeare_speakers').height > 0, dpsu.__version__)"
    shown = subprocess.run([str(empty_environment / "python"), "-c", corpus], capture_output=True, check=True)
    assert shown.stdout.decode() == f"True {metadata.version('dpsu')}\n"


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
dpsu.release(frame, user="user", item="item", epsilon=3.0, delta=1e-4, max_items=50)
"""


def test_a_release_compiles_each_loop_for_one_kind_of_arguments(tmp_path: Path) -> None:
    """Whoever runs the first release waits for the compiler; a number of another type makes them wait twice."""
    run = [sys.executable, "-c", FIRST_RELEASE]
    subprocess.run(run, check=True, env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)})
    compiled = [path.name.split("-")[0] for path in tmp_path.rglob("*.nbc")]
    assert len(compiled) > 8
    assert len(set(compiled)) == len(compiled)
