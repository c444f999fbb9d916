"""What notebooks show: the promise, the numbers, and everything that comes from elsewhere as text."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import dpsu
from dpsu.errors import InvalidArgument

EVIL = "<img src=x onerror=alert(1)>&\"'"
VOID = {"path", "rect", "img", "meta"}


class Outline(HTMLParser):
    """Checks that tags are closed, and collects them."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def shown(thing: Any) -> str:
    """The HTML of a thing, well formed and without a tag that runs or loads something."""
    made = thing._repr_html_()
    assert isinstance(made, str)
    outline = Outline()
    outline.feed(made)
    assert outline.open == []
    assert not outline.tags & {"script", "img", "link", "iframe"}
    return made


def baskets(users: int = 400, items: int = 3) -> dict[int, list[str]]:
    return {n: [f"{EVIL}{k}" for k in range(items)] for n in range(users)}


def test_a_release_shows_its_items_as_text_and_its_promise() -> None:
    release = dpsu.release(baskets(), epsilon=2, delta=1e-6, max_items=3, title=EVIL.replace('"', ""))
    made = shown(release)
    assert made.count("&lt;img src=x") == 4
    assert "3 items" in made
    assert "(2, 1e-06)-differentially private" in made


def test_counts_come_with_their_error() -> None:
    data = {n: ["a", "b"] if n < 300 else ["b"] for n in range(600)}
    release = dpsu.release(data, epsilon=3, delta=1e-6, max_items=2, counts=True, others=True)
    made = shown(release)
    assert release.counts is not None
    for held in release.counts.values():
        assert re.search(rf"\b{held:,} ± \d", made)
    assert made.index(">b<") < made.index(">a<")
    assert "All other items" in made


def test_a_long_release_shows_ten_items_and_says_how_many_are_left() -> None:
    data = {n: [f"item {k:02d}" for k in range(25)] for n in range(3000)}
    release = dpsu.release(data, epsilon=4, delta=1e-6, max_items=25)
    assert len(release) == 25
    assert release.head(3).to_series().to_list() == ["item 00", "item 01", "item 02"]
    made = shown(release)
    assert made.count("item 0") == 10
    assert "15 items more" in made


def test_a_release_that_promises_nothing_says_so() -> None:
    unsafe = dpsu.release(baskets(), epsilon=2, delta=1e-6, algorithm="k-anonymity", unsafe=True)
    assert "Nothing is promised" in shown(unsafe)
    with pytest.raises(InvalidArgument, match="promises nothing"):
        unsafe.report()
    with pytest.warns(dpsu.EmptyRelease):
        empty = dpsu.release({1: ["a"]}, epsilon=1, delta=1e-6)
    assert "No item was released" in shown(empty)


def test_a_plan_shows_the_chance_with_and_without_a_shape() -> None:
    plan = dpsu.plan(epsilon=1, delta=1e-6, algorithm="weighted-gaussian")
    assert "chance of release" in shown(plan)
    shape = dpsu.Shape(users=2000, items_per_user=2)
    simulated = dpsu.plan(epsilon=1, delta=1e-6, algorithm="weighted-gaussian", shape=shape)
    assert simulated.outlook is not None
    assert f"{simulated.outlook.items:,.0f} item" in shown(simulated)


def test_a_statement_and_its_verification_are_text() -> None:
    statement = dpsu.release(baskets(), epsilon=2, delta=1e-6, max_items=3).statement
    assert statement is not None
    forged = replace(
        statement, title=EVIL, note=EVIL, unit=EVIL, proof=EVIL, rests_on=(EVIL,), not_covered=(EVIL,)
    )
    assert shown(forged).count("&lt;img") == 6
    assert "VERIFIED" in shown(dpsu.verify(statement))
    assert "REJECTED" in shown(dpsu.verify(forged))


def test_a_comparison_shows_bars_and_a_selection_of_its_columns_does_not() -> None:
    how: dict[str, Any] = {
        "epsilon": [1, 2],
        "delta": 1e-6,
        "runs": 2,
        "data_is_public": True,
        "unsafe": True,
    }
    found = dpsu.compare(baskets(), algorithms=["weighted-gaussian", "k-anonymity"], **how)
    made = shown(found)
    assert made.count("<svg") == found.height
    assert made.count("not private") == 2
    assert made.count("epsilon") == 2
    assert "<svg" not in found.select("algorithm", "items")._repr_html_()
    assert "<svg" not in found.drop("seconds")._repr_html_()


def test_a_ledger_shows_what_is_left(tmp_path: Path) -> None:
    ledger = dpsu.Ledger.create(tmp_path / "spent.db", epsilon=4, delta=1e-5)
    assert "4 left" in shown(ledger)
    ledger.record_spending(1.0, 1e-7, EVIL)
    made = shown(ledger)
    assert "&lt;img src=x" in made
    assert f"{ledger.left():.4g} left" in made


def test_a_report_is_shown_in_a_frame_and_saved(tmp_path: Path) -> None:
    release = dpsu.release(baskets(), epsilon=2, delta=1e-6, max_items=3)
    assert release.statement is not None
    path = tmp_path / "report.html"
    page = release.report(path)
    assert page.html == path.read_text() == str(page)
    frame = page._repr_html_()
    assert frame.startswith("<iframe srcdoc=")
    assert "<h1>" not in frame
    release.statement.save(tmp_path / "promise.json")
    assert dpsu.report(tmp_path / "promise.json").html == dpsu.report(release.statement).html
    with pytest.raises(InvalidArgument, match="int"):
        dpsu.report(3)  # type: ignore[arg-type]


def test_charts_are_pictures_without_pyplot(tmp_path: Path) -> None:
    ledger = dpsu.Ledger.create(tmp_path / "spent.db", epsilon=4, delta=1e-5)
    ledger.record_spending(1.0, 1e-7, "a histogram")
    frame = dpsu.compare(
        baskets(), epsilon=[1, 2], delta=1e-6, runs=1, algorithms=["weighted-gaussian"], data_is_public=True
    )
    assert isinstance(frame, pl.DataFrame)
    shape = dpsu.Shape(users=2000, items_per_user=2)
    plan = dpsu.plan(epsilon=1, delta=1e-6, algorithm="weighted-gaussian", shape=shape)
    for thing in (ledger, frame, plan):
        path = tmp_path / "chart.png"
        assert "<svg" in thing.plot(path)._repr_svg_()
        assert path.read_bytes().startswith(b"\x89PNG")
        path.unlink()
    with pytest.raises(InvalidArgument, match="gif"):
        ledger.plot(tmp_path / "chart.gif")
