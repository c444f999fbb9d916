"""What `algorithm=` takes: an algorithm with its options. A request turns it into a mechanism."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform

from dpsu.algorithms.ranges import OPTIONS
from dpsu.algorithms.request import Request
from dpsu.hints import known_arguments

if TYPE_CHECKING:
    from dpsu.algorithms.mechanism import Mechanism

T = TypeVar("T", bound="Algorithm")


class Algorithm(ABC):
    """An algorithm and its options; all of them are public.

    The catalogue has one subclass per name, which `dpsu.list_algorithms` lists.
    """

    name: str
    family: str
    summary: str
    proof: str
    private: bool = True
    engines: tuple[str, ...] = ("local", "spark")

    @abstractmethod
    def calibrate(self, request: Request) -> "Mechanism":
        """The mechanism that keeps the request's promise, or a refusal."""

    def for_engine(self, parts: int) -> "Algorithm":
        """The same algorithm with the options that depend on the engine filled in."""
        return self

    def options(self) -> dict[str, Any]:
        """The options that are not at their defaults, as plain data."""
        values = {each.name: (getattr(self, each.name), each.default) for each in fields(self)}  # type: ignore[arg-type]
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, (value, default) in values.items()
            if value != default
        }


@dataclass_transform(frozen_default=True)
def algorithm(cls: type[T]) -> type[T]:
    """Make a subclass of Algorithm a frozen dataclass that checks its options and names a misspelt one."""
    cls.__post_init__ = _check_ranges(getattr(cls, "__post_init__", None))  # type: ignore[attr-defined]
    made = dataclass(frozen=True)(cls)
    made.__init__ = known_arguments()(made.__init__)  # type: ignore[method-assign]
    return made


def _check_ranges(after: Callable[[Any], None] | None) -> Callable[[Any], None]:
    """A `__post_init__` that holds every option to its range, and then does what the class itself asks for."""

    def check(self: Any) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if each.name in OPTIONS and value is not None:
                object.__setattr__(self, each.name, OPTIONS[each.name].check(each.name, value))
        if after is not None:
            after(self)

    return check
