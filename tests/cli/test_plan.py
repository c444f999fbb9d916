"""`dpsu plan` and `dpsu algorithms`."""

import json

from command import dpsu


def test_plan_and_algorithms() -> None:
    shown = dpsu("plan", "--epsilon", "1", "--delta", "1e-6").stdout.decode()
    assert "1e-06" in shown
    fields = json.loads(
        dpsu("plan", "--epsilon", "1", "--delta", "1e-6", "--json", "--algorithm", "policy-laplace").stdout
    )
    assert fields["parameters"]["noise"] == "truncated laplace"
    names = [entry["name"] for entry in json.loads(dpsu("algorithms", "--json").stdout)]
    assert "policy-gaussian" in names
    assert "policy-laplace" in dpsu("algorithms").stdout.decode()
