"""`dpsu check-policy`."""

from types import SimpleNamespace
from typing import Any

import pytest
from command import dpsu
from example_policies import GREEDY


@pytest.mark.parametrize(("ok", "code"), [(True, 0), (False, 1)])
def test_check_policy_ends_with_its_verdict(monkeypatch: pytest.MonkeyPatch, ok: bool, code: int) -> None:
    asked = []

    def search(policy: Any, seconds: float) -> SimpleNamespace:
        asked.append((policy, seconds))
        return SimpleNamespace(ok=ok)

    monkeypatch.setattr("dpsu.policies.check.check_policy", search)
    assert dpsu("check-policy", "example_policies:GREEDY", "--seconds", "5").returncode == code
    assert asked == [(GREEDY, 5.0)]
