"""Differentially private set union: the items that many users share, and nothing that points at one of them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpsu import datasets as datasets
    from dpsu import testing as testing
    from dpsu.algorithms.catalogue import list_algorithms as list_algorithms
    from dpsu.algorithms.focused import Focus as Focus
    from dpsu.algorithms.policy import Policy as Policy
    from dpsu.api.compare import compare as compare
    from dpsu.api.ngrams import ngrams as ngrams
    from dpsu.api.plan import Plan as Plan
    from dpsu.api.plan import plan as plan
    from dpsu.api.release import release as release
    from dpsu.api.tune import Tuned as Tuned
    from dpsu.api.tune import tune as tune
    from dpsu.errors import CuratorNote as CuratorNote
    from dpsu.errors import DpsuError as DpsuError
    from dpsu.errors import EmptyRelease as EmptyRelease
    from dpsu.errors import WeakPrivacy as WeakPrivacy
    from dpsu.outcome.ledger import Ledger as Ledger
    from dpsu.outcome.release import Release as Release
    from dpsu.outcome.statement import Statement as Statement
    from dpsu.policies.check import check_policy as check_policy
    from dpsu.verification.verify import verify as verify
    from dpsu.version import __version__ as __version__

_HOMES = {
    "CuratorNote": "dpsu.errors",
    "DpsuError": "dpsu.errors",
    "EmptyRelease": "dpsu.errors",
    "Focus": "dpsu.algorithms.focused",
    "Ledger": "dpsu.outcome.ledger",
    "Plan": "dpsu.api.plan",
    "Policy": "dpsu.algorithms.policy",
    "Release": "dpsu.outcome.release",
    "Statement": "dpsu.outcome.statement",
    "Tuned": "dpsu.api.tune",
    "WeakPrivacy": "dpsu.errors",
    "__version__": "dpsu.version",
    "check_policy": "dpsu.policies.check",
    "compare": "dpsu.api.compare",
    "list_algorithms": "dpsu.algorithms.catalogue",
    "ngrams": "dpsu.api.ngrams",
    "plan": "dpsu.api.plan",
    "release": "dpsu.api.release",
    "tune": "dpsu.api.tune",
    "verify": "dpsu.verification.verify",
}

__all__ = [  # noqa: RUF022
    "release", "ngrams", "plan", "compare", "tune", "list_algorithms", "check_policy", "verify", "Release", "Statement",
    "Ledger", "Plan", "Policy", "Focus", "Tuned", "DpsuError", "EmptyRelease", "WeakPrivacy", "CuratorNote",
    "datasets", "testing", "__version__",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import public names on first use (PEP 562): numba and polars cost a second that a plain import should not."""
    if name in ("algorithms", "datasets", "testing"):
        return import_module(f"dpsu.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'dpsu' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
