"""What the tests of Spark share."""

import pytest
from spark_sessions import small_parts


@pytest.fixture(autouse=True)
def many_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exchange has more parts than tasks, as with large data."""
    small_parts(monkeypatch, rows=5_000, text=10_000)
