"""Candidates: equal to the slow twin, with the promised false share, and lists that are read as they are meant."""

import hashlib
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import mpmath
import numpy as np
import polars as pl
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from normals import computed_normals
from user_sets import numbered, sets_of

import dpsu
from dpsu.algorithms.candidate_list import sha256_of
from dpsu.algorithms.candidates import CandidateList, WithCandidates
from dpsu.algorithms.focused import FocusedGaussian
from dpsu.algorithms.lists import canonical, sorted_rows
from dpsu.algorithms.request import Request
from dpsu.engines.local import LocalEngine
from dpsu.errors import InvalidArgument
from dpsu.privacy.false_share import largest_tail
from dpsu.randomness.stream import Purpose, Stream
from dpsu.sets.user_sets import UserSets, admit

PRIVACY = {"epsilon": 1, "delta": 1e-6}
BASKETS = {n: ["bread", "milk", f"own {n}"] for n in range(300)}


@lru_cache
def calibrated(count, share, discover=True, epsilon=1.0, delta=0.1, max_items=6):
    listed = CandidateList(count, "00" * 32, pl.DataFrame())
    return WithCandidates(FocusedGaussian(), listed, share, discover).calibrate(
        Request(epsilon, delta, max_items)
    )


def with_list(sets: UserSets, listed: list[int], absent: int, seed: int = 7) -> UserSets:
    """The sets with these items listed, and so many more that nobody holds."""
    more = np.random.default_rng(seed).integers(0, 2**64, (absent, 2), dtype=np.uint64)
    digests = np.concatenate([sets.item_digests[listed], more])
    names = pl.DataFrame({"item": pl.Series([*listed, *range(10**6, 10**6 + absent)], dtype=pl.Int64)})
    return admit(sets, names, digests)


some_sets = st.lists(st.sets(st.integers(0, 5), min_size=1), min_size=1, max_size=25).map(numbered)


@settings(deadline=None, max_examples=40)
@given(
    some_sets,
    st.binary(min_size=32, max_size=32),
    st.sets(st.integers(0, 5)),
    st.integers(0, 30),
    st.booleans(),
)
def test_a_selection_is_the_twins(rows, key, chosen, absent, discover):
    sets = sets_of(rows)
    listed = sorted(item for item in chosen if item < sets.n_items)
    count = max(1, len(listed) + absent)
    mechanism, stream = calibrated(count, 0.3, discover), Stream(key)
    admitted = with_list(sets, listed, absent)
    table = mechanism.select(LocalEngine(), admitted, stream)
    digests = admitted.item_digests
    normals = [
        dict(enumerate(computed_normals(stream.words(Purpose.NOISE, r, digests))[0]))
        for r in range(mechanism.base.focus.rounds)
    ]
    everything = {*listed, *range(sets.n_items, sets.n_items + absent)}
    totals, released = reference.with_candidates(rows, everything, normals, mechanism)
    assert set(np.flatnonzero(table["released"]).tolist()) == released
    assert all(abs(table["noisy"][item] - total) <= 1 for item, total in totals.items())


def test_listed_items_get_noise_whether_or_not_anybody_holds_them():
    sets = with_list(sets_of([[0, 1, 2]] * 3), [0], 50)
    table = calibrated(51, 0.05).select(LocalEngine(), sets, Stream(bytes(32)))
    assert (table["noisy"][3:] != 0).all()
    assert len(set(table["noisy"][3:].tolist())) == 50


def test_a_listed_item_that_every_cut_drops_still_gets_noise():
    sets = with_list(sets_of([[0, 1, 2]]), [0, 1, 2], 0)
    mechanism = calibrated(3, 0.05, max_items=1)
    assert (mechanism.select(LocalEngine(), sets, Stream(bytes(32)))["noisy"] != 0).all()


@pytest.mark.parametrize("count", [1, 10, 1000, 10**7])
@pytest.mark.parametrize("share", [0.5, 0.01, 1e-9])
def test_noise_alone_releases_early_with_probability_eta(count, share):
    """At 40 digits: the sum over rounds is at most eta, and eta at most q / |L|."""
    mechanism = calibrated(count, share)
    with mpmath.workdps(40):
        variance, crossed = mpmath.mpf(0), mpmath.mpf(0)
        for scale, limit in zip(mechanism.base.boundary.scales, mechanism.early, strict=True):
            variance += mpmath.mpf(scale) ** 2
            crossed += mpmath.ncdf(-mpmath.mpf(limit) / mpmath.sqrt(variance))
        assert crossed <= mechanism.eta
        assert crossed > 0.999 * mechanism.eta
        assert mpmath.mpf(mechanism.eta) * count <= share


@given(st.lists(st.floats(0, 1), max_size=30), st.floats(0.001, 0.5), st.integers(0, 5))
def test_the_cut_is_that_of_benjamini_and_hochberg(values, share, more):
    count = max(1, len(values) + more)
    cut = largest_tail(np.array(values), count, share)
    passing = [k for k in range(1, count + 1) if sum(p <= k * share / count for p in values) >= k]
    found = sum(p <= cut for p in values)
    # A value within rounding of a step may stay out, never come in.
    assert found <= max(passing, default=0)
    clear = [k for k in range(1, count + 1) if sum(p <= k * share / count * (1 - 1e-8) for p in values) >= k]
    assert found >= max(clear, default=0)


def false_shares(mechanism, holders, nulls, runs):
    """The share of nulls among the released listed items in each of many runs; item 0 has this many holders, if any."""
    shares = np.empty(runs)
    sets = with_list(sets_of([[0]] * max(holders, 1)), [0] if holders else [], nulls)
    for run in range(runs):
        released = mechanism.select(LocalEngine(threads=1), sets, Stream(run.to_bytes(32, "little")))[
            "released"
        ]
        shares[run] = released[1:].sum() / max(1, (released & sets.listed).sum())
    return shares


def slack(runs):
    """Hoeffding: a mean of so many values between 0 and 1 exceeds its expectation by this with chance 1e-9."""
    return np.sqrt(np.log(1e9) / (2 * runs))


@pytest.mark.parametrize(("holders", "nulls"), [(0, 20), (40, 19), (400, 19)])
def test_the_false_share_is_as_promised(holders, nulls):
    share = 0.2
    mechanism = calibrated(nulls + (holders > 0), share, max_items=1)
    assert false_shares(mechanism, holders, nulls, 600).mean() <= share + slack(600)


def test_early_release_at_the_boundary_of_new_items_is_caught():
    """The control: with tau_r, which pays with delta and not with q / |L|, the false share is far above the promise."""
    mechanism = calibrated(1000, 0.01, max_items=1, delta=0.5)
    control = replace(mechanism, early=mechanism.base.boundary.thresholds)
    assert false_shares(mechanism, 0, 1000, 100).mean() <= 0.01 + slack(100)
    assert false_shares(control, 0, 1000, 100).mean() > 0.5


def test_the_digest_of_a_list_is_that_of_its_canonical_form():
    for items in (["b", "a", 'c "quoted" \\', "tab\t", "ö", ""], [3, 1, 2], [("fr", 7), ("de", 1)]):
        frame = pl.DataFrame(
            [entry if isinstance(entry, tuple) else (entry,) for entry in items], orient="row"
        )
        assert sha256_of(frame) == hashlib.sha256(canonical(sorted_rows(frame))).hexdigest()


@pytest.mark.parametrize(
    ("listed", "told"),
    [
        (["a", "b", "a"], "entry 3"),
        (["a", None], "entry 2"),
        ([], "candidates"),
        ([1.5], "candidates"),
        ("word", "candidates"),
        ([("a", "b")], "columns"),
    ],
)
def test_a_list_that_is_none_is_refused(listed, told):
    with pytest.raises(InvalidArgument, match=told):
        dpsu.release(BASKETS, candidates=listed, false_share=0.01, **PRIVACY)


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ({"candidates": ["bread"]}, "false_share"),
        ({"candidates": ["bread"], "false_share": 0.9}, "false_share"),
        ({"candidates": ["bread"], "false_share": 0}, "false_share"),
        ({"false_share": 0.1}, "candidates"),
        ({"discover": False}, "candidates"),
        (
            {"candidates": ["bread"], "false_share": 0.1, "algorithm": "weighted-gaussian"},
            "weighted-gaussian",
        ),
        ({"candidates": ["bread"], "false_share": 0.1, "public_items": ["bread"]}, "public"),
        ({"candidates": ["bread"], "false_share": 0.1, "exclude": ["bread"]}, "excluded"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(how, told):
    with pytest.raises(InvalidArgument, match=told):
        dpsu.release(BASKETS, **how, **PRIVACY)


def test_a_release_says_which_items_are_listed(tmp_path: Path):
    path = tmp_path / "list.txt"
    path.write_text("bread\nwine\n")
    released = dpsu.release(BASKETS, candidates=path, false_share=0.01, public_items=["salt"], **PRIVACY)
    assert released.items == ["bread", "milk", "salt"]
    assert released.to_polars()["listed"].to_list() == [True, False, False]
    assert released.statement.lists["candidates"]["count"] == 2
    assert "the list candidates was not made from this data" in released.statement.rests_on


def test_without_discovery_only_listed_items_come_out():
    released = dpsu.release(
        BASKETS, candidates=["bread", "wine"], false_share=0.01, discover=False, **PRIVACY
    )
    assert released.items == ["bread"]
    assert released.statement.budget.delta_new == 0


def test_candidates_for_a_text_go_through_the_tokenizer():
    texts = {n: ["Good morning"] for n in range(300)}
    with pytest.warns(dpsu.CuratorNote):
        released = dpsu.release(
            texts, text=True, candidates=["MORNING", "morning", "two words"], false_share=0.01, **PRIVACY
        )
    assert released.items == ["good", "morning"]
    assert released.statement.lists["candidates"]["count"] == 1


def test_a_list_needs_fewer_holders():
    users = {n: [f"item {n % 40}"] for n in range(40 * 16)}
    listed = [f"item {n}" for n in range(40)]
    without = dpsu.release(users, public_items=["none"], **PRIVACY)
    with_list_ = dpsu.release(users, candidates=listed, false_share=0.01, discover=False, **PRIVACY)
    assert len(with_list_) > 30 > 20 > len(without)


def test_composite_items_can_be_listed():
    frame = pl.DataFrame({"u": range(200), "a": ["x"] * 200, "b": [1] * 200})
    released = dpsu.release(
        frame, user="u", item=["a", "b"], candidates=[("x", 1), ("y", 2)], false_share=1e-9, **PRIVACY
    )
    assert released.items == [("x", 1)]


def test_a_listed_item_that_nobody_holds_gets_a_noisy_count():
    released = dpsu.release(
        {n: [f"item {n % 100}"] for n in range(1600)},
        candidates=[f"item {n}" for n in range(200)],
        false_share=0.5,
        counts=True,
        **PRIVACY,
    )
    frame = released.to_polars()
    assert frame.columns == ["item", "listed", "holders", "half_width"]
    assert frame.filter(~pl.col("item").is_in([f"item {n}" for n in range(100)])).height > 0
    assert frame["holders"].null_count() == 0
