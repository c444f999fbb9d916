"""The comparison: what it counts, what it refuses, what it shows."""

import json
from itertools import product

import numpy as np
import polars as pl
import pytest
import reference
from typer.testing import CliRunner

import dpsu
from dpsu.cli.app import app
from dpsu.errors import InvalidArgument, NotPrivate, OutputError
from dpsu.report.charts import check_chart, compare_chart

PRIVACY = {"epsilon": 3.0, "delta": 1e-5}
SOME = ["weighted-gaussian", "dp-sips", "mad2r"]


@pytest.fixture(scope="module")
def frame():
    """Items of which the k-th is held by about 1000/k of 1000 users."""
    rng = np.random.default_rng(0)
    pairs = [(user, item) for item in range(1, 200) for user in rng.choice(1000, 1000 // item, replace=False)]
    return pl.DataFrame(pairs, schema={"user": pl.Int64, "item": pl.Int64}, orient="row")


def test_a_row_per_algorithm_most_items_first(frame):
    found = dpsu.compare(
        frame, user="user", item="item", algorithms=SOME, runs=4, data_is_public=True, **PRIVACY
    )
    assert sorted(found["algorithm"]) == sorted(SOME)
    assert found["items"].is_sorted(descending=True)
    assert (found["runs"] == 4).all()
    assert ((found["fewest"] <= found["items"]) & (found["items"] <= found["most"])).all()


def test_figures_are_those_of_releases(frame):
    with dpsu.testing.seeded(1):
        row = dpsu.compare(
            frame, user="user", item="item", algorithms=["mad"], runs=30, data_is_public=True, **PRIVACY
        )
    with dpsu.testing.seeded(2):
        sizes = [
            len(dpsu.release(frame, user="user", item="item", algorithm="mad", **PRIVACY)) for _ in range(30)
        ]
    spread = np.std(sizes, ddof=1)
    assert row["items"][0] == pytest.approx(np.mean(sizes), abs=4 * spread / np.sqrt(15))
    assert row["spread"][0] == pytest.approx(spread, rel=0.6)


def test_runs_differ_and_seeds_repeat_them(frame):
    def counts():
        with dpsu.testing.seeded(5):
            return dpsu.compare(
                frame, user="user", item="item", algorithms=SOME, runs=3, data_is_public=True, **PRIVACY
            ).drop("seconds")

    assert counts().equals(counts())
    assert counts()["spread"].max() > 0


def test_the_ceiling_is_the_sum_of_the_optimal_chances_and_nothing_exceeds_it(frame):
    found = dpsu.compare(
        frame,
        user="user",
        item="item",
        algorithms=[*SOME, "policy-gaussian"],
        max_items=3,
        data_is_public=True,
        **PRIVACY,
    )
    chances = [float(chance) for chance in reference.optimal_single(**PRIVACY)]
    holders = frame.unique().group_by("item").len()["len"]
    expected = sum(chances[min(count, len(chances) - 1)] for count in holders)
    assert found["ceiling"].to_list() == pytest.approx([expected] * 4)
    assert (found["items"] <= found["ceiling"]).all()


def test_private_data_is_refused_before_it_is_read():
    with pytest.raises(NotPrivate, match="data_is_public=True"):
        dpsu.compare("no-such-file.parquet", user="user", item="item", **PRIVACY)


def test_algorithms_that_are_not_private_need_consent(frame):
    how = {
        "user": "user",
        "item": "item",
        "data_is_public": True,
        "algorithms": ["k-anonymity"],
        "runs": 1,
        **PRIVACY,
    }
    with pytest.raises(NotPrivate, match="unsafe=True"):
        dpsu.compare(frame, **how)
    found = dpsu.compare(frame, unsafe=True, **how)
    assert found["private"].to_list() == [False]
    assert found["items"][0] == frame.unique().group_by("item").len().filter(pl.col("len") >= 20).height


@pytest.mark.parametrize("wrong", [{"runs": 0}, {"runs": 1.5}, {"algorithms": []}, {"algorithms": "mad"}])
def test_arguments_that_make_no_sense_are_refused(frame, wrong):
    with pytest.raises(InvalidArgument):
        dpsu.compare(frame, user="user", item="item", data_is_public=True, **PRIVACY, **wrong)


@pytest.mark.parametrize("max_items", [1, 3])
def test_all_private_algorithms_are_compared_by_default(max_items):
    data = {n: ["tea"] for n in range(50)}
    found = dpsu.compare(data, max_items=max_items, runs=1, data_is_public=True, **PRIVACY)
    private = set(dpsu.list_algorithms().filter("private")["name"])
    assert set(found["algorithm"]) == (private if max_items == 1 else private - {"optimal-single"})


def test_an_option_is_given_to_no_algorithm_by_mistake():
    with pytest.raises(InvalidArgument, match="max_items=1"):
        dpsu.compare({}, algorithms=["optimal-single"], data_is_public=True, **PRIVACY)


def test_empty_data_gives_zeros():
    found = dpsu.compare({}, algorithms=["mad2r", "dp-sips"], data_is_public=True, **PRIVACY)
    assert found["items"].to_list() == [0.0, 0.0]
    assert found["ceiling"].to_list() == [0.0, 0.0]


def test_lists_run_every_pair_of_epsilon_and_max_items(frame):
    how = {"user": "user", "item": "item", "delta": 1e-5, "runs": 1, "data_is_public": True}
    found = dpsu.compare(frame, algorithms=["mad", "dp-sips"], epsilon=[3, 1.0, 3], max_items=[2, 20], **how)
    settings = set(found.select("epsilon", "max_items", "algorithm").rows())
    assert settings == set(product([1.0, 3.0], [2, 20], ["mad", "dp-sips"]))
    assert len(found) == 8
    assert found["epsilon"].is_sorted()
    for part in found.partition_by("epsilon"):
        assert part["items"].is_sorted(descending=True)
        alone = dpsu.compare(frame, algorithms=["mad"], epsilon=part["epsilon"][0], **how)
        assert part["ceiling"].unique().to_list() == pytest.approx(alone["ceiling"].to_list())


def test_a_sweep_has_the_optimal_selection_where_it_applies():
    data = {n: ["tea"] for n in range(50)}
    found = dpsu.compare(data, max_items=[1, 3], runs=1, data_is_public=True, **PRIVACY)
    assert found.filter(algorithm="optimal-single")["max_items"].to_list() == [1]


@pytest.mark.parametrize(
    "wrong",
    [{"epsilon": []}, {"epsilon": [1, -1]}, {"epsilon": "3"}, {"max_items": []}, {"max_items": [5, 0]}],
)
def test_a_sweep_with_a_wrong_value_is_refused_before_any_run(frame, wrong):
    def never(stage):
        pytest.fail("it began")

    how = {**PRIVACY, **wrong, "user": "user", "item": "item"}
    with pytest.raises(InvalidArgument):
        dpsu.compare(frame, data_is_public=True, progress=never, **how)


# The command.


def run(*arguments):
    return CliRunner().invoke(app, ["compare", *map(str, arguments)])


@pytest.fixture(scope="module")
def file(frame, tmp_path_factory):
    path = tmp_path_factory.mktemp("compare") / "pairs.parquet"
    frame.write_parquet(path)
    return path


def arguments(file):
    return [file, "--user", "user", "--item", "item", "--epsilon", "3", "--delta", "1e-5", "--runs", "2"]


def test_the_command_shows_a_table(file):
    shown = run(*arguments(file), "--data-is-public", "--algorithm", "mad", "--algorithm", "dp-sips")
    assert shown.exit_code == 0
    assert "dp-sips" in shown.stdout
    assert "mad" in shown.stdout
    assert "public" in shown.stderr


def test_the_command_prints_json_and_draws(file, tmp_path):
    for ending in ("png", "svg"):
        picture = tmp_path / f"out.{ending}"
        shown = run(*arguments(file), "--data-is-public", "--algorithm", "mad", "--json", "--plot", picture)
        assert [row["algorithm"] for row in json.loads(shown.stdout)] == ["mad"]
        assert picture.stat().st_size > 1000


SWEEP = [
    "--delta",
    "1e-5",
    "--runs",
    "1",
    "--data-is-public",
    "--algorithm",
    "mad",
    "--user",
    "user",
    "--item",
    "item",
]


@pytest.mark.parametrize(
    "spelling",
    [
        "--max-items 5 10 50 --epsilon 0.5 1 3 FILE",
        "FILE --max-items=5 10 50 --epsilon 0.5 --epsilon 1 3",
        "--epsilon 0.5 1 3 --max-items 5 10 --max-items 50 -- FILE",
    ],
)
def test_the_command_sweeps(file, spelling):
    swept = [str(file) if word == "FILE" else word for word in spelling.split()]
    shown = json.loads(run(*SWEEP, "--json", *swept).stdout)
    settings = sorted((row["epsilon"], row["max_items"]) for row in shown)
    assert settings == list(product([0.5, 1.0, 3.0], [5, 10, 50]))


def test_a_sweep_fits_80_columns_and_is_drawn(file, tmp_path):
    swept = ["--max-items", *range(999_990, 999_996), "--epsilon", 0.5, 3, "--plot", tmp_path / "out.svg"]
    shown = run(*SWEEP, "--algorithm", "k-anonymity", "--unsafe", file, *swept)
    assert shown.exit_code == 0
    assert max(map(len, shown.stdout.splitlines())) <= 80
    for limit in range(999_990, 999_996):
        assert shown.stdout.count(f"{limit:,}") == 2
    assert shown.stdout.count("k-anonymity (NOT private)") == 4
    assert "<svg" in (tmp_path / "out.svg").read_text()


def test_without_a_file_the_bundled_data_is_compared_without_consent():
    how = ["--epsilon", "3", "--delta", "1e-5", "--runs", "1", "--algorithm", "weighted-gaussian", "--json"]
    assert json.loads(run(*how).stdout)[0]["items"] > 1000
    assert isinstance(run(*how, "--user", "author").exception, InvalidArgument)


def test_the_command_needs_public(file):
    result = run(*arguments(file))
    assert isinstance(result.exception, NotPrivate)
    assert "--data-is-public" in str(result.exception)


def test_a_chart_that_cannot_be_drawn_fails_before_the_work(tmp_path):
    with pytest.raises(InvalidArgument, match=r"\.png"):
        check_chart(tmp_path / "out.gif")
    with pytest.raises(OutputError):
        check_chart(tmp_path / "missing" / "out.png")


def test_the_chart_names_what_is_not_private(frame, tmp_path):
    row = {
        "epsilon": 1.0,
        "max_items": 3,
        "items": 5.0,
        "spread": 0.0,
        "fewest": 5,
        "most": 5,
        "runs": 1,
        "seconds": 0.1,
        "ceiling": 7.0,
    }
    compare_chart(pl.DataFrame([{"algorithm": "k-anonymity", "private": False, **row}]), tmp_path / "out.svg")
    assert "<svg" in (tmp_path / "out.svg").read_text()
