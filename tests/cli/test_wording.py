"""Errors of a command speak of its options."""

from pathlib import Path

import pytest
from command import dpsu

PRIVACY = ("--epsilon", "1", "--delta", "1e-6")


def told(folder: Path, name: str, *options: str) -> str:
    (folder / name).write_text("who,what\n1,a\n2,b\n")
    ended = dpsu("release", name, *PRIVACY, "-o", "out.csv", *options, cwd=folder)
    assert ended.returncode
    return ended.stderr.decode()


@pytest.mark.parametrize(
    ("options", "option", "argument"),
    [
        ((), "--user", "user="),
        (("--user", "who"), "--item", "item="),
        (("--user", "who", "--item", "what", "--ngrams", "2"), "--ngrams", "ngrams="),
    ],
)
def test_errors_name_options_and_not_arguments(
    tmp_path: Path, options: tuple[str, ...], option: str, argument: str
) -> None:
    message = told(tmp_path, "table.csv", *options)
    assert option in message
    assert argument not in message


@pytest.mark.parametrize("options", [(), ("--user", "who", "--item", "what")])
def test_plain_text_suggests_one_user_per_line_or_file(tmp_path: Path, options: tuple[str, ...]) -> None:
    assert "--user-per" in told(tmp_path, "notes.txt", *options)


def test_a_column_that_is_missing_is_named(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("who,what\n1,a\n")
    ended = dpsu("release", "table.csv", "--user", "who", "--text", *PRIVACY, "-o", "out.csv", cwd=tmp_path)
    assert ended.returncode == 2
    assert b"--text needs" in ended.stderr


def test_parts_of_a_path_are_not_options(tmp_path: Path) -> None:
    from dpsu.cli.wording import for_command

    message = "column 'x' of data/user=…/file.parquet has nulls; pass drop_nulls=True (--drop-nulls)"
    assert for_command(message) == "column 'x' of data/user=…/file.parquet has nulls; pass --drop-nulls"


def test_values_follow_their_options_and_calls_stay_python() -> None:
    from dpsu.cli.wording import for_command

    assert for_command("pass user_per='line' or ngrams=(1, 2).") == "pass --user-per line or --ngrams 1,2."
    assert for_command("pass Source(text=…, user=…)") == "pass Source(text=…, user=…)"


def test_users_advise_a_delta(tmp_path: Path) -> None:
    ended = dpsu("plan", "--epsilon", "1", "--users", "5000", "--json", cwd=tmp_path)
    assert b'"delta": 2e-06' in ended.stdout
