"""The command `dpsu`: within this process, which spares its imports, or as a process of its own."""

import io
import subprocess
import sys
from contextlib import chdir, nullcontext
from pathlib import Path

import pytest

from dpsu.cli import main

COMMAND = [sys.executable, "-c", "from dpsu.cli import main; main()"]
Ended = subprocess.CompletedProcess[bytes]


def dpsu(*arguments: str | Path, cwd: Path | None = None, stdin: bytes = b"") -> Ended:
    """The command from its arguments to its exit code, with the keys of the test."""
    out, err = io.BytesIO(), io.BytesIO()
    with pytest.MonkeyPatch.context() as patch, chdir(cwd) if cwd else nullcontext():
        patch.setattr(sys, "argv", ["dpsu", *map(str, arguments)])
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        for name, stream in (("stdout", out), ("stderr", err)):
            patch.setattr(sys, name, io.TextIOWrapper(stream, encoding="utf-8", write_through=True))
        try:
            main()
        except SystemExit as end:
            return Ended(sys.argv, end.code, out.getvalue(), err.getvalue())
    return Ended(sys.argv, 0, out.getvalue(), err.getvalue())


def dpsu_process(*arguments: str | Path, cwd: Path | None = None, stdin: bytes | None = None) -> Ended:
    """The command as a user runs it, with keys of the operating system."""
    return subprocess.run(
        [*COMMAND, *map(str, arguments)], cwd=cwd, input=stdin, capture_output=True, check=False
    )
