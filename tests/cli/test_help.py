"""The help of every command: it fits a terminal, and what it shows can be copied."""

import re
import shlex

import pytest
import typer
from command import dpsu

from dpsu.cli.app import app


def commands() -> list[list[str]]:
    """Every command, by its words."""
    found, groups = [], [([], typer.main.get_command(app))]
    while groups:
        words, group = groups.pop()
        for name, command in getattr(group, "commands", {}).items():
            inner = getattr(command, "commands", None)
            (groups if inner else found).append(([*words, name], command))
    return [words for words, _ in found]


def help_of(words: list[str]) -> str:
    shown = dpsu(*words, "--help")
    assert shown.returncode == 0
    return shown.stdout.decode()


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_no_line_is_too_long_and_no_option_is_broken(words: list[str]) -> None:
    shown = help_of(words)
    assert max(map(len, shown.splitlines())) <= 80
    assert not re.search(r"-$", shown, re.MULTILINE)
    assert "\u2011" not in shown


def test_an_example_is_a_command_that_a_shell_reads() -> None:
    shown = help_of(["release"])
    example = re.search(r"^  dpsu release .*?(?=\n\n)", shown, re.MULTILINE | re.DOTALL)
    assert example
    words = shlex.split(example[0].replace("\\\n", " "))
    assert words[:2] == ["dpsu", "release"]
    assert {"--user", "--item", "--epsilon", "--delta", "-o"} <= set(words)


def test_what_every_release_needs_comes_first() -> None:
    shown = help_of(["release"])
    needed = [shown.index(f"  {option} ") for option in ("--user", "--item", "--epsilon", "--delta", "-o,")]
    assert max(needed) < shown.index("  --encoding ")
