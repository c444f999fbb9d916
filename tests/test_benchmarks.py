"""The benchmarks on a small scale: every section measures, and the page says what the figures say."""

import json
import os
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest
from benchmarks import quiet, rivals, stages
from benchmarks.__main__ import main
from benchmarks.corpus import write_parts
from benchmarks.goals import goals_table
from benchmarks.measure import interleaved, summary
from benchmarks.page import SECTIONS, write_page
from benchmarks.quiet import Timing
from benchmarks.tables import Table, digits

SMALL = ["--quick", "--users", "300", "--repetitions", "1"]
CHEAP = ["end-to-end", "stages", "kernels", "noise", "encoding", "text", "files"]


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bench")
    titles = pl.DataFrame({"author": range(300), "text": ["of the rare word"] * 300})
    titles.write_parquet(folder / "titles.parquet")
    main([*SMALL, "--titles", str(folder / "titles.parquet"), "--only", *CHEAP, "--output", str(folder)])
    return folder


def results_in(folder: Path) -> dict[str, dict[str, object]]:
    return json.loads((folder / "performance" / "results.json").read_text())


def test_cheap_sections_give_figures_and_a_page(output: Path) -> None:
    results, page = results_in(output), (output / "performance.md").read_text()
    assert list(results) == CHEAP
    for name in CHEAP:
        assert SECTIONS[name](results) in page
    assert "quick run" in page
    assert (output / "performance" / "end-to-end.svg").exists()
    assert stages.SORT in results["stages"]["stages"], f"{stages.WATCHED} has another name by now"


def test_a_section_alone_replaces_its_own_part(output: Path) -> None:
    before = results_in(output)
    main([*SMALL, "--only", "growth", "--pairs", "2e4", "--output", str(output)])
    after = results_in(output)
    assert {name: after[name] for name in CHEAP} == before
    (row,) = after["growth"]["sizes"]
    assert row["pairs"] == 20_000
    assert row["peak_bytes"] > row["base_bytes"] > 0
    page = (output / "performance.md").read_text()
    assert "## Growth" in page
    assert "## Noise" in page


def test_numbers_of_the_page_are_those_of_the_results(output: Path, tmp_path: Path) -> None:
    results = results_in(output)
    results["noise"]["timings"]["dpsu, 1 core"]["median"] = results["noise"]["draws"] / 123e6
    write_page(tmp_path, results)
    rows = [
        [*map(str.strip, line.split("|"))] for line in (tmp_path / "performance.md").read_text().splitlines()
    ]
    assert ["", "dpsu, 1 core", "123"] in [row[:3] for row in rows]


@pytest.mark.parametrize(("seconds", "met"), [(0.79, "yes"), (0.81, "**no**")])
def test_goals_can_be_missed(seconds: float, met: str) -> None:
    timings = {
        "auto": {"median": 0.7},
        "focused-gaussian": {"median": seconds},
        "policy-gaussian": {"median": 0.5},
        "by hand": {"median": 1},
    }
    facts = {"quick": False, "script": "by hand", "timings": timings}
    rows = [row[1:] for row in goals_table({"end-to-end": facts}).rows]
    assert rows == [("0.700", "yes"), (f"{seconds:.3f}", met), ("0.500", "yes")]
    assert goals_table({"end-to-end": {**facts, "quick": True}}).rows == []


@pytest.mark.parametrize("script", rivals.SCRIPTS.values(), ids=list(rivals.SCRIPTS))
def test_scripts_count_users_once_and_cut_their_sets(script: object, tmp_path: Path) -> None:
    pairs = [(user, item) for user in (1, 2) for item in "abcdefghij"] + [(3, "z")] * 5
    pl.DataFrame(pairs, schema=["user", "item"], orient="row").write_parquet(tmp_path / "pairs.parquet")
    # The scripts draw real noise: "z", which one user holds, is released with a probability below 1e-15.
    uncut, cut = (script(tmp_path / "pairs.parquet", 1e9, 1e-15, most).to_list() for most in (10, 3))
    assert uncut == [*"abcdefghij"]
    assert len(cut) <= 3


def test_parts_are_one_corpus(tmp_path: Path) -> None:
    parts = write_parts(tmp_path, (10_000, 30_000), strings=True)
    few, all_of_them = (pl.read_parquet(paths) for paths in parts.values())
    assert (few.height, all_of_them.height) == (10_000, 30_000)
    assert few.equals(all_of_them.head(10_000))
    assert all_of_them.is_unique().all()
    later = all_of_them.tail(20_000)
    assert few["item"].value_counts(sort=True)["item"][0] == later["item"].value_counts(sort=True)["item"][0]


def test_of_stages_within_each_other_the_inner_one_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([0.0, 1.0, 4.0, 6.0])  # outer begins, inner begins and ends, outer ends
    monkeypatch.setattr(stages, "time", SimpleNamespace(perf_counter=lambda: next(times)))
    clock = stages.Clock()
    with clock.during("outer"), clock.during("inner"):
        pass
    assert clock.seconds == {"inner": 3.0, "outer": 3.0}


def test_every_contestant_is_timed_as_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.quiet.stolen_seconds", lambda: 0.0)
    calls: list[str] = []
    timings = interleaved({name: lambda name=name: calls.append(name) for name in "ab"}, 3)
    assert sorted(calls) == [*"aaaabbbb"]
    assert [timing["repetitions"] for timing in timings.values()] == [3, 3]


def test_what_runs_in_a_row_is_told_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.quiet.stolen_seconds", lambda: 0.0)
    calls: list[str] = []
    interleaved({name: lambda name=name: calls.append(name) for name in "ab"}, 2, in_a_row=3)
    assert len(calls) == 2 * 3 * 3
    assert all("".join(calls[k : k + 3]) in ("aaa", "bbb") for k in range(0, len(calls), 3))
    assert summary([Timing(6.0, 0.0)], in_a_row=3)["median"] == 2.0


def test_a_summary_is_the_median_and_the_ends() -> None:
    seconds = summary([Timing(3.0, 0.0), Timing(1.0, 0.01), Timing(2.0, 0.005)])
    assert seconds == {"median": 2.0, "least": 1.0, "most": 3.0, "repetitions": 3, "stolen": 0.01}


@pytest.mark.parametrize(
    ("disturbed", "kept"), [([0, 0, 0], 0), ([5, 0, 0], 1), ([5, 3, 9], 1), ([9, 5, 3], 2)]
)
def test_what_the_host_disturbs_is_measured_again(
    monkeypatch: pytest.MonkeyPatch, disturbed: list[float], kept: int
) -> None:
    """In seconds that the host takes from each run in turn, which would take one by itself."""
    clock, taken, runs = [0.0], [0.0], iter(range(3))

    def run() -> int:
        number = next(runs)
        taken[0] += disturbed[number]
        clock[0] += disturbed[number] + 1
        return number

    monkeypatch.setattr(quiet, "stolen_seconds", lambda: taken[0])
    monkeypatch.setattr(quiet, "time", SimpleNamespace(perf_counter=lambda: clock[0]))
    assert quiet.quietly(run).value == kept
    assert next(runs, 3) == (3 if disturbed[0] and disturbed[1] else 2 if disturbed[0] else 1)


def test_stolen_time_is_what_the_kernel_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(quiet, "STAT", tmp_path / "stat")
    assert quiet.stolen_seconds() == 0
    (tmp_path / "stat").write_text("cpu  1 2 3 4 5 6 7 250 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\n")
    assert quiet.stolen_seconds() == 250 / os.sysconf("SC_CLK_TCK")


def test_tables_are_markdown() -> None:
    table = Table(("", "s"), [("a", digits(0.01234)), ("b", digits(12345.6))])
    rows = [[*map(str.strip, line.split("|"))] for line in table.markdown().splitlines()]
    assert [rows[0], *rows[2:]] == [["", "", "s", ""], ["", "a", "0.0123", ""], ["", "b", "12 346", ""]]
    assert set("".join(rows[1])) == {"-", ":"}
