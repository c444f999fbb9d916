"""Every example in the documentation runs: Python blocks page by page, and commands."""

import base64
import re
import shlex
import warnings
from html import unescape
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import polars as pl
import pytest
from typer.testing import CliRunner

import dpsu
from dpsu.cli.app import app
from dpsu.report.html import page

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
RUN = [page for page in PAGES if page.stem != "cluster"]  # needs Spark and a bucket
BLOCK = re.compile(r"^(<!-- not run: .+ -->\n)?```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^ {4}(dpsu [a-z](?:.*\\\n)*.*)$", re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)")
BODY = "to be or not to be that is the question"


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that examples speak of."""
    monkeypatch.chdir(tmp_path)
    rows = [(f"author {n}", word, BODY) for n in range(600) for word in ("and", "of", "the")]
    pl.DataFrame(rows, schema=["author", "word", "body"], orient="row").write_parquet("posts.parquet")
    stays = [(n, f"C{n % 3}", 1.0 + n % 4) for n in range(3000)]
    pl.DataFrame(stays, schema=["patient", "code", "days"], orient="row").write_parquet("stays.parquet")
    (tmp_path / "english.txt").write_text("to\nbe\nquestion\n")
    (tmp_path / "diaries").mkdir()
    for n in range(50):
        (tmp_path / "diaries" / f"{n}.txt").write_text(BODY)
    policy = "import dpsu, numpy as np\nmy_policy = dpsu.Policy(lambda w, cutoff: np.full(w.size, 1 / w.size), norm=1)\n"
    (tmp_path / "my_module.py").write_text(policy)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def name(page: Path) -> str:
    return page.stem


@pytest.mark.parametrize("page", [page for page in RUN if BLOCK.search(page.read_text())], ids=name)
def test_python_examples_run(page: Path, desk: Path) -> None:
    known: dict[str, object] = {"dpsu": dpsu, "documents": [BODY] * 600, "authors": list(range(600))}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dpsu.EmptyRelease)
        for excuse, block in BLOCK.findall(page.read_text()):
            if not excuse:
                exec(compile(block, page.name, "exec"), known)


@pytest.mark.parametrize("page", [page for page in RUN if COMMAND.search(page.read_text())], ids=name)
def test_commands_run(page: Path, desk: Path) -> None:
    for line in COMMAND.findall(page.read_text()):
        words = shlex.split(line.replace("\\\n", " "), comments=True)[1:]
        words += ["--seconds", "0.1"] if words[0] == "check-policy" else []
        run = CliRunner().invoke(app, words)
        assert run.exit_code == 0, f"{line}\n{run.output}\n{run.exception}"


def test_the_reference_has_every_public_function_and_class() -> None:
    shown = set(re.findall(r"^::: dpsu\.\S+\.(\w+)$", (ROOT / "docs" / "api.md").read_text(), re.MULTILINE))
    public = {name for name in dpsu.__all__ if callable(getattr(dpsu, name))}
    assert public - shown == set()


def test_the_gallery_is_what_is_written_today() -> None:
    """If it is not: python -m experiments.gallery."""
    gallery = ROOT / "docs" / "gallery"
    shown = (gallery / "report.html").read_text()
    found = re.search(r"base64,([\w+/=]+)", shown)
    counted = re.search(r"The file contains ([\d,]+) items", shown)
    assert found
    assert counted
    statement = dpsu.Statement.from_json(base64.b64decode(found[1]).decode())
    assert dpsu.verify(statement).ok
    assert page(statement, int(counted[1].replace(",", ""))) == shown
    assert f"```text\n{statement}\n```" in (ROOT / "docs" / "gallery.md").read_text()


def test_the_bridge_shows_the_scripts_of_the_examples() -> None:
    page = (ROOT / "docs" / "bridge.md").read_text()
    scripts = sorted((ROOT / "examples" / "bridge").glob("*.py"))
    assert len(scripts) == 3
    for script in scripts:
        assert script.read_text().partition('"""\n')[2].strip() in page


def formulas() -> ModuleType:
    path = ROOT / "docs" / "formulas.py"
    found = spec_from_file_location("formulas", path)
    assert found
    assert found.loader
    module = module_from_spec(found)
    found.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("delta_G <= e^-epsilon x'", "δG ≤ e−ε x′"),
        ("e^(kappa (2 x_h - x)) t²", "eκ (2 xh − x) t²"),
        ("f_j^delta_growth + A_{r+1}", "fjδgrowth + Ar+1"),
        ("<a, b> > 0", "⟨a, b⟩ > 0"),
        ("|h|^2  >=  1/sqrt(t)", "|h|2 ≥ 1/√(t)"),
    ],
)
def test_formulas_are_typeset(written: str, shown: str) -> None:
    text = unescape(re.sub("<[^>]*>", "", formulas().block(written)))
    assert " ".join(text.split()) == shown


def test_no_formula_of_the_pages_keeps_its_marks() -> None:
    page = "\n".join(page.read_text() for page in PAGES)
    blocks = formulas().BLOCK.findall(page)
    assert len(blocks) > 30
    assert not re.search(r"[_^{]", re.sub("min{", "", "".join(formulas().block(each) for each in blocks)))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    missing = [link for link in LINK.findall(page.read_text()) if not (page.parent / link).exists()]
    assert missing == []
