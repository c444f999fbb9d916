"""The examples run: scripts as a person starts them, the notebook by nbconvert."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
NEEDS = {"nlp_engineer": ["sklearn", "tokenizers"]}


@pytest.mark.parametrize("name", ["nlp_engineer", "privacy_engineer", "statistician"])
def test_scripts_run(name: str, tmp_path: Path) -> None:
    for module in NEEDS.get(name, []):
        pytest.importorskip(module, reason=f"{name} needs {module}")
    ended = subprocess.run(
        [sys.executable, EXAMPLES / f"{name}.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout
    assert max(map(len, ended.stdout.splitlines())) <= 200


def test_a_list_of_words_is_used(tmp_path: Path) -> None:
    """Each of the two words has more than 1000 authors: `plan.chance` is 1 to 15 digits, also if they share 300 items. A
    word that nobody wrote would come out in one run of 200, so the list has none."""
    (tmp_path / "words.txt").write_text("Quantum\nlearning\nwholly-none\n")
    command = [sys.executable, EXAMPLES / "word_list.py", tmp_path / "words.txt"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "2 of them are listed" in ended.stdout
    missing = subprocess.run([*command[:2], tmp_path / "none"], capture_output=True, text=True, check=False)
    assert missing.returncode != 0
    assert "Traceback" not in missing.stderr


def test_the_notebook_runs_and_shows_its_results(tmp_path: Path) -> None:
    for module in ("nbconvert", "ipykernel", "matplotlib"):
        pytest.importorskip(module, reason=f"the notebook needs {module}")
    for name in ("hospital_analyst.ipynb", "hospital.py"):
        shutil.copy(EXAMPLES / name, tmp_path)
    command = [sys.executable, "-m", "nbconvert", "--execute", "--to", "html", "hospital_analyst.ipynb"]
    ended = subprocess.run(
        command,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "HOME": str(tmp_path)},
    )
    assert ended.returncode == 0, ended.stderr
    shown = (tmp_path / "hospital_analyst.html").read_text()
    for part in ("differentially private", "VERIFIED", "Expect about", "left, at delta", "srcdoc=", "±"):
        assert part in shown
