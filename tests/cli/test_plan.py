"""`dpsu plan` and `dpsu algorithms`."""

import json
from pathlib import Path

import pytest
from command import dpsu

from dpsu import Shape
from dpsu.report import planner


def test_plan_and_algorithms() -> None:
    shown = dpsu("plan", "--epsilon", "1", "--delta", "1e-6").stdout.decode()
    assert "1e-06" in shown
    fields = json.loads(
        dpsu("plan", "--epsilon", "1", "--delta", "1e-6", "--json", "--algorithm", "policy-laplace").stdout
    )
    assert fields["parameters"]["noise"] == "truncated laplace"
    names = [entry["name"] for entry in json.loads(dpsu("algorithms", "--json").stdout)]
    assert "policy-gaussian" in names
    assert "policy-laplace" in dpsu("algorithms").stdout.decode()


def test_plan_of_a_shape(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planner, "GRID", planner.Grid((1.0,), (1e-6,), (10,), (Shape(1000, 2),)))
    page, chart = tmp_path / "plan.html", tmp_path / "plan.png"
    how = ["plan", "--epsilon", "3", "--users", "2000", "--items-per-user", "2", "--json"]
    ended = dpsu(*how, "--html", page, "--plot", chart)
    fields = json.loads(ended.stdout)
    assert fields["delta"] == 1 / 200_000
    assert b"5e-06" in ended.stderr
    outlook = fields["outlook"]
    assert outlook["low"] <= outlook["items"] <= outlook["high"]
    written = page.read_text()
    assert f'"text":"{outlook["data"]}"' in written
    assert "http" not in written.replace("http-equiv", "")
    assert chart.stat().st_size > 1000


def test_a_plan_with_counts_speaks_of_the_whole_request() -> None:
    """The mechanism has what counts leave of the budget; the person asked for epsilon 1."""
    how = ["plan", "--epsilon", "1", "--delta", "1e-7", "--counts", "--json"]
    fields = json.loads(dpsu(*how).stdout)
    assert (fields["epsilon"], fields["delta"]) == (1.0, 1e-7)


def test_users_advise_a_delta() -> None:
    ended = dpsu("plan", "--epsilon", "1", "--delta", "1e-4", "--users", "100000")
    assert ended.returncode == 0
    assert b"1e-07" in ended.stderr


def test_plan_like_a_file_needs_consent_and_overwrites_nothing(tmp_path: Path) -> None:
    file = tmp_path / "pairs.csv"
    file.write_text("user,item\n" + "".join(f"{n},tea\n" for n in range(100)))
    how = ["plan", "--epsilon", "1", "--delta", "1e-5", "--like", file, "--user", "user", "--item", "item"]
    assert b"--data-is-public" in dpsu(*how).stderr
    assert b"--html" in dpsu(*how, "--data-is-public", "--html", file).stderr
    assert json.loads(dpsu(*how, "--data-is-public", "--json").stdout)["outlook"]["items"] == 1


def test_a_shape_needs_users_and_items() -> None:
    assert b"--users" in dpsu("plan", "--epsilon", "1", "--delta", "1e-5", "--items-per-user", "3").stderr
