"""The page about a statement: complete, self-contained, and safe whatever a statement holds."""

import json
import math
import re
from dataclasses import replace
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from command import dpsu as command
from example_policies import weighted_l2

import dpsu
from dpsu.algorithms.holders import half_width
from dpsu.errors import SourceError
from dpsu.outcome.statement import Statement
from dpsu.privacy.loss import chance_above
from dpsu.report.html import page
from dpsu.report.replan import plan_of, plan_of_level

DATA = {n: ["a", "b", "c"] for n in range(400)}
PRIVATE = [row["name"] for row in dpsu.list_algorithms().iter_rows(named=True) if row["private"]]


def statement_of(algorithm: Any, **options: object) -> Statement:
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
    for statement in (
        statement_of(dpsu.Auto(typical_items=2)),
        statement_of("focused-gaussian", counts=True),
        statement_of("weighted-laplace", counts=True),
        statement_of(dpsu.FocusedGaussian(rounds=4)),
        statement_of(dpsu.PolicyGaussian(alpha=1.5, passes=2)),
        statement_of(dpsu.DpSips(shares=[0.3, 0.7])),
    ):
        assert plan_of(statement) is not None


def test_a_curve_is_left_out_where_the_statement_does_not_tell_it() -> None:
    statement = statement_of("weighted-gaussian")
    other = replace(statement, parameters={**statement.parameters, "sigma": 99.0})
    own = statement_of(dpsu.Policy(weighted_l2, norm=2, name="weighted-gaussian"))
    assert own.algorithm == "own-policy"
    for told in (
        other,
        own,
        replace(statement, algorithm="levels of something"),
        replace(statement, max_items=0),
        replace(statement_of("focused-gaussian"), parameters={}),
    ):
        assert plan_of(told) is None
        assert "<svg" not in page(told)


def test_delta_is_not_the_chance_that_the_bound_fails() -> None:
    """A page gives the chance of a larger loss by the numbers of the release, and none where none follows."""
    gaussian, laplace = statement_of("weighted-gaussian"), statement_of("weighted-laplace")
    assert gaussian.budget is not None
    chance = chance_above(2.0, epsilon=2.0, delta=1e-6, budget=gaussian.budget)
    assert chance > 20e-6
    rounded = math.floor(1 / chance / 100) * 100
    assert 0 <= 1 / rounded - chance < 0.01 * chance
    assert f"one in {rounded:,}<" in page(gaussian)
    assert "no bound" not in page(gaussian)
    assert "no bound" in page(laplace)
    assert "one in 500,000<" in page(laplace)  # twice the factor: delta / (1 - 1/2)


@pytest.mark.parametrize("epsilon", [1e-6, 0.5, 1.0, math.log(3), 1.5, 2.0, 7.3, 700.0])
def test_the_factor_is_a_bound(epsilon: float) -> None:
    """Rounded to the nearest, 4.4817 would become 4.48: a promise that does not hold."""
    shown = re.search(
        r"<strong>([\d.e+]+) times", page(replace(statement_of("weighted-gaussian"), epsilon=epsilon))
    )
    assert shown
    assert math.exp(epsilon) * (1 - 1e-12) <= float(shown[1]) < 1.011 * math.exp(epsilon)


def test_a_promise_about_a_period_names_it() -> None:
    shown = page(statement_of("weighted-gaussian", period="2026-01"))
    promise = shown[shown.index("What is promised") : shown.index("What is not promised")]
    assert "2026-01" in promise


def test_items_of_public_lists_are_not_called_shared() -> None:
    plain = page(statement_of("weighted-gaussian"))
    public = page(statement_of("weighted-gaussian", public_items=["z"]))
    listed = page(statement_of("focused-gaussian", candidates=["a", "z"], false_share=0.1))
    assert "people share." in plain
    assert "people share." not in public
    assert "people share." not in listed


def test_a_statement_that_is_rejected_has_no_page(tmp_path: Path) -> None:
    """Its readers would take the promise for true."""
    statement = statement_of("weighted-gaussian")
    better = replace(statement, epsilon=statement.epsilon / 2)
    assert "differentially private" in dpsu.report(statement).html
    with pytest.raises(SourceError, match="rejected"):
        dpsu.report(better)
    better.save(tmp_path / "better.json")
    for ended in (
        command("report", "better.json", "-o", "page.html", cwd=tmp_path),
        command("statement", "better.json", "--registry", cwd=tmp_path),
    ):
        assert ended.returncode == 1
        assert b"rejected" in ended.stderr
    assert not (tmp_path / "page.html").exists()
    shown = command("statement", "better.json", cwd=tmp_path)
    assert shown.returncode == 0
    assert b"rejected" in shown.stderr


def test_phrases_that_nobody_wrote_are_told() -> None:
    """The method dpne releases some, without a bound on their share."""
    texts, how = (
        {n: ["a b c"] for n in range(400)},
        {"epsilon": 4.0, "delta": 1e-6, "longest": 2, "max_items": 5},
    )
    for more, told in (({}, False), ({"method": "dpne"}, True), ({"false_share": 0.1}, True)):
        made = dpsu.ngrams(texts, **how, **more).statement  # type: ignore[arg-type]
        assert made is not None
        assert ("nobody wrote" in page(made)) == told
        assert ("nobody wrote" in str(made)) == told
        assert ("people share." in page(made)) != told


def test_the_max_items_that_auto_chose_is_told() -> None:
    frame = {n: ["a", "b"] for n in range(5000)}
    made = dpsu.release(frame, epsilon=2.0, delta=1e-7, max_items="auto").statement
    assert made is not None
    chosen = made.parameters["chosen"]["max_items"]
    told = page(replace(made, max_items=chosen + 1))
    assert f"{chosen:,} of them" in told
    assert "of them" not in page(replace(made, max_items=chosen))


def test_levels_have_a_page() -> None:
    texts = {n: ["a b c"] for n in range(400)}
    made = dpsu.ngrams(
        texts, epsilon=4.0, delta=1e-6, longest=2, max_items=5, title="Phrases <of> all"
    ).statement
    assert made is not None
    assert plan_of(made) is None
    shown = page(made, released=3)
    assert '<th scope="row">level 2</th>' in shown
    assert "<h1>Phrases &lt;of&gt; all</h1>" in shown
    assert "<svg" not in shown
    outline = Outline()
    outline.feed(shown)
    assert outline.open == []


def test_levels_say_how_many_people_a_phrase_needs() -> None:
    """As a plan at the noise and the thresholds of the level says; not where a level depends on the one before."""
    for method in ("focused-gaussian", "dpne"):
        made = dpsu.ngrams(
            {n: ["a b c"] for n in range(400)}, epsilon=4, delta=1e-6, longest=2, max_items=12, method=method
        ).statement
        assert made is not None
        plans = [plan_of_level(made, level) for level in made.parameters["levels"]]
        assert (plans[1] is None) == (method == "dpne")
        for plan in plans:
            needed = plan.users_needed(0.5, 10) if plan else None
            assert needed is None or f'<td class="number">{needed:,}</td>' in page(made)


def test_candidates_have_a_curve_for_items_outside_the_list() -> None:
    given = {"epsilon": 2.0, "delta": 1e-6, "candidates": ["a", "b", "c"], "false_share": 0.1}
    made = dpsu.release(DATA, **given)
    assert made.statement is not None
    plan, asked = plan_of(made.statement), dpsu.plan(**given)
    assert plan is not None
    for listed in (False, True):
        assert plan.users_needed(listed=listed) == asked.users_needed(listed=listed)
        assert f"about {plan.users_needed(listed=listed)} people" in re.sub(
            "</?strong>", "", page(made.statement)
        )
    only = dpsu.release(DATA, **given, discover=False).statement
    assert only is not None
    assert page(only).count("<svg") == 2


@pytest.mark.filterwarnings("ignore::dpsu.errors.EmptyRelease")
def test_a_series_has_the_curve_of_its_period(tmp_path: Path) -> None:
    """Later periods have spent more of the budget, so an item that is held in every period needs fewer people."""
    series = dpsu.Series.create(tmp_path / "a.series", epsilon=2, delta=1e-6, periods=3, max_items=5)
    needed = []
    for _ in range(3):
        made = series.release(DATA).statement
        assert made is not None
        plan = plan_of(made)
        assert plan is not None
        assert f"about <strong>{plan.users_needed()} people" in page(made)
        needed.append(plan.users_needed())
    assert needed[0] > needed[1] > needed[2]
    long = replace(made, parameters={**made.parameters, "periods": 366})
    assert "<svg" not in page(long)


def test_the_page_says_what_the_release_is_about() -> None:
    frame = pl.DataFrame({"author": range(400), "word": ["a"] * 400})
    made = dpsu.release(
        frame,
        user="author",
        item="word",
        epsilon=2.0,
        delta=1e-6,
        max_items=5,
        note="a note",
        check_user=False,
    ).statement
    assert made is not None
    assert made.date
    listed = {"exclude": {"items": 12, "sha256": "abc"}}
    shown = page(replace(made, lists=listed))
    top = shown[: shown.index("</dl>")]
    for told in (made.date, "&#x27;author&#x27;", "&#x27;word&#x27;", *map(escape, made.not_covered)):
        assert told in top
    for told in ("a note", "items 12; sha256 abc"):
        assert f"{told}</td>" in shown
    assert all(escape(claim) in shown for claim in made.rests_on)
    old = replace(made, schema="dpsu-statement/1", data=None, lists=None, date=None, title=None, note=None)
    assert "(2, 1e-06)-differentially private" in page(old)


@pytest.mark.parametrize("way", ["part", "selection"])
def test_a_tuned_statement_tells_how_it_was_tuned_but_no_trial(way: Any) -> None:
    settings = [{"max_items": 2}, {"max_items": 3}]
    made = dpsu.tune(DATA, settings=settings, method=way, epsilon=3.0, delta=1e-6).release.statement
    assert made is not None
    rows = re.search(r'<tr><th scope="row">tuning</th><td>(.*?)</td></tr>', page(made))
    assert rows
    assert "max_items 2" in rows[1]
    assert "sigma" not in rows[1]
    assert plan_of(made) is None
    assert page(made).count("<svg") == 2  # the curve of the release with the chosen setting
    assert page(replace(made, parameters={**made.parameters, "tuning": 3})).count("<svg") == 0


def test_counts_sums_and_others_come_with_their_errors() -> None:
    frame = pl.DataFrame({"u": range(400), "i": ["<b>"] * 400, "<i>": [1.0] * 400})
    made = dpsu.release(
        frame,
        user="u",
        item="i",
        epsilon=2,
        delta=1e-6,
        counts=True,
        sums={"<i>": (0, 5)},
        others=True,
        check_user=False,
    )
    shown = made.report().html
    assert made.statement is not None
    counts = made.statement.parameters["counts"]
    assert f"within {half_width(counts['sigma']):,.10g} in 95\u00a0%" in shown
    assert "sum of &lt;i&gt;, 0 to 5 per person" in shown
    assert "not released" in shown


def test_a_void_statement_says_so_first() -> None:
    made = page(replace(statement_of("weighted-gaussian"), void="the randomness was seeded"))
    assert "Nothing is promised:" in made
    assert "one in " not in made
    assert "<caption>What the file can reveal" not in made


def test_whatever_a_statement_holds_is_shown_as_text() -> None:
    evil = "<img src=x onerror=alert(1)>$title${verify}</code>"
    statement = statement_of("weighted-gaussian")
    made = page(
        replace(
            statement,
            unit=evil,
            proof=evil,
            noise_source=evil,
            not_covered=(evil,),
            rests_on=(evil,),
            title=evil,
            note=evil,
            date=evil,
            data={
                "form": "columns",
                "user": [evil],
                "text": evil,
                "ngrams": [1],
                "tokenizer": {"kind": evil, "name": evil},
            },
            lists={evil: {evil: evil}},
        )
    )
    assert "<img" not in made
    assert made.count("&lt;img src=x") >= 15
    outline = Outline()
    outline.feed(made)
    assert outline.open == []


def test_the_command(tmp_path: Path) -> None:
    source = tmp_path / "rows.csv"
    source.write_text("u,i\n" + "".join(f"{n},a\n" for n in range(400)))
    paths = {name: tmp_path / name for name in ("out.csv", "statement.json", "report.html", "again.html")}
    run = command(
        "release", source, "--user", "u", "--item", "i", "--epsilon", "3", "--delta", "1e-6", "-o", paths["out.csv"],
        "--algorithm", "focused-gaussian",
        "--statement", paths["statement.json"], "--report", paths["report.html"], "-q",
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert "The file contains 1 item " in paths["report.html"].read_text()
    assert (
        json.loads(paths["statement.json"].read_text())["released_sha256"] in paths["report.html"].read_text()
    )
    assert command("report", paths["statement.json"], "-o", paths["again.html"]).returncode == 0
    assert "The file contains items" in paths["again.html"].read_text()
    verified = command("verify", paths["statement.json"], "--released", paths["out.csv"])
    assert verified.returncode == 0, verified.stdout
    assert b"VERIFIED" in verified.stdout
    paths["out.csv"].write_text("i\nb\n")
    assert command("verify", paths["statement.json"], "--released", paths["out.csv"]).returncode == 3
    nonsense = command("report", source, "-o", paths["again.html"])
    assert nonsense.returncode == 1
    assert nonsense.stderr.count(b"\n") == 1
    odd = {**json.loads(paths["statement.json"].read_text()), "epsilon": "one"}
    paths["statement.json"].write_text(json.dumps(odd))
    malformed = command("report", paths["statement.json"], "-o", paths["again.html"])
    assert malformed.returncode == 1
    assert malformed.stderr.count(b"\n") == 1
