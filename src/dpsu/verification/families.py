"""Which family checks an algorithm, and what a statement must have before one can."""

from functools import partial

from dpsu.verification.checks import MOST_ITEMS, Check, Family, Fields, is_number, is_whole
from dpsu.verification.curves import curve, single
from dpsu.verification.focused import focused, levels
from dpsu.verification.gaussian import dp_sips, gaussian, mad2r, mad_slack, one_sum, policy
from dpsu.verification.intervals import exact

LARGEST_EPSILON = 1e6

FAMILIES: dict[str, Family] = {
    "count-gaussian": partial(gaussian, lambda fields: one_sum(fields, "count", exact(0))),
    "weighted-gaussian": partial(gaussian, lambda fields: one_sum(fields, "all", exact(0))),
    "policy-gaussian": partial(gaussian, policy),
    "mad": partial(gaussian, lambda fields: one_sum(fields, "all", mad_slack(fields))),
    "mad2r": partial(gaussian, mad2r),
    "dp-sips": partial(gaussian, dp_sips),
    "focused-gaussian": partial(gaussian, focused),
    "count-laplace": curve,
    "weighted-laplace": curve,
    "policy-laplace": curve,
    "optimal-single": single,
}


def family_of(fields: Fields) -> Family | None:
    """How to check this algorithm; what rests on a claim of the caller's is a policy of their own."""
    parameters = fields.get("parameters")
    if not isinstance(parameters, dict):
        return None
    if "levels" in parameters:
        return None if fields.get("rests_on") else partial(gaussian, levels)
    if fields.get("rests_on"):
        return partial(gaussian, policy) if parameters.get("noise") == "gaussian" else curve
    return FAMILIES.get(str(fields.get("algorithm")))


def well_formed(fields: Fields) -> list[Check]:
    """What a promise needs: epsilon, delta and max_items in their ranges, and claims that can be read."""
    epsilon, delta, items, claims = (
        fields.get(name) for name in ("epsilon", "delta", "max_items", "rests_on")
    )
    in_range = is_number(epsilon) and is_number(delta) and 0 < epsilon < LARGEST_EPSILON and 0 < delta < 1
    legible = isinstance(claims, list) and all(isinstance(claim, str) and claim.strip() for claim in claims)
    return [
        Check("epsilon and delta", in_range, f"({epsilon}, {delta})"),
        Check("max_items", is_whole(items, MOST_ITEMS), str(items)),
        Check("claims", legible, "none" if claims == [] else str(claims)),
    ]
