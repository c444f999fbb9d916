"""The experiments on a small scale: they resume, and their tables and findings are what they say."""

import re
from pathlib import Path

import numpy as np
import pytest
from experiments.paper import exhibits, page, plots, published, sensitivity, tables, tuning
from experiments.paper.claims import all_claims
from experiments.paper.data import REDDIT, Corpus, corpora
from experiments.paper.facts import facts_of
from experiments.paper.runs import Cell, Results, repeated, run_missing

import dpsu
from dpsu.randomness.stream import Stream
from dpsu.sources.pairs import read_sets

ROOT = Path(__file__).parents[2]


def small_corpus():
    frame = dpsu.datasets.reddit_like(users=800, seed=1)
    return read_sets(frame, user="user", item="item", stream=Stream.fresh())


@pytest.fixture
def made_up(tmp_path):
    """Results for every cell, near the paper's where it has a number, so that pages can be written without runs."""
    results = Results(tmp_path / "results.jsonl")
    rng = np.random.default_rng(0)
    for cell in exhibits.all_cells():
        row = published.MAIN_TABLE.get(cell.algorithm, ((20_000, 10),) * 5)
        place = int(np.searchsorted(published.MAX_ITEMS, min(cell.max_items, 200)))
        results.add(cell.key, float(row[place][0] + rng.integers(-20, 20)))
    for trial in tuning.trials(quick=False):
        results.add(trial.key, 1000.0)
    return results


def test_a_killed_run_continues(tmp_path):
    corpus = small_corpus()
    sources = {REDDIT: Corpus(REDDIT, "small", lambda: corpus)}
    cells = repeated([Cell(REDDIT, "weighted-gaussian"), Cell(REDDIT, "policy-gaussian", alpha=2.0)], 2)
    path = tmp_path / "results.jsonl"
    run_missing(cells[:3], sources, Results(path), lambda what, done: None)
    path.write_text(path.read_text() + '{"key": "torn')
    heard = []
    again = Results(path)
    before = [again[cell.key] for cell in cells[:3]]
    run_missing(cells, sources, again, lambda what, done: heard.append(done))
    assert sum(heard) == 1
    assert [again[cell.key] for cell in cells[:3]] == before
    assert all(count > 0 for count in again.of(cells[0], 2))


def test_a_cell_runs_what_it_names():
    corpus = small_corpus()
    loose, tight = (Cell(REDDIT, "policy-gaussian", epsilon=e).released(corpus) for e in (8.0, 0.5))
    assert loose > tight
    assert len({Cell(REDDIT, "policy-gaussian", passes=n).key for n in (1, 2)}) == 2


def test_the_page_has_every_table_and_figure(made_up, tmp_path):
    facts = facts_of(small_corpus())
    page.write_page(tmp_path / "out", False, made_up, facts, corpora(quick=False))
    text = (tmp_path / "out" / "results.md").read_text()
    for name in re.findall(r"\]\(([\w-]+\.svg)\)", text):
        assert (tmp_path / "out" / name).stat().st_size > 1000
    assert len(list((tmp_path / "out").glob("*.svg"))) == len(exhibits.sweeps()) + 2
    assert text.count("policy-gaussian-l1 |") >= 5
    assert "35 of 35" in text


def test_the_main_table_has_the_papers_35_cells_and_tells_which_are_outside(made_up):
    table = tables.main_table(made_up)
    assert sum(row[2] is not None for row in table.rows) == 35
    assert tables.outside(table) == []
    cell = exhibits.as_published(REDDIT, "count-gaussian", 50)
    for run in repeated([cell], exhibits.SHUFFLES):
        made_up.add(run.key, 1.07 * 6998)
    assert [(row[0], row[1]) for row in tables.outside(tables.main_table(made_up))] == [
        ("count-gaussian", 50)
    ]


def test_claims_are_checked_and_not_only_repeated(made_up):
    claims = all_claims(made_up, facts_of(small_corpus()))
    assert len(claims) == 11
    assert {claim.holds for claim in claims} == {True, False}


def test_sensitivity_grows_for_l1_descent_only():
    grown, kept = (sensitivity.distances(policy) for policy in sensitivity.POLICIES.values())
    assert grown[-1] == pytest.approx(7.40, abs=0.02)
    assert (np.diff(grown[1:]) > 0).all()
    assert kept.max() <= 1 + 1e-12


def test_quick_takes_a_tenth_and_says_so():
    assert "tenth" in corpora(quick=True)[REDDIT].label
    assert all("tenth" not in corpus.label for corpus in corpora(quick=False).values())


def test_figures_tell_lines_apart_without_colour():
    looks = {(marker, name.endswith("laplace")) for name, (_, marker, _) in plots.STYLES.items()}
    assert len(looks) == len(plots.STYLES)


def test_the_snippets_of_the_findings_run(monkeypatch):
    monkeypatch.chdir(ROOT)
    snippets = re.findall(
        r"```python\n(.*?)```", (ROOT / "docs" / "paper" / "findings.md").read_text(), re.DOTALL
    )
    assert len(snippets) == 4
    for snippet in snippets:
        exec(snippet, {})
