"""Every statement that a release makes while the tests run must be one that `dpsu verify` accepts.

Statements that tests build themselves, to be rejected, are none of them.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from typing import Any

import pytest

from dpsu.statement import Statement
from dpsu.verify import verify

MAKERS = (("dpsu.release", "state"), ("dpsu.tune", "_state"), ("dpsu.ngrams", "Statement"))
"""Where releases get their statements from."""

OF_AN_EXTRA = ("dpsu.interop.sklearn", "Statement")


class Stated:
    """The statements that were made and are still to be verified, each content once."""

    def __init__(self) -> None:
        self.waiting: list[Statement] = []
        self.verified: set[str] = set()

    def recorded(self, make: Callable[..., Statement | None]) -> Callable[..., Statement | None]:
        def made(*args: Any, **how: Any) -> Statement | None:
            statement = make(*args, **how)
            if statement is not None:
                self.waiting.append(statement)
            return statement

        return made

    def rejected(self) -> list[str]:
        """Verify what waits. A seed voids a statement, but its numbers must be right all the same."""
        waiting, self.waiting = self.waiting, []
        plain = {
            fields["digest"]: fields
            for fields in (replace(stated, void=None).to_dict() for stated in waiting)
        }
        new = [fields for digest, fields in plain.items() if digest not in self.verified]
        self.verified |= {*plain}
        return [str(found) for found in map(verify, new) if not found.ok]


@pytest.fixture(scope="session")
def stated() -> Iterator[Stated]:
    record = Stated()
    makers = [*MAKERS, *([OF_AN_EXTRA] if OF_AN_EXTRA[0] in sys.modules else [])]
    with pytest.MonkeyPatch.context() as patch:
        for module, name in makers:
            patch.setattr(import_module(module), name, record.recorded(getattr(import_module(module), name)))
        yield record


@pytest.fixture(autouse=True)
def statements_are_verified(stated: Stated) -> Iterator[None]:
    yield
    rejected = stated.rejected()
    assert not rejected, "\n\n".join(rejected)
