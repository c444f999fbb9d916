"""Bigrams and trigrams of the arXiv titles: every algorithm at several bounds, and levels against one union of all sizes.

    python -m experiments.ngrams [arxiv_titles.parquet]

writes docs/ngrams-results.md. The titles are public, so the randomness is seeded. Rows with
phrases that nobody wrote differ slightly from run to run.
"""

import math
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from dpsu.algorithms.catalogue import CATALOGUE
from dpsu.algorithms.request import Request
from dpsu.api.ngrams import ngrams
from dpsu.api.release import release
from dpsu.engines.local import LocalEngine
from dpsu.randomness.stream import Stream
from dpsu.sets.user_sets import UserSets
from dpsu.sources.corpus import text_rule
from dpsu.sources.text import read_text
from dpsu.testing import seeded

ROOT = Path(__file__).parents[1]
TITLES = ROOT.parent / "shared" / "data" / "arxiv_titles.parquet"
RESULTS = ROOT / "docs" / "ngrams-results.md"

EPSILON, DELTA = 3.0, math.exp(-10)
BOUNDS = (10, 50, 100, 200)
ALGORITHMS = (
    "count-laplace", "count-gaussian", "weighted-laplace", "weighted-gaussian", "policy-laplace", "policy-gaussian",
    "policy-gaussian-l1", "focused-gaussian", "auto",
)  # fmt: skip
LEVELS_BOUND = 100
PRIVACY = ((EPSILON, DELTA), (1.0, 1e-6))

LIKE_DPNE = "levels, false_share as large as that of dpne"
OF_LEVELS = {"max_items": LEVELS_BOUND}
OF_UNION: dict[str, Any] = {"ngrams": (1, 2, 3), "algorithm": "focused-gaussian"}

WAYS: dict[str, dict[str, Any]] = {
    "one union of sizes 1–3, auto (the default)": {"ngrams": (1, 2, 3)},
    "one union of sizes 1–3, max_items 100": {**OF_UNION, "max_items": LEVELS_BOUND},
    "one union of sizes 1–3, max_items 300": {**OF_UNION, "max_items": 3 * LEVELS_BOUND},
    "levels, focused-gaussian": OF_LEVELS,
    "levels, focused-gaussian, shares .5 .3 .2": {**OF_LEVELS, "level_shares": (0.5, 0.3, 0.2)},
    "levels, dpne": {**OF_LEVELS, "method": "dpne"},
    LIKE_DPNE: OF_LEVELS,
    "levels, false_share 0.01": {**OF_LEVELS, "false_share": 0.01},
    "levels, false_share 0.05": {**OF_LEVELS, "false_share": 0.05},
}


def main() -> None:
    titles = Path(sys.argv[1]) if len(sys.argv) > 1 else TITLES
    tables = [by_algorithm(titles, size) for size in (2, 3)]
    levels = [by_method(titles, epsilon, delta) for epsilon, delta in PRIVACY]
    page = PAGE.format(bigrams=tables[0], trigrams=tables[1], levels=levels[0], private=levels[1])
    RESULTS.write_text(page)
    print(RESULTS.read_text())


def by_algorithm(titles: Path, size: int) -> str:
    """A row for each algorithm, a column for each bound: the n-grams released."""
    stream = Stream(bytes(32), seeded=True)
    rule = text_rule("text", ngrams=size)
    assert rule is not None
    sets = read_text(titles, rule, user="author", stream=stream)
    rows = [
        f"| algorithm | {' | '.join(f'max_items {bound}' for bound in BOUNDS)} |",
        "|---" + "|---:" * len(BOUNDS) + "|",
    ]
    for name in ALGORITHMS:
        counts = [f"{released(sets, name, bound, stream):,}" for bound in BOUNDS]
        print(f"{size}-grams, {name}: {', '.join(counts)}", file=sys.stderr, flush=True)
        label = name if CATALOGUE[name].private else f"{name} (not private)"
        rows.append(f"| {label} | {' | '.join(counts)} |")
    return "\n".join(rows)


def released(sets: UserSets, name: str, bound: int, stream: Stream) -> int:
    """How many items one run of the algorithm releases."""
    mechanism = CATALOGUE[name]().calibrate(Request(EPSILON, DELTA, bound))
    return int(np.sum(mechanism.select(LocalEngine(), sets, stream)["released"]))


def by_method(titles: Path, epsilon: float, delta: float) -> str:
    """A row for each way to get words, bigrams and trigrams together, a column for each size."""
    written = grams_written(titles)
    rows = [
        "| method | words | bigrams | trigrams | phrases that nobody wrote |",
        "|---|---:|---:|---:|---:|",
    ]
    share = 0.0
    for name, how in WAYS.items():
        way = release if "ngrams" in how else ngrams
        asked = {**how, "false_share": round(share, 4)} if name == LIKE_DPNE else how
        with seeded(0):
            items = way(titles, user="author", text="text", epsilon=epsilon, delta=delta, **asked).items
        sizes = Counter(item.count(" ") + 1 for item in items)
        made_up = sum(item not in written for item in items)
        false = made_up / (sizes[2] + sizes[3])
        if how.get("method") == "dpne":
            share = false
        label = f"{name} ({asked['false_share']:.2%})" if name == LIKE_DPNE else name
        rows.append(f"| {label} | {sizes[1]:,} | {sizes[2]:,} | {sizes[3]:,} | {made_up:,} ({false:.2%}) |")
        print(rows[-1], file=sys.stderr, flush=True)
    return "\n".join(rows)


def grams_written(titles: Path) -> set[str]:
    """Every n-gram of the titles."""
    rule = text_rule("text", ngrams=(1, 2, 3))
    assert rule is not None
    sets = read_text(titles, rule, user="author", stream=Stream(bytes(32), seeded=True))
    return set(sets.names.decode(np.arange(sets.n_items)).to_series().to_list())


PAGE = """# Bigrams and trigrams of the arXiv titles

721 k titles of 240 k first authors; epsilon 3, delta e^-10; the default word rule; exact calibration; one seeded run
per cell. Generated by `python -m experiments.ngrams`.

## Bigrams released

{bigrams}

## Trigrams released

{trigrams}

## Words, bigrams and trigrams together

(epsilon, delta) is the total for all sizes together. Levels have max_items 100 each and even shares unless stated otherwise.
The share of phrases that nobody wrote is among bigrams and trigrams. One row has as false_share the share that dpne had.

{levels}

At epsilon 1, delta 10^-6:

{private}

The page [n-grams in levels](ngrams.md) defines the levels and proves that they are private.
"""

if __name__ == "__main__":
    main()
