"""One family of errors: each says what is wrong, why it matters for privacy where it does, and what to do."""


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
    """An argument has a value that the call cannot work with."""

    exit_code = 2


class ColumnNotFound(InvalidArgument):
    """The source has no column of that name."""


class NotPrivate(InvalidArgument):
    """An algorithm without a privacy guarantee was asked for without consent."""


class SourceError(DpsuError):
    """The data could not be read: a missing file, or one that is not what its ending says."""


class NullValues(SourceError):
    """A user or item is null. For the curator's eyes only: it depends on the data."""


class UnsupportedType(SourceError):
    """A column has a type that cannot name users or items. For the curator's eyes only."""


class TooLarge(SourceError):
    """The data is larger than this engine or this calibration can take. For the curator's eyes only."""


class OutputError(DpsuError):
    """The result could not be written."""


class LedgerError(DpsuError):
    """The ledger refuses a release that would pass its cap, or cannot be used."""


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
