"""The errors of dpsu: each says what is wrong, why it matters for privacy if it does, and what to do."""


class DpsuError(Exception):
    """Base of every error that dpsu raises on purpose; `exit_code` is what the command returns for it.

    >>> import dpsu
    >>> try:
    ...     dpsu.plan(epsilon=-1, delta=1e-6)
    ... except dpsu.DpsuError as error:
    ...     print(error.exit_code)
    2
    """

    exit_code = 1


class InvalidArgument(DpsuError, ValueError):
    """An argument has a value that is not allowed."""

    exit_code = 2


class ColumnNotFound(InvalidArgument):
    """The source has no column of this name."""


class NotPrivate(InvalidArgument):
    """An algorithm that is not private was requested without unsafe=True."""


class SourceError(DpsuError):
    """The data could not be read: a file is missing, or it does not have the format of its ending."""


class NullValues(SourceError):
    """A user or item is null. For the curator only: it depends on the data."""


class UnsupportedType(SourceError):
    """A column has a type that cannot identify users or items. For the curator only."""


class TooLarge(SourceError):
    """The data is too large for this engine or this calibration. For the curator only."""


class OutputError(DpsuError):
    """The result could not be written."""


class LedgerError(DpsuError):
    """The ledger refuses a run that would exceed its cap, or cannot be used."""


class SeriesError(DpsuError):
    """A series refuses a period, or its state cannot be used."""


class EmptyRelease(UserWarning):
    """Nothing was released; the message says how many users must share an item.

    >>> import dpsu, warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     empty = dpsu.release({"one user": ["secret"]}, epsilon=1, delta=1e-9)
    >>> len(empty), [issubclass(each.category, dpsu.EmptyRelease) for each in caught]
    (0, [True])
    """


class WeakPrivacy(UserWarning):
    """Epsilon or delta is so large that the promise means little.

    >>> import dpsu, warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     plan = dpsu.plan(epsilon=100, delta=1e-9)
    >>> [issubclass(each.category, dpsu.WeakPrivacy) for each in caught]
    [True]
    """


class CuratorNote(UserWarning):
    """Something about the data that its curator should check. It depends on the data: for the curator only.

    >>> import dpsu, polars, warnings
    >>> frame = polars.DataFrame({"user": range(1000), "code": ["A"] * 1000})
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     release = dpsu.release(frame, user="user", item="code", epsilon=1, delta=1e-6)
    >>> {each.category for each in caught} == {dpsu.CuratorNote}
    True
    """
