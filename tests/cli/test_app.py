"""The command itself."""

import os
import subprocess
from importlib import metadata

import pytest
from command import COMMAND, dpsu_process


def test_version() -> None:
    assert dpsu_process("--version").stdout.decode() == f"{metadata.version('dpsu')}\n"


@pytest.mark.parametrize(
    ("closed", "arguments"), [(1, ["algorithms"]), (0, ["release", "-", "--format", "csv"])]
)
def test_a_closed_stream_is_one_line(closed: int, arguments: list[str]) -> None:
    wanted = ["--user", "u", "--item", "i", "--epsilon", "1", "--delta", "1e-6", "-o", "-"]
    ended = subprocess.run(
        [*COMMAND, *arguments, *(wanted if "release" in arguments else [])],
        stderr=subprocess.PIPE,
        preexec_fn=lambda: os.close(closed),
        check=False,
    )
    assert ended.returncode == 1
    assert ended.stderr.count(b"\n") == 1, ended.stderr
