"""The algorithms: one file per family, what they have in common, and what is built from them."""

import sys
from types import ModuleType
from typing import NoReturn


class _Algorithms(ModuleType):
    """This package; 0.1 had a function of its name."""

    def __call__(self) -> NoReturn:
        from dpsu.errors import InvalidArgument

        raise InvalidArgument("dpsu.algorithms() is called dpsu.list_algorithms() since 0.2.")


sys.modules[__name__].__class__ = _Algorithms
