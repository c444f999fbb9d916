"""Forgeries of the ℓ1 family, of policies and of mechanisms with one Gaussian sum."""

import json
import math
from typing import Any

from forging import CHEAP, COUNT, DESCENT, LAPLACE, POLICY, WEIGHTED, P, on, p, to
from honest import Change, Fields, all_of, at, plus, times, without


def _claims_no_symmetry(fields: Fields) -> None:
    fields[P]["symmetric"] = False
    fields["rests_on"][-1] = fields["rests_on"][-1].removesuffix(" and symmetric")


def _midpoint_of(kappa: Any) -> Change:
    """Another kappa, with the threshold that belongs to it."""

    def change(fields: Fields) -> None:
        fields[P]["kappa"] = kappa(fields[P]["kappa"])
        fields[P]["threshold"] = math.log1p(0.5 / fields[P]["kappa"]) / fields["epsilon"]

    return change


def _cutoff_of(alpha: float) -> Change:
    """Another alpha, with the cutoff that belongs to it."""

    def change(fields: Fields) -> None:
        stated = fields[P]
        scale = stated.get("sigma", stated.get("scale"))
        full = stated["threshold"] + alpha * scale
        stated["alpha"], stated["cutoff"] = alpha, full
        if "scale" in stated:
            stated["cutoff"] = math.ceil(stated["cutoff"] * 2**30) / 2**30

    return change


def _mad_with(d_max: int) -> Change:
    """Another d_max, with the alpha that belongs to it."""
    alpha = (1 - 1 / (2 * math.sqrt(d_max))) * (1 - d_max * 2.0**-39)
    return all_of(p("d_max", d_max), p("alpha", alpha))


L1 = [
    *on(
        LAPLACE,
        scale_too_small=p("scale", times(0.999)),
        scale_negative=p("scale", times(-1)),
        midpoint_too_low=p("threshold", times(0.99)),
        midpoint_too_high=p("threshold", times(1.01)),
        larger_kappa_with_its_midpoint=_midpoint_of(times(1.001)),
        kappa_zero=p("kappa", 0.0),
        kappa_missing=without(P, "kappa"),
        kappa_and_midpoint_negative=all_of(p("kappa", -100.0), p("threshold", math.log(1 - 1 / 200))),
        curve_called_laplace=all_of(p("noise", "laplace"), without(P, "kappa")),
        curve_passes_as_laplace_of_the_paper=all_of(
            p("noise", "laplace"),
            p("threshold", times(0.99)),
            without(P, "kappa"),
            to("calibration", "paper"),
        ),
        curve_called_gaussian=p("noise", "gaussian"),
        noise_uniform=p("noise", "uniform"),
        name_of_the_noise_a_list=p("noise", ["laplace"]),
        curve_with_a_cheap_budget=to("budget", CHEAP),
        curve_called_paper=to("calibration", "paper"),
    ),
    *on(
        "weighted-laplace, paper",
        laplace_threshold_too_low=p("threshold", times(0.999)),
        laplace_threshold_below_one_weight=p("threshold", 0.5),
        laplace_called_exact=to("calibration", "exact"),
        kappa_beside_laplace_noise=p("kappa", 1e-7),
    ),
    *on(
        "optimal-single",
        coin_for_two_items=to("max_items", 2),
        even_odds_too_early=p("threshold", plus(-1)),
        even_odds_too_late=p("threshold", plus(1)),
        certain_too_early=p("certain_from", plus(-1)),
        certain_later_than_it_is=p("certain_from", plus(1)),
        holders_a_float=p("threshold", float),
        holders_true=p("threshold", True),
        coin_of_other_noise=p("noise", "laplace"),
        coin_at_a_smaller_epsilon=to("epsilon", 0.9),
        coin_at_a_smaller_delta=to("delta", 1e-7),
        coin_with_a_budget=to("budget", CHEAP),
        coin_of_other_algorithm=to("algorithm", "count-laplace"),
    ),
]

POLICIES = [
    *on(
        DESCENT,
        cutoff_below_a_budget=p("cutoff", 0.5),
        cutoff_negative=p("cutoff", times(-1)),
        cutoff_beside_alpha=p("cutoff", times(1.5)),
        cutoff_between_two_units=p("cutoff", plus(2.0**-31)),
        alpha_that_overflows=_cutoff_of(8.5e9),
        alpha_negative_with_its_cutoff=_cutoff_of(-2.0),
        alpha_of_another_cutoff=p("alpha", 2.0),
        alpha_a_string=p("alpha", "3"),
        descent_not_symmetric=p("symmetric", False),
        descent_symmetric_in_words=p("symmetric", "yes"),
        no_pass=p("passes", 0),
        too_many_passes=p("passes", 1001),
        passes_a_float=p("passes", 1.0),
        no_part=p("parts", 0),
        too_many_parts=p("parts", 1001),
        parts_without_their_cutoff=p("parts", 8),
        descent_with_a_budget=to("budget", CHEAP),
    ),
    *on("policy-laplace, many items", sums_beyond_64_bits=_cutoff_of(1e5)),
    *on("policy-laplace, paper", units_of_all_passes_unpaid=p("passes", 1000)),
    *on(
        POLICY,
        cutoff_at_which_no_budget_is_spent=p("cutoff", 0.9),
        rounding_of_a_far_cutoff_unpaid=_cutoff_of(1e6),
        more_passes_than_threshold_pays=p("passes", 2),
        published_descent_that_is_not_private=to("algorithm", "policy-gaussian-l1"),
        descent_as_an_own_policy=to("algorithm", "own-policy"),
        alpha_beyond_the_range=_cutoff_of(1.1e6),
        descent_in_l2_not_symmetric=p("symmetric", False),
    ),
    *on("policy-gaussian, in passes", rounding_of_all_passes_unpaid=p("passes", 1000)),
    *on(
        "own policy",
        own_policy_without_a_claim=at("rests_on", to=lambda claims: claims[:1]),
        claim_about_another_policy=p("policy", "odd"),
        own_policy_without_a_name=p("policy", ""),
        own_policy_a_number=p("policy", 7),
        own_policy_in_passes=p("passes", 2),
        own_policy_in_parts=p("parts", 2),
        l1_norm_with_gaussian_noise=all_of(
            p("norm", 1), at("rests_on", -1, to=lambda claim: claim.replace("ℓ2", "ℓ1"))
        ),
        norm_that_is_none=p("norm", 3),
        norm_missing=without(P, "norm"),
        symmetric_threshold_of_an_unequal_policy=_claims_no_symmetry,
        own_policy_with_other_keys_proof=to("proof", "docs/weighted.md"),
        symmetry_in_words=p("symmetric", 1),
    ),
    *on(
        "own policy, unequal",
        symmetry_that_was_not_claimed=p("symmetric", True),
        unequal_threshold_too_low=p("threshold", times(0.999)),
        cutoff_of_an_own_policy=p("cutoff", times(0.5)),
    ),
    *on(
        "own policy in l1, symmetric, paper",
        l1_threshold_of_an_unequal_policy=_claims_no_symmetry,
        l2_norm_with_laplace_noise=all_of(
            p("norm", 2), at("rests_on", -1, to=lambda claim: claim.replace("ℓ1", "ℓ2"))
        ),
        rounding_in_l1_unpaid=all_of(to("max_items", 10**6), _cutoff_of(1e5)),
    ),
    *on("own policy in l1, paper", l1_threshold_of_an_unequal_policy_too_low=p("threshold", times(0.999))),
]


def _without_its_list(fields: Fields) -> None:
    """A public order of which nothing is said or guaranteed."""
    fields["lists"] = {}
    fields["rests_on"] = fields["rests_on"][:1]


def _order_of_other_algorithm(fields: Fields) -> None:
    """A list of the order beside an algorithm that has none, its claim included."""
    fields["lists"] = {"order": {"count": 2, "sha256": "ab" * 32}}
    fields["rests_on"] = [*fields["rests_on"], "the list order was not made from this data"]


def _part_of_descent(fields: Fields) -> None:
    """The cutoff that ℓ1-descent would have in so many parts."""
    stated = fields[P]
    full = stated["threshold"] + stated["alpha"] * stated["scale"]
    stated["cutoff"] = math.ceil(1.5 * full / stated["parts"] * 2**30) / 2**30


IN_ORDER = [
    *on(
        "ordered-laplace",
        steeper_curve_in_order=p("scale", times(0.999)),
        lower_midpoint_in_order=p("threshold", times(0.99)),
        larger_kappa_in_order=_midpoint_of(times(1.001)),
        cutoff_in_order_below_a_budget=p("cutoff", 0.5),
        cutoff_in_order_beside_alpha=p("cutoff", times(1.5)),
        cutoff_in_order_between_two_units=p("cutoff", plus(2.0**-31)),
        alpha_in_order_that_overflows=_cutoff_of(8.5e9),
        alpha_in_order_negative=_cutoff_of(-2.0),
        alpha_in_order_of_another_cutoff=p("alpha", 2.0),
        no_part_in_order=p("parts", 0),
        too_many_parts_in_order=p("parts", 1001),
        parts_in_order_a_float=p("parts", 1.0),
        parts_in_order_without_their_cutoff=p("parts", 8),
        order_by_the_data=p("item_order", "frequency"),
        order_null=p("item_order", None),
        order_a_list=p("item_order", ["keyed"]),
        order_untold=without(P, "item_order"),
        public_order_without_a_list=p("item_order", "public"),
        keyed_order_with_a_list=_order_of_other_algorithm,
        passes_in_order=p("passes", 1),
        symmetry_in_order=p("symmetric", True),
        order_with_a_budget=to("budget", CHEAP),
        order_with_the_proof_of_descent=to("proof", "docs/policies.md"),
        order_called_descent=all_of(to("algorithm", "policy-laplace"), to("proof", "docs/policies.md")),
        order_at_a_smaller_delta=to("delta", 0.999e-6),
        order_at_a_smaller_epsilon=to("epsilon", 0.999),
        order_by_the_paper=to("calibration", "paper"),
    ),
    *on(
        "ordered-laplace, in parts",
        parts_that_overflow=all_of(p("parts", 1000), p("cutoff", 2.0**31)),
        fewer_parts_than_cutoff_is_for=p("parts", 4),
        cutoff_of_a_part_as_for_descent=_part_of_descent,
    ),
    *on("ordered-laplace, tiny epsilon", totals_in_order_beyond_64_bits=_cutoff_of(1e6)),
    *on(
        "ordered-laplace, paper",
        symmetric_threshold_in_order=p("threshold", times(0.999)),
        threshold_in_order_of_fewer_items=to("max_items", 41),
    ),
    *on(
        "ordered-laplace, public order",
        public_order_of_which_nothing_is_said=_without_its_list,
        public_order_without_its_claim=at("rests_on", to=lambda claims: claims[:1]),
        public_order_called_keyed=p("item_order", "keyed"),
        public_order_without_a_digest=without("lists", "order", "sha256"),
        public_order_of_a_negative_count=at("lists", "order", "count", to=-1),
        public_order_with_a_salted_digest=at(
            "lists", "order", to=lambda told: {"count": told["count"], "salted_sha256": told["sha256"]}
        ),
    ),
    *on(WEIGHTED, order_beside_an_algorithm_without_one=_order_of_other_algorithm),
    *on(
        "tuned, ordered",
        trial_with_a_public_order=at(P, "tuning", "trials", 0, P, "item_order", to="public"),
        trial_in_order_of_other_alpha=at(P, "tuning", "settings", 0, "alpha", to=3),
        trial_in_order_of_other_parts=at(P, "tuning", "settings", 1, "parts", to=1),
    ),
]

SUMS = [
    *on(
        WEIGHTED,
        less_noise=p("sigma", times(0.999)),
        lower_threshold=p("threshold", times(0.999)),
        noise_and_threshold_negative=all_of(p("sigma", times(-1)), p("threshold", times(-1))),
        no_noise=p("sigma", 0.0),
        noise_infinite=p("sigma", math.inf),
        threshold_not_a_number=p("threshold", math.nan),
        threshold_beyond_doubles=p("threshold", 10**400),
        noise_a_string=p("sigma", str),
        noise_a_list=p("sigma", lambda sigma: [sigma]),
        noise_true=p("sigma", True),
        less_noise_for_a_higher_threshold=all_of(p("sigma", times(0.9)), p("threshold", times(2))),
        more_noise_for_a_lower_threshold=all_of(p("sigma", times(2)), p("threshold", times(0.9))),
        noise_unnamed=without(P, "noise"),
        noise_null=p("noise", None),
        nested_beyond_reason=p("sigma", json.loads("[" * 50 + "]" * 50)),
    ),
    *on(COUNT, threshold_of_a_count_too_low=p("threshold", times(0.999))),
    *on(
        "mad",
        alpha_far_too_large=p("alpha", 1e4),
        alpha_zero=p("alpha", 0.0),
        alpha_without_room_for_rounding=p("alpha", 1 - 1 / (2 * math.sqrt(40))),
        cutoff_that_sends_everything_back=p("cutoff", -5.0),
        cutoff_below_what_one_user_gives=p("cutoff", 0.5),
        cutoff_below_the_threshold=p("cutoff", 1.0),
        cutoff_where_totals_stop=p("cutoff", 1e6),
        rerouting_more_items_than_count=_mad_with(41),
        rerouting_nothing=p("d_max", 0),
        d_max_a_float=p("d_max", 40.0),
        d_max_of_another_alpha=p("d_max", 20),
        less_noise_than_rounding_asks=p("sigma", times(0.9999)),
    ),
    *on("mad, many items", rounding_of_long_rows_unpaid=_mad_with(1000)),
]
