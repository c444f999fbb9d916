"""The wheel, in an environment that has nothing else."""

import subprocess
import sys
import venv
from importlib import metadata
from pathlib import Path

import polars as pl
import pytest

ROOT = Path(__file__).parents[2]


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
    """The item has 500 holders: 43 give it a chance of 1 - 1e-6, and with 500 `plan.chance` is 1 to 15 digits."""
    source, target = tmp_path / "posts.csv", tmp_path / "words.csv"
    pl.DataFrame({"author": range(500), "word": ["hello"] * 500}).write_csv(source)
    command = [
        empty_environment / "dpsu", "release", source, "--user", "author", "--item", "word",
        "--epsilon", "1", "--delta", "1e-6", "--algorithm", "focused-gaussian", "-o", target,
    ]  # fmt: skip
    run = subprocess.run(list(map(str, command)), capture_output=True, check=False)
    assert run.returncode == 0, run.stderr
    assert target.read_text() == "word\nhello\n"
    corpus = "import dpsu; print(dpsu.datasets.load('shakespeare_speakers').height > 0, dpsu.__version__)"
    shown = subprocess.run([str(empty_environment / "python"), "-c", corpus], capture_output=True, check=True)
    assert shown.stdout.decode() == f"True {metadata.version('dpsu')}\n"
