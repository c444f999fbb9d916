"""How a file is laid out, where its ending does not say so, and which query reads a database."""

from dataclasses import dataclass

from dpsu.errors import InvalidArgument


@dataclass(frozen=True)
class Layout:
    """Encoding and separator of text files, the sheet of a workbook, or the query for a database."""

    encoding: str | None = None
    separator: str | None = None
    sheet: str | None = None
    query: str | None = None

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is not None and not isinstance(value, str):
                raise InvalidArgument(f"{name} must be a string, not {type(value).__name__}.")
        if self.encoding is not None:
            try:
                "".encode(self.encoding)  # codecs know encodings that are not of text, such as hex
            except (LookupError, ValueError):
                raise InvalidArgument(
                    f"there is no encoding {self.encoding!r}; common ones are utf-8, cp1252 and utf-16."
                ) from None
        if self.separator is not None and (len(self.separator) != 1 or not self.separator.isascii()):
            raise InvalidArgument("separator must be one ASCII character, such as ';'.")
        if self.query is not None and not self.query.strip():
            raise InvalidArgument("query is empty; give a SELECT statement.")

    def require_only_query(self, format: str | None) -> None:
        """A database has neither a format nor an encoding."""
        if format or self.encoding or self.separator or self.sheet:
            raise InvalidArgument("format=, encoding=, separator= and sheet= are for files, not for a query")


PLAIN = Layout()
