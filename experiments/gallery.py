"""The pages of the gallery: a planner, and the statement and report of a release of synthetic data.

python -m experiments.gallery
"""

import re
from pathlib import Path

import numpy as np
import polars as pl

import dpsu

DOCS = Path(__file__).parents[1] / "docs"
FOLDER = DOCS / "gallery"


def main() -> None:
    page = dpsu.plan(epsilon=1, delta=1e-7).to_html(progress=True)
    (FOLDER / "planner.html").write_text(page, encoding="utf-8")
    rng = np.random.default_rng(0)
    codes = rng.zipf(1.3, 60_000) % 5000
    frame = pl.DataFrame(
        {"patient": rng.integers(0, 20_000, 60_000), "code": [f"C{code:04d}" for code in codes]}
    )
    release = dpsu.release(
        frame,
        user="patient",
        item="code",
        epsilon=1,
        delta=1e-7,
        max_items=20,
        counts=True,
        title="Diagnosis codes",
    )
    release.report(FOLDER / "report.html")
    page = DOCS / "gallery.md"
    shown = f"```text\n{release.statement}\n```"
    page.write_text(re.sub(r"```text\n.*?\n```", lambda _: shown, page.read_text(), flags=re.DOTALL))


if __name__ == "__main__":
    main()
