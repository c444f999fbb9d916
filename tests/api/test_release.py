"""The whole way, from a source to a release."""

import json
import re
import warnings

import numpy as np
import polars as pl
import pytest

import dpsu
from dpsu.errors import InvalidArgument, NotPrivate
from dpsu.testing import seeded

PRIVATE = [row["name"] for row in dpsu.list_algorithms().iter_rows(named=True) if row["private"]]
CLEAR = {"epsilon": 3.0, "delta": 1e-9, "max_items": 3}
"""Privacy at which a crowd of hundreds comes out, and no secret does in a lifetime of runs."""


def crowd(shared: int = 500, lonely: int = 30) -> dict[str, list[str]]:
    """Everybody holds three words; some hold one of their own."""
    common = {f"user {n}": ["the", "of", "and"] for n in range(shared)}
    return common | {f"loner {n}": [f"secret {n}"] for n in range(lonely)}


def limit_for(algorithm: str) -> int:
    return 1 if algorithm == "optimal-single" else 3


@pytest.mark.parametrize("algorithm", PRIVATE)
def test_what_everybody_holds_comes_out_and_secrets_stay_in(algorithm: str) -> None:
    with seeded(1):
        release = dpsu.release(crowd(), **{**CLEAR, "max_items": limit_for(algorithm)}, algorithm=algorithm)
    assert release.items == ["and", "of", "the"]


@pytest.mark.parametrize("algorithm", PRIVATE)
def test_a_seed_repeats_a_release_whatever_the_order_of_the_rows(algorithm: str) -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"user": rng.integers(0, 300, 4000), "item": rng.zipf(1.5, 4000)})
    options = {"epsilon": 5.0, "delta": 0.01, "max_items": limit_for(algorithm)}
    options |= {"user": "user", "item": "item", "algorithm": algorithm}
    with seeded(7):
        first = dpsu.release(frame, **options)
    with seeded(7):
        second = dpsu.release(frame.sample(fraction=1.0, shuffle=True, seed=1), **options)
    with seeded(8):
        third = dpsu.release(frame, **options)
    assert first.items == second.items
    assert len(first) > 0
    assert first.items != third.items


def test_a_release_is_a_sorted_collection() -> None:
    release = dpsu.release(crowd(), **CLEAR)
    assert list(release) == release.items == sorted(release.items)
    assert "the" in release
    assert "secret 1" not in release
    assert len(release) == 3
    assert release.to_polars()["item"].to_list() == release.items
    assert release.to_pandas()["item"].to_list() == release.items
    assert release.to_arrow().column("item").to_pylist() == release.items
    assert "3 items" in repr(release)


def test_composite_items_come_back_as_their_columns() -> None:
    frame = pl.DataFrame({"who": range(400), "country": ["fr"] * 400, "product": [7] * 400})
    release = dpsu.release(frame, user="who", item=["country", "product"], **CLEAR)
    assert release.items == [("fr", 7)]
    assert release.to_polars().schema == {"country": pl.String, "product": pl.Int64}


def test_an_empty_source_gives_an_empty_release_and_says_how_many_must_share() -> None:
    frame = pl.DataFrame(schema={"user": pl.String, "item": pl.String})
    with pytest.warns(dpsu.EmptyRelease, match=r"\d+ users"):
        release = dpsu.release(frame, user="user", item="item", epsilon=1.0, delta=1e-6)
    assert release.items == []
    assert release.to_polars().schema == {"item": pl.String}


def test_two_releases_in_one_process_do_not_mix() -> None:
    first = dpsu.release({n: ["alpha", "beta"] for n in range(300)}, **CLEAR)
    second = dpsu.release({n: ["gamma", "alpha"] for n in range(300)}, **CLEAR)
    assert first.items == ["alpha", "beta"]
    assert second.items == ["alpha", "gamma"]


@pytest.mark.parametrize("algorithm", ["policy-gaussian-l1", "k-anonymity"])
def test_what_is_not_private_runs_only_with_consent_and_without_a_statement(algorithm: str) -> None:
    with pytest.raises(NotPrivate, match="unsafe=True"):
        dpsu.release(crowd(), **CLEAR, algorithm=algorithm)
    release = dpsu.release(crowd(), **CLEAR, algorithm=algorithm, unsafe=True)
    assert release.statement is None
    assert release.warning
    assert "the" in release


def test_k_anonymity_counts_exactly() -> None:
    data = {n: ["many"] + (["few"] if n < 4 else []) for n in range(20)}
    for k, expected in ((4, ["few", "many"]), (5, ["many"])):
        release = dpsu.release(data, **CLEAR, algorithm=dpsu.KAnonymity(k=k), unsafe=True)
        assert release.items == expected


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"epsilon": float("inf")}, "epsilon"),
        ({"epsilon": "1"}, "epsilon"),
        ({"delta": 1.0}, "delta"),
        ({"delta": 0.0}, "delta"),
        ({"max_items": 0}, "max_items"),
        ({"max_items": 2.5}, "max_items"),
        ({"calibration": "sloppy"}, "calibration"),
        ({"algorithm": "policy-gausian"}, "'policy-gaussian'"),
        ({"alpha": 3}, "PolicyGaussian(alpha="),
        ({"maxitems": 3}, "'max_items'"),
    ],
)
def test_wrong_arguments_are_refused_before_any_data_is_touched(
    wrong: dict[str, object], message: str
) -> None:
    with pytest.raises(InvalidArgument, match=re.escape(message)):
        dpsu.release("/no/such/file.parquet", user="u", item="i", **{**CLEAR, **wrong})


def test_the_statement_says_what_was_promised() -> None:
    release = dpsu.release(
        crowd(), epsilon=1.5, delta=1e-6, algorithm=dpsu.PolicyGaussian(alpha=2), max_items=50
    )
    statement = release.statement
    assert statement is not None
    text = str(statement)
    assert "(1.5, 1e-06)" in text
    assert "policy-gaussian" in text
    assert "max_items 50" in text
    fields = json.loads(statement.to_json())
    assert {"sigma", "threshold", "cutoff", "passes", "noise"} <= set(fields["parameters"])
    assert fields["budget"]["mu"] == pytest.approx(1 / fields["parameters"]["sigma"], rel=1e-3)
    assert dpsu.Statement.from_json(statement.to_json()) == statement
    assert fields["version"] == dpsu.__version__


def test_a_seed_voids_the_statement() -> None:
    with seeded(3):
        statement = dpsu.release(crowd(), **CLEAR).statement
    assert statement is not None
    assert str(statement).startswith("VOID")
    assert "differentially private for" not in str(statement)


def test_nothing_exact_shows_in_statement_or_repr() -> None:
    """The same statement comes with other data: it depends on the request alone."""
    small = dpsu.release(crowd(500), **CLEAR, algorithm="focused-gaussian").statement
    large = dpsu.release(crowd(731, 77), **CLEAR, algorithm="focused-gaussian").statement
    assert small == large


def test_progress_is_told_public_stages_only() -> None:
    stages: list[str] = []
    dpsu.release(crowd(), **CLEAR, algorithm=dpsu.FocusedGaussian(rounds=2), progress=stages.append)
    assert stages == ["reading", "weighing and deciding", "round 1 of 2", "round 2 of 2", "decoding"]


def test_exact_calibration_never_releases_fewer() -> None:
    """Means over seeds on data with many items at the edge."""
    rng = np.random.default_rng(5)
    frame = pl.DataFrame({"user": rng.integers(0, 2000, 40_000), "item": rng.zipf(1.3, 40_000) % 5000})
    for algorithm in (
        "count-laplace",
        "count-gaussian",
        "weighted-laplace",
        "weighted-gaussian",
        "policy-laplace",
        "policy-gaussian",
    ):
        sizes = {}
        for calibration in ("exact", "paper"):
            with seeded(11), warnings.catch_warnings():
                runs = [
                    len(
                        dpsu.release(
                            frame,
                            user="user",
                            item="item",
                            epsilon=2.0,
                            delta=1e-5,
                            max_items=20,
                            algorithm=algorithm,
                            calibration=calibration,
                        )
                    )
                    for _ in range(3)
                ]
            sizes[calibration] = sum(runs)
        assert sizes["exact"] >= sizes["paper"], algorithm
