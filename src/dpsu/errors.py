"""The errors of dpsu: each says what is wrong, why it matters for privacy if it does, and what to do."""


class DpsuError(Exception):
    """Base class of the errors of dpsu; `exit_code` is the exit code of the command."""

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


class EmptyRelease(UserWarning):
    """Nothing was released; the message says how many users must share an item."""


class WeakPrivacy(UserWarning):
    """Epsilon or delta is so large that the promise is weak."""


class CuratorNote(UserWarning):
    """A note about the data for the curator only: it depends on the data."""
