"""The page about a statement: complete, self-contained, and safe whatever a statement holds."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import dpsu
from dpsu.report.html import page, plan_of
from dpsu.statement import Statement
from test_cli import dpsu as command

DATA = {n: ["a", "b", "c"] for n in range(400)}
PRIVATE = [row["name"] for row in dpsu.algorithms().iter_rows(named=True) if row["private"]]


def statement_of(algorithm: str, **options: object) -> Statement:
    items = 1 if algorithm == "optimal-single" else 3
    made = dpsu.release(
        DATA, epsilon=2.0, delta=1e-6, max_items=items, algorithm=algorithm, **options
    ).statement  # type: ignore[arg-type]
    assert made is not None
    return made


class Outline(HTMLParser):
    """Which tags are open, and what addresses the page points at."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.links += [value for name, value in attrs if name in ("href", "src") and value]
        if tag not in ("meta", "line", "polyline"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("algorithm", PRIVATE)
def test_every_algorithm_has_a_page_with_its_curve(algorithm: str) -> None:
    made = page(statement_of(algorithm), released=3)
    outline = Outline()
    outline.feed(made)
    assert outline.open == []
    assert "svg" in outline.tags
    assert "script" not in outline.tags
    assert all(link.startswith(("#", "data:application/json;base64,")) for link in outline.links)
    assert re.search(r"about <strong>[\d,]+ people</strong>", made)
    assert "(2, 1e-06)-differentially private" in made


def test_counts_policies_and_own_constants_find_their_plan() -> None:
    focus = replace(dpsu.plan(epsilon=1, delta=1e-6).mechanism.focus, rounds=4)  # type: ignore[attr-defined]
    for statement in (
        statement_of("focused-gaussian", counts=True),
        statement_of("weighted-laplace", counts=True),
        statement_of("focused-gaussian", focus=focus),
        statement_of("policy-gaussian", alpha=1.5, passes=2),
        statement_of("dp-sips", shares=[0.3, 0.7]),
    ):
        assert plan_of(statement) is not None


def test_a_curve_is_left_out_where_the_statement_does_not_tell_it() -> None:
    statement = statement_of("weighted-gaussian")
    other = replace(statement, parameters={**statement.parameters, "sigma": 99.0})
    assert plan_of(other) is None
    assert "<svg" not in page(other)
    assert "<svg" not in page(replace(statement, algorithm="levels of something"))


@pytest.mark.parametrize("way", ["part", "selection"])
def test_a_tuned_statement_tells_how_it_was_tuned_but_no_trial(way: Any) -> None:
    settings = [{"max_items": 2}, {"max_items": 3}]
    made = dpsu.tune(DATA, settings=settings, way=way, epsilon=3.0, delta=1e-6).release.statement
    assert made is not None
    rows = re.search(r'<tr><th scope="row">tuning</th><td>(.*?)</td></tr>', page(made))
    assert rows
    assert "max_items 2, algorithm" in rows[1]
    assert "sigma" not in rows[1]
    assert plan_of(made) is None
    assert page(replace(made, parameters={**made.parameters, "tuning": 3}))


def test_a_void_statement_says_so_first() -> None:
    made = page(replace(statement_of("weighted-gaussian"), void="the randomness was seeded"))
    assert "Nothing is promised:" in made
    assert "almost as likely" not in made


def test_whatever_a_statement_holds_is_shown_as_text() -> None:
    evil = "<img src=x onerror=alert(1)>$title${verify}</code>"
    statement = statement_of("weighted-gaussian")
    made = page(
        replace(statement, unit=evil, proof=evil, noise_source=evil, not_covered=(evil,), rests_on=(evil,))
    )
    assert "<img" not in made
    assert made.count("&lt;img src=x") >= 5
    outline = Outline()
    outline.feed(made)
    assert outline.open == []


def test_the_command(tmp_path: Path) -> None:
    source = tmp_path / "rows.csv"
    source.write_text("u,i\n" + "".join(f"{n},a\n" for n in range(400)))
    paths = {name: tmp_path / name for name in ("out.csv", "statement.json", "report.html", "again.html")}
    run = command(
        "release", source, "--user", "u", "--item", "i", "--epsilon", "3", "--delta", "1e-6", "-o", paths["out.csv"],
        "--statement", paths["statement.json"], "--report", paths["report.html"], "-q",
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert "The file holds 1 item " in paths["report.html"].read_text()
    assert (
        json.loads(paths["statement.json"].read_text())["released_sha256"] in paths["report.html"].read_text()
    )
    assert command("report", paths["statement.json"], "-o", paths["again.html"]).returncode == 0
    assert "The file holds items" in paths["again.html"].read_text()
    verified = command("verify", paths["statement.json"], "--released", paths["out.csv"])
    assert verified.returncode == 0, verified.stdout
    assert b"VERIFIED" in verified.stdout
    paths["out.csv"].write_text("i\nb\n")
    assert command("verify", paths["statement.json"], "--released", paths["out.csv"]).returncode == 1
    nonsense = command("report", source, "-o", paths["again.html"])
    assert nonsense.returncode == 1
    assert nonsense.stderr.count(b"\n") == 1
