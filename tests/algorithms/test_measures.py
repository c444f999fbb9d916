"""Counts, sums and others: equal to the slow twin, of bounded sensitivity, refused where they cannot be."""

import math
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import measured_sums
from user_sets import sets_of

import dpsu
from dpsu.algorithms.branch_counts import cut_of_sizes
from dpsu.algorithms.holders import counting_terms
from dpsu.engines.contract import Rule
from dpsu.engines.local import LocalEngine
from dpsu.errors import InvalidArgument, NullValues, UnsupportedType
from dpsu.kernels.measures import count_users_with, sum_values
from dpsu.randomness.stream import Stream
from dpsu.sources.pairs import read_sets
from dpsu.sources.values import Bounds
from dpsu.testing import seeded
from dpsu.verification.branch_counts import cut_of

sys.path.append(str(Path(__file__).parents[2] / "examples"))
from hospital import hospital

PRIVACY = {"epsilon": 3.0, "delta": 1e-6}
ROWS = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 6), st.floats(-1e4, 1e4, width=32)), min_size=1, max_size=60
)
BOUNDS = st.sampled_from([(0, 50), (-3, 1), (0.1, 0.7), (-1e3, 1e3), (5, 9), (-7, -2)])


@given(ROWS, BOUNDS, st.integers(1, 5), st.sets(st.integers(0, 6)), st.sets(st.integers(0, 6)))
def test_sums_are_those_of_the_twin(rows, bounds, cut, released, excluded):
    limits = Bounds(*map(float, bounds))
    frame = pl.DataFrame(rows, schema=["user", "item", "value"], orient="row")
    sets = read_sets(frame, user="user", item="item", stream=Stream(bytes(32)), sums={"value": limits})
    names = [sets.names.decode(np.array([code])).item() for code in range(sets.n_items)]
    out = np.isin(names, [*released])
    other = ~out & ~np.isin(names, [*excluded])
    totals = np.zeros(len(names), np.int64)
    low, high = limits.in_units
    rest = sum_values(sets.indptr, sets.items, out, other, sets.values["value"], low, high, cut, totals)
    expected, left, users = measured_sums(rows, limits.unit, limits.in_units, cut, released, excluded)
    assert dict(zip(names, totals.tolist(), strict=True)) == {name: expected.get(name, 0) for name in names}
    assert (rest, count_users_with(sets.indptr, sets.items, other)) == (left, users)


@pytest.mark.parametrize("cut", [1, 2, 5, 10, 999])
def test_no_set_gives_more_than_the_cut_allows(cut):
    """The worst ℓ2-norm over all sizes, with the largest values, in exact arithmetic."""
    engine, bounds = LocalEngine(threads=1), Bounds(-3.0, 50.0)
    for size in [*range(1, 40), 300, 4097]:
        sets = sets_of([[*range(size)]])
        rule = Rule("weigh_by_root", unit=2.0**-30, table=np.array([cut], np.int64))
        weights = engine.weigh(engine.bound(sets, 1 << 40, Stream(bytes(32))), engine.items(sets), rule)[
            "total"
        ]
        assert sum(Fraction(int(weight), 2**30) ** 2 for weight in weights) <= cut
        assert weights[0] / 2**30 == pytest.approx(min(1, math.sqrt(cut / size)), rel=1e-6)
        for value in (2**31, -(2**31)):
            assert squared_norm(sets, np.full(size, value, np.int64), bounds, cut) <= cut * Fraction(50) ** 2


@given(
    st.integers(1, 6),
    BOUNDS,
    st.lists(st.one_of(st.floats(-1.1, 1.1), st.sampled_from([-1.0, 1.0, 0.5])), min_size=1, max_size=40),
)
def test_no_values_give_more_than_the_ball_allows(cut, bounds, values):
    """Values inside of the bounds and beyond them, in exact arithmetic; values inside of the ball are not scaled."""
    limits = Bounds(*map(float, bounds))
    units = np.rint(np.array(values) * limits.largest / limits.unit).astype(np.int64)
    sets, largest = sets_of([[*range(len(values))]]), Fraction(limits.largest)
    squares = squared_norm(sets, units, limits, cut)
    assert squares <= cut * largest**2
    own = sum((Fraction(limits.unit) * int(each)) ** 2 for each in units.clip(*limits.in_units))
    if own <= Fraction(999, 1000) * cut * largest**2:
        assert squares == own
    elif own >= cut * largest**2:
        assert (
            squares >= Fraction(99, 100) * cut * Fraction(limits.unit * max(map(abs, limits.in_units))) ** 2
        )


def squared_norm(sets, values, bounds, cut):
    """The squared ℓ2-norm of what the only user adds to the sums, all items released."""
    totals, out = np.zeros(sets.n_items, np.int64), np.ones(sets.n_items, np.bool_)
    sum_values(sets.indptr, sets.items, out, ~out, values, *bounds.in_units, cut, totals)
    return sum((Fraction(bounds.unit) * int(total)) ** 2 for total in totals)


@pytest.mark.parametrize("bounds", [(0, 50), (1e-9, 2e-9), (-1e15, 1), (0.1, 0.3), (2**20, 2**20 + 1)])
def test_units_never_exceed_the_bounds(bounds):
    limits = Bounds(*map(float, bounds))
    low, high = (Fraction(limits.unit) * each for each in limits.in_units)
    assert Fraction(limits.low) <= low <= high <= Fraction(limits.high)
    assert 2**19 <= limits.largest / limits.unit <= 2**20


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1.0, math.nan], UnsupportedType),
        ([1.0, math.inf], UnsupportedType),
        (["1", "secret"], UnsupportedType),
        ([True, False], UnsupportedType),
        ([[1], [2]], UnsupportedType),
        ([1.0, None], NullValues),
    ],
)
def test_values_that_are_no_numbers_are_refused(values, kind):
    frame = pl.DataFrame({"user": [1, 2], "item": ["a", "b"], "amount": values})
    with pytest.raises(kind, match="amount") as caught:
        dpsu.release(frame, user="user", item="item", **PRIVACY, sums={"amount": (0, 5)})
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "sums",
    [
        {"x": (1, 1)},
        {"x": (5, 0)},
        {"x": 5},
        {"x": (0, math.inf)},
        {"x": (0, math.nan)},
        {"x": (np.int64(-(2**63)), 1)},
        {3: (0, 1)},
        ["x"],
    ],
)
def test_bounds_that_bound_nothing_are_refused(sums):
    with pytest.raises(InvalidArgument):
        counting_terms(True, sums)


@pytest.mark.parametrize(
    "how",
    [
        {"share": 0},
        {"share": 1},
        {"share": 0.9e-6},
        {"max_items": 0},
        {"max_items": 1.5},
        {"others_share": 2},
        {"sums_max_items": 0},
    ],
)
def test_terms_out_of_range_are_refused(how):
    with pytest.raises(InvalidArgument):
        dpsu.Counts(**how)


def test_all_shares_must_leave_something_for_the_items():
    with pytest.raises(InvalidArgument, match="nothing is left"):
        counting_terms(dpsu.Counts(share=0.6, sums_share=0.5), {"x": (0, 1)})


def test_sums_need_columns_that_are_not_keys():
    data = {n: ["a"] for n in range(10)}
    with pytest.raises(InvalidArgument, match="no columns to sum"):
        dpsu.release(data, **PRIVACY, sums={"x": (0, 1)})
    with pytest.raises(InvalidArgument, match="text has none"):
        dpsu.release({1: ["a b"]}, text=True, **PRIVACY, sums={"x": (0, 1)})
    frame = pl.DataFrame({"user": [1], "item": [1]})
    with pytest.raises(InvalidArgument, match="cannot be summed"):
        dpsu.release(frame, user="user", item="item", **PRIVACY, sums={"item": (0, 1)})


def test_the_cut_of_auto_is_the_size_of_the_middle_user_unless_noise_hides_it():
    none = [0] * 11
    assert cut_of_sizes([400, 700, *none[2:]], 0.01, 0) == 2
    assert cut_of_sizes([400, 700, *none[2:]], 0.01, 3) == 5
    assert cut_of_sizes([400, 700, *none[2:]], 0.01, 30) == 7
    assert cut_of_sizes([-30, 10, 20, 40, 5, 900, *none[6:]], 5.0, 30) == 24
    assert (
        cut_of_sizes(none, 0.01, 0)
        is cut_of_sizes([-5, *none[1:]], 0.01, 0)
        is cut_of_sizes([50] * 11, 100.0, 0)
        is None
    )


@given(
    st.lists(st.one_of(st.integers(-500, 900), st.integers(0, 10**5)), min_size=11, max_size=11),
    st.integers(0, 100),
    st.sampled_from([1.0, 125.0, 143.0]),
)
def test_the_verifier_knows_the_cut(users, popular, scale):
    """Also for bins near the noise: a release of few users must not be rejected."""
    assert cut_of(users, scale, popular) == cut_of_sizes(users, scale, popular)


def test_most_counts_that_are_noise_get_a_note_and_no_negative_comes_out():
    data = {n: ["of"] for n in range(500)}
    made = dpsu.release(data, **PRIVACY, counts=True, public_items=[f"nobody's {n}" for n in range(50)])
    assert any("mostly noise" in note for note in made.notes)
    assert min(made.counts.values()) == 0


@pytest.fixture(scope="module")
def patients():
    return hospital()


HOSPITAL = {"user": "patient", "item": "code", "epsilon": 1.0, "delta": 1e-7}


def test_counts_of_the_hospital_can_be_used(patients):
    """At most 2 % off by a factor of 2, for at most 15 % of the items."""
    true = dict(patients.group_by("code").agg(pl.col("patient").n_unique()).iter_rows())
    with seeded(1):
        alone = dpsu.release(patients, **HOSPITAL)
        made = dpsu.release(patients, **HOSPITAL, counts=True)
    off = [item for item, count in made.counts.items() if not true[item] / 2 <= count <= 2 * true[item]]
    assert len(made) >= 0.85 * len(alone)
    assert len(off) <= 0.02 * len(made)


def test_counts_beside_auto_are_as_good(patients):
    """Its branch shares its budget with them, and the cut is that of the noisy sizes, unless it was asked for."""
    true = dict(patients.group_by("code").agg(pl.col("patient").n_unique()).iter_rows())
    with seeded(1):
        made = dpsu.release(patients, **HOSPITAL, algorithm="auto", counts=True)
        asked = dpsu.release(patients, **HOSPITAL, algorithm="auto", counts=dpsu.Counts(max_items=8))
    off = [item for item, count in made.counts.items() if not true[item] / 2 <= count <= 2 * true[item]]
    assert len(off) <= 0.1 * len(made)
    told = made.statement.parameters["counts"]
    assert told["cut"] == "sizes"
    assert told["max_items"] in (3, 5)
    assert not any("default cut" in note for note in made.notes)
    assert asked.statement.parameters["counts"]["max_items"] == 8
    assert "cut" not in asked.statement.parameters["counts"]
    assert all(dpsu.verify(replace(each.statement, void=None)).ok for each in (made, asked))


@pytest.mark.parametrize(
    "algorithm", [dpsu.FocusedGaussian(rounds=12), "focused-gaussian", "weighted-gaussian", "auto"]
)
def test_a_plan_with_counts_is_one_of_the_whole_request(algorithm):
    told = dpsu.plan(**PRIVACY, algorithm=algorithm, counts=True, max_items=9).to_dict()
    assert {name: told[name] for name in PRIVACY} == PRIVACY
    assert told["counts"]["max_items"] == 5


def test_counts_beside_candidates_share_mu():
    data, how = {n: ["of"] for n in range(500)}, {"candidates": ["of", "off"], "false_share": 0.1}
    for more in ({}, {"discover": False}):
        made = dpsu.release(data, **PRIVACY, **how, **more, counts=True)
        told = made.statement.parameters["counts"]
        assert "epsilon" not in told
        assert (told["max_items"] / told["sigma"] ** 2) / made.statement.budget.mu**2 == pytest.approx(0.15)
        assert dpsu.verify(made.statement).ok


def test_counts_beside_auto_with_a_hint_or_few_users_or_few_items():
    one = {n: [f"item {n % 30}"] for n in range(9000)}
    with seeded(1):
        branch = dpsu.release(one, **PRIVACY, algorithm="auto", counts=True, others=True)
        few = dpsu.release({n: ["a"] for n in range(60)}, **PRIVACY, algorithm="auto", counts=True)
        hints = [
            dpsu.release(one, **PRIVACY, algorithm="auto", typical_items=hint, counts=True)
            for hint in (1.5, 30)
        ]
    told = [each.statement.parameters["counts"] for each in (branch, few, *hints)]
    assert [each["max_items"] for each in told] == [1, 5, 2, 30]
    assert [("epsilon" in each, "cut" in each) for each in told] == [
        (True, True),
        (False, False),
        (True, False),
        (False, False),
    ]
    assert any("default cut" in note for note in few.notes)
    assert all(dpsu.verify(replace(each.statement, void=None)).ok for each in (branch, few, *hints))
    assert len(branch) == 30


def test_sums_and_others_of_the_hospital_can_be_used(patients):
    """Sums within 10 % for codes of 1 000 patients or more; others within four noise scales."""
    with seeded(1):
        made = dpsu.release(patients, **HOSPITAL, sums={"days": (0, 10)}, others=True)
    true = patients.group_by("code").agg(pl.col("patient").n_unique(), pl.col("days").sum())
    large = true.filter(pl.col("patient") >= 1000)
    errors = [made.sums["days"][code] / days - 1 for code, days in large.select("code", "days").iter_rows()]
    assert len(errors) >= 15
    assert max(map(abs, errors)) <= 0.1
    rest = patients.filter(~pl.col("code").is_in(made.items))
    assert abs(made.others["holders"] - rest["patient"].n_unique()) < 2 * made.others["half_width"]
    days = rest.group_by("patient").agg(pl.col("days").sum())["days"].clip(0, 10).sum()
    assert abs(made.others["days_sum"] - days) < 2 * made.others["days_sum_half_width"]
    assert made.to_polars().columns == [
        *("code", "holders", "half_width", "days_sum", "days_sum_half_width", "days_mean"),
    ]


@pytest.mark.parametrize(
    ("item", "how"),
    [
        ("holders", {"counts": True}),
        (["code", "half_width"], {"others": True}),
        ("days_sum", {"sums": {"days": (0, 8)}}),
        ("days_sum_half_width", {"sums": {"days": (0, 8)}}),
        ("days_mean", {"sums": {"days": (0, 8)}}),
        ("listed", {"candidates": ["a"], "false_share": 0.1}),
    ],
)
def test_items_with_a_column_that_counts_need_are_refused_before_anything_is_spent(item, how, tmp_path):
    ledger = dpsu.Ledger.create(tmp_path / "spent.db", epsilon=9, delta=1e-4)
    columns = [item] if isinstance(item, str) else item
    frame = pl.DataFrame({"user": [*range(9)], "days": [1.0] * 9, **{name: ["a"] * 9 for name in columns}})
    with pytest.raises(InvalidArgument, match=columns[-1]):
        dpsu.release(frame, user="user", item=item, **PRIVACY, **how, ledger=ledger)
    if "counts" in how:
        with pytest.raises(InvalidArgument, match=item):
            dpsu.tune(frame, user="user", item=item, settings=[{}], **PRIVACY, **how, ledger=ledger)
    assert len(ledger.entries()) == 0


@pytest.mark.parametrize("function", [dpsu.ngrams, dpsu.tune])
@pytest.mark.parametrize("how", [{"sums": {"x": (0, 1)}}, {"others": True}])
def test_levels_and_tuning_have_neither_sums_nor_others(function, how):
    with pytest.raises(InvalidArgument, match=next(iter(how))):
        function({1: ["a"]}, **PRIVACY, **how)


@pytest.mark.parametrize("cut", [1, 5])
def test_a_cut_that_is_asked_for_may_exceed_max_items(cut):
    """Users hold 4 released items, of which the selection sees one; the default cut is no more than max_items."""
    frame = pl.DataFrame(
        [(n, item, 2.0) for n in range(9000) for item in "abcd"], ["u", "i", "x"], orient="row"
    )
    how = {**PRIVACY, "user": "u", "item": "i", "max_items": 1, "sums": {"x": (0, 2)}, "check_user": False}
    terms = dpsu.Counts(max_items=5, sums_max_items=5) if cut == 5 else True
    with seeded(1):
        made = dpsu.release(frame, **how, counts=terms)
    share, half = min(1, math.sqrt(cut / 4)), made.to_polars().row(0, named=True)
    assert made.items == [*"abcd"]
    assert all(abs(count - share * 9000) < 4 * half["half_width"] for count in made.counts.values())
    assert all(abs(x - share * 18000) < 4 * half["x_sum_half_width"] for x in made.sums["x"].values())
    assert dpsu.verify(replace(made.statement, void=None)).ok


def test_every_number_has_the_noise_of_the_statement():
    """The spread over many keys of each number that leaves, and its mean."""
    rows = [(n, item, 3.0) for n in range(40) for item in ("shared", f"own {n}")]
    frame = pl.DataFrame(rows, schema=["u", "i", "x"], orient="row")
    how = {**PRIVACY, "user": "u", "item": "i", "algorithm": "weighted-laplace", "check_user": False}
    listed = {"public_items": ["shared", "nobody's"], "sums": {"x": (-1, 5)}, "others": True}
    found = []
    for key in range(120):
        with seeded(key):
            made = dpsu.release(frame, **how, **listed, counts=dpsu.Counts(max_items=2, raw=True))
        sums = made.sums["x"]
        found.append(
            [
                *(numbers[item] for numbers in (made.counts, sums) for item in ("shared", "nobody's")),
                *(made.others["holders"], made.others["x_sum"]),
            ]
        )
    told = made.statement.parameters["counts"]
    sigmas = [told["sigma"]] * 2 + [told["sums"][0]["sigma"]] * 2
    sigmas += [told["others"]["sigma"], told["others"]["sums"][0]["sigma"]]
    errors = (np.array(found) - [40, 0, 120, 0, 40, 120]) / sigmas
    assert errors.std(axis=0) == pytest.approx(np.ones(6), rel=0.2)
    assert np.abs(errors.mean(axis=0)).max() < 4 / math.sqrt(len(found))
    assert np.abs(np.corrcoef(errors.T) - np.eye(6)).max() < 0.3


@pytest.mark.parametrize("kind", [np.float32, np.int64])
def test_numbers_of_numpy_are_numbers(kind):
    assert counting_terms(True, {"x": (kind(-1), kind(5))}) == counting_terms(True, {"x": (-1, 5)})
    assert dpsu.Counts(share=np.float64(0.25)) == dpsu.Counts(share=0.25)


def test_words_are_counted():
    texts = {n: ["Good morning to all", "good night"] for n in range(3000)}
    with seeded(1):
        made = dpsu.release(texts, text=True, **PRIVACY, counts=dpsu.Counts(max_items=5), others=True)
    assert made.items == ["all", "good", "morning", "night", "to"]
    half = made.to_polars()["half_width"][0]
    assert all(abs(count - 3000) <= 4 * half for count in made.counts.values())
    assert made.others["holders"] <= 4 * made.others["half_width"]


@pytest.mark.parametrize(
    "made",
    [
        lambda how: dpsu.tune({n: ["a"] for n in range(900)}, settings=[{"max_items": 5}], **how).release,
        lambda how: dpsu.ngrams({n: ["a b"] for n in range(900)}, longest=2, **how),
        lambda how: dpsu.ngrams({n: ["a b"] for n in range(900)}, longest=2, method="dpne", **how),
    ],
)
def test_notes_of_tuning_and_levels_reach_the_curator(made):
    with pytest.warns(dpsu.CuratorNote, match="default cut"), seeded(1):
        notes = made({**PRIVACY, "counts": True}).notes
    assert sum("default cut" in note for note in notes) == 1
    with pytest.warns(dpsu.CuratorNote, match="mostly noise"), seeded(1):
        notes = made({**PRIVACY, "counts": dpsu.Counts(share=1e-5, max_items=5)}).notes
    assert sum("mostly noise" in note for note in notes) == 1


def test_a_release_implies_holders_and_lists_do_not():
    """Counts that are noise are not below the holders that an item needs, except for items of a list."""
    data = {n: ["of", "and"] if n < 500 else ["public"] for n in range(505)}
    focused = {**PRIVACY, "algorithm": "focused-gaussian"}
    how = {**focused, "public_items": ["public", "nobody's"]}
    noisy = dpsu.Counts(share=1e-5, max_items=2)
    floor = dpsu.plan(**focused, counts=noisy).users_needed(chance=0.5, set_size=1)
    with seeded(1):
        many = [dpsu.release(data, **how, counts=noisy) for _ in range(8)]
        raw = [
            dpsu.release(data, **how, counts=dpsu.Counts(share=1e-5, max_items=2, raw=True)) for _ in range(8)
        ]
    assert min(made.counts[item] for made in many for item in ("of", "and")) == floor
    assert min(made.counts["nobody's"] for made in many) == 0
    assert min(count for made in raw for count in made.counts.values()) < 0


def test_candidates_have_no_floor():
    data = {n: ["of", "and"] for n in range(500)}
    listed = ["of", *(f"nobody's {n}" for n in range(300))]
    with seeded(1):
        made = dpsu.release(
            data, epsilon=3, delta=1e-6, candidates=listed, false_share=0.5, counts=dpsu.Counts(share=0.05)
        )
    frame = made.to_polars()
    assert frame.filter("listed")["holders"].min() == 0
    assert frame.filter(~pl.col("listed"))["holders"].min() > 0


def test_means_have_no_more_digits_than_their_noise_leaves():
    many = [(n, "often", 2.4567) for n in range(40_000)] + [
        (n, "rare", 2.4567) for n in range(40_000, 40_090)
    ]
    frame = pl.DataFrame(many, schema=["user", "item", "days"], orient="row")
    how = {
        "user": "user",
        "item": "item",
        "epsilon": 1.0,
        "delta": 1e-7,
        "sums": {"days": (0, 5)},
        "check_user": False,
    }
    with seeded(1):
        made = dpsu.release(frame, **how, counts=dpsu.Counts(share=0.4, max_items=1, sums_share=0.3))
        raw = dpsu.release(frame, **how, counts=dpsu.Counts(share=0.4, max_items=1, sums_share=0.3, raw=True))
    means = dict(made.to_polars().select("item", "days_mean").iter_rows())
    assert means["rare"] == round(means["rare"], 1)
    assert means["often"] == round(means["often"], 4)
    assert means["often"] == pytest.approx(2.4567, abs=0.02)
    assert any(mean != round(mean, 4) for mean in raw.to_polars()["days_mean"])


def test_algorithms_that_are_not_private_have_no_budget_for_counts():
    with pytest.raises(InvalidArgument, match="k-anonymity"):
        dpsu.release({1: ["a"]}, **PRIVACY, algorithm="k-anonymity", unsafe=True, counts=True)
