"""The pages of the gallery: a planner, and the report of a release of synthetic data. `python -m experiments.gallery`."""

from pathlib import Path

import numpy as np
import polars as pl

import dpsu

FOLDER = Path(__file__).parents[1] / "docs" / "gallery"


def main() -> None:
    page = dpsu.plan(epsilon=1, delta=1e-7, max_items=30).to_html(progress=True)
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


if __name__ == "__main__":
    main()
