"""Forgeries of mechanisms in rounds, of counts beside them, and of n-grams in levels."""

import math

from forging import CHEAP, DPNE, FOCUSED, LEVELS, P, on, p, swapped, to
from honest import Fields, all_of, at, times, without


def _more_rounds(fields: Fields) -> None:
    for name in ("sigmas", "thresholds", "shares"):
        fields[P][name].append(fields[P][name][-1])


def _first_round_hidden(fields: Fields) -> None:
    for name in ("sigmas", "thresholds", "shares"):
        del fields[P][name][0]


def _no_rounds(fields: Fields) -> None:
    for name in ("sigmas", "thresholds", "shares"):
        fields[P][name] = []
    fields["budget"] = CHEAP


def _many_rounds(fields: Fields) -> None:
    """101 rounds that only look, each with next to no budget."""
    sigma = fields[P]["sigma"]
    fields[P] |= {"sigmas": [1e3 * sigma] * 101, "thresholds": [1e6] * 101, "shares": [1 / 101] * 101}


def _budget_of_the_last_round(fields: Fields) -> None:
    fields["budget"]["mu"] = 1 / fields[P]["sigmas"][-1]


def _warmup_at_a_sum(fields: Fields) -> None:
    fields[P]["warmup"] = sum(fields[P]["shares"][:5])


def _share_moved_to_the_start(fields: Fields) -> None:
    shares = fields[P]["shares"]
    shares[0], shares[-1] = shares[0] + 0.05, shares[-1] - 0.05


def _lower_last_threshold(fields: Fields) -> None:
    fields[P]["thresholds"][-1] *= 0.99
    fields[P]["threshold"] = fields[P]["thresholds"][-1]


def _one_focused_round_less(fields: Fields) -> None:
    for name in ("shares", "thresholds"):
        del fields[P][name][0]
    fields[P]["rounds"] -= 1


def _without_counts_in_budget(fields: Fields) -> None:
    fields["budget"]["mu"] = 1 / fields[P]["sigma"]


def _counts_of_more_items(fields: Fields) -> None:
    counts = fields[P]["counts"]
    counts["squared_sensitivity"] *= 4
    counts["sigma"] *= 2


def _budget_of_one_level(fields: Fields) -> None:
    level = fields[P]["levels"][0]
    fields["budget"] = {"mu": 1 / level["sigma"], "delta_new": level["delta_new"]}


def _new_items_in_one_level(fields: Fields) -> None:
    first, second = fields[P]["levels"]
    first["delta_new"] += second["delta_new"]
    second["delta_new"] = 0.0


def _levels_as_dpne(fields: Fields) -> None:
    """The second level passes as one over a known domain, and its delta_new as nothing."""
    second = fields[P]["levels"][1]
    fields["algorithm"] = "dpne"
    fields["budget"]["delta_new"] -= second["delta_new"]
    fields[P]["levels"][1] = {
        name: second[name] for name in ("size", "share", "max_items", "sigma", "threshold")
    }
    fields[P]["levels"][1]["threshold"] = 0.0


ROUNDS = [
    *on(
        "mad2r",
        b_min_far_too_large=p("b_min", 100),
        b_min_below_the_range=p("b_min", 0.001),
        b_max_below_an_even_share=all_of(p("b_max", 0.1), at(P, "thresholds", 1, to=times(0.8))),
        b_max_negative=all_of(p("b_max", -5.0), at(P, "thresholds", 1, to=times(0.8))),
        b_max_beyond_the_range=p("b_max", 101),
        b_max_more_than_the_threshold_pays=p("b_max", 50.0),
        cutoffs_zero=p("cutoffs", [0.0, 0.0]),
        one_cutoff_for_two_rounds=p("cutoffs", lambda cutoffs: cutoffs[:1]),
        cutoffs_exchanged=swapped(P, "cutoffs"),
        thresholds_exchanged=swapped(P, "thresholds"),
        noises_exchanged=swapped(P, "sigmas"),
        shares_exchanged=swapped(P, "shares"),
        shares_of_three_rounds=p("shares", [0.1, 0.4, 0.5]),
        shares_short_of_one=p("shares", [0.1, 0.8]),
        share_negative=p("shares", [1.1, -0.1]),
        share_zero=p("shares", [0.0, 1.0]),
        bound_of_the_bias_infinite=p("c_ub", math.inf),
        bound_of_the_bias_null=p("c_lb", None),
        less_noise_in_the_second_round=at(P, "sigmas", 1, to=times(0.999)),
        lower_threshold_in_the_second_round=at(P, "thresholds", 1, to=times(0.999)),
        lower_threshold_in_the_first_round=at(P, "thresholds", 0, to=times(0.99)),
        noise_of_the_whole_misstated=p("sigma", times(1.01)),
        a_third_round=_more_rounds,
        rerouting_beyond_max_items=p("d_max", 41),
    ),
    *on(
        "dp-sips",
        round_missing_in_one_list=p("sigmas", lambda sigmas: sigmas[:-1]),
        first_round_hidden=_first_round_hidden,
        last_round_counted_once=_more_rounds,
        no_rounds_at_all=_no_rounds,
        too_many_rounds=_many_rounds,
        mu_of_the_last_round_alone=_budget_of_the_last_round,
        new_items_of_one_round_alone=at("budget", "delta_new", to=times(0.8)),
        noise_of_the_first_round_infinite=at(P, "sigmas", 0, to=math.inf),
        threshold_of_a_round_a_string=at(P, "thresholds", 0, to=str),
        rounds_a_number=p("sigmas", 3.0),
        more_items_than_thresholds_pay=to("max_items", 60),
    ),
    *on(
        FOCUSED,
        less_noise_in_all_rounds=p("sigma", times(0.999)),
        lower_last_boundary=_lower_last_threshold,
        lower_boundary_in_the_middle=at(P, "thresholds", 7, to=times(0.99)),
        lower_boundary_in_the_first_round=at(P, "thresholds", 0, to=times(0.9)),
        threshold_not_that_of_the_last_round=p("threshold", times(1.5)),
        last_share_too_large=at(P, "shares", -1, to=times(1.01)),
        share_moved_to_the_start=_share_moved_to_the_start,
        shares_reversed=p("shares", lambda shares: shares[::-1]),
        boundaries_reversed=p("thresholds", lambda thresholds: thresholds[::-1]),
        warmup_shorter_than_it_was=p("warmup", times(0.01)),
        warmup_longer_than_it_was=p("warmup", 1.0),
        warmup_that_cannot_be_decided=_warmup_at_a_sum,
        warmup_negative=p("warmup", -0.08),
        last_deal_too_large=p("last_deal", times(1.1)),
        last_deal_too_small=p("last_deal", times(0.5)),
        capped_above_the_boundary=p("capped_at", times(1.5)),
        capped_elsewhere_than_stated=p("capped_at", times(0.99)),
        cap_elsewhere_than_it_was=p("cap", 0.9),
        cap_beyond_the_range=p("cap", 2.0),
        one_round_less_than_boundaries=p("rounds", 19),
        rounds_a_string=p("rounds", "20"),
        rounds_beyond_the_range=p("rounds", 1001),
        first_focused_round_hidden=_one_focused_round_less,
        growth_of_other_shares=p("growth", 1.2),
        growth_zero=p("growth", 0.0),
        split_for_more_noise=p("split", 0.5),
        split_for_more_new_items=p("split", 0.7),
        split_of_everything=p("split", 1),
        delta_dealt_otherwise=p("delta_growth", 0.0),
        delta_dealt_to_the_first_rounds=p("delta_growth", -4.0),
        boost_zero=p("boost", 0.0),
        width_negative=p("width", -0.65),
        tail_negative=p("tail", -0.3),
        boundary_missing=p("thresholds", lambda thresholds: thresholds[1:]),
        boundary_a_single_number=p("thresholds", lambda thresholds: thresholds[-1]),
        far_more_items_than_caps_are_for=to("max_items", 10**6),
        no_chance_for_new_items=at("budget", "delta_new", to=0.0),
    ),
]

COUNTS = [
    *on(
        "counts beside weighted",
        counts_left_out_of_the_budget=_without_counts_in_budget,
        counts_with_half_the_noise=at(P, "counts", "sigma", to=times(0.5)),
        counts_with_negative_noise=at(P, "counts", "sigma", to=times(-1)),
        counts_of_fewer_items_than_count=at(P, "counts", "squared_sensitivity", to=39),
        counts_of_a_fractional_sensitivity=at(P, "counts", "squared_sensitivity", to=40.0),
        counts_of_far_more_items=_counts_of_more_items,
        counts_with_an_unknown_key=at(P, "counts", to=lambda counts: {**counts, "exact": True}),
        counts_without_noise=without(P, "counts", "sigma"),
        counts_null=at(P, "counts", to=None),
        counts_a_list=at(P, "counts", to=lambda counts: [*counts.values()]),
        counts_of_another_share=at(P, "counts", "share", to=0.3),
        counts_of_no_share=at(P, "counts", "share", to=0.0),
        counts_with_epsilon_but_no_delta=without(P, "counts", "delta"),
        counts_that_take_all_of_epsilon=all_of(
            at(P, "counts", "epsilon", to=1.0), at(P, "counts", "share", to=1.0)
        ),
        counts_that_take_less_than_they_spend=at(P, "counts", "epsilon", to=times(0.5)),
        counts_with_a_negative_epsilon=at(P, "counts", "epsilon", to=times(-1)),
        counts_with_a_delta_of_zero=at(P, "counts", "delta", to=0.0),
        mechanism_at_the_whole_privacy=all_of(p("sigma", times(0.9)), at("budget", "mu", to=times(1.2))),
        counts_beside_what_shares_no_mu=all_of(
            without(P, "counts", "epsilon"), without(P, "counts", "delta")
        ),
    ),
    *on(
        "counts beside focused",
        shared_mu_without_counts=_without_counts_in_budget,
        shared_counts_with_less_noise=at(P, "counts", "sigma", to=times(0.9)),
        shared_counts_of_another_share=at(P, "counts", "share", to=0.5),
        users_counted_for_free=at(P, "counts", "squared_sensitivity", to=42),
    ),
    *on(
        "counts beside laplace",
        counts_beside_laplace_for_free=all_of(without(P, "counts", "epsilon"), without(P, "counts", "delta")),
        counts_beside_laplace_with_a_budget=to("budget", CHEAP),
        counts_beside_laplace_with_less_noise=at(P, "counts", "sigma", to=times(0.9)),
    ),
    *on(
        "sums and others",
        counts_cut_to_more_items_than_noise_covers=at(P, "counts", "max_items", to=6),
        counts_cut_to_fewer_items_than_stated=at(P, "counts", "max_items", to=3),
        counts_of_a_cut_that_is_not_named=without(P, "counts", "max_items"),
        counts_with_the_noise_of_sums=at(P, "counts", "sigma", to=times(0.9)),
        sums_with_less_noise=at(P, "counts", "sums", 0, "sigma", to=times(0.9)),
        sums_with_less_noise_and_a_larger_share=all_of(
            at(P, "counts", "sums", 0, "sigma", to=times(0.5**0.5)),
            at(P, "counts", "sums", 0, "share", to=times(2)),
        ),
        sums_of_larger_values=at(P, "counts", "sums", 0, "high", to=51),
        sums_of_larger_negative_values=at(P, "counts", "sums", 0, "low", to=-51),
        sums_of_more_items_than_noise_covers=at(
            P, "counts", "sums", 0, "max_items", to=lambda most: most + 1
        ),
        sums_of_fewer_items_than_stated=at(P, "counts", "sums", 0, "max_items", to=lambda most: most - 1),
        sums_of_more_items_than_a_user_has=at(P, "counts", "sums", 0, "max_items", to=41),
        sums_of_a_cut_that_is_not_named=without(P, "counts", "sums", 0, "max_items"),
        sums_without_bounds=without(P, "counts", "sums", 0, "high"),
        sums_with_bounds_the_wrong_way=at(P, "counts", "sums", 0, "low", to=60),
        sums_with_an_infinite_bound=at(P, "counts", "sums", 0, "high", to=math.inf),
        sums_with_negative_noise=at(P, "counts", "sums", 0, "sigma", to=times(-1)),
        sums_of_one_column_twice=at(P, "counts", "sums", 1, "column", to="amount"),
        sums_left_out=without(P, "counts", "sums"),
        claim_about_the_bounds_left_out=at("rests_on", to=lambda claims: claims[:-1]),
        one_sum_left_out=at(P, "counts", "sums", to=lambda sums: sums[:1]),
        no_sums=at(P, "counts", "sums", to=[]),
        sums_with_an_unknown_key=at(P, "counts", "sums", 0, to=lambda told: {**told, "exact": True}),
        others_with_less_noise=at(P, "counts", "others", "sigma", to=times(0.9)),
        others_without_noise=at(P, "counts", "others", "sigma", to=0.0),
        others_left_out=without(P, "counts", "others"),
        others_of_another_share=at(P, "counts", "others", "share", to=times(0.5)),
        sums_of_others_with_less_noise=at(P, "counts", "others", "sums", 0, "sigma", to=times(0.9)),
        sums_of_others_left_out=at(P, "counts", "others", "sums", to=[]),
        sums_of_others_exchanged=swapped(P, "counts", "others", "sums"),
        others_null=at(P, "counts", "others", to=None),
        whole_share_smaller_than_its_parts=at(P, "counts", "share", to=0.05),
    ),
    *on(
        "sums beside laplace",
        sums_beside_laplace_with_less_noise=at(P, "counts", "sums", 0, "sigma", to=times(0.9)),
        sums_beside_laplace_of_larger_values=at(P, "counts", "sums", 0, "high", to=51),
    ),
    *on(
        "counts beside focused",
        claim_about_bounds_without_sums=at(
            "rests_on",
            to=lambda claims: [*claims, "the bounds of the sums were not computed from this data"],
        ),
    ),
    *on("counts beside single", coin_that_forgot_its_counts=without(P, "counts")),
]

NGRAMS = [
    *on(
        LEVELS,
        less_noise_in_a_level=at(P, "levels", 1, "sigma", to=times(0.99)),
        level_left_out=at(P, "levels", to=lambda levels: levels[:1]),
        no_levels=at(P, "levels", to=[]),
        too_many_levels=at(P, "levels", to=lambda levels: levels * 9),
        level_stated_twice=at(P, "levels", to=lambda levels: [levels[0], levels[0]]),
        levels_out_of_order=swapped(P, "levels"),
        sizes_that_begin_with_two=all_of(at(P, "levels", 0, "size", to=2), at(P, "levels", 1, "size", to=3)),
        sizes_other_than_the_texts=at("data", "ngrams", to=[1, 2, 3]),
        level_without_new_items=without(P, "levels", 1, "delta_new"),
        level_with_a_negative_chance=at(P, "levels", 0, "delta_new", to=-1e-7),
        new_items_charged_to_one_level=_new_items_in_one_level,
        level_of_more_items_than_stated=at(P, "levels", 0, "max_items", to=50),
        fewer_items_than_in_the_levels=to("max_items", 3),
        level_without_a_boundary=at(
            P, "levels", 0, to=lambda level: {"sigma": level["sigma"], "max_items": 9}
        ),
        lower_boundary_in_a_level=at(P, "levels", 1, "thresholds", 3, to=times(0.99)),
        level_with_an_unknown_key=at(P, "levels", 0, to=lambda level: {**level, "seed": 1}),
        level_without_noise=at(P, "levels", 0, "noise", to="none"),
        shares_of_levels_exchanged=all_of(
            at(P, "levels", 0, "share", to=0.4), at(P, "levels", 1, "share", to=0.6)
        ),
        shares_of_levels_above_one=all_of(
            at(P, "levels", 0, "share", to=1.2), at(P, "levels", 1, "share", to=0.8)
        ),
        split_of_one_level_alone=at(P, "levels", 1, "split", to=0.5),
        budget_of_the_first_level_alone=_budget_of_one_level,
        unknown_levels_pass_as_known=_levels_as_dpne,
        levels_by_another_method=to("algorithm", "dp-sips"),
        levels_by_the_paper=to("calibration", "paper"),
        counts_beside_levels_for_free=at(
            P, to=lambda all: {**all, "counts": {"sigma": 1.0, "squared_sensitivity": 16, "share": 0.1}}
        ),
        proof_of_one_mechanism_for_levels=to("proof", "docs/focused-gaussian.md"),
    ),
    *on(
        DPNE,
        unknown_words_without_a_chance=without(P, "levels", 0, "delta_new"),
        known_level_with_a_chance=at(P, "levels", 1, to=lambda level: {**level, "delta_new": 0.0}),
        words_pass_as_a_known_domain=at(
            P,
            "levels",
            0,
            to=lambda level: {
                name: level[name] for name in ("size", "share", "max_items", "sigma", "threshold")
            },
        ),
        threshold_that_lets_all_absent_out=at(P, "levels", 1, "threshold", to=-9.0),
        known_levels_pass_as_unknown=to("algorithm", FOCUSED),
        less_noise_in_a_known_level=at(P, "levels", 1, "sigma", to=times(0.99)),
        lists_beside_dpne=all_of(
            at("lists", to={"exclude": {"count": 1, "salted_sha256": "ab" * 32}}),
            at("rests_on", to=lambda claims: [*claims, "the list exclude was not made from this data"]),
        ),
    ),
    *on(
        "levels with counts",
        counts_of_one_level_alone=at(P, "counts", "squared_sensitivity", to=9),
        counts_of_levels_paid_apart=at(P, "counts", to=lambda all: {**all, "epsilon": 0.1, "delta": 1e-9}),
        counts_of_levels_with_less_noise=at(P, "counts", "sigma", to=times(0.7)),
    ),
]
