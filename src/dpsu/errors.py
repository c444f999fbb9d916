"""One family of errors: each says what is wrong, why it matters for privacy where it does, and what to do."""


class DpsuError(Exception):
    """Base of every error that dpsu raises on purpose; `exit_code` is what the command returns for it."""

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
    """Nothing was released; the message says how many users must share an item."""


class WeakPrivacy(UserWarning):
    """Epsilon or delta is so large that the promise means little."""


class CuratorNote(UserWarning):
    """Something about the data that its curator should look at. For the curator's eyes only: it depends on the data."""
