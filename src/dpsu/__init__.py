"""Differentially private set union: the items that many users share, and nothing that points at one of them.

`__all__` is the public interface. All other modules and names are internal and may change at any time.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpsu import datasets as datasets
    from dpsu import testing as testing
    from dpsu.algorithms.auto import Auto as Auto
    from dpsu.algorithms.catalogue import list_algorithms as list_algorithms
    from dpsu.algorithms.count import CountGaussian as CountGaussian
    from dpsu.algorithms.count import CountLaplace as CountLaplace
    from dpsu.algorithms.dp_sips import DpSips as DpSips
    from dpsu.algorithms.focused import FocusedGaussian as FocusedGaussian
    from dpsu.algorithms.holders import Counts as Counts
    from dpsu.algorithms.k_anonymity import KAnonymity as KAnonymity
    from dpsu.algorithms.mad import Mad as Mad
    from dpsu.algorithms.mad import Mad2r as Mad2r
    from dpsu.algorithms.optimal_single import OptimalSingle as OptimalSingle
    from dpsu.algorithms.ordered import OrderedLaplace as OrderedLaplace
    from dpsu.algorithms.policy import Policy as Policy
    from dpsu.algorithms.policy import PolicyGaussian as PolicyGaussian
    from dpsu.algorithms.policy import PolicyGaussianL1 as PolicyGaussianL1
    from dpsu.algorithms.policy import PolicyLaplace as PolicyLaplace
    from dpsu.algorithms.weighted import WeightedGaussian as WeightedGaussian
    from dpsu.algorithms.weighted import WeightedLaplace as WeightedLaplace
    from dpsu.api.compare import compare as compare
    from dpsu.api.ngrams import ngrams as ngrams
    from dpsu.api.plan import Plan as Plan
    from dpsu.api.plan import plan as plan
    from dpsu.api.release import release as release
    from dpsu.api.report import report as report
    from dpsu.api.series import Series as Series
    from dpsu.api.tune import Tuned as Tuned
    from dpsu.api.tune import tune as tune
    from dpsu.errors import CuratorNote as CuratorNote
    from dpsu.errors import DpsuError as DpsuError
    from dpsu.errors import EmptyRelease as EmptyRelease
    from dpsu.errors import WeakPrivacy as WeakPrivacy
    from dpsu.outcome.ledger import Ledger as Ledger
    from dpsu.outcome.release import Release as Release
    from dpsu.outcome.statement import Statement as Statement
    from dpsu.planning.shape import Shape as Shape
    from dpsu.policies.check import check_policy as check_policy
    from dpsu.privacy.budget import Budget as Budget
    from dpsu.verification.verify import verify as verify
    from dpsu.version import __version__ as __version__

_HOMES = {
    "dpsu.algorithms.auto": ["Auto"],
    "dpsu.algorithms.catalogue": ["list_algorithms"],
    "dpsu.algorithms.count": ["CountGaussian", "CountLaplace"],
    "dpsu.algorithms.dp_sips": ["DpSips"],
    "dpsu.algorithms.focused": ["FocusedGaussian"],
    "dpsu.algorithms.holders": ["Counts"],
    "dpsu.algorithms.k_anonymity": ["KAnonymity"],
    "dpsu.algorithms.mad": ["Mad", "Mad2r"],
    "dpsu.algorithms.optimal_single": ["OptimalSingle"],
    "dpsu.algorithms.ordered": ["OrderedLaplace"],
    "dpsu.algorithms.policy": ["Policy", "PolicyGaussian", "PolicyGaussianL1", "PolicyLaplace"],
    "dpsu.algorithms.weighted": ["WeightedGaussian", "WeightedLaplace"],
    "dpsu.api.compare": ["compare"],
    "dpsu.api.ngrams": ["ngrams"],
    "dpsu.api.plan": ["Plan", "plan"],
    "dpsu.api.release": ["release"],
    "dpsu.api.report": ["report"],
    "dpsu.api.series": ["Series"],
    "dpsu.api.tune": ["Tuned", "tune"],
    "dpsu.errors": ["CuratorNote", "DpsuError", "EmptyRelease", "WeakPrivacy"],
    "dpsu.outcome.ledger": ["Ledger"],
    "dpsu.outcome.release": ["Release"],
    "dpsu.outcome.statement": ["Statement"],
    "dpsu.planning.shape": ["Shape"],
    "dpsu.policies.check": ["check_policy"],
    "dpsu.privacy.budget": ["Budget"],
    "dpsu.verification.verify": ["verify"],
    "dpsu.version": ["__version__"],
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

_RENAMED = {"Focus": "FocusedGaussian"}

__all__ = [  # noqa: RUF022
    "release", "ngrams", "plan", "compare", "tune", "list_algorithms", "check_policy", "verify", "report",
    "Release", "Statement", "Budget", "Ledger", "Plan", "Shape", "Series", "Tuned", "Counts",
    "Auto", "CountLaplace", "CountGaussian", "WeightedLaplace", "WeightedGaussian", "PolicyLaplace", "PolicyGaussian",
    "PolicyGaussianL1", "Policy", "OrderedLaplace", "FocusedGaussian", "DpSips", "Mad", "Mad2r", "OptimalSingle",
    "KAnonymity",
    "DpsuError", "EmptyRelease", "WeakPrivacy", "CuratorNote",
    "datasets", "testing", "__version__",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import public names on first use (PEP 562): numba and polars cost a second that a plain import should not."""
    if name in ("algorithms", "datasets", "testing"):
        return import_module(f"dpsu.{name}")
    if name in _RENAMED:
        raise AttributeError(f"dpsu.{name} is called dpsu.{_RENAMED[name]} now")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'dpsu' has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
