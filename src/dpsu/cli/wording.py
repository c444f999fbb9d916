"""Messages of the Python functions in the words of a command: an argument `user=…` is the option `--user`."""

import re

OPTIONS = {
    **{name: f"--{name.replace('_', '-')}" for name in (
        "user", "item", "text", "ngrams", "tokenizer", "user_per", "format", "max_items", "algorithm", "calibration",
        "drop_nulls", "public_items", "exclude", "candidates", "false_share", "counts", "others", "ledger", "title",
        "note", "period", "unsafe", "engine", "data_is_public", "like", "epsilon", "delta",
    )},
    "sums": "--sum",
}  # fmt: skip
"""The option of each argument."""

BOTH = re.compile(r"\b\w+=(?:True|…|dpsu\.\w+\([^)]*\))? \((--[\w-]+(?: \w+)?(?:, --[\w-]+)*)\)")
"""An argument with its options behind it."""

ARGUMENT = re.compile(rf"(?<![\w/\\'\"=(])({'|'.join(OPTIONS)})=(?:True|…)?(?=[\s.,;:)]|$)")
"""An argument in a sentence; not a part `key=…` of a path, nor an argument inside of a call."""


def for_command(message: str) -> str:
    """The message with options in the place of arguments.

    >>> for_command("no user column is given; pass user=…")
    'no user column is given; pass --user'
    """
    return ARGUMENT.sub(lambda found: OPTIONS[found[1]], BOTH.sub(r"\1", message))
