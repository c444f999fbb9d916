"""Schema 1, which 0.1 wrote: read into the form of schema 2, and checked by its own keys and words.

It has no kinds: what a release is shows in its parameters, and the algorithm's name tells it once more. A policy of the
caller's is called by its own name, and `rests_on` has nothing but claims about such policies.
"""

from collections.abc import Mapping
from typing import Any

from dpsu.verification.candidates import CANDIDATES
from dpsu.verification.checks import Check, Fields, listed, only
from dpsu.verification.levels import FALSE_SHARE
from dpsu.verification.levels import PROOF as LEVELS
from dpsu.verification.mechanism import FAMILIES, OF_COUNTS, TAKEN
from dpsu.verification.policies import ORDERED, OWN
from dpsu.verification.schemas import Schema
from dpsu.verification.tuned import MOST_SETTINGS, OF_EITHER, OF_WAY
from dpsu.verification.tuned import PROOF as TUNING

NAMES = (
    *("schema", "epsilon", "delta", "algorithm", "calibration", "max_items", "parameters", "budget", "proof"),
    *("unit", "noise_source", "rests_on", "not_covered", "void", "released_sha256", "version", "digest"),
)

OF_A_TRIAL = ("algorithm", "calibration", "max_items", "parameters", "epsilon", "delta", "budget", "rests_on")
OF_THE_RELEASE = ("budget", "rests_on")

TUNED = ", tuned"


def form(fields: Fields) -> list[Check]:
    """Nothing else is pinned in schema 1."""
    return []


def read(fields: Fields) -> tuple[Fields, list[str]]:
    """The promise in the terms of schema 2, and the claims that it rests on."""
    parameters = only_object(fields["parameters"])
    if "counts" in parameters:
        only(parameters["counts"], OF_COUNTS, "counts", optional=TAKEN)
    if "tuning" in parameters:
        return _tuned(fields)
    if "levels" in parameters:
        return _in_levels(fields), []
    promise = _single(fields)
    if _counts_users(fields):
        promise["proof"] = _proof(promise["algorithm"]) if fields["proof"] == LEVELS else None
    return promise, _claims(promise)


def _counts_users(fields: Fields) -> bool:
    """Whether users are counted as well: 0.1 did so for its vectorizer alone, and named the proof of levels for it."""
    counts = fields["parameters"].get("counts")
    return isinstance(counts, Mapping) and counts.get("squared_sensitivity") != fields["max_items"]


def only_object(value: Any) -> Mapping[str, Any]:
    """A JSON object."""
    if not isinstance(value, Mapping):
        raise ValueError(f"{value!r} is not an object")
    return value


def _single(fields: Fields) -> dict[str, Any]:
    """One mechanism; if it rests on a claim, it is a policy of the caller's."""
    promise = {name: fields[name] for name in OF_A_TRIAL if name != "rests_on"} | {"kind": "single"}
    claims = listed(fields["rests_on"], "rests_on", 1, 0)
    if claims:
        norm = 2 if only_object(fields["parameters"]).get("noise") == "gaussian" else 1
        own = {"policy": fields["algorithm"], "norm": norm}
        promise |= {"algorithm": OWN, "parameters": {**fields["parameters"], **own}}
    elif fields["algorithm"] in (OWN, ORDERED, "auto"):
        raise ValueError(f"schema 1 has no algorithm {fields['algorithm']!r}")
    if CANDIDATES in only_object(fields["parameters"]):
        raise ValueError("schema 1 has no candidates")
    return {**promise, "proof": fields.get("proof", _proof(promise["algorithm"])), "ngrams": None}


def _proof(algorithm: Any) -> str | None:
    """Where the proof of an algorithm is: trials of schema 1 do not say."""
    families = FAMILIES.get(algorithm, {}) if isinstance(algorithm, str) else {}
    return next((family.proof for family in families.values()), None)


def _claims(*promises: Fields) -> list[str]:
    """What is claimed of the caller's policies, in the words of schema 1, each once and in this order."""
    told = {
        f"that the policy {each['parameters']['policy']!r} is ℓ{each['parameters']['norm']}-contractive"
        + (" and symmetric" if each["parameters"]["symmetric"] else ""): None
        for each in promises
        if each["algorithm"] == OWN
    }
    return [*told]


def _in_levels(fields: Fields) -> dict[str, Any]:
    levels = listed(fields["parameters"]["levels"], "levels", 16)
    if FALSE_SHARE in fields["parameters"]:
        raise ValueError("schema 1 has no false_share")
    method, _, rest = str(fields["algorithm"]).partition(" in ")
    if rest != f"{len(levels)} levels of n-grams":
        raise ValueError(f"{fields['algorithm']!r} does not have {len(levels)} levels")
    promise = {name: fields[name] for name in OF_A_TRIAL if name != "rests_on"}
    sizes = [*range(1, len(levels) + 1)]
    return {**promise, "kind": "levels", "algorithm": method, "proof": fields["proof"], "ngrams": sizes}


def _tuned(fields: Fields) -> tuple[Fields, list[str]]:
    """Trials and the mechanism that released as small statements; the latter's numbers are those of the whole."""
    parameters, algorithm = dict(fields["parameters"]), str(fields["algorithm"])
    tuning = only_object(parameters.pop("tuning"))
    if "counts" in parameters:
        raise ValueError("schema 1 has no counts beside tuned releases")
    if tuning.get("way") not in OF_WAY or not algorithm.endswith(TUNED):
        raise ValueError(f"{algorithm!r} does not say how its setting was tuned")
    only(tuning, (*OF_EITHER, *OF_WAY[tuning["way"]]), "tuning")
    trials = [_trial(trial) for trial in listed(tuning["trials"], "trials", MOST_SETTINGS)]
    # On a part the release has the privacy of the whole; a selection releases a trial as it was.
    privacy = fields if tuning["way"] == "part" else trials[0]
    release = _single(
        {
            **only(tuning["release"], OF_THE_RELEASE, "release"),
            **{name: fields[name] for name in ("calibration", "max_items")},
            **{name: privacy[name] for name in ("epsilon", "delta")},
            "algorithm": algorithm.removesuffix(TUNED),
            "parameters": parameters,
        }
    )
    release.pop("ngrams")
    if fields["proof"] != f"{TUNING}, {release['proof']}":
        raise ValueError(f"the proof is not in {fields['proof']!r}")
    promise = {
        "kind": "tuned",
        **{name: fields[name] for name in ("epsilon", "delta", "calibration", "max_items", "budget")},
        "algorithm": release["algorithm"],
        "parameters": {"tuning": {**tuning, "trials": trials, "release": release}},
        "proof": TUNING,
        "ngrams": None,
    }
    return promise, _claims(*trials, release)


def _trial(trial: Any) -> dict[str, Any]:
    """A trial as a small statement, its claims those of its policy."""
    promise = _single(only(trial, OF_A_TRIAL, "a trial"))
    if _claims(promise) != trial["rests_on"]:
        raise ValueError(f"a trial rests on {trial['rests_on']!r}")
    promise.pop("ngrams")
    return promise


SCHEMA_1 = Schema(
    names=NAMES,
    unit="one user, added or removed",
    noise_source=(
        "ChaCha20 under a fresh 256-bit key of the operating system; every draw is rounded to a grid exactly as "
        "its ideal would be"
    ),
    not_covered=(
        "replacing one user by another (two steps of the unit)",
        "anything about items that are not in the output, except that they are not in it",
        "other releases over the same users: their budgets add up",
        "users whose data says much about each other, unless they are one user in the column given",
        "time, memory and other traces of the machine that ran the release",
    ),
    version=r"0\.1\.\d+",
    form=form,
    read=read,
)
