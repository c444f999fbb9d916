"""`dpsu demo`."""

from command import dpsu


def test_demo() -> None:
    run = dpsu("demo")
    assert run.returncode == 0, run.stderr
    assert b"(3, 1e-07)" in run.stdout
