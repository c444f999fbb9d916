"""The stages of a job that runs on workers: one of them tells the driver, by Arrow Flight.

Its calls are encrypted and let in as those of peers are (`flight`). Telling is best effort: a driver that cannot be reached
changes nothing, and after one failure nothing more is told.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

from dpsu.algorithms.job import Tell, silent
from dpsu.engines.spark.session import context_of, setting

if TYPE_CHECKING:
    from dpsu.engines.spark.flight import Passport

SECONDS = 2.0
"""For an answer of the driver: all that a release loses if a worker cannot reach it."""

Line = Callable[[], AbstractContextManager[Tell]]
"""How a worker tells the driver: it opens the line and calls what it gets with each stage."""


def no_line() -> AbstractContextManager[Tell]:
    """The line if nothing is to be told."""
    return nullcontext(silent)


@contextmanager
def line_to(session: Any, tell: Tell) -> Iterator[Line]:
    """The line to this driver, which calls `tell` in a thread; none if nobody wants to know, or through Connect."""
    server = None if tell is silent or context_of(session) is None else _server(session, tell)
    if server is None:
        yield no_line
        return
    listening, passport = server
    try:
        yield partial(_line, f"{setting(session, 'spark.driver.host', '')}:{listening.port}", passport)
    finally:
        listening.close()


def _server(session: Any, tell: Tell) -> "tuple[Any, Passport] | None":
    """Listen where the driver does; None where that is not possible."""
    try:
        from dpsu.engines.spark.flight import Passport, Server
    except ImportError:  # pyarrow has no Arrow Flight
        return None

    class Driver(Server):
        """The driver, as workers call it."""

        def do_action(self, context: Any, action: Any) -> list[bytes]:
            """Pass a stage on."""
            tell(action.body.to_pybytes().decode())
            return []

    host = setting(session, "spark.driver.bindAddress", setting(session, "spark.driver.host", ""))
    try:
        passport = Passport.fresh()
        server = Driver(host, passport)
    except Exception:  # its address is not one of this machine
        return None
    server.open(passport.secret.hex())
    return server, passport


# -- within a task


@contextmanager
def _line(address: str, passport: "Passport") -> Iterator[Tell]:
    try:
        from pyarrow.flight import Action

        from dpsu.engines.spark.flight import client, options

        how, driver = options(passport.secret.hex(), SECONDS), client(address, passport)
    except Exception:  # no Arrow Flight, or an address that it cannot read
        yield silent
        return
    lost = False

    def tell(stage: str) -> None:
        nonlocal lost
        try:
            if not lost:
                list(driver.do_action(Action("stage", stage.encode()), how))
        except Exception:
            lost = True

    with driver:
        yield tell
