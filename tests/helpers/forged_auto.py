"""Forgeries of `auto`: the private steps, the sum over both branches, the rule, and the hint."""

from forging import Forgery, P, on, p, to
from honest import Fields, at, honest, plus, times, without

AUTO, HINT = "auto", "auto, hint"
WITH_COUNTS = "auto with counts, many items"


def chosen(*path: object, to: object):
    return at(P, "chosen", *path, to=to)


def _other_users(fields: Fields) -> None:
    """Sizes for which the rule chooses Focused Gaussian."""
    fields[P]["sizes"]["users"] = [0] * 9 + [10**6, 0]


def counts(*path: object, to: object):
    return at(P, "counts", *path, to=to)


def _cut_of_nobody(fields: Fields) -> None:
    """A smaller cut with the noise that belongs to it, said to follow from the sizes."""
    told = fields[P]["counts"]
    told["sigma"] *= (9 / told["max_items"]) ** 0.5
    told["max_items"] = told["squared_sensitivity"] = 9


def _hint_and_steps(fields: Fields) -> None:
    fields[P]["asked"]["typical_items"] = 3.0


def _steps_hidden(fields: Fields) -> None:
    """A private choice passes as one by a hint."""
    for name in ("popular", "sizes", "demand", "focused", "l1"):
        del fields[P][name]
    fields[P]["asked"]["typical_items"] = 3.0


def _listed_branch(fields: Fields) -> None:
    """Candidates of a branch, a list of which nothing is said or guaranteed."""
    fields[P]["chosen"] |= {name: honest("candidates")[name] for name in (P, "proof")}


FORGED_AUTO: list[Forgery] = [
    *on(
        AUTO,
        smaller_epsilon_of_auto=to("epsilon", times(0.99)),
        smaller_delta_of_auto=to("delta", times(0.99)),
        more_epsilon_for_popular_items=at(P, "popular", "epsilon", to=times(3)),
        less_stated_for_popular_items=at(P, "popular", "epsilon", to=times(0.5)),
        less_delta_stated_for_popular_items=at(P, "popular", "delta", to=times(0.9)),
        lower_threshold_of_popular_items=at(P, "popular", "threshold", to=times(0.9)),
        larger_kappa_of_popular_items=at(P, "popular", "kappa", to=times(1.1)),
        other_noise_of_popular_items=at(P, "popular", "noise", to="none"),
        negative_number_of_popular_items=at(P, "popular", "items", to=-1),
        number_of_popular_items_as_a_float=at(P, "popular", "items", to=3.0),
        number_of_popular_items_left_out=without(P, "popular", "items"),
        more_epsilon_for_sizes=at(P, "sizes", "epsilon", to=times(2)),
        no_epsilon_for_sizes=at(P, "sizes", "epsilon", to=0.0),
        other_bins=at(P, "sizes", "bins", 0, to=0),
        one_bin_less=at(P, "sizes", "users", to=lambda users: users[1:]),
        sizes_as_floats=at(P, "sizes", "users", to=lambda users: [0.5 + each for each in users]),
        sizes_that_choose_another_branch=_other_users,
        more_epsilon_for_the_demand=at(P, "demand", "epsilon", to=times(2)),
        less_stated_for_the_demand=at(P, "demand", "epsilon", to=0.0),
        demand_at_another_width=at(P, "demand", "width", to=plus(1)),
        demand_filled_earlier=at(P, "demand", "filled", to=times(0.9)),
        demand_as_a_float=at(P, "demand", "budgets", to=0.5),
        demand_left_out=without(P, "demand"),
        more_mu_in_the_gaussian_branch=at(P, "focused", "mu", to=times(1.01)),
        more_new_items_in_the_gaussian_branch=at(P, "focused", "delta_new", to=times(1.5)),
        more_epsilon_in_the_l1_branch=at(P, "l1", "epsilon", to=plus(0.01)),
        more_delta_in_the_l1_branch=at(P, "l1", "delta", to=times(1.1)),
        less_than_the_branch_spends=at(P, "l1", "epsilon", to=times(0.9)),
        branch_of_larger_epsilon=chosen("epsilon", to=times(1.1)),
        branch_with_another_cutoff=chosen("parameters", "kappa", to=times(1.1)),
        branch_with_another_max_items=chosen("max_items", to=10),
        branch_with_another_alpha=chosen("parameters", "alpha", to=3.0),
        branch_that_the_rule_does_not_choose=chosen("algorithm", to="policy-laplace"),
        branch_that_no_rule_knows=chosen("algorithm", to="weighted-laplace"),
        branch_left_out=without(P, "chosen"),
        branch_in_a_public_order=chosen("parameters", "item_order", to="public"),
        other_number_of_parts=p("parts", 8),
        another_rule=p("rule", "auto/0"),
        max_items_that_nobody_asked_for=at(P, "asked", "max_items", to=10),
        hint_beside_private_steps=_hint_and_steps,
        private_steps_hidden=_steps_hidden,
        budget_of_a_private_choice=to("budget", {"mu": 0.1, "delta_new": 1e-9}),
        paper_calibration_of_auto=to("calibration", "paper"),
        unknown_step=p("more", 1),
    ),
    *on(
        "auto, many items",
        gaussian_branch_of_larger_epsilon=chosen("epsilon", to=times(1.1)),
        gaussian_branch_of_larger_delta=chosen("delta", to=times(1.1)),
        less_than_the_gaussian_branch_spends=at(P, "focused", "mu", to=times(0.99)),
        sizes_that_choose_the_l1_branch=at(P, "sizes", "users", to=[10**6] + [0] * 10),
        demand_that_chooses_the_l1_branch=at(P, "demand", "budgets", to=0),
    ),
    *on(
        HINT,
        hint_that_chooses_another_branch=at(P, "asked", "typical_items", to=100.0),
        hint_left_out=at(P, "asked", "typical_items", to=None),
        branch_of_a_hint_in_a_public_order=chosen("parameters", "item_order", to="public"),
        hint_below_one=at(P, "asked", "typical_items", to=0.5),
        claim_about_the_hint_left_out=to("rests_on", lambda claims: claims[:-1]),
        smaller_epsilon_of_a_hint=to("epsilon", times(0.5)),
    ),
    *on(
        "auto, hint of many",
        smaller_budget_of_a_hint=at("budget", "mu", to=times(0.99)),
        no_budget_of_a_hint=to("budget", None),
        branch_with_candidates_that_nobody_named=_listed_branch,
    ),
    *on(
        WITH_COUNTS,
        counts_of_a_branch_with_less_noise=counts("sigma", to=times(0.9)),
        sums_of_a_branch_with_less_noise=counts("sums", 0, "sigma", to=times(0.9)),
        others_of_a_branch_with_less_noise=counts("others", "sigma", to=times(0.9)),
        counts_beside_the_gaussian_branch_apart=counts(
            to=lambda told: {**told, "epsilon": 0.27, "delta": 0.27e-6}
        ),
        counts_of_a_branch_with_another_share=counts("share", to=0.5),
        branch_that_leaves_nothing_to_counts=chosen("budget", "mu", to=times(1.1)),
        less_than_the_branch_and_its_counts_spend=at(P, "focused", "mu", to=times(0.99)),
        cut_that_the_sizes_do_not_give=_cut_of_nobody,
        cut_from_somewhere=counts("cut", to="the data"),
        sizes_that_give_another_cut=at(P, "sizes", "users", to=[0] * 5 + [10**6] + [0] * 5),
    ),
    *on(
        "auto with counts, few items",
        counts_of_the_l1_branch_with_less_noise=counts("sigma", to=times(0.9)),
        counts_of_the_l1_branch_for_free=counts(
            to=lambda told: {name: told[name] for name in told if name not in ("epsilon", "delta")}
        ),
        counts_of_the_l1_branch_that_take_less=counts("epsilon", to=times(0.5)),
        counts_of_the_l1_branch_that_take_less_delta=counts("delta", to=times(0.5)),
        l1_branch_that_leaves_nothing_to_counts=chosen("epsilon", to=times(1.1)),
    ),
    *on(
        "auto with counts, hint",
        cut_from_sizes_that_nobody_saw=counts("cut", to="sizes"),
        counts_beside_a_hint_with_less_noise=counts("sigma", to=times(0.9)),
        counts_beside_a_hint_for_free=counts(
            to=lambda told: {name: told[name] for name in told if name not in ("epsilon", "delta")}
        ),
    ),
    *on(
        "auto with counts, hint of many",
        shared_counts_beside_a_hint_with_less_noise=counts("sigma", to=times(0.9)),
        smaller_budget_of_a_hint_with_counts=at("budget", "mu", to=times(0.97)),
        larger_budget_of_a_hint_with_counts=at("budget", "mu", to=times(1.2)),
        smaller_epsilon_of_a_hint_with_counts=to("epsilon", times(0.9)),
    ),
    *on("counts beside focused", cut_from_sizes_of_no_auto=counts("cut", to="sizes")),
]
