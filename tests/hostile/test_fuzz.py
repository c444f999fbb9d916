"""Whatever comes in: a release of items that were there, or an error of the family; nothing else.

`make test-hostile` runs twenty times as many cases.
"""

import datetime
import io
import math
import os
import warnings
from pathlib import Path
from typing import Any

import polars as pl
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import dpsu
from dpsu.algorithms.catalogue import build
from dpsu.errors import InvalidArgument

CASES = 200 if os.environ.get("DPSU_HOSTILE") == "long" else 10
ALGORITHMS = [row["name"] for row in dpsu.list_algorithms().iter_rows(named=True)]
FAST = ["weighted-gaussian", "weighted-laplace", "policy-laplace", "count-gaussian", "k-anonymity"]


def fuzzed(examples: int) -> Any:
    """Settings for so many examples, times twenty in the long run."""
    return settings(
        max_examples=examples * CASES // 10,
        deadline=None,
        suppress_health_check=[
            HealthCheck.too_slow,
            HealthCheck.function_scoped_fixture,
            HealthCheck.data_too_large,
        ],
    )


def outcome(source: Any, **options: Any) -> list[Any] | None:
    """The items, or None where an error of the family says why there are none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dpsu.EmptyRelease)
        try:
            return dpsu.release(source, **{"epsilon": 2.0, "delta": 0.01, "unsafe": True, **options}).items
        except dpsu.DpsuError as error:
            message = str(error)
    assert "\n" not in message
    return None


names = st.one_of(
    st.text(max_size=8),
    st.sampled_from(
        [
            "--epsilon",
            "-o",
            "../../etc/passwd",
            "/dev/null",
            "$(reboot)",
            "a\0b",
            "‮abc",
            "",
            " ",
            "NaN",
            "null",
            "%s",
        ]
    ),
    st.text(alphabet=st.characters(categories=["Cc", "Cf", "Co", "Mn", "Zs"]), max_size=4),
)
values = st.one_of(
    names,
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.booleans(),
    st.none(),
    st.binary(max_size=4),
    st.dates(),
    st.tuples(names, names),
    st.lists(names, max_size=2),
)


@fuzzed(100)
@given(
    st.dictionaries(st.one_of(names, st.integers()), st.lists(names, max_size=6), max_size=12),
    st.sampled_from(FAST),
)
def test_sets_of_names(data: dict[Any, list[str]], algorithm: str) -> None:
    items = outcome(data, algorithm=algorithm, max_items=3)
    assert items is None or set(items) <= {item for held in data.values() for item in held}


@fuzzed(100)
@given(st.lists(st.tuples(values, st.lists(values, max_size=4)), max_size=8))
def test_collections_of_anything(pairs: list[tuple[Any, list[Any]]]) -> None:
    outcome(pairs, algorithm="weighted-gaussian", max_items=3)


@fuzzed(60)
@given(st.data())
def test_frames_of_any_type(data: st.DataObject) -> None:
    kinds = [
        pl.Int8,
        pl.UInt64,
        pl.Float32,
        pl.Float64,
        pl.String,
        pl.Boolean,
        pl.Date,
        pl.Datetime("us"),
        pl.Binary,
    ]
    kinds += [
        pl.Categorical(),
        pl.Decimal(20, 3),
        pl.List(pl.Int8),
        pl.Struct({"a": pl.Int8}),
        pl.Null(),
        pl.Duration("ms"),
    ]
    from polars.testing.parametric import column, dataframes

    user, item = (data.draw(st.sampled_from(kinds)) for _ in "ab")
    frame = data.draw(
        dataframes([column("u", dtype=user, allow_null=True), column("i", dtype=item)], max_size=12)
    )
    items = outcome(
        frame, user="u", item="i", algorithm="weighted-laplace", drop_nulls=data.draw(st.booleans())
    )
    assert items is None or len(items) <= frame["i"].n_unique()


@fuzzed(120)
@given(st.binary(max_size=120), st.sampled_from([".csv", ".tsv", ".jsonl", ".parquet", ".txt"]))
def test_files_of_any_bytes(tmp_path: Path, content: bytes, ending: str) -> None:
    path = tmp_path / f"file{ending}"
    path.write_bytes(content)
    if ending == ".txt":
        outcome(path, user_per="line", algorithm="weighted-laplace")
    else:
        outcome(path, user="u", item="i", algorithm="weighted-laplace")


lines = st.lists(st.text(alphabet='ab,"\n\r\t;\\{}[]:\0é', max_size=12), max_size=8).map("\n".join)


@fuzzed(100)
@given(lines, st.sampled_from(["u,i\n", "i,u\n", "u,i,x\n", "u;i\n", "﻿u,i\n", '"u","i"\n']))
def test_ragged_csv(tmp_path: Path, body: str, head: str) -> None:
    path = tmp_path / "file.csv"
    path.write_text(head + body, encoding="utf-8", newline="")
    outcome(path, user="u", item="i", algorithm="weighted-laplace")


@fuzzed(60)
@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["u", "i", "x"]),
            values.filter(lambda v: not isinstance(v, bytes | datetime.date)),
            max_size=3,
        ),
        max_size=6,
    )
)
def test_ragged_json_lines(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    import json

    path = tmp_path / "file.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    outcome(path, user="u", item="i", algorithm="weighted-laplace")


@fuzzed(40)
@given(st.integers(0, 2000))
def test_parquet_cut_off_or_altered(tmp_path: Path, place: int) -> None:
    buffer = io.BytesIO()
    pl.DataFrame({"u": range(50), "i": ["x", "y"] * 25}).write_parquet(buffer)
    whole = buffer.getvalue()
    path = tmp_path / "file.parquet"
    path.write_bytes(whole[: place % len(whole)])
    assert outcome(path, user="u", item="i", algorithm="weighted-laplace") is None
    altered = bytearray(whole)
    altered[place % len(whole)] ^= 0xFF
    path.write_bytes(bytes(altered))
    outcome(path, user="u", item="i", algorithm="weighted-laplace")


numbers = st.one_of(
    st.floats(), st.integers(-5, 10**7), st.none(), st.text(max_size=3), st.booleans(), st.just(math.nan)
)


@fuzzed(150)
@given(
    st.sampled_from(ALGORITHMS),
    st.fixed_dictionaries(
        {},
        optional={
            "epsilon": st.one_of(numbers, st.floats(1e-3, 20)),
            "delta": st.one_of(numbers, st.floats(1e-12, 0.5)),
            "max_items": st.one_of(numbers, st.integers(1, 50)),
            "calibration": st.sampled_from(["exact", "paper", "none", 3]),
        },
    ),
)
@example("focused-gaussian", {"epsilon": 1e-173, "delta": 1e-173})
@example("policy-gaussian", {"epsilon": 1e-173, "delta": 1e-173})
def test_options_are_taken_or_refused(algorithm: str, options: dict[str, Any]) -> None:
    asked = {"epsilon": 1.0, "delta": 1e-5, "max_items": 5, **options}
    try:
        plan = dpsu.plan(algorithm=algorithm, **asked)
    except InvalidArgument:
        return
    assert 0 < asked["epsilon"] < math.inf
    assert 0 < asked["delta"] < 1
    sigma = plan.parameters.get("sigma", 1.0)
    assert math.isfinite(sigma)
    assert sigma > 0
    thresholds = plan.parameters.get("thresholds") or [plan.parameters.get("threshold", 1)]
    assert all(math.isfinite(threshold) for threshold in thresholds)


@fuzzed(40)
@given(
    st.dictionaries(
        st.sampled_from(
            ["alpha", "passes", "k", "shares", "d_max", "beta", "b_min", "b_max", "rounds", "cap", "colour"]
        ),
        st.one_of(numbers, st.lists(st.floats(), max_size=3)),
        max_size=2,
    ),
    st.sampled_from(ALGORITHMS),
)
def test_an_algorithms_own_options_are_taken_or_refused(options: dict[str, Any], algorithm: str) -> None:
    items = 1 if algorithm == "optimal-single" else 5
    try:
        dpsu.plan(epsilon=1.0, delta=1e-5, max_items=items, algorithm=build(algorithm, **options))
    except InvalidArgument:
        return


def test_the_long_run_has_ten_thousand_cases() -> None:
    """The numbers above, times twenty."""
    assert 20 * sum((100, 100, 60, 120, 100, 60, 40, 150, 40)) > 10_000
