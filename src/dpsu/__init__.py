"""Differentially private set union: the items that many users share, and nothing that points at one of them."""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpsu import datasets as datasets
    from dpsu import testing as testing
    from dpsu.algorithms import list_algorithms as algorithms
    from dpsu.algorithms.focused import Focus as Focus
    from dpsu.algorithms.policy import Policy as Policy
    from dpsu.compare import compare as compare
    from dpsu.errors import CuratorNote as CuratorNote
    from dpsu.errors import DpsuError as DpsuError
    from dpsu.errors import EmptyRelease as EmptyRelease
    from dpsu.errors import WeakPrivacy as WeakPrivacy
    from dpsu.ledger import Ledger as Ledger
    from dpsu.ngrams import ngrams as ngrams
    from dpsu.plan import Plan as Plan
    from dpsu.plan import plan as plan
    from dpsu.policy_check import check_policy as check_policy
    from dpsu.release import release as release
    from dpsu.result import Release as Release
    from dpsu.statement import Statement as Statement
    from dpsu.tune import Tuned as Tuned
    from dpsu.tune import tune as tune
    from dpsu.verify import verify as verify
    from dpsu.version import __version__ as __version__

_HOMES = {
    "DpsuError": "dpsu.errors:DpsuError",
    "CuratorNote": "dpsu.errors:CuratorNote",
    "EmptyRelease": "dpsu.errors:EmptyRelease",
    "WeakPrivacy": "dpsu.errors:WeakPrivacy",
    "Focus": "dpsu.algorithms.focused:Focus",
    "Ledger": "dpsu.ledger:Ledger",
    "Plan": "dpsu.plan:Plan",
    "Policy": "dpsu.algorithms.policy:Policy",
    "Release": "dpsu.result:Release",
    "Statement": "dpsu.statement:Statement",
    "Tuned": "dpsu.tune:Tuned",
    "__version__": "dpsu.version:__version__",
    "algorithms": "dpsu.algorithms:list_algorithms",
    "check_policy": "dpsu.policy_check:check_policy",
    "compare": "dpsu.compare:compare",
    "datasets": "dpsu.datasets:",
    "ngrams": "dpsu.ngrams:ngrams",
    "plan": "dpsu.plan:plan",
    "release": "dpsu.release:release",
    "testing": "dpsu.testing:",
    "tune": "dpsu.tune:tune",
    "verify": "dpsu.verify:verify",
}

__all__ = [  # noqa: RUF022
    "release", "ngrams", "plan", "compare", "tune", "algorithms", "check_policy", "verify", "Release", "Statement",
    "Ledger", "Plan", "Policy", "Focus", "Tuned", "DpsuError", "EmptyRelease", "WeakPrivacy", "CuratorNote",
    "datasets", "testing", "__version__",
]  # fmt: skip


class _LazyPackage(ModuleType):
    """Fetches public names on first use: numba and polars cost a second that a plain import should not."""

    def __getattr__(self, name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module 'dpsu' has no attribute {name!r}")
        module, _, attribute = _HOMES[name].partition(":")
        home = import_module(module)
        value = getattr(home, attribute) if attribute else home
        super().__setattr__(name, value)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        # Importing dpsu.release binds the module to the name of the public function; the function stays.
        if not (isinstance(value, ModuleType) and _HOMES.get(name, ":").partition(":")[2]):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return list(__all__)


sys.modules[__name__].__class__ = _LazyPackage
