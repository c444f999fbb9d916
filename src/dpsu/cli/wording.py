"""Messages of the Python functions in the words of a command: an argument `user=…` is the option `--user`."""

import re

OPTIONS = {
    **{name: f"--{name.replace('_', '-')}" for name in (
        "user", "item", "text", "ngrams", "tokenizer", "user_per", "format", "max_items", "algorithm", "calibration",
        "drop_nulls", "public_items", "exclude", "candidates", "false_share", "counts", "others", "ledger", "title",
        "note", "period", "unsafe", "engine", "data_is_public", "like", "epsilon", "delta", "encoding", "separator",
        "sheet", "spark_mode", "query", "method", "typical_items",
    )},
    "sums": "--sum",
}  # fmt: skip
"""The option of each argument."""

BOTH = re.compile(
    r"\b\w+=(?:True|…|\d+|'[^']*'|dpsu\.\w+\([^)]*\))? \((--[\w-]+(?: (?:[\w-]+|'[^']*'))?(?:, --[\w-]+)*)\)"
)
"""An argument with its options behind it."""

ARGUMENT = re.compile(
    rf"\w\([^()]*\)|(?<![\w/\\'\"=(])({'|'.join(OPTIONS)})=(?:True|…|'([\w-]+)'|\(([\d, ]+)\))?(?=[\s.,;:)]|$)"
)
"""A call, which stays; or an argument with a name or numbers as its value, unless it is a part `key=…` of a path."""


def for_command(message: str) -> str:
    """The message with options in the place of arguments.

    >>> for_command("no user column is given; pass user=…")
    'no user column is given; pass --user'
    >>> for_command("pass user_per='line', or tokenizer='chars' with ngrams=(1, 2)")
    'pass --user-per line, or --tokenizer chars with --ngrams 1,2'
    """
    return ARGUMENT.sub(_option, BOTH.sub(r"\1", message))


def _option(found: re.Match[str]) -> str:
    if not found[1]:
        return found[0]
    value = found[2] or (found[3] or "").replace(" ", "")
    return f"{OPTIONS[found[1]]} {value}".rstrip()
