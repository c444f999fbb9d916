"""Pages, tables, charts and progress.

`dpsu.report` is also the public function of that name (`dpsu.api.report`): the package can be called, since an import of one
of its modules puts the package itself into the place of the function.

>>> import dpsu
>>> release = dpsu.release({n: ["bread"] for n in range(1000)}, epsilon=1, delta=1e-6, title="Baskets")
>>> "Baskets" in dpsu.report(release.statement).html
True
"""

import sys
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    """A package that can be called like the public function of its name."""

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        from dpsu.api.report import report

        return report(*arguments, **named)


sys.modules[__name__].__class__ = _Callable
