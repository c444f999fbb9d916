"""Releases as the benchmarks ask for them."""

import warnings
from pathlib import Path
from typing import Any

import dpsu
from benchmarks.settings import DELTA, EPSILON, MAX_ITEMS
from dpsu.algorithms.catalogue import find
from dpsu.algorithms.mechanism import Mechanism
from dpsu.algorithms.request import Request
from dpsu.sources.lines import scan_lines
from dpsu.sources.pairs import read_batches, scan_source
from dpsu.sources.slices import BATCH_TEXTS

FOCUSED = "focused-gaussian"


def private_algorithms() -> list[str]:
    """All that the package has, the default first."""
    frame = dpsu.list_algorithms()
    names: list[str] = (
        frame.filter("private").sort("default", descending=True, maintain_order=True)["name"].to_list()
    )
    return names


def release(source: Path | list[Path], algorithm: str = FOCUSED) -> Any:
    """From a file of users and items to the released items."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dpsu.EmptyRelease)  # small runs have nothing to release
        return dpsu.release(
            source,
            user="user",
            item="item",
            epsilon=EPSILON,
            delta=DELTA,
            max_items=_bound_of(algorithm),
            algorithm=algorithm,
        )


def release_text(source: Path, ngrams: tuple[int, ...], counts: bool = False) -> Any:
    """From a file of users and texts to the released words or n-grams."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dpsu.EmptyRelease)
        return dpsu.release(
            source, user="author", text="text", ngrams=ngrams, counts=counts, epsilon=EPSILON, delta=DELTA
        )


def read_rows(path: Path) -> int:
    """The users and texts of a file, or of a folder of text files, batch by batch as a release reads them."""
    if path.is_dir():
        frame, label = scan_lines([path], "file")
    else:
        frame, label, *_ = scan_source(path, "author", "text", None)
    return sum(batch.height for batch in read_batches(frame, label, BATCH_TEXTS))


def release_files(folder: Path) -> Any:
    """From a folder of text files, each of one user, to the released words."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dpsu.EmptyRelease)
        return dpsu.release(folder, user_per="file", epsilon=EPSILON, delta=DELTA)


def mechanism(algorithm: str = FOCUSED) -> Mechanism:
    """The same, calibrated only."""
    return find(algorithm).calibrate(Request(EPSILON, DELTA, _bound_of(algorithm)))


def _bound_of(algorithm: str) -> int:
    return 1 if algorithm == "optimal-single" else MAX_ITEMS
