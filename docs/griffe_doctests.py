"""For the API reference: examples of docstrings become blocks of code; Markdown would take `>>>` for a quotation."""

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"^>>> .*?(?=\n\s*\n|\Z)", re.MULTILINE | re.DOTALL)


class Doctests(griffe.Extension):
    """Puts every example into a block of code."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Change the docstring of one object."""
        if obj.docstring:
            obj.docstring.value = EXAMPLE.sub(lambda found: f"```pycon\n{found[0]}\n```", obj.docstring.value)
