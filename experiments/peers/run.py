"""Peers as programs: each in an environment of its own, which is made on first use."""

import json
import os
import platform
import subprocess
import venv
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ENVIRONMENTS = HERE.parents[1] / "build" / "peers"

PEERS = {
    "PipelineDP": ("pipelinedp_peer.py", ["pipeline-dp==0.3.1"]),
    "OpenDP": ("opendp_peer.py", ["opendp==0.16.0", "polars>=1.33"]),
    "Polars by hand": ("polars_peer.py", ["polars>=1.33", "numpy>=2.0"]),
}


def environment(folder: Path, packages: list[str]) -> Path:
    """The interpreter of an environment that has the packages."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True, capture_output=True)
    return python


def run_peer(name: str, folder: Path, data: Path, arguments: list[str]) -> list[dict[str, Any]] | str:
    """What the peer released, or why it could not run."""
    script, packages = PEERS[name]
    try:
        python = environment(folder / name.replace(" ", "-").lower(), packages)
    except subprocess.CalledProcessError:
        return f"pip could not install {' '.join(packages)} on Python {platform.python_version()}"
    # BLAS threads of a peer must not be counted twice in its processor time.
    settings = {**os.environ, "OMP_NUM_THREADS": "1"}
    result = subprocess.run(
        [python, HERE / script, data, *arguments], capture_output=True, text=True, env=settings, check=False
    )
    if result.returncode:
        last_line = result.stderr.strip().splitlines()[-1:] or ["no message"]
        return f"it stopped with: {last_line[0]}"
    found: list[dict[str, Any]] = json.loads(result.stdout)
    return [{"system": name, **row} for row in found]
