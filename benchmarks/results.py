"""The figures of all sections in one small JSON file; a section that is measured again replaces its own part."""

import importlib.metadata
import json
import os
import platform
from pathlib import Path
from typing import Any

from benchmarks.measure import Facts
from benchmarks.settings import Settings

PACKAGES = ("dpsu", "numba", "numpy", "polars")


def load(path: Path) -> dict[str, Facts]:
    """What was measured before, by section."""
    if not path.exists():
        return {}
    found: dict[str, Facts] = json.loads(path.read_text())
    return found


def store(path: Path, section: str, facts: Facts, settings: Settings) -> None:
    """Replace one section, and say on what machine and at what scale it was measured."""
    results = load(path)
    results[section] = {"quick": settings.quick, "machine": machine(), **facts}
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    fresh.replace(path)


def machine() -> dict[str, Any]:
    """The processor, the cores this process may use, memory and versions."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": memory,
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in PACKAGES},
    }


def _processor() -> str:
    described = Path("/proc/cpuinfo")
    if described.exists():
        for line in described.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()
