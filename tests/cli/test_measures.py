"""The options of counts, sums and others, from the command to its files."""

import json
from pathlib import Path

import polars as pl
import pytest
from command import dpsu

from dpsu import Ledger

PRIVACY = ["--user", "u", "--item", "i", "--epsilon", "3", "--delta", "1e-6"]


@pytest.fixture
def stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """2000 users who hold the items a and b, with 3 days each, and one item of their own with 1 day."""
    monkeypatch.chdir(tmp_path)
    rows = [(n, item, 3.0) for n in range(2000) for item in "ab"] + [
        (n, f"own {n}", 1.0) for n in range(2000)
    ]
    pl.DataFrame(rows, schema=["u", "i", "days"], orient="row").write_parquet("stays.parquet")


def counts_of(path: str) -> dict[str, object]:
    return json.loads(Path(f"{path}.statement.json").read_text())["parameters"]["counts"]


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_sums_and_counts_are_columns_of_the_output(stays: None, ending: str) -> None:
    run = dpsu("release", "stays.parquet", *PRIVACY, "--sum", "days:0:5", "-o", f"out.{ending}")
    assert run.returncode == 0, run.stderr
    read = {"parquet": pl.read_parquet, "csv": pl.read_csv, "jsonl": pl.read_ndjson}[ending]
    found = read(f"out.{ending}")
    assert found.columns == ["i", "holders", "half_width", "days_sum", "days_sum_half_width", "days_mean"]
    assert found["i"].to_list() == ["a", "b"]
    for row in found.iter_rows(named=True):
        assert abs(row["holders"] - 2000) < 4 * row["half_width"]
        assert abs(row["days_sum"] - 6000) < 4 * row["days_sum_half_width"]
    assert dpsu("verify", f"out.{ending}.statement.json", "--released", f"out.{ending}").returncode == 0


def test_others_are_printed_and_never_a_row(stays: None) -> None:
    how = ["release", "stays.parquet", *PRIVACY, "--others", "--sum", "days:0:5", "-o", "out.csv"]
    run = dpsu(*how, "--json")
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout)["others"]
    assert abs(told["holders"] - 2000) < 4 * told["half_width"]
    assert abs(told["days_sum"] - 2000) < 4 * told["days_sum_half_width"]
    assert pl.read_csv("out.csv")["i"].to_list() == ["a", "b"]
    assert "others" in counts_of("out.csv")
    half_widths = [f"{told[name]:,.10g}".encode() for name in ("half_width", "days_sum_half_width")]
    for more in ([], ["--quiet"]):
        shown = dpsu(*how, *more).stderr
        assert all(each in shown for each in half_widths)


def test_share_and_cut_reach_the_statement_and_imply_counts(stays: None) -> None:
    how = ["--counts-share", "0.4", "--counts-max-items", "2"]
    run = dpsu("release", "stays.parquet", *PRIVACY, *how, "-o", "out.csv")
    assert run.returncode == 0, run.stderr
    assert (counts_of("out.csv")["share"], counts_of("out.csv")["max_items"]) == (0.4, 2)
    assert "holders" in pl.read_csv("out.csv").columns


def test_shares_and_cuts_of_sums_and_others_reach_the_statement(stays: None) -> None:
    sums = ["--sum", "days:0:5", "--sums-share", "0.3", "--sums-max-items", "1"]
    how = [*sums, "--others", "--others-share", "0.1", "--counts-share", "0.2"]
    run = dpsu("release", "stays.parquet", *PRIVACY, *how, "-o", "out.csv")
    assert run.returncode == 0, run.stderr
    told = counts_of("out.csv")
    assert (told["share"], told["sums"][0]["share"], told["sums"][0]["max_items"]) == (0.6, 0.3, 1)
    assert told["others"]["share"] == 0.05
    planned = dpsu("plan", *PRIVACY[4:], *how, "--json")
    assert planned.returncode == 0, planned.stderr
    assert json.loads(planned.stdout)["counts"]["sums_max_items"] == 1


def test_raw_counts_are_asked_for(stays: None) -> None:
    Path("nobody.txt").write_text("".join(f"nobody's {n}\n" for n in range(40)))
    how = ["release", "stays.parquet", *PRIVACY, "--public-items", "nobody.txt", "-o", "out.csv"]
    assert dpsu(*how, "--counts").returncode == 0
    assert pl.read_csv("out.csv")["holders"].min() == 0
    assert dpsu(*how, "--counts-raw").returncode == 0
    assert pl.read_csv("out.csv")["holders"].min() < 0


def test_notes_name_options(stays: None) -> None:
    how = [*PRIVACY, "--algorithm", "focused-gaussian", "--counts", "-o", "out.csv"]
    told = dpsu("release", "stays.parquet", *how).stderr.decode()
    assert "--counts-max-items" in told
    assert "Counts(" not in told


def test_a_plan_shows_the_errors_of_the_same_options() -> None:
    how = ["--counts-share", "0.4", "--counts-max-items", "2", "--sum", "days:0:5", "--others"]
    run = dpsu("plan", "--epsilon", "3", "--delta", "1e-6", *how, "--json")
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout)["counts"]
    assert told["max_items"] == 2
    assert told["half_width"] > 0
    assert set(told["sums"]) == {"days"}
    assert set(told["others"]) == {"holders", "days"}


@pytest.mark.parametrize(
    ("how", "named"),
    [
        (["--sum", "days"], "days"),
        (["--sum", "days:0"], "days:0"),
        (["--sum", "days:zero:5"], "days:zero:5"),
        (["--sum", "days:5:0"], "days"),
        (["--sum", "days:0:nan"], "days"),
        (["--sum", "dais:0:5"], "dais"),
        (["--sum", "days:0:5", "--sum", "days:0:9"], "--sum"),
        (["--counts-share", "1"], "share"),
        (["--counts-max-items", "0"], "max_items"),
        (["--sum", "days:0:5", "--sums-share", "0"], "sums_share"),
        (["--sum", "days:0:5", "--sums-max-items", "0"], "sums_max_items"),
        (["--sums-share", "0.1"], "--sum"),
        (["--sums-max-items", "1"], "--sum"),
        (["--others-share", "0.1"], "--others"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_spent(stays: None, how: list[str], named: str) -> None:
    ledger = Ledger.create("spent.db", epsilon=9, delta=1e-5)
    run = dpsu("release", "stays.parquet", *PRIVACY, *how, "--ledger", "spent.db", "-o", "out.csv")
    assert run.returncode == 2
    assert named in run.stderr.decode()
    assert len(ledger.entries()) == 0
    assert not Path("out.csv").exists()


@pytest.mark.parametrize("target", ["out.txt", "-"])
@pytest.mark.parametrize("how", [["--sum", "days:0:5"], ["--others"], ["--counts-share", "0.3"]])
def test_plain_text_has_no_room_for_counts(stays: None, target: str, how: list[str]) -> None:
    assert dpsu("release", "stays.parquet", *PRIVACY, *how, "-o", target).returncode == 2
