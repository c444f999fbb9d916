"""Candidates: equal to the slow twin, with the promised false share, and lists that are read as they are meant."""

import datetime
import hashlib
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import listed_play
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
from dpsu.algorithms.candidate_list import read_candidates, sha256_of, sorted_text
from dpsu.algorithms.candidates import CandidateList, CandidatesMechanism, WithCandidates
from dpsu.algorithms.candidates import calibrated as again
from dpsu.algorithms.focused import FocusedGaussian
from dpsu.algorithms.lists import canonical, sorted_rows
from dpsu.algorithms.request import Request
from dpsu.engines.local import LocalEngine
from dpsu.errors import InvalidArgument
from dpsu.kernels.loops import find_loop
from dpsu.kernels.units import ONE
from dpsu.privacy.false_share import largest_tail
from dpsu.randomness.stream import Purpose, Stream
from dpsu.report.facts import facts
from dpsu.sets.keys import KeyEncoder, row_digests
from dpsu.sets.user_sets import UserSets, admit, among
from dpsu.sources.corpus import text_rule

PRIVACY = {"epsilon": 1, "delta": 1e-6}
BASKETS = {n: ["bread", "milk", f"own {n}"] for n in range(300)}


@lru_cache
def calibrated(count, share, discover=True, epsilon=1.0, delta=0.1, max_items=6):
    listed = CandidateList(count, "00" * 32, pl.DataFrame())
    return WithCandidates(FocusedGaussian(), listed, share, discover).calibrate(
        Request(epsilon, delta, max_items)
    )


def weighted(mechanism, weights):
    """The mechanism with these weights, scaled to a mean of 1."""
    weights = np.array(weights) / np.mean(weights)
    extremes = float(weights.min()), float(weights.max())
    listed = replace(mechanism.listed, weights=weights, extremes=extremes)
    return again(mechanism.base, listed, mechanism.false_share, mechanism.discover)


def with_list(
    sets: UserSets, listed: list[int], absent: int, seed: int = 7, weights: np.ndarray | None = None
) -> UserSets:
    """The sets with these items listed, and so many more that nobody holds."""
    more = np.random.default_rng(seed).integers(0, 2**64, (absent, 2), dtype=np.uint64)
    digests = np.concatenate([sets.item_digests[listed], more])
    names = pl.DataFrame({"item": pl.Series([*listed, *range(10**6, 10**6 + absent)], dtype=pl.Int64)})
    return admit(sets, names, digests, weights=weights)


some_sets = st.lists(st.sets(st.integers(0, 5), min_size=1), min_size=1, max_size=25).map(numbered)


@settings(deadline=None, max_examples=40)
@given(
    some_sets,
    st.binary(min_size=32, max_size=32),
    st.sets(st.integers(0, 5)),
    st.integers(0, 30),
    st.booleans(),
    st.booleans(),
)
def test_a_selection_is_the_twins(rows, key, chosen, absent, discover, has_weights):
    sets = sets_of(rows)
    listed = sorted(item for item in chosen if item < sets.n_items)
    count = max(1, len(listed) + absent)
    mechanism, stream = calibrated(count, 0.3, discover), Stream(key)
    weights = None
    if has_weights and len(listed) + absent > 0:
        mechanism = weighted(mechanism, np.random.default_rng(list(key)).uniform(0.05, 1, count))
        weights = mechanism.listed.weights
    admitted = with_list(sets, listed, absent, weights=weights)
    table = mechanism.select(LocalEngine(), admitted, stream)
    digests = admitted.item_digests
    normals = [
        dict(enumerate(computed_normals(stream.words(Purpose.NOISE, r, digests))[0]))
        for r in range(mechanism.base.focus.rounds)
    ]
    everything = {*listed, *range(sets.n_items, sets.n_items + absent)}
    by_item = (
        None
        if weights is None
        else dict(zip([*listed, *range(sets.n_items, sets.n_items + absent)], weights, strict=True))
    )
    totals, released = reference.with_candidates(rows, everything, normals, mechanism, by_item)
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


@pytest.mark.parametrize("discover", [True, False])
@pytest.mark.parametrize(
    ("share", "most", "largest"),
    [(0.5, 1, 1), (0.05, 0.08, 1), (0.01, 0.025, 1), (1e-9, 0.01, 1), (0.01, 0.025, 4)],
)
def test_unheld_items_are_left_out_only_if_noise_keeps_them_out(share, most, largest, discover):
    count, engine, stream = 20_000, LocalEngine(), Stream(bytes(range(32)))
    items = pl.DataFrame({"item": pl.Series(range(1000, 1000 + count), dtype=pl.Int64)})
    mechanism = replace(calibrated(count, share, discover), listed=CandidateList(count, "00" * 32, items))
    if largest > 1:
        mechanism = weighted(mechanism, np.where(np.arange(count) % 100, 1, largest))
    sets = sets_of([[0, 1, 2]] * 3)
    digests = row_digests(items, stream.digest_key)
    everything = admit(sets, items, digests, weights=mechanism.listed.weights)
    table = mechanism.select(engine, everything, stream)
    needed = table["listed"] & ((mechanism.tails(table) <= share) | table["released"])
    kept = mechanism.admit(engine, sets, stream)
    assert among(table["digest"][needed], kept.item_digests).all()
    assert needed.sum() <= kept.absent <= most * count
    fewer = mechanism.select(engine, kept, stream)
    released = [found["digest"][found["released"]].tolist() for found in (table, fewer)]
    assert sorted(released[0]) == sorted(released[1])


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


@given(
    st.lists(st.floats(0, 1), max_size=30),
    st.floats(0.001, 0.5),
    st.integers(0, 5),
    st.floats(0.1, 2),
)
def test_the_cut_is_that_of_benjamini_and_hochberg(values, share, more, nulls):
    count = max(1, len(values) + more)
    step = share / (count * nulls)
    cut = largest_tail(np.array(values), count, share, nulls)
    passing = [k for k in range(1, count + 1) if sum(p <= k * step for p in values) >= k]
    found = sum(p <= cut for p in values)
    # A value within rounding of a step may stay out, never come in.
    assert found <= max(passing, default=0)
    clear = [k for k in range(1, count + 1) if sum(p <= k * step * (1 - 1e-8) for p in values) >= k]
    assert found >= max(clear, default=0)


@pytest.mark.parametrize("discover", [True, False])
@pytest.mark.parametrize("seed", range(10))
def test_the_simulation_under_attack_is_the_product(seed, discover):
    """Fed with the product's own normal variates, the numpy form ends with the same items and cells."""
    rng = np.random.default_rng(seed)
    sets = sets_of(
        numbered([set(rng.choice(5, rng.integers(1, 6), replace=False).tolist()) for _ in range(12)])
    )
    listed, absent = [0, 2], 4
    mechanism, stream = calibrated(6, 0.3, discover), Stream(bytes([seed] * 32))
    admitted = with_list(sets, listed, absent)
    table = mechanism.select(LocalEngine(), admitted, stream)
    normals = [
        computed_normals(stream.words(Purpose.NOISE, r, admitted.item_digests))[0]
        for r in range(mechanism.base.focus.rounds)
    ]
    everything = [*listed, *range(sets.n_items, sets.n_items + absent)]
    rows = [sets.items[first:last].tolist() for first, last in pairwise(sets.indptr)]
    if not discover:
        rows = [[item for item in own if item in listed] for own in rows]
    groups = [(own, 1) for own in rows if own]
    out, cells = listed_play.play(mechanism, groups, everything, np.array(normals)[None])
    assert (out[0] > 0).tolist() == table["released"].tolist()
    seen = everything if not discover else slice(None)
    assert np.abs(cells[0][seen] - table["noisy"][seen]).max() <= 1


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 40), st.integers(0, 2**32))
def test_every_listed_item_gets_its_weight(shared, own, absent, seed):
    rng = np.random.default_rng(seed)
    digests = rng.integers(0, 2**64, (shared + own + absent, 2), dtype=np.uint64)
    sets = replace(sets_of([[0]]), item_digests=rng.permutation(digests[: shared + own]))
    chosen = rng.permutation(np.concatenate([digests[:shared], digests[shared + own :]]))
    weights = rng.uniform(0.1, 3, len(chosen))
    names = pl.DataFrame({"item": pl.Series(range(len(chosen)), dtype=pl.Int64)})
    admitted = admit(sets, names, chosen, weights=weights)
    expected = dict(zip(map(tuple, chosen.tolist()), weights, strict=True))
    found = [expected.get(tuple(each), 1.0) for each in admitted.item_digests.tolist()]
    assert admitted.weights.tolist() == found


RUNS = 100_000
SLACK = np.sqrt(np.log(1e9) / (2 * RUNS))
"""Hoeffding: the mean of so many values between 0 and 1 exceeds its expectation by 0.0102 with chance 1e-9."""

SCENES = {
    "nobody holds anything": ([], 20, 0.2),
    "one item at the edge": ([((0,), 12)], 20, 0.2),
    "one strong item": ([((0,), 400)], 20, 0.2),
    "half of the list, much of it early": ([((item,), 5 * item) for item in range(10)], 20, 0.2),
    "a small share": ([((0,), 100)], 10, 0.05),
}


@pytest.mark.parametrize("scene", SCENES)
def test_the_false_share_is_as_promised(scene):
    groups, count, share = SCENES[scene]
    nulls = (count - len(groups)) / count
    shares = listed_play.false_shares(
        calibrated(count, share, max_items=1), groups, range(count), count, RUNS
    )
    assert shares.mean() <= share + SLACK
    # Nor is the bound idle: nulls come out about as often as it allows.
    assert shares.mean() >= 0.5 * share * nulls - SLACK


@pytest.mark.parametrize("weights", [[0.1] * 10 + [1.9] * 10, [3.0] * 5 + [1 / 3] * 15, [0.5] * 19 + [10.5]])
def test_weights_keep_the_false_share(weights):
    mechanism = weighted(calibrated(20, 0.2, max_items=1), weights)
    for groups in ([], [((item,), 5 * item) for item in range(5)]):
        assert listed_play.false_shares(mechanism, groups, range(20), 20, RUNS).mean() <= 0.2 + SLACK


def test_small_weights_that_count_as_large_ones_are_caught(monkeypatch):
    """The control: all items are decided as if they had the largest weight."""
    mechanism, cuts = weighted(calibrated(20, 0.2, max_items=1), [10.5] + [0.5] * 19), listed_play._cuts

    def scaled(tails, ratios, weights, mechanism):
        return 21 * cuts(tails, ratios / 21, weights, mechanism)

    monkeypatch.setattr(listed_play, "_cuts", scaled)
    assert listed_play.false_shares(mechanism, [], range(20), 20, RUNS).mean() > 0.2 + SLACK


def test_a_larger_weight_needs_fewer_holders():
    users = {n: [f"item {n % 40}"] for n in range(40 * 12)}
    names = [f"item {n}" for n in range(400)]
    weights = [15.0] * 20 + [0.1] * 380
    frame = pl.DataFrame({"item": names, "weight": weights})
    with dpsu.testing.seeded(2):
        released = dpsu.release(users, candidates=frame, false_share=0.01, discover=False, **PRIVACY)
    heavy, light = (sum(item in released for item in some) for some in (names[:20], names[20:40]))
    assert heavy > light + 5
    assert released.statement.parameters["candidates"]["smallest_weight"] < 1


def test_less_noise_than_promised_is_caught():
    """The control: tails of the stated noise are those of other noise."""
    mechanism = calibrated(20, 0.2, max_items=1)
    assert listed_play.false_shares(mechanism, [], range(20), 20, RUNS, noise=1.3).mean() > 0.2 + SLACK


def test_early_release_at_the_boundary_of_new_items_is_caught():
    """The control: tau_r pays with delta and not with q / |L|, so the false share is far above the promise."""
    mechanism = calibrated(200, 0.01, max_items=1, delta=0.2)
    control = replace(mechanism, early=mechanism.base.boundary.thresholds)
    runs = 5000
    slack = np.sqrt(np.log(1e9) / (2 * runs))
    assert listed_play.false_shares(mechanism, [], range(200), 200, runs).mean() <= 0.01 + slack
    assert listed_play.false_shares(control, [], range(200), 200, runs).mean() > 0.5 + slack


def weights(mechanism, rows, totals, listed, r):
    """What each user gives in round r + 1 to each item, after totals of this round: the product's loop."""
    priority = mechanism.priority(totals, listed, r)
    rule = mechanism.base.rule(r + 1)
    loop, given_ = find_loop(rule.loop), np.zeros((len(rows), len(totals)), np.int64)
    for own, row in zip(given_, rows, strict=True):
        codes = np.array(row, np.uint32)
        assert not loop(np.array([0, len(row)]), codes, priority, rule.table, own, np.empty(len(totals) + 1))
    return given_ / ONE


def largest_shift(aim_at_all_totals, tries=400):
    """The largest ℓ2-change of all totals on N between neighbours with the same history on N, over random databases.

    With `aim_at_all_totals` the focus of every item looks at the largest total, also of items that x alone holds.
    """
    rng, worst = np.random.default_rng(5), 0.0
    for _ in range(tries):
        mechanism = calibrated(3, 0.2, bool(rng.integers(2)), max_items=6)
        if aim_at_all_totals:
            mechanism = AimAtAll(**{each.name: getattr(mechanism, each.name) for each in fields(mechanism)})
        r = int(rng.integers(6, 19))
        listed = np.arange(6) < 3
        alone = 5  # x's own item, outside the list
        rows = [
            sorted(rng.choice(5, rng.integers(1, 6), replace=False).tolist())
            for _ in range(rng.integers(1, 30))
        ]
        totals = rng.normal(2, 2, 6) * mechanism.base.boundary.sigma
        own = sorted(
            {
                *rng.choice(5, rng.integers(0, 4), replace=False).tolist(),
                *([alone] if mechanism.discover else []),
            }
        )
        if not own:
            continue
        without = weights(mechanism, rows, np.where(np.arange(6) == alone, 0.0, totals), listed, r).sum(
            axis=0
        )
        with_x = weights(mechanism, [*rows, own], totals, listed, r).sum(axis=0)
        worst = max(worst, float(np.linalg.norm((with_x - without)[:alone])))
    return worst


@dataclass(frozen=True)
class AimAtAll(CandidatesMechanism):
    """A focus that the proof forbids."""

    def priority(self, totals, listed, r):
        return super().priority(totals - totals.max(), listed, r)


def test_one_user_shifts_all_totals_by_one_budget_at_most():
    assert 0.9 < largest_shift(aim_at_all_totals=False) <= 1 + 1e-9


def test_a_focus_on_all_totals_is_caught():
    """The control: one user's own item turns the weights of all others."""
    assert largest_shift(aim_at_all_totals=True) > 1.5


def test_the_digest_of_a_list_is_that_of_its_canonical_form():
    for items in (["b", "a", 'c "quoted" \\', "tab\t", "ö", ""], [3, 1, 2], [("fr", 7), ("de", 1)]):
        frame = pl.DataFrame(
            [entry if isinstance(entry, tuple) else (entry,) for entry in items], orient="row"
        )
        assert (
            sha256_of(frame, sorted_text(frame)) == hashlib.sha256(canonical(sorted_rows(frame))).hexdigest()
        )


@pytest.mark.parametrize(
    ("listed", "told"),
    [
        (["a", "b", "a"], "entry 3"),
        (["a", None], "entry 2"),
        ([], "candidates"),
        ([1.5], "candidates"),
        ("word", "candidates"),
        ([("a", "b")], "columns"),
        (pl.DataFrame({"item": ["a", "b"], "weight": [1.0, 0.0]}), "entry 2"),
        (pl.DataFrame({"item": ["a", "b"], "weight": [1, -3]}), "entry 2"),
        (pl.DataFrame({"item": ["a", "b"], "weight": [float("nan"), 1.0]}), "entry 1"),
        (pl.DataFrame({"item": ["a", "b"], "weight": [float("inf"), 1.0]}), "entry 1"),
        (pl.DataFrame({"item": ["a", "b"], "weight": [1.0, None]}), "entry 2"),
        (pl.DataFrame({"item": ["a", "b"], "weight": ["1", "much"]}), "entry 2"),
        (pl.DataFrame({"item": ["a", "b"], "weight": [True, False]}), "numbers"),
        (pl.DataFrame({"item": ["a", "b"], "weight": [1.0, 1e-7]}), "factor"),
        (pl.DataFrame({"item": ["a", "b", "a"], "weight": [1.0, 2.0, 3.0]}), "entry 3"),
        ({"a": 1.0, "b": 2.0}, "weight"),
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


def test_weights_come_from_a_file(tmp_path: Path):
    path = tmp_path / "list.csv"
    path.write_text("item,weight\nbread,30\nwine,10\n")
    listed = read_candidates(path)
    assert listed.items.columns == ["item"]
    assert listed.weights.tolist() == [1.5, 0.5]
    assert listed.extremes == (0.5, 1.5)
    assert listed.sha256 != read_candidates(["bread", "wine"]).sha256
    heavier = pl.DataFrame({"item": ["wine", "bread"], "weight": [10.0, 31.0]})
    assert listed.sha256 != read_candidates(heavier).sha256
    assert listed.sha256 == read_candidates(heavier.with_columns(weight=pl.Series([10, 30]))).sha256
    released = dpsu.release(BASKETS, candidates=path, false_share=0.01, **PRIVACY)
    assert released.to_polars().columns == ["item", "listed"]
    assert dpsu.verify(released.statement).ok


def test_an_item_of_a_text_has_the_largest_weight_of_its_entries():
    frame = pl.DataFrame({"word": ["Good", "good", "two words", "day"], "weight": [1, 6, 9, 2]})
    listed = read_candidates(frame, text_rule("text"))
    assert listed.items.to_series().to_list() == ["good", "day"]
    assert listed.weights.tolist() == [1.5, 0.5]


def test_weights_of_items_that_become_one_are_refused():
    frame = pl.DataFrame({"item": ["1", "01"], "weight": [1, 2]})
    with pytest.raises(InvalidArgument, match="every item once"):
        dpsu.release({n: [1] for n in range(30)}, candidates=frame, false_share=0.1, **PRIVACY)


def test_an_item_with_several_values_in_other_columns_is_one_item():
    """Otherwise it would come out several times, and its copies would have the same noise."""
    frame = pl.DataFrame({"item": ["bread", "wine", "wine", "wine"], "language": ["a", "a", "b", "c"]})
    data = pl.DataFrame({"user": range(300), "item": ["bread"] * 300})
    how = {"user": "user", "item": "item", "check_user": False, **PRIVACY}
    out = []
    for seed in range(40):
        with dpsu.testing.seeded(seed):
            out.append(dpsu.release(data, candidates=frame, false_share=0.5, **how))
    assert all(len(set(each.items)) == len(each) for each in out)
    assert any("wine" in each for each in out)
    assert all(each.statement.lists["candidates"]["count"] == 4 for each in out)
    weighted = frame.with_columns(weight=pl.lit(1.0))
    with pytest.raises(InvalidArgument, match="every item once"):
        dpsu.release(data, candidates=weighted, false_share=0.5, **how)


@pytest.mark.parametrize("listed", [[True, False], [datetime.date(2020, 1, 1)]])
def test_a_list_of_another_type_is_refused(listed):
    with pytest.raises(InvalidArgument, match=r"type (boolean|date)"):
        dpsu.release({n: [1] for n in range(30)}, candidates=listed, false_share=0.1, **PRIVACY)


@pytest.mark.parametrize("form", ["to_arrow", "to_pandas", "to_numpy"])
def test_series_of_other_libraries_are_lists(form):
    pytest.importorskip("pyarrow")
    pytest.importorskip("pandas")
    listed = getattr(pl.Series(["bread", "wine"]), form)()
    assert read_candidates(listed).sha256 == read_candidates(["bread", "wine"]).sha256


def test_weights_of_any_size_are_scaled():
    for largest in (1.5e308, 4e-310):
        listed = read_candidates(pl.DataFrame({"item": ["a", "b"], "weight": [largest, largest / 2]}))
        assert listed.weights.tolist() == pytest.approx([4 / 3, 2 / 3])


@pytest.mark.parametrize("discover", [True, False])
def test_an_empty_release_says_what_a_listed_item_needs(discover):
    how = {"candidates": ["none"], "false_share": 1e-9, "discover": discover}
    plan = dpsu.plan(**how, **PRIVACY)
    with pytest.warns(dpsu.EmptyRelease, match=rf" {plan.users_needed(listed=True)} "):
        dpsu.release({1: ["bread"]}, **how, **PRIVACY)


def test_candidates_that_are_no_items_of_the_text_are_no_list():
    with pytest.raises(InvalidArgument, match="tokenizer"):
        dpsu.release({1: ["a b"]}, text=True, candidates=["two words"], false_share=0.1, **PRIVACY)


def test_a_hint_for_auto_does_not_fit_a_list():
    with pytest.raises(InvalidArgument, match="typical_items"):
        dpsu.release(BASKETS, candidates=["bread"], false_share=0.1, typical_items=3, **PRIVACY)


def test_items_with_a_column_of_weights_are_refused():
    frame = pl.DataFrame({"u": range(30), "a": ["x"] * 30, "weight": [1] * 30})
    with pytest.raises(InvalidArgument, match="rename"):
        dpsu.release(
            frame,
            user="u",
            item=["a", "weight"],
            candidates=frame.select("a", "weight").head(1),
            false_share=0.1,
            **PRIVACY,
        )


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


def test_a_plan_has_chances_of_listed_items():
    how = {"candidates": [f"item {n}" for n in range(1000)], "false_share": 0.01}
    plan = dpsu.plan(**how, **PRIVACY)
    assert plan.users_needed(listed=True) < plan.users_needed()
    assert plan.to_dict()["users_for_even_odds_if_listed"]["1"] == plan.users_needed(listed=True)
    only = dpsu.plan(discover=False, **how, **PRIVACY)
    assert only.users_needed() == only.users_needed(listed=True)
    with pytest.raises(InvalidArgument, match="candidates"):
        dpsu.plan(**PRIVACY).users_needed(listed=True)
    with pytest.raises(InvalidArgument, match="shape"):
        dpsu.plan(shape=dpsu.Shape(users=100, items_per_user=1), **how, **PRIVACY)
    with pytest.raises(InvalidArgument, match="candidates"):
        dpsu.plan(false_share=0.1, **PRIVACY)


def test_a_comparison_has_a_row_with_the_list():
    users = {n: [f"item {n % 40}"] for n in range(40 * 16)}
    frame = dpsu.compare(
        users,
        candidates=[f"item {n}" for n in range(40)],
        false_share=0.01,
        discover=False,
        algorithms=["focused-gaussian"],
        data_is_public=True,
        runs=1,
        **PRIVACY,
    )
    assert frame["algorithm"].to_list() == ["focused-gaussian with candidates", "focused-gaussian"]
    assert frame["items"][0] > 30 > 20 > frame["items"][1]


@pytest.mark.parametrize("name", ["PrivateCountVectorizer", "PrivateTfidfVectorizer"])
def test_a_vectorizer_takes_candidates(name):
    interop = pytest.importorskip("dpsu.interop.sklearn")
    vectorizer = getattr(interop, name)(
        candidates=["MORNING", "night"], false_share=1e-6, discover=False, **PRIVACY
    )
    vectorizer.fit(["good morning"] * 300, groups=range(300))
    assert list(vectorizer.vocabulary_) == ["morning"]


def test_the_statement_says_how_many_listed_items_are_false():
    released = dpsu.release(BASKETS, candidates=["bread"], false_share=0.01, **PRIVACY)
    assert "1 in 100" in str(released.statement)
    only = dpsu.release(BASKETS, candidates=["bread"], false_share=0.01, discover=False, **PRIVACY)
    assert dict(facts(only.statement)).keys() - dict(facts(released.statement)).keys() == {"outside the list"}


some_digests = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=12).map(
    lambda pairs: np.array(pairs, np.uint64).reshape(-1, 2)
)


@given(some_digests, some_digests)
def test_digests_are_found_among_others(own, others):
    wanted = set(map(tuple, others.tolist()))
    assert among(own, others).tolist() == [tuple(each) in wanted for each in own.tolist()]


@pytest.mark.parametrize(
    "frame",
    [
        pl.DataFrame({"a": ["x", "", "a string that is longer than a view", "ö"]}),
        pl.DataFrame({"a": pl.Series([3, 1, 2], dtype=pl.Int8)}),
        pl.DataFrame({"a": pl.Series([2**64 - 1, 0], dtype=pl.UInt64)}),
        pl.DataFrame({"a": ["x", "y", "x"], "b": [1, 1, -2]}),
        pl.DataFrame({"a": pl.Series([], dtype=pl.String)}),
    ],
)
def test_the_digests_of_rows_are_those_of_the_encoder(frame):
    encoder = KeyEncoder(frame.schema, frame.columns, bytes(range(32)))
    encoder.encode(frame)
    assert (row_digests(frame, bytes(range(32))) == encoder.digests()).all()
