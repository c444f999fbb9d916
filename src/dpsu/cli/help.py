"""The help of a command: what every call needs comes first, and lines break between words."""

import re
from typing import Any

from typer.core import TyperCommand

FIRST = ("user", "item", "text", "epsilon", "delta", "output")
"""Options that come first, in this order."""

VALUES = {"str": "text", "int": "number", "float": "number", "path": "file"}
"""What the values of options are called, by their type."""

VALUE = re.compile(r"<(?:list\[)?(str|int|float|path)\]?>( *)")

WIDTH = 76
HYPHEN = "\u2011"
"""Stands for a hyphen while the help is wrapped: an option is not broken into two."""

AS_IT_IS = "\b"
"""Begins a paragraph that is not wrapped."""


class Command(TyperCommand):
    """A command with this help."""

    def get_help(self, ctx: Any) -> str:
        """The help as text."""
        self.help = "\n\n".join(map(_paragraph, (self.help or "").split("\n\n")))
        self.params.sort(key=_place)
        for each in self.params:
            if getattr(each, "help", None):
                each.help = _unbroken(each.help)  # type: ignore[attr-defined]
        shown = VALUE.sub(lambda found: f"<{VALUES[found[1]]}>".ljust(len(found[0])), super().get_help(ctx))
        return shown.replace(HYPHEN, "-")


def _place(parameter: Any) -> int:
    """The rank of a parameter; those of equal rank keep their order."""
    if parameter.param_type_name == "argument":
        return -1
    return FIRST.index(parameter.name) if parameter.name in FIRST else len(FIRST)


def _paragraph(text: str) -> str:
    """A paragraph of prose, or a command that is broken before options, as a shell reads it."""
    if not text.startswith("dpsu "):
        return _unbroken(text)
    first, *options = re.split(r" (?=-)", " ".join(text.split()))
    lines = [first]
    for option in options:
        if len(lines[-1]) + len(option) + len("  \\") > WIDTH:
            lines[-1] += " \\"
            lines.append(f"  {option}")
        else:
            lines[-1] += f" {option}"
    return "\n".join([AS_IT_IS, *lines])


def _unbroken(text: str) -> str:
    return text.replace("-", HYPHEN)
