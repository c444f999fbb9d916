"""The study behind the constants of Focused Gaussian: what each of them gives and costs, on many kinds of data.

    python experiments/focused_study.py cap constants rounds max-items others    run studies (only what is not there)
    python experiments/focused_study.py shared                                   the final figures on the shared data
    python experiments/focused_study.py --tables                                 print what was found, as Markdown

Runs are paired: variants that are compared see the same cut sets and the same noise. The studies use the mechanism's own
weights, boundary and focus with noise from NumPy, several times faster than a release; `shared` runs the mechanism itself.
"""

import argparse
import csv
import hashlib
import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dpsu.algorithms.catalogue import build
from dpsu.algorithms.focused import FocusedGaussian, FocusedMechanism
from dpsu.algorithms.request import Request
from dpsu.datasets import draw_sets, words
from dpsu.engines.local import LocalEngine
from dpsu.kernels.rows import keep_open
from dpsu.kernels.units import ONE
from dpsu.kernels.weights import weigh_proportionally
from dpsu.randomness.digests import sample_rows
from dpsu.randomness.stream import Stream
from dpsu.sets.user_sets import UserSets
from dpsu.sources.pairs import read_sets

SHARED = Path(__file__).parents[1].parent / "shared" / "data"
RESULTS = Path(__file__).parent / "results" / "focused_study.csv"
FIELDS = ("study", "corpus", "epsilon", "max_items", "variant", "seed", "released")

PRIVACY = {0.1: 1e-6, 0.3: 1e-5, 1.0: 1e-5, 3.0: math.exp(-10), 10.0: 1e-6}
"""The delta that goes with each epsilon."""

SEEDS = 10

ALPHAS = (2.0, 3.0, 5.0)

Variant = dict[str, float]
Contest = dict[str, tuple[str, dict[str, float]]]


# ---------------------------------------------------------------------------------------------------------- the data


def words_of(name: str, user: str, users: int | None = None) -> pl.DataFrame:
    frame = words(pl.read_parquet(SHARED / f"{name}.parquet"), user=user, text="text")
    return first_users(frame.rename({user: "user", "word": "item"}), users)


def pairs_of(name: str, users: int | None = None) -> pl.DataFrame:
    return first_users(pl.read_parquet(SHARED / f"{name}.parquet"), users)


def first_users(frame: pl.DataFrame, users: int | None) -> pl.DataFrame:
    if users is None:
        return frame
    return frame.filter(pl.col("user").rank("dense") <= users)


def law(
    users: int, size: int, exponent: float, ranks: int, spread: float = 0.0, seed: int = 1
) -> pl.DataFrame:
    """Sets of `size` items (log-normal of that mean if there is a spread) from Zipf's law over `ranks` items."""
    rng = np.random.default_rng(seed)
    drawn = rng.lognormal(math.log(size) - spread**2 / 2, spread, users) if spread else np.full(users, size)
    sizes = np.clip(np.ceil(drawn), 1, 5000).astype(np.int64)
    cumulative = np.cumsum((np.arange(1, ranks + 1) + 2.0) ** -exponent)
    return pl.DataFrame(
        {"user": np.repeat(np.arange(users), sizes), "item": draw_sets(sizes, cumulative, rng)}
    )


def topics(users: int, size: int, kinds: int = 60, ranks: int = 300_000, seed: int = 3) -> pl.DataFrame:
    """Text whose authors each write about one of `kinds` topics: half of the words are common, half the topic's own."""
    rng = np.random.default_rng(seed)
    frame = law(users, size, 1.1, ranks, spread=0.5, seed=seed)
    holder, item = frame["user"].to_numpy(), frame["item"].to_numpy().copy()
    topic = rng.integers(0, kinds, users)[holder]
    own = rng.random(len(item)) < 0.5
    for kind in range(kinds):
        here = own & (topic == kind)
        item[here] = rng.permutation(ranks)[item[here]]
    return pl.DataFrame({"user": holder, "item": item})


CORPORA: dict[str, Callable[[], pl.DataFrame]] = {
    "shakespeare_speakers": lambda: words_of("shakespeare_speakers", "uid"),
    "debian_depends": lambda: pairs_of("debian_depends"),
    "arxiv_titles_small": lambda: words_of("arxiv_titles_small", "author"),
    "arxiv_titles, 60k": lambda: words_of("arxiv_titles", "author", 60_000),
    "reddit_like, 40k": lambda: pairs_of("reddit_like", 40_000),
    "200k with 1": lambda: law(200_000, 1, 1.1, 20_000),
    "100k with 3": lambda: law(100_000, 3, 1.0, 50_000),
    "200k with ~3, steep": lambda: law(200_000, 3, 1.5, 50_000, spread=0.8),
    "30k with 10": lambda: law(30_000, 10, 1.2, 200_000),
    "20k with ~30": lambda: law(20_000, 30, 1.0, 200_000, spread=1.0),
    "5k with 40, flat": lambda: law(5_000, 40, 0.8, 20_000),
    "8k with 50, flat": lambda: law(8_000, 50, 0.8, 50_000),
    "8k with ~130, topics": lambda: topics(8_000, 130),
    "2k with ~1000": lambda: law(2_000, 1_000, 1.1, 300_000, spread=1.0),
}

FINAL: dict[str, Callable[[], pl.DataFrame]] = {
    "reddit_like": lambda: pairs_of("reddit_like"),
    "arxiv_titles": lambda: words_of("arxiv_titles", "author"),
    **{name: CORPORA[name] for name in ("arxiv_titles_small", "debian_depends", "shakespeare_speakers")},
}


@cache
def sets_of(corpus: str) -> UserSets:
    frame = (CORPORA | FINAL)[corpus]()
    return read_sets(frame, user="user", item="item", stream=Stream(bytes(32), seeded=True))


# ------------------------------------------------------------------------------------------------------- the studies


@dataclass(frozen=True)
class Study:
    """Variants of the constants, all against the first; on which data and at which privacy."""

    variants: tuple[Variant, ...]
    corpora: tuple[str, ...] = tuple(CORPORA)
    epsilons: tuple[float, ...] = (0.3, 1.0, 3.0, 10.0)
    max_items: tuple[int, ...] = (100,)


def one_at_a_time(**values: tuple[float, ...]) -> tuple[Variant, ...]:
    return ({}, *({name: value} for name, choices in values.items() for value in choices))


QUICK = (
    "shakespeare_speakers",
    "debian_depends",
    "arxiv_titles_small",
    "5k with 40, flat",
    "2k with ~1000",
)
"""One of each kind, those that are quickly run."""

CAPPED = (*QUICK, "8k with ~130, topics", "200k with 1")

OTHERS = tuple(corpus for corpus in CORPORA if corpus not in CAPPED)
"""What the other studies leave out."""

DESIGN = {"rounds": 16, "growth": 1.25, "delta_growth": 3, "warmup": 0.125, "boost": 1.5, "cap": 1}
"""What the study began with."""

STUDIES = {
    "cap": Study(({"cap": 1.0}, *({"cap": x} for x in (0.8, 0.45)), {}), corpora=CAPPED),
    "constants": Study(
        one_at_a_time(
            growth=(1.1, 1.2),
            split=(0.5, 0.7),
            delta_growth=(2.5, 6.0),
            warmup=(0.05, 0.15),
            boost=(1.4, 1.8),
            width=(0.5, 0.85),
            tail=(0.2, 0.4),
        ),
        corpora=QUICK,
        epsilons=(0.3, 3.0),
    ),
    "rounds": Study(
        (
            {},
            {"rounds": 8, "growth": 1.4, "delta_growth": 2},
            {"rounds": 12, "growth": 1.25, "delta_growth": 3},
            {"rounds": 16, "growth": 1.18, "delta_growth": 4},
            {"rounds": 24, "growth": 1.13, "delta_growth": 5},
            {"rounds": 32, "growth": 1.09, "delta_growth": 6},
            {"rounds": 48, "growth": 1.06, "delta_growth": 9},
        ),
        corpora=QUICK,
        epsilons=(1.0, 3.0),
    ),
    "max-items": Study(
        ({},),
        corpora=("8k with ~130, topics", *QUICK),
        epsilons=(1.0, 3.0),
        max_items=(100, 300, 1000),
    ),
    "others": Study((DESIGN, {}), corpora=OTHERS, epsilons=tuple(PRIVACY)),
}


def simulate(mechanism: FocusedMechanism, sets: UserSets, seed: int) -> int:
    """How many items a run releases: as `FocusedMechanism.select`, with floats and NumPy's noise."""
    boundary, size = mechanism.boundary, len(sets.item_digests)
    indptr, items = bounded(sets, mechanism.request.max_items, seed)
    rng = np.random.Generator(np.random.SFC64(seed))
    noisy, priority, closed = np.zeros(size), np.ones(size), np.ones(size, np.bool_)
    closed[items] = False
    room = np.empty(len(boundary.caps))
    unheld = closed.sum()
    for r, share in enumerate(boundary.shares):
        total = np.zeros(size, np.int64)
        weigh_proportionally(indptr, items, priority, boundary.caps, total, room)
        noisy += total * (share / ONE) + boundary.scales[r] * rng.standard_normal(size)
        closed |= noisy > boundary.thresholds[r]
        indptr, items, _ = keep_open(indptr, items, ~closed)
        priority = np.where(closed, 0.0, mechanism.priority(noisy, r))
    return int(closed.sum() - unheld)


def bounded(sets: UserSets, max_items: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    if np.diff(sets.indptr).max() <= max_items:
        return sets.indptr, sets.items
    stream = Stream(seed.to_bytes(32, "little"), seeded=True)
    return sample_rows(sets.indptr, sets.items, sets.user_digests, sets.item_digests, max_items, stream, 0)


def mechanism_for(epsilon: float, max_items: int, variant: Variant) -> FocusedMechanism:
    constants = {name: int(value) if name == "rounds" else value for name, value in variant.items()}
    return FocusedGaussian(**constants).calibrate(Request(epsilon, PRIVACY[epsilon], max_items))  # type: ignore[arg-type]


def label(variant: Variant) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in variant.items()) or "as chosen"


Key = tuple[str, str, float, int, str, int]


def run(name: str, seeds: int) -> None:
    """Run what the results lack, one line per run."""
    study, done = STUDIES[name], results()
    for corpus in study.corpora:
        sets = sets_of(corpus)
        for epsilon in study.epsilons:
            for max_items in study.max_items:
                for variant in study.variants:
                    mechanism = mechanism_for(epsilon, max_items, variant)
                    for seed in range(seeds):
                        key = (name, corpus, epsilon, max_items, label(variant), seed)
                        if key not in done:
                            note(key, simulate(mechanism, sets, seed))
        sets_of.cache_clear()


def shared(seeds: int) -> None:
    """The mechanism itself on the shared data, and the policy that it is measured against."""
    done = results()
    rivals: Contest = {f"policy-gaussian, alpha {a:g}": ("policy-gaussian", {"alpha": a}) for a in ALPHAS}
    ours: Contest = {"focused-gaussian": ("focused-gaussian", {})}
    for corpus, epsilon, max_items in product(FINAL, (3.0, 1.0), (100, 300)):
        for variant, (name, options) in (ours | (rivals if max_items == 100 else {})).items():
            mechanism = build(name, **options).calibrate(Request(epsilon, PRIVACY[epsilon], max_items))
            for seed in range(seeds):
                key = ("shared", corpus, epsilon, max_items, variant, seed)
                if key not in done:
                    stream = Stream(hashlib.sha256(str(seed).encode()).digest(), seeded=True)
                    items = mechanism.select(LocalEngine(1), sets_of(corpus), stream)
                    note(key, int(items["released"].sum()))


# ------------------------------------------------------------------------------------------------------- the results


def note(key: Key, released: int) -> None:
    fresh = not RESULTS.exists()
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("a", newline="") as file:
        writer = csv.writer(file)
        if fresh:
            writer.writerow(FIELDS)
        writer.writerow([*key, released])


def results() -> dict[Key, int]:
    if not RESULTS.exists():
        return {}
    with RESULTS.open(newline="") as file:
        return {
            (row["study"], row["corpus"], float(row["epsilon"]), int(row["max_items"]), row["variant"], int(row["seed"])):
            int(row["released"])
            for row in csv.DictReader(file)
        }  # fmt: skip


def means() -> dict[tuple[str, str, float, int, str], float]:
    runs = defaultdict(list)
    for (*cell, _), released in results().items():
        runs[tuple(cell)].append(released)
    return {cell: float(np.mean(found)) for cell, found in runs.items()}  # type: ignore[misc]


def summary(name: str) -> Iterator[str]:
    """For every variant and epsilon, the change against the first: mean over the data, lowest and highest."""
    study, found = STUDIES[name], means()
    yield f"| {name} | " + " | ".join(f"epsilon {epsilon:g}" for epsilon in study.epsilons) + " |"
    yield "|---|" + "---:|" * len(study.epsilons)
    first, max_items = label(study.variants[0]), study.max_items[0]
    for variant in study.variants[1:]:
        cells = []
        for epsilon in study.epsilons:
            pairs = [
                [found[name, corpus, epsilon, max_items, which] for which in (first, label(variant))]
                for corpus in study.corpora
            ]
            changes = [100 * (after / before - 1) for before, after in pairs]
            cells.append(f"{np.mean(changes):+.1f} ({min(changes):+.1f} … {max(changes):+.1f})")
        yield f"| {label(variant)} | " + " | ".join(cells) + " |"


def by_corpus(name: str) -> Iterator[str]:
    """For every corpus and epsilon, items released under the first variant and the change of the others, in percent."""
    study, found = STUDIES[name], means()
    columns = [(m, v) for m in study.max_items for v in study.variants]
    titles = [f"max_items {m}" if len(study.max_items) > 1 else label(v) for m, v in columns]
    yield "| data | epsilon | " + " | ".join(titles) + " |"
    yield "|---|---:|" + "---:|" * len(columns)
    for corpus in study.corpora:
        for epsilon in study.epsilons:
            values = [found[name, corpus, epsilon, m, label(v)] for m, v in columns]
            changes = [f"{100 * (value / values[0] - 1):+.1f}" for value in values[1:]]
            yield f"| {corpus} | {epsilon:g} | {values[0]:.0f} | " + " | ".join(changes) + " |"


def shared_table() -> Iterator[str]:
    """Items released on the shared data, and how many times the best policy's."""
    found = means()
    yield "| data | epsilon | Focused Gaussian | Policy Gaussian, best alpha | ratio | Focused, max_items 300 |"
    yield "|---|---:|---:|---:|---:|---:|"
    for corpus, epsilon in product(FINAL, (3.0, 1.0)):
        focused, wider = (found["shared", corpus, epsilon, m, "focused-gaussian"] for m in (100, 300))
        policy = max(found["shared", corpus, epsilon, 100, f"policy-gaussian, alpha {a:g}"] for a in ALPHAS)
        ratio = f"{focused / policy:.2f}"
        yield f"| {corpus} | {epsilon:g} | {focused:.0f} | {policy:.0f} | {ratio} | {wider:.0f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("studies", nargs="*", choices=[*STUDIES, "shared", []], metavar="study", default=[])
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--tables", action="store_true", help="print all tables")
    arguments = parser.parse_args()
    for name in arguments.studies:
        if name == "shared":
            shared(min(arguments.seeds, 3))
        else:
            run(name, arguments.seeds)
    if arguments.tables:
        present = {cell[0] for cell in means()}
        for name in STUDIES:
            if name in present:
                table = summary if name == "constants" else by_corpus
                print(f"\n### {name}\n", *table(name), sep="\n")
        if "shared" in present:
            print("\n### shared\n", *shared_table(), sep="\n")


if __name__ == "__main__":
    main()
