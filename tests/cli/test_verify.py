"""Verdicts on the command line."""

import json
from pathlib import Path

import pytest
from rows_command import RELEASE, run

import dpsu
from dpsu.errors import SourceError

pytestmark = pytest.mark.usefixtures("rows")


@pytest.mark.parametrize(
    ("ok", "file", "code"), [(True, None, 0), (True, True, 0), (True, False, 3), (False, False, 1)]
)
def test_two_verdicts_two_codes(
    monkeypatch: pytest.MonkeyPatch, ok: bool, file: bool | None, code: int
) -> None:
    class Found:
        def __init__(self) -> None:
            self.ok, self.file = ok, file

    monkeypatch.setattr(dpsu, "verify", lambda *_: Found())
    assert run("verify", "statement.json").exit_code == code


def test_what_cannot_be_read_is_no_verdict() -> None:
    assert run(*RELEASE, "-o", "out.csv", "-q").exit_code == 0
    Path("broken.json").write_text("{")
    for arguments in (["none.json"], ["broken.json"], ["out.csv.statement.json", "--released", "none.csv"]):
        ended = run("verify", *arguments)
        assert isinstance(ended.exception, SourceError)
        assert ended.exception.exit_code == 4


def test_verify_knows_the_released_file() -> None:
    assert run(*RELEASE, "-o", "out.csv", "-q").exit_code == 0
    checked = ["verify", "out.csv.statement.json", "--released", "out.csv"]
    assert run(*checked).exit_code == 0
    Path("out.csv").write_text("i\nb\n")
    assert run(*checked).exit_code == 3
    stated = json.loads(Path("out.csv.statement.json").read_text())
    Path("out.csv.statement.json").write_text(json.dumps({**stated, "epsilon": 0.1}))
    assert run(*checked).exit_code == 1
