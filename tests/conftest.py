"""Every statement that a release makes while the tests run must be one that `dpsu verify` accepts.

Statements that tests build themselves, to be rejected, are none of them.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

import dpsu.run
from dpsu.statement import Statement
from dpsu.verify import verify


class Stated:
    """The statements that were made and are still to be verified, each content once."""

    def __init__(self) -> None:
        self.waiting: list[Statement] = []
        self.verified: set[str] = set()

    def watch(self, present: Callable[..., Any]) -> Callable[..., Any]:
        """`present` as before, which sees every release that is handed over."""

        def presented(names: Any, statement: Statement | None, warning: str | None) -> Any:
            if statement is not None:
                self.waiting.append(statement)
            return present(names, statement, warning)

        return presented

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
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dpsu.run, "present", record.watch(dpsu.run.present))
        yield record


@pytest.fixture(autouse=True)
def statements_are_verified(stated: Stated) -> Iterator[None]:
    yield
    rejected = stated.rejected()
    assert not rejected, "\n\n".join(rejected)
