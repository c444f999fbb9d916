"""Forgeries of tuned releases, and of statements of 0.1."""

import math

from forging import CHEAP, PART, SELECTION, Forgery, P, on, p, to, trial, tuning
from honest import Change, Fields, all_of, at, honest, plus, single, times, without

import dpsu
from dpsu.algorithms.candidate_list import read_candidates
from dpsu.algorithms.candidates import WithCandidates


def _without_counts_in_budget(fields: Fields) -> None:
    fields["budget"]["mu"] = 1 / fields[P]["sigma"]


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


def _listed_trial(fields: Fields) -> None:
    """A trial with candidates, a list of which nothing is said or guaranteed."""
    told = fields[P]["tuning"]
    before = told["trials"][2]
    items = WithCandidates(dpsu.FocusedGaussian(), read_candidates(["a", "b"]), 0.01)
    made = single(items, before["epsilon"], before["delta"], 3).to_dict()
    told["trials"][2] = {name: made[name] for name in before}
    told["settings"][2] = {"algorithm": "focused-gaussian", "max_items": 3}


def _two_policies_of_one_name(fields: Fields) -> None:
    """Two policies of one name, of which one is claimed."""
    told = fields[P]["tuning"]
    name = told["trials"][0][P]["policy"]
    told["trials"][1][P]["policy"] = told["settings"][1]["algorithm"] = name
    fields["rests_on"] = fields["rests_on"][:2]


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
        trial_with_candidates_that_nobody_named=_listed_trial,
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


def _new(name: str) -> Change:
    """A release that 0.1 could not make, in the form and the words of 0.1, which has no claims about it."""

    def change(fields: Fields) -> None:
        new = honest(name)
        fields |= {
            each: new[each]
            for each in ("algorithm", "calibration", "epsilon", "delta", "max_items", P, "budget", "proof")
        }
        if new["kind"] == "levels":
            fields["algorithm"] += f" in {len(new[P]['levels'])} levels of n-grams"

    return change


def _of_0_1(base: str, **ideas: Change) -> list[Forgery]:
    return on(f"0.1: {base}", **ideas)


OLD = [
    *_of_0_1(
        "weighted-gaussian",
        old_statement_with_a_title=to("title", "words"),
        old_statement_of_a_new_version=to("version", "0.2.0"),
        old_statement_by_an_own_policy=to("algorithm", "own-policy"),
        old_statement_in_order=_new("ordered-laplace, public order"),
        old_statement_of_auto=_new("auto"),
        old_statement_with_a_hint=_new("auto, hint"),
        old_statement_with_candidates=_new("candidates"),
        old_statement_of_candidates_only=_new("candidates only"),
        old_statement_with_sums=_new("sums and others"),
        old_statement_of_levels_with_a_false_share=_new("levels with false_share"),
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
