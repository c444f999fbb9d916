"""`dpsu.report`: an HTML page about a promise."""

from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from dpsu.errors import InvalidArgument, SourceError
from dpsu.outcome.release import Release
from dpsu.outcome.statement import Statement
from dpsu.outcome.write import require_page, write_text

MALFORMED = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""Exceptions that malformed statements raise."""

FRAME_HEIGHT = 640


@dataclass(frozen=True, repr=False)
class Page:
    """An HTML page in one file, which needs no network. Notebooks show it in a frame; `save` writes it."""

    html: str

    def save(self, path: str | Path) -> None:
        """Write the page."""
        write_text(self.html, path)

    def __str__(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return f"<Page of {len(self.html):,} characters; save it to a file>"

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{escape(self.html)}" title="page" sandbox="allow-scripts allow-downloads" '
            f'style="width:100%;height:{FRAME_HEIGHT}px;box-sizing:border-box;border:1px solid #8888"></iframe>'
        )


def report(statement: Statement | Release | str | Path, path: str | Path | None = None) -> Page:
    """A page about a promise, for people who must judge it: who is protected, what was released, what is promised.

    `statement` is a statement, the path of one as JSON, or a release, whose page also says how many items it has. `path` is
    the file for the page, .html. Notebooks show the page that is returned. A statement that `dpsu.verify`
    rejects has none.

    >>> import dpsu
    >>> release = dpsu.release({n: ["bread"] for n in range(1000)}, epsilon=1, delta=1e-6, title="Baskets")
    >>> "Baskets" in dpsu.report(release.statement).html
    True
    """
    from dpsu.report.html import page

    if path is not None:
        require_page(path)
    stated, released = _stated(statement)
    if not isinstance(statement, Release):
        require_verified(statement, stated)
    try:
        made = Page(page(stated, released))
    except MALFORMED as error:
        raise SourceError("this is not a statement of dpsu: a field is missing or out of range.") from error
    if path is not None:
        made.save(path)
    return made


def read_statement(path: str | Path) -> Statement:
    """The statement in this file."""
    try:
        return Statement.from_json(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise SourceError(f"cannot read {path}: {error.strerror}.") from error
    except MALFORMED as error:
        raise SourceError(f"{path} is not a statement of dpsu.") from error


def require_verified(given: Statement | str | Path, stated: Statement) -> None:
    """Refuse a statement, or the file of one, whose promise does not follow; a void one promises nothing."""
    from dpsu.verification.verify import verify

    if stated.void or verify(given).ok:
        return
    name = "this statement" if isinstance(given, Statement) else given
    how = "dpsu.verify(statement)" if isinstance(given, Statement) else f"`dpsu verify {given}`"
    raise SourceError(f"{name} is rejected: its promise does not follow, as {how} shows in detail.")


def _stated(statement: Any) -> tuple[Statement, int | None]:
    """The statement, and the number of items where a release is at hand."""
    if isinstance(statement, Release):
        if statement.statement is None:
            raise InvalidArgument("this release promises nothing, so there is nothing to report.")
        return statement.statement, len(statement)
    if isinstance(statement, Statement):
        return statement, None
    if isinstance(statement, str | Path):
        return read_statement(statement), None
    raise InvalidArgument(f"report takes a statement, its file or a release, not {type(statement).__name__}.")
