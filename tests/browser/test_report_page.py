"""The report in a real browser: both themes, narrow and wide, by keyboard, on paper, without network."""

import base64
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from chromium import COMMAND, Page, browser

import dpsu
from dpsu.report.html import write_report

pytestmark = pytest.mark.skipif(COMMAND is None, reason="needs Chromium: make test-browser installs it")


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    release = dpsu.release({n: ["a", "b"] for n in range(400)}, epsilon=1.5, delta=1e-6, counts=True)
    assert release.statement is not None
    write_report(release.statement, folder / "report.html", released=len(release))
    return folder / "report.html"


@pytest.fixture(scope="module")
def page(report: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser(tmp_path_factory.mktemp("profile")) as tab:
        tab.size(900, 1200)
        tab.open(report)
        yield tab


CONTRAST = """
(() => {
  const channel = v => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
  const light = c => {
    const [r, g, b] = c.match(/[\\d.]+/g).map(Number);
    return .2126 * channel(r) + .7152 * channel(g) + .0722 * channel(b);
  };
  const ratio = (a, b) => (Math.max(light(a), light(b)) + .05) / (Math.min(light(a), light(b)) + .05);
  const page = getComputedStyle(document.body).backgroundColor;
  const colours = [...document.querySelectorAll('h1, h2, p, li, td, th, caption, figcaption, a:not(.skip), summary')]
    .map(e => getComputedStyle(e).color)
    .concat([...document.querySelectorAll('svg text')].map(e => getComputedStyle(e).fill))
    .concat([...document.querySelectorAll('svg polyline')].map(e => getComputedStyle(e).stroke));
  return Math.min(...colours.map(c => ratio(c, page)));
})()
"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_everything_can_be_read_in_both_themes(page: Page, theme: str) -> None:
    page.theme(theme)
    background = page.run("getComputedStyle(document.body).backgroundColor")
    lightness = sum(map(int, background[4:-1].split(",")))
    assert (lightness > 600) == (theme == "light")
    assert page.run(CONTRAST) >= 4.5


@pytest.mark.parametrize("width", [320, 375, 768, 1600])
def test_nothing_is_cut_off(page: Page, width: int) -> None:
    page.size(width, 900)
    assert page.run("document.documentElement.scrollWidth") <= width
    page.size(900, 1200)


def test_the_page_asks_for_nothing_and_complains_of_nothing(page: Page) -> None:
    asked = [
        e["params"]["request"]["url"] for e in page.events if e.get("method") == "Network.requestWillBeSent"
    ]
    assert all(url.startswith("file:") for url in asked)
    assert len(asked) == 1
    assert not [e for e in page.events if e.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown")]


def test_all_of_it_is_reached_by_keyboard(page: Page) -> None:
    page.run("document.activeElement.blur()")
    page.run("document.querySelector('details.internals').open = true")
    reached = []
    for _ in range(12):
        page.press("Tab")
        reached.append(
            page.run("document.activeElement.tagName + ' ' + document.activeElement.textContent.slice(0, 19)")
        )
    assert reached[0] == "A Skip to the content"[: len(reached[0])]
    for wanted in (
        "SUMMARY The numbers of the ",
        "A Save the statement",
        "SUMMARY Show the statement",
        "DIV ",
    ):
        assert any(place.startswith(wanted[: len(place)]) or place.startswith(wanted) for place in reached), (
            wanted
        )
    page.run("document.querySelector('details.internals').open = false")
    page.run("document.querySelector('details summary').focus()")
    page.press("Enter")
    assert page.run("document.querySelector('details').open") is True


def test_a_screen_reader_finds_its_way(page: Page) -> None:
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    roles = {node.get("role", {}).get("value") for node in nodes if not node.get("ignored")}
    assert {"main", "heading", "image", "table", "link", "list", "columnheader", "rowheader"} <= roles
    nameless = [
        node["role"]["value"]
        for node in nodes
        if not node.get("ignored")
        and node.get("role", {}).get("value") in ("image", "link", "table", "region", "heading")
        and not node.get("name", {}).get("value")
    ]
    assert nameless == []
    assert page.run("document.documentElement.lang") == "en"
    levels = page.run("[...document.querySelectorAll('h1,h2,h3')].map(e => e.tagName).join('')")
    assert levels.startswith("H1H2")
    assert levels.count("H1") == 1


def test_it_prints_on_white(page: Page) -> None:
    page.theme("dark", medium="print")
    assert page.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.run(CONTRAST) >= 4.5
    printed = base64.b64decode(page.call("Page.printToPDF", preferCSSPageSize=True)["data"])
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 2
    page.theme("light")


def test_the_statement_inside_is_the_one_that_verifies(page: Page, tmp_path: Path) -> None:
    text = page.run("atob(document.querySelector('a[download]').href.split(',')[1])")
    (tmp_path / "statement.json").write_bytes(text.encode("latin-1"))
    assert dpsu.verify(tmp_path / "statement.json").ok
