"""Forgeries of releases with candidates, or of levels with a false share: the limits of false items, the list, the noise."""

from forging import Forgery, P, on, p, to
from honest import Fields, all_of, at, times, without

LIST, ONLY, VALID = "candidates", "candidates only", "levels with false_share"


def told(*path: object, to: object):
    return at(P, "candidates", *path, to=to)


def valid(*path: object, to: object):
    """Something about the candidates of the second level."""
    return at(P, "levels", 1, "candidates", *path, to=to)


def _longer(fields: Fields) -> None:
    """A longer list with the eta of the shorter one."""
    fields[P]["candidates"]["count"] = fields["lists"]["candidates"]["count"] = 2000


def _no_list(fields: Fields) -> None:
    del fields["lists"]["candidates"]
    fields["rests_on"] = [claim for claim in fields["rests_on"] if "candidates" not in claim]


def _early_below_the_boundary(fields: Fields) -> None:
    """Early release at half of tau_r, which noise alone crosses more often than eta."""
    fields[P]["candidates"]["early_thresholds"] = [limit / 2 for limit in fields[P]["thresholds"]]


def _discovery_denied(fields: Fields) -> None:
    fields[P]["candidates"]["discover"] = False


def _as_listed_only(fields: Fields) -> None:
    """Discovery passes as a release of listed items only, whose new items cost nothing."""
    fields[P]["candidates"]["discover"] = False
    for name in ("threshold", "thresholds", "capped_at", "last_deal", "split", "cap"):
        del fields[P][name]


def _without_share(fields: Fields) -> None:
    """The second level passes as one of today's levels, which releases nothing that nobody wrote."""
    del fields[P]["false_share"]
    del fields[P]["levels"][1]["candidates"]


def _first_level_listed(fields: Fields) -> None:
    """Words pass as candidates, so that none of them is new."""
    first, second = fields[P]["levels"]
    fields[P]["levels"][0] = {**second, "size": 1, "share": first["share"], "sigma": first["sigma"]}
    fields["budget"]["delta_new"] = 0.0


def _new_items_for_free(fields: Fields) -> None:
    """All levels have boundaries, but the second one is not charged for new items."""
    fields["budget"]["delta_new"] *= 0.5


FORGED_LISTS: list[Forgery] = [
    *on(
        LIST,
        eta_above_its_limit=told("early", to=times(2)),
        eta_of_zero=told("early", to=0.0),
        negative_eta=told("early", to=-1e-6),
        smaller_false_share=told("false_share", to=times(0.5)),
        false_share_of_one=told("false_share", to=1.0),
        negative_false_share=told("false_share", to=-0.01),
        longer_list_with_the_same_eta=_longer,
        count_of_another_list=told("count", to=999),
        no_candidates_at_all=told("count", to=0),
        count_as_a_float=told("count", to=1000.0),
        lower_early_threshold=told("early_thresholds", -1, to=times(0.99)),
        lower_first_early_threshold=told("early_thresholds", 0, to=times(0.9)),
        one_early_threshold_less=told("early_thresholds", to=lambda values: values[1:]),
        early_release_below_the_boundary=_early_below_the_boundary,
        less_noise_with_a_list=p("sigma", times(0.9)),
        lower_boundary_with_a_list=at(P, "thresholds", -1, to=times(0.9)),
        list_hidden=_no_list,
        candidates_of_another_length=at("lists", "candidates", "count", to=10),
        candidates_without_digest=without("lists", "candidates", "sha256"),
        candidates_with_a_short_digest=at("lists", "candidates", "sha256", to="ab"),
        claim_about_the_list_left_out=at("rests_on", to=lambda claims: claims[:-1]),
        discovery_denied=_discovery_denied,
        discovery_as_listed_only=_as_listed_only,
        discovery_as_a_number=told("discover", to=1),
        expected_share_in_words=told("expected", to="a tenth"),
        expected_share_left_out=without(P, "candidates", "expected"),
        candidates_left_out_of_parameters=without(P, "candidates"),
        proof_of_the_algorithm_without_a_list=to("proof", "docs/focused-gaussian.md"),
        another_algorithm_with_a_list=to("algorithm", "weighted-gaussian"),
        smaller_delta_with_a_list=to("delta", 9e-7),
    ),
    *on(
        ONLY,
        less_noise_for_listed_items=all_of(p("sigma", times(0.9)), at("budget", "mu", to=times(1 / 0.9))),
        budget_beyond_the_noise=at("budget", "mu", to=times(0.99)),
        new_items_in_a_list_only=at("budget", "delta_new", to=1e-7),
        more_than_one_budget_in_shares=at(P, "shares", to=lambda shares: [1.1 * share for share in shares]),
        discovery_without_a_boundary=told("discover", to=True),
        larger_eta_of_a_list_only=told("early", to=times(1.01)),
        smaller_epsilon_of_a_list_only=to("epsilon", 0.99),
    ),
    *on(
        "candidates with weights",
        eta_above_the_smallest_weight=told("early", to=times(1.01)),
        largest_weight_left_out=without(P, "candidates", "largest_weight"),
        largest_weight_below_one=told("largest_weight", to=0.5),
        smallest_weight_left_out=all_of(
            without(P, "candidates", "smallest_weight"), told("early", to=times(2.6))
        ),
        smallest_weight_above_one=told("smallest_weight", to=1.5),
        smallest_weight_of_zero=told("smallest_weight", to=0.0),
        smallest_weight_in_words=told("smallest_weight", to="small"),
    ),
    *on(
        VALID,
        less_noise_in_a_level_of_candidates=at(P, "levels", 1, "sigma", to=times(0.9)),
        larger_eta_in_a_level=valid("early", to=times(2)),
        shorter_domain_than_eta_has=valid("count", to=times(2)),
        domain_without_members=valid("count", to=0),
        lower_early_threshold_in_a_level=valid("early_thresholds", 2, to=times(0.9)),
        reach_beyond_the_false_share=valid("reach", to=0.03),
        reach_below_eta=valid("reach", to=1e-12),
        reach_left_out=without(P, "levels", 1, "candidates", "reach"),
        level_that_discovers=valid("discover", to=True),
        larger_share_in_a_level=valid("false_share", to=times(1.5)),
        smaller_share_of_the_whole=at(P, "false_share", to=0.01),
        share_of_the_whole_above_one_half=at(P, "false_share", to=2.0),
        share_left_out=_without_share,
        share_claimed_without_a_level=without(P, "levels", 1, "candidates"),
        first_level_listed_too=_first_level_listed,
        new_words_at_half_the_price=_new_items_for_free,
        more_than_one_budget_in_a_level=at(
            P, "levels", 1, "shares", to=lambda all: [1.1 * each for each in all]
        ),
        dpne_with_a_false_share=to("algorithm", "dpne"),
        lists_beside_a_false_share=all_of(
            at("lists", to={"exclude": {"count": 1, "salted_sha256": "ab" * 32}}),
            at("rests_on", to=lambda claims: [*claims, "the list exclude was not made from this data"]),
        ),
    ),
    *on(
        "candidates with counts",
        counts_of_a_list_with_less_noise=at(P, "counts", "sigma", to=times(0.9)),
        counts_of_a_list_in_no_budget=at("budget", "mu", to=times(0.93)),
    ),
]
