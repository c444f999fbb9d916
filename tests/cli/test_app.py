"""The command itself."""

from importlib import metadata

from command import dpsu_process


def test_version() -> None:
    assert dpsu_process("--version").stdout.decode() == f"{metadata.version('dpsu')}\n"
