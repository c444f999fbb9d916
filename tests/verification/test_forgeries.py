"""Forged statements, one idea each, all with the digest that a careful forger would write: none may be accepted.

Each line is an idea, named by its id, and applied to an honest statement (tests/honest.py) that is accepted as it is.
"""

import json
import math
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from honest import MAKERS, OF_0_1, Change, Fields, all_of, at, honest, mended, plus, times, without

from dpsu.verification.verify import verify

P = "parameters"
CHEAP = {"mu": 1e-9, "delta_new": 0.0}

WEIGHTED, COUNT, POLICY = "weighted-gaussian", "count-gaussian", "policy-gaussian"
LAPLACE, DESCENT = "weighted-laplace", "policy-laplace"
PART, SELECTION, LEVELS, DPNE = "tuned on a part", "tuned by selection", "levels", "levels, dpne"
FOCUSED = "focused-gaussian"


class Forgery(NamedTuple):
    """An idea, the honest statement that it is tried on, and what it changes."""

    idea: str
    base: str
    change: Change


def on(base: str, **ideas: Change) -> list[Forgery]:
    """Ideas about one honest statement."""
    return [Forgery(idea.replace("_", " "), base, change) for idea, change in ideas.items()]


def to(name: str, value: Any) -> Change:
    """A field of the statement."""
    return at(name, to=value)


def p(name: str, value: Any) -> Change:
    """A parameter."""
    return at(P, name, to=value)


def tuning(*path: Any, to: Any) -> Change:
    return at(P, "tuning", *path, to=to)


def trial(*path: Any, to: Any) -> Change:
    return tuning("trials", 0, *path, to=to)


def swapped(*path: Any) -> Change:
    """The first and the last entry of a list change places."""

    def swap(values: list[Any]) -> list[Any]:
        return [values[-1], *values[1:-1], values[0]]

    return at(*path, to=swap)


def _claims_symmetric(fields: Fields) -> None:
    fields[P]["symmetric"] = True
    fields["rests_on"][-1] += " and symmetric"


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
        stated["alpha"], stated["cutoff"] = alpha, stated["threshold"] + alpha * scale
        if "scale" in stated:
            stated["cutoff"] = math.ceil(stated["cutoff"] * 2**30) / 2**30

    return change


def _mad_with(d_max: int) -> Change:
    """Another d_max, with the alpha that belongs to it."""
    alpha = (1 - 1 / (2 * math.sqrt(d_max))) * (1 - d_max * 2.0**-39)
    return all_of(p("d_max", d_max), p("alpha", alpha))


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


def _dearer_trials(fields: Fields) -> None:
    """All trials twice, which the promise cannot pay."""
    told = fields[P]["tuning"]
    for name in ("trials", "settings", "scores"):
        told[name] = told[name] * 2


def _release_with_less_noise(fields: Fields) -> None:
    told = fields[P]["tuning"]["release"]
    told[P]["sigma"] *= 0.9
    told["budget"]["mu"] /= 0.9


def _release_at_the_whole(fields: Fields) -> None:
    """The release of a selection is stated at the privacy of the whole, with a mechanism of that privacy."""
    whole = honest(PART)[P]["tuning"]["release"]
    fields[P]["tuning"]["release"] = whole


def _as_tuned_on_a_part(fields: Fields) -> None:
    told, part = fields[P]["tuning"], honest(PART)[P]["tuning"]
    del told["mean_tries"]
    told |= {"way": "part", "how": part["how"], "share": 0.1, "scores": [5, 0]}


def _other_setting_chosen(fields: Fields) -> None:
    told = fields[P]["tuning"]
    told["chosen"] = next(setting for setting in told["settings"] if setting != told["chosen"])


def _unsaid_policy(fields: Fields) -> None:
    """A trial with a policy of the caller's, about which nothing is claimed."""
    own, told = honest("tuned, own policies")[P]["tuning"], fields[P]["tuning"]
    told["trials"][1], told["settings"][1] = own["trials"][1], own["settings"][1]


def _two_policies_of_one_name(fields: Fields) -> None:
    """Two policies of one name, of which one is claimed."""
    told = fields[P]["tuning"]
    name = told["trials"][0][P]["policy"]
    told["trials"][1][P]["policy"] = told["settings"][1]["algorithm"] = name
    fields["rests_on"] = fields["rests_on"][:2]


FORM = [
    *on(
        WEIGHTED,
        schema_of_the_future=to("schema", "dpsu-statement/3"),
        schema_that_never_was=to("schema", "dpsu-statement/0"),
        schema_1_with_the_fields_of_2=to("schema", "dpsu-statement/1"),
        schema_missing=without("schema"),
        unknown_field=to("trusted", True),
        missing_field=without("not_covered"),
        unit_one_row=to("unit", "one row, added or removed"),
        unit_with_a_space_more=at("unit", to=lambda unit: unit + " "),
        noise_from_the_clock=to("noise_source", "time(NULL)"),
        noise_source_with_an_excuse=at("noise_source", to=lambda source: source + ", mostly"),
        nothing_uncovered=to("not_covered", []),
        one_limit_left_out=at("not_covered", to=lambda limits: limits[1:]),
        one_excuse_more=at("not_covered", to=lambda limits: [*limits, "users whose names begin with A"]),
        void=to("void", "the randomness was seeded for a test, so nothing is promised"),
        void_without_a_reason=to("void", ""),
        void_false=to("void", False),
        version_latest=to("version", "latest"),
        version_a_number=to("version", 0.2),
        date_that_never_was=to("date", "2026-02-30"),
        date_with_a_time=to("date", "2026-02-03T04:05:06"),
        date_left_open=to("date", None),
        title_of_two_lines=to("title", "words\nVERIFIED: the promise follows."),
        title_a_list=to("title", ["words"]),
        note_too_long=to("note", "x" * 2001),
        note_with_a_hidden_character=to("note", "words\u202e"),
        file_digest_cut_short=to("released_sha256", "ab"),
        file_digest_not_hexadecimal=to("released_sha256", "z" * 64),
        file_digest_a_number=to("released_sha256", 0),
        kind_unknown=to("kind", "combined"),
        kind_levels_of_one_mechanism=to("kind", "levels"),
        kind_tuned_of_one_mechanism=to("kind", "tuned"),
        kind_a_list=to("kind", ["single"]),
        algorithm_k_anonymity=to("algorithm", "k-anonymity"),
        algorithm_nobody_knows=to("algorithm", "trust-me"),
        algorithm_nobody_knows_with_a_claim=all_of(
            to("algorithm", "trust-me"), at("rests_on", to=lambda claims: [*claims, "it is private"])
        ),
        algorithm_null=to("algorithm", None),
        algorithm_of_schema_1s_levels=to("algorithm", "focused-gaussian in 3 levels of n-grams"),
        calibration_of_nobody=to("calibration", "generous"),
        calibration_null=to("calibration", None),
        exact_numbers_as_the_papers=to("calibration", "paper"),
        proof_of_another_algorithm=to("proof", "docs/mad.md"),
        proof_that_it_is_not_private=to("proof", "docs/errata.md"),
        proof_missing=to("proof", ""),
        epsilon_a_little_less=to("epsilon", 0.99),
        epsilon_zero=to("epsilon", 0),
        epsilon_negative=to("epsilon", -1.0),
        epsilon_beyond_the_range=to("epsilon", 10001.0),
        epsilon_true=to("epsilon", True),
        epsilon_a_string=to("epsilon", "1.0"),
        epsilon_beyond_doubles=to("epsilon", 10**400),
        delta_a_little_less=to("delta", 0.99e-6),
        delta_zero=to("delta", 0.0),
        delta_one=to("delta", 1.0),
        delta_negative=to("delta", -1e-6),
        more_items=to("max_items", 60),
        no_items=to("max_items", 0),
        items_a_float=to("max_items", 40.0),
        items_true=to("max_items", True),
        items_beyond_the_range=to("max_items", 10**6 + 1),
        parameters_empty=to(P, {}),
        parameters_a_list=to(P, []),
        unknown_parameter=p("seed", 7),
        unknown_levels_beside_one_mechanism=all_of(
            p("levels", [{"sigma": 100.0, "max_items": 40}]), to("budget", CHEAP)
        ),
        budget_left_out=to("budget", None),
        budget_with_an_unknown_key=at("budget", to=lambda budget: {**budget, "discount": 0.5}),
        budget_without_new_items=without("budget", "delta_new"),
        budget_a_list=at("budget", to=lambda budget: [*budget.values()]),
        mu_a_little_less=at("budget", "mu", to=times(0.999)),
        mu_zero=at("budget", "mu", to=0.0),
        mu_negative=at("budget", "mu", to=times(-1)),
        mu_a_string=at("budget", "mu", to=str),
        new_items_rarer_than_they_are=at("budget", "delta_new", to=times(0.9)),
        new_items_of_a_negative_chance=at("budget", "delta_new", to=times(-1)),
        new_items_likelier_than_certain=at("budget", "delta_new", to=1.5),
    ),
    *on("count-gaussian, few items", counts_as_weights=to("algorithm", WEIGHTED)),
    *on("dp-sips", exact_parts_of_delta_as_the_papers=to("calibration", "paper")),
    *on("dp-sips, paper", parts_of_delta_of_the_paper_as_exact=to("calibration", "exact")),
    *on(LEVELS, levels_as_one_mechanism=to("kind", "single")),
    *on(SELECTION, tuned_as_one_mechanism=to("kind", "single")),
]

CLAIMS_AND_DATA = [
    *on(
        WEIGHTED,
        claims_left_out=to("rests_on", []),
        claim_too_many=at("rests_on", to=lambda claims: [*claims, "the data is public"]),
        claim_made_weaker=at("rests_on", to=lambda claims: [claims[0].replace("all rows", "most rows")]),
        claims_a_string=at("rests_on", to=lambda claims: claims[0]),
        claim_blank=to("rests_on", [""]),
        user_column_exchanged=at("data", "user", to=["row_id"]),
        user_column_a_string=at("data", "user", to="author"),
        user_column_named_twice=all_of(at("data", "user", to=["author", "author"])),
        no_user_column=at("data", "user", to=[]),
        user_column_a_number=at("data", "user", to=[7]),
        data_of_no_form=at("data", "form", to="table"),
        data_unknown=to("data", None),
        data_with_an_unknown_key=at("data", to=lambda data: {**data, "rows": 1000}),
        items_and_text_at_once=at("data", to=lambda data: {**data, "text": "body"}),
        lists_null=to("lists", None),
        list_nobody_knows=to("lists", {"secrets": {"count": 1, "sha256": "ab" * 32}}),
        list_without_a_claim=to("lists", {"public_items": {"count": 1, "sha256": "ab" * 32}}),
    ),
    *on(
        "text",
        tokenizer_passes_as_a_rule=all_of(
            at("data", "tokenizer", "kind", to="rule"), at("rests_on", to=lambda claims: claims[:1])
        ),
        tokenizer_claim_left_out=at("rests_on", to=lambda claims: claims[:1]),
        tokenizer_of_no_kind=at("data", "tokenizer", "kind", to="magic"),
        tokenizer_exchanged=at("data", "tokenizer", "name", to="harmless"),
        tokenizer_missing=without("data", "tokenizer"),
        claims_in_another_order=swapped("rests_on"),
        ngrams_of_no_words=at("data", "ngrams", to=[0, 1]),
        ngrams_out_of_order=at("data", "ngrams", to=[2, 1]),
        ngrams_of_too_many_words=at("data", "ngrams", to=[1, 17]),
        text_without_a_user=without("data", "user"),
        columns_of_a_collection=at("data", "form", to="collection"),
        lines_with_a_user_column=at("data", "form", to="lines"),
    ),
    *on(
        "lists",
        list_hidden_its_claim_told=without("lists", "public_items"),
        list_told_its_claim_hidden=at("rests_on", to=lambda claims: claims[:-1]),
        excluded_items_without_salt=at("lists", "exclude", to={"count": 1, "sha256": "ab" * 32}),
        list_of_a_negative_length=at("lists", "public_items", "count", to=-1),
        list_of_a_fractional_length=at("lists", "public_items", "count", to=0.5),
        list_of_length_true=at("lists", "public_items", "count", to=True),
        list_without_a_digest=without("lists", "public_items", "sha256"),
        list_with_a_short_digest=at("lists", "public_items", "sha256", to="abc"),
    ),
]

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
        counts_of_another_share=at(P, "counts", "share", to=0.2),
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

TUNED = [
    *on(
        PART,
        whole_at_a_smaller_epsilon=all_of(to("epsilon", 2.7), tuning("release", "epsilon", to=2.7)),
        whole_at_a_smaller_delta=all_of(to("delta", 0.9e-6), tuning("release", "delta", to=0.9e-6)),
        release_at_a_larger_epsilon_than_the_whole=to("epsilon", 2.7),
        tuned_with_a_budget=to("budget", CHEAP),
        tuned_by_another_algorithm=to("algorithm", "mad"),
        tuned_in_the_words_of_schema_1=to("algorithm", "weighted-gaussian, tuned"),
        tuned_with_more_items=at("max_items", to=plus(1)),
        tuned_by_another_calibration=to("calibration", "paper"),
        tuned_with_parameters_of_its_own=p("sigma", 9.0),
        trials_run_twice=_dearer_trials,
        trial_left_out=without(P, "tuning", "trials", 0),
        trials_empty=tuning("trials", to=[]),
        trials_a_number=tuning("trials", to=3),
        settings_empty=tuning("settings", to=[]),
        setting_with_an_unknown_key=tuning("settings", 0, to=lambda all: {**all, "sigma": 1.0}),
        setting_of_another_algorithm=tuning("settings", 0, "algorithm", to="mad"),
        setting_of_other_items=tuning("settings", 0, "max_items", to=6),
        option_of_a_setting_that_was_not_run=tuning("settings", 1, "alpha", to=5),
        chosen_setting_that_was_not_tried=tuning("chosen", to=lambda all: {**all, "max_items": 2}),
        chosen_setting_of_another_release=_other_setting_chosen,
        chosen_null=tuning("chosen", to=None),
        chosen_not_the_best=tuning("scores", to=[0, 0, 5]),
        scores_of_other_settings=tuning("scores", to=[0, 0]),
        scores_negative=tuning("scores", to=[-1, -2, -3]),
        way_that_is_none=tuning("way", to="guess"),
        way_by_selection_without_tries=tuning("way", to="selection"),
        tuned_how_nobody_says=tuning("how", to="by looking"),
        tuning_with_an_unknown_key=tuning(to=lambda all: {**all, "peeked": 1}),
        tuning_null=tuning(to=None),
        tries_at_another_epsilon=tuning("epsilon_of_a_try", to=times(1.01)),
        all_users_in_the_trials=tuning("share", to=1),
        no_users_in_the_trials=tuning("share", to=0),
        share_of_users_true=tuning("share", to=True),
        release_with_less_noise=_release_with_less_noise,
        release_with_a_cheap_budget=tuning("release", "budget", to=CHEAP),
        release_with_an_unknown_key=tuning("release", to=lambda all: {**all, "rests_on": []}),
        release_at_another_epsilon=tuning("release", "epsilon", to=6.0),
        release_tuned_itself=tuning("release", "kind", to="tuned"),
        proof_of_one_mechanism_for_a_choice=to("proof", "docs/weighted.md"),
        laplace_trial_with_a_cheap_budget=tuning("trials", 1, "budget", to=CHEAP),
        laplace_trial_that_gives_epsilon_back=all_of(
            tuning("trials", 1, "epsilon", to=times(-1)), tuning("trials", 1, P, "scale", to=times(-1))
        ),
        laplace_trial_at_a_tenth=all_of(
            tuning("trials", 1, "epsilon", to=times(0.1)), tuning("trials", 1, P, "scale", to=times(10))
        ),
        laplace_trial_of_a_smaller_delta=tuning("trials", 1, "delta", to=times(0.1)),
        trial_with_a_policy_nobody_claimed=_unsaid_policy,
    ),
    *on(
        "tuned, own policies",
        policies_of_one_name=_two_policies_of_one_name,
        claim_of_a_trial_left_out=at("rests_on", to=lambda claims: claims[:-1]),
    ),
    *on(
        "tuned with counts",
        counts_of_a_choice_with_less_noise=tuning("release", P, "counts", "sigma", to=times(0.5)),
        counts_of_a_choice_out_of_the_budget=tuning("release", "budget", "mu", to=times(0.9)),
    ),
    *on(
        SELECTION,
        trial_of_a_smaller_mu=trial("budget", "mu", to=times(0.999)),
        trial_of_fewer_new_items=trial("budget", "delta_new", to=times(0.9)),
        trial_of_a_negative_mu=trial("budget", "mu", to=-1e-9),
        trial_with_less_noise=trial(P, "sigma", to=times(0.999)),
        trial_with_a_lower_threshold=trial(P, "threshold", to=times(0.999)),
        trial_of_a_smaller_delta=trial("delta", to=times(0.9)),
        trial_of_no_epsilon=trial("epsilon", to=0),
        trial_of_an_infinite_epsilon=trial("epsilon", to=math.inf),
        trial_of_more_items=trial("max_items", to=plus(1)),
        trial_of_another_algorithm=trial("algorithm", to="mad"),
        trial_that_is_not_private=trial("algorithm", to="k-anonymity"),
        trial_of_another_kind=trial("kind", to="levels"),
        trial_of_another_proof=trial("proof", to="docs/mad.md"),
        trial_a_string=trial(to="ab"),
        trial_with_an_unknown_key=trial(to=lambda all: {**all, "void": None}),
        trial_with_counts=trial(
            P, to=lambda all: {**all, "counts": {"sigma": 1e9, "squared_sensitivity": 5, "share": 0.1}}
        ),
        trial_with_a_choice=trial(P, to=lambda all: {**all, "tuning": {}}),
        fewer_tries_than_one=tuning("mean_tries", to=0.5),
        exactly_one_try=tuning("mean_tries", to=1),
        more_tries_than_paid=tuning("mean_tries", to=6.0),
        endless_tries=tuning("mean_tries", to=1e300),
        tries_a_string=tuning("mean_tries", to="4"),
        scores_of_a_selection_shown=tuning(to=lambda all: {**all, "scores": [6, 5]}),
        selection_passes_as_tuned_on_a_part=_as_tuned_on_a_part,
        selection_that_releases_at_the_whole=_release_at_the_whole,
        selection_without_gaussian_noise=tuning("trials", 1, "budget", to=None),
    ),
]


def _of_0_1(base: str, **ideas: Change) -> list[Forgery]:
    return on(f"0.1: {base}", **ideas)


OLD = [
    *_of_0_1(
        "weighted-gaussian",
        old_statement_with_a_title=to("title", "words"),
        old_statement_of_a_new_version=to("version", "0.2.0"),
        old_statement_by_an_own_policy=to("algorithm", "own-policy"),
        old_statement_with_a_claim_of_its_own=to("rests_on", ["the caller is honest"]),
        old_statement_called_tuned=to("algorithm", "weighted-gaussian, tuned"),
        old_statement_as_schema_2=to("schema", "dpsu-statement/2"),
        old_noise_from_the_clock=to("noise_source", "time(NULL)"),
        old_proof_left_out=without("proof"),
        old_kind_stated=to("kind", "single"),
        old_lower_threshold=p("threshold", times(0.999)),
    ),
    *_of_0_1(
        "own policy",
        old_algorithm_nobody_knows_with_a_claim=to("algorithm", "k-anonymity"),
        old_claim_reworded=to("rests_on", ["that the policy 'even' is good"]),
        old_claim_of_symmetry_dropped=at(
            "rests_on", 0, to=lambda claim: claim.removesuffix(" and symmetric")
        ),
        old_claim_in_another_norm=at("rests_on", 0, to=lambda claim: claim.replace("ℓ2", "ℓ1")),
        old_claim_twice=at("rests_on", to=lambda claims: claims * 2),
        old_cutoff_below_a_budget=p("cutoff", 0.5),
    ),
    *_of_0_1("mad", old_alpha_far_too_large=p("alpha", 1e4), old_cutoff_negative=p("cutoff", -5.0)),
    *_of_0_1("mad2r", old_cutoffs_zero=p("cutoffs", [0.0, 0.0]), old_b_min_too_large=p("b_min", 100)),
    *_of_0_1(
        "counts beside weighted",
        old_counts_left_out_of_the_budget=_without_counts_in_budget,
        old_users_counted_by_weights=at(P, "counts", "squared_sensitivity", to=41),
    ),
    *_of_0_1("tfidf", old_vectorizer_with_the_proof_of_one=to("proof", "docs/focused-gaussian.md")),
    *_of_0_1(
        "levels dpne",
        old_number_of_levels=to("algorithm", "dpne in 2 levels of n-grams"),
        old_unknown_words_without_a_chance=without(P, "levels", 0, "delta_new"),
        old_levels_with_a_claim=to("rests_on", ["that the policy 'dpne' is ℓ2-contractive"]),
    ),
    *_of_0_1(
        "tuned by selection",
        old_choice_without_the_word=to("algorithm", "even"),
        old_trial_without_its_claim=trial("rests_on", to=[]),
        old_claims_of_trials_untold=to("rests_on", []),
        old_choice_with_counts=at(
            P, to=lambda all: {**all, "counts": {"sigma": 1e9, "squared_sensitivity": 5, "share": 0.1}}
        ),
        old_choice_with_the_proof_of_one=to("proof", "docs/policies.md"),
        old_release_of_another_mu=tuning("release", "budget", "mu", to=times(0.9)),
    ),
]

FORGERIES = [
    *FORM,
    *CLAIMS_AND_DATA,
    *L1,
    *POLICIES,
    *SUMS,
    *ROUNDS,
    *COUNTS,
    *NGRAMS,
    *TUNED,
    *OLD,
]

JSON_FORGERIES = {
    "epsilon named twice": lambda text: text.replace('"epsilon"', '"epsilon": 0.001, "epsilon"', 1),
    "parameter named twice": lambda text: text.replace('"sigma"', '"sigma": 99, "sigma"', 1),
    "NaN in an unread place": lambda text: text.replace('"note": null', '"note": NaN', 1),
    "infinite noise": lambda text: text.replace('"sigma"', '"sigma": Infinity, "_"', 1),
    "number beyond doubles": lambda text: text.replace('"note": null', '"note": 1e999', 1),
    "digest left as it was": lambda text: text.replace('"epsilon": 1.0', '"epsilon": 0.5', 1),
    "digest left out": lambda text: text.replace('"digest"', '"old digest"', 1),
    "digest in capitals": lambda text: (
        text[: text.rindex('"digest"')] + text[text.rindex('"digest"') :].upper()
    ),
}
"""Ideas about the text of a statement."""


@pytest.mark.parametrize("name", [*MAKERS, *(f"0.1: {path.stem}" for path in sorted(OF_0_1.glob("*.json")))])
def test_the_honest_statement_is_accepted(name: str) -> None:
    found = verify(honest(name))
    assert found.ok, str(found)


@pytest.mark.parametrize(
    ("base", "change"), [each[1:] for each in FORGERIES], ids=[each.idea for each in FORGERIES]
)
def test_a_forged_statement_is_rejected(base: str, change: Change) -> None:
    fields = honest(base)
    change(fields)
    assert json.dumps(fields) != json.dumps(honest(base))
    found = verify(mended(fields))
    assert not found.ok, str(found)


@pytest.mark.parametrize("idea", JSON_FORGERIES)
def test_a_forged_file_is_rejected(idea: str, tmp_path: Path) -> None:
    text = json.dumps(honest(WEIGHTED))
    assert JSON_FORGERIES[idea](text) != text
    (tmp_path / "statement.json").write_text(JSON_FORGERIES[idea](text), encoding="utf-8")
    assert not verify(tmp_path / "statement.json").ok


def test_every_idea_is_counted_once(record_property: Any) -> None:
    ideas = [*(each.idea for each in FORGERIES), *JSON_FORGERIES]
    record_property("forgeries", len(ideas))
    assert len({*ideas}) == len(ideas)
    assert len(ideas) >= 400
