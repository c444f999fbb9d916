"""The planner in a real browser: sliders move by keyboard, and the page shows the embedded numbers."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from chromium import COMMAND, Page, browser

import dpsu
from dpsu.report import planner

pytestmark = pytest.mark.skipif(COMMAND is None, reason="needs Chromium: make test-browser installs it")

SMALL = planner.Grid((0.5, 1.0, 2.0), (1e-7, 1e-4), (1, 10), (dpsu.Shape(3000, 2), dpsu.Shape(6000, 2)))


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    path = tmp_path_factory.mktemp("planner") / "plan.html"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planner, "GRID", SMALL)
        plan = dpsu.plan(
            epsilon=1.0, delta=1e-7, max_items=10, algorithm="weighted-gaussian", shape=SMALL.shapes[0]
        )
        path.write_text(plan.to_html(), encoding="utf-8")
    with browser(tmp_path_factory.mktemp("profile")) as tab:
        tab.size(900, 1200)
        tab.open(path)
        yield tab


def content(page: Page) -> Any:
    return json.loads(page.run("document.getElementById('content').textContent"))


def shown_items(page: Page) -> str:
    return str(page.run("document.getElementById('items').textContent"))


def move(page: Page, slider: str, steps: int) -> None:
    """Move a slider by arrow keys."""
    page.run(f"document.getElementById('{slider}').focus()")
    for _ in range(abs(steps)):
        page.press("ArrowRight" if steps > 0 else "ArrowLeft")


def test_it_begins_at_the_plan_and_follows_every_slider(page: Page) -> None:
    points, at = content(page)["points"], [1, 0, 1, 0]

    def agrees() -> bool:
        epsilon, delta, limit, shape = at
        items = points[shape][epsilon][delta][limit][0]
        return shown_items(page) == f"{items:,} item{'' if items == 1 else 's'}"

    assert agrees()
    seen = {shown_items(page)}
    for place, (slider, step) in enumerate([("epsilon", 1), ("delta", 1), ("limit", -1), ("shape", 1)]):
        move(page, slider, step)
        at[place] += step
        assert agrees(), slider
        seen.add(shown_items(page))
    assert len(seen) >= 4
    assert "--epsilon 2 --delta 1e-4" in page.run("document.getElementById('command').textContent")
    assert "at most" in page.run("document.getElementById('warn').textContent")
    for slider, step in [("epsilon", -1), ("delta", -1), ("limit", 1), ("shape", -1)]:
        move(page, slider, step)
    assert page.run("document.getElementById('warn').textContent") == ""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_is_cut_off(page: Page, theme: str) -> None:
    page.theme(theme)
    for width in (320, 375, 900, 1600):
        page.size(width, 900)
        assert page.run("document.documentElement.scrollWidth") <= width
    page.size(900, 1200)


def test_sliders_have_names_and_values_for_a_screen_reader(page: Page) -> None:
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    sliders = [node for node in nodes if node.get("role", {}).get("value") == "slider"]
    assert len(sliders) == 4
    assert all(node["name"]["value"] for node in sliders)
    assert page.run("document.getElementById('delta').getAttribute('aria-valuetext')") == "1e-7"


def test_it_asks_for_nothing_and_complains_of_nothing(page: Page) -> None:
    asked = [
        e["params"]["request"]["url"] for e in page.events if e.get("method") == "Network.requestWillBeSent"
    ]
    assert len(asked) == 1
    assert asked[0].startswith("file:")
    assert not [e for e in page.events if e.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown")]
