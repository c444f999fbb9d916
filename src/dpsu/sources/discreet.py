"""Errors without data, neither in their own message nor in the errors behind them.

Messages of libraries and of callers' functions may quote a row. `raise … from None` only hides them: the error keeps
them as its `__context__`, where a logger or a debugger can find them.
"""

from collections.abc import Callable
from functools import wraps
from typing import NoReturn, ParamSpec, TypeVar

from dpsu.errors import DpsuError, SourceError

P = ParamSpec("P")
T = TypeVar("T")


def discreet(work: Callable[P, T], failed: str = "reading the data failed") -> Callable[P, T]:
    """Wrap a function so that its errors have no cause and no context.

    Errors of dpsu keep their messages, which contain no data. Any other error becomes a SourceError that says what
    `failed` and contains only the type of the error. The traceback is kept; it shows code and no values. Interrupts and
    MemoryError are not changed.
    """

    @wraps(work)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return work(*args, **kwargs)
        except BaseException as error:
            raise_alone(_without_data(error, failed))

    return run


def raise_alone(error: BaseException) -> NoReturn:
    """Raise the error without a cause or a context, also while another error is being handled."""
    try:
        raise error from None
    finally:
        error.__context__ = None
        del error  # the error refers to this frame; breaking the cycle frees the data with the error


def _without_data(error: BaseException, failed: str) -> BaseException:
    import polars as pl  # here, because a plan uses this module and reads nothing

    foreign = isinstance(error, Exception | pl.exceptions.PanicException)
    if foreign and not isinstance(error, DpsuError | MemoryError):
        alone = SourceError(f"{failed} with {type(error).__name__}")
        return alone.with_traceback(error.__traceback__)
    return error
