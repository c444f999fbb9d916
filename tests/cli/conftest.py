"""What tests of commands share."""

from pathlib import Path

import pytest


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test runs in a folder with one file, rows.csv, of 200 users who all hold one item."""
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_text("u,i\n" + "".join(f"p{n % 200},a\n" for n in range(400)))
