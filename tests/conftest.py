"""What holds in all tests: randomness repeats from run to run, and `dpsu verify` accepts what releases state.

Statements that tests build themselves, to be rejected, are not among these.
"""

import os
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import pytest
from fixed_keys import REAL, keys_of, next_stream
from mpmath import iv

import dpsu.run
from dpsu.outcome.statement import Statement
from dpsu.randomness.stream import Stream
from dpsu.verification import focused
from dpsu.verification.verify import verify

EXPLORES = os.environ.get("DPSU_HOSTILE") == "long"
"""The long fuzzing looks at new examples in every run; all other runs look at the same ones."""

if find_spec("hypothesis"):  # the environment of the Spark tests has none
    from hypothesis import HealthCheck, settings

    # No limits on time: a busy machine must not fail a test.
    untimed: Any = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
    settings.register_profile("repeats", derandomize=True, **untimed)
    settings.register_profile("explores", print_blob=True, **untimed)
    settings.load_profile("explores" if EXPLORES else "repeats")


def pytest_report_header() -> str:
    examples = "new in every run" if EXPLORES else "the same in every run"
    return f"keys of releases: the same in every run; examples of hypothesis: {examples}"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "real_keys: the test is about keys of the operating system")
    patch = pytest.MonkeyPatch()
    patch.setattr(Stream, "fresh", classmethod(next_stream))
    config.add_cleanup(patch.undo)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    with keys_of(REAL if item.get_closest_marker("real_keys") else item.nodeid):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Generator[None, Any, Any]:
    """A fixture that several tests share has keys of its own, whichever test comes first."""
    if fixturedef.scope == "function":
        return (yield)
    with keys_of(f"{fixturedef.baseid}::{fixturedef.argname} {request.param_index}"):
        return (yield)


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


def remembered(focused_new: Callable[..., bool]) -> Callable[..., bool]:
    """The same function, which works once for the same arguments and precision."""
    results: dict[Any, bool] = {}

    def same(parameters: Any, items: Any, limit: Any) -> bool:
        key = iv.prec, repr((parameters, items)), limit
        if key not in results:
            results[key] = focused_new(parameters, items, limit)
        return results[key]

    return same


@pytest.fixture(scope="session")
def stated() -> Iterator[Stated]:
    record = Stated()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dpsu.run, "present", record.watch(dpsu.run.present))
        # What takes longest in a verification; statements that differ elsewhere share it.
        patch.setattr(focused, "focused_new", remembered(focused.focused_new))
        yield record


@pytest.fixture(autouse=True)
def statements_are_verified(stated: Stated) -> Iterator[None]:
    yield
    rejected = stated.rejected()
    assert not rejected, "\n\n".join(rejected)
