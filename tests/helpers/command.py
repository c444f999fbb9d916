"""The real command, as a user runs it."""

import subprocess
import sys
from pathlib import Path

COMMAND = [sys.executable, "-c", "from dpsu.cli import main; main()"]


def dpsu(
    *arguments: str | Path, cwd: Path | None = None, stdin: bytes | None = None
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*COMMAND, *map(str, arguments)], cwd=cwd, input=stdin, capture_output=True, check=False
    )
