"""From text to released words and n-grams, beside what people use to count words; large text; and text in many files."""

import gzip
import shutil
from functools import partial
from pathlib import Path

import polars as pl

import dpsu
from benchmarks import fresh, rivals
from benchmarks.corpus import Corpus
from benchmarks.end_to_end import Contestants
from benchmarks.measure import Facts, interleaved, summary
from benchmarks.ours import read_rows, release_files, release_text
from benchmarks.settings import DELTA, EPSILON, MAX_ITEMS, Settings

USER, TEXT = "author", "text"

MEGABYTES, QUICK_MEGABYTES = 50, 1
GIGABYTES, QUICK_GIGABYTES = (1.0, 5.0), (0.002,)
FILES, QUICK_FILES = 100_000, 200
COPIES = 5
ROWS_PER_GROUP = 1 << 17
MOST_REPETITIONS = 3

OURS = {
    "words": {"ngrams": (1,)},
    "1-2-grams": {"ngrams": (1, 2)},
    "1-3-grams": {"ngrams": (1, 2, 3)},
    "1-3-grams with counts": {"ngrams": (1, 2, 3), "counts": True},
}


def measure(settings: Settings, corpus: Corpus) -> Facts:
    """Releases of words and n-grams, and what others take to count words; only the script is private, too."""
    path = settings.scratch / "titles.parquet"
    megabytes = QUICK_MEGABYTES if settings.quick else MEGABYTES
    facts = write_titles(settings, path, 10**6 * megabytes, new_users=True)
    ours: Contestants = {name: partial(release_text, path, **how) for name, how in OURS.items()}
    others: Contestants = {
        "Polars script, words": partial(rivals.words_by_hand, path, EPSILON, DELTA, MAX_ITEMS),
        "CountVectorizer, words": partial(rivals.count_vectorizer, path, (1, 1)),
        "CountVectorizer, 1-2-grams": partial(rivals.count_vectorizer, path, (1, 2)),
        "Hugging Face pre-tokenizer, words": partial(rivals.pre_tokenizer, path),
    }
    repetitions = min(settings.repetitions, MOST_REPETITIONS)
    timings = interleaved({**ours, **others}, repetitions)
    path.unlink()
    return {**facts, "ours": [*ours], "timings": timings}


def measure_large(settings: Settings, corpus: Corpus) -> Facts:
    """Gigabytes of text, each in a fresh process: all users new, or the same users again and again."""
    path = settings.scratch / "titles.parquet"
    sizes = QUICK_GIGABYTES if settings.quick else GIGABYTES
    runs = [
        (size, True, name)
        for size in sizes
        for name in ("words", "1-2-grams")
        if size == sizes[0] or name == "words"
    ]
    rows = []
    for size, new_users, name in [*runs, (sizes[-1], False, "words")]:
        facts = write_titles(settings, path, int(1e9 * size), new_users)
        found = fresh.releases([path], 1, text=OURS[name])
        rows.append(
            {
                **facts,
                "new_users": new_users,
                "items": name,
                **summary(found.timings),
                "peak_bytes": found.peak,
            }
        )
        print(f"  {size} GB, {name}: {rows[-1]['median']} s, {found.peak / 1e9:.2f} GB", flush=True)
        path.unlink()
    return {"runs": rows}


def measure_files(settings: Settings, corpus: Corpus) -> Facts:
    """One user per file in many small files, and the same text in compressed files, beside a plain read."""
    folder = settings.scratch / "files"
    frame = titles(settings).head(QUICK_FILES if settings.quick else FILES)
    plain, zipped, packed, table = _write_files(folder, frame)
    contestants: Contestants = {
        "read, folder": partial(rivals.read_folder, plain),
        "our read, folder": partial(read_rows, plain),
        "count, folder": partial(rivals.count_words, plain),
        "folder": partial(release_files, plain),
    }
    for name, path in (("jsonl.gz", zipped), ("jsonl.zst", packed), ("parquet", table)):
        contestants[f"read, {name}"] = partial(rivals.read_text, path)
        contestants[f"our read, {name}"] = partial(read_rows, path)
        contestants[f"count, {name}"] = partial(rivals.count_words, path)
        contestants[name] = partial(release_text, path, ngrams=(1,))
    timings = interleaved(contestants, min(settings.repetitions, MOST_REPETITIONS))
    shutil.rmtree(folder)
    return {"files": frame.height, "texts": COPIES * frame.height, "timings": timings}


def _write_files(folder: Path, frame: pl.DataFrame) -> tuple[Path, Path, Path, Path]:
    plain = folder / "plain"
    for number, text in enumerate(frame[TEXT]):
        file = plain / f"{number // 1000:03}" / f"{number:06}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")
    zipped, packed, table = (folder / f"titles.{ending}" for ending in ("jsonl.gz", "jsonl.zst", "parquet"))
    many = pl.concat([frame] * COPIES)
    many.write_ndjson(folder / "titles.jsonl")
    zipped.write_bytes(gzip.compress((folder / "titles.jsonl").read_bytes(), 6))
    many.lazy().sink_ndjson(packed, compression="zstd")
    many.write_parquet(table)
    return plain, zipped, packed, table


def titles(settings: Settings) -> pl.DataFrame:
    """The titles of the package, or those of the caller's file."""
    frame = pl.read_parquet(settings.titles) if settings.titles else dpsu.datasets.load("arxiv_titles_small")
    return frame.select(pl.col(USER).cast(pl.Int64), TEXT)


def write_titles(settings: Settings, path: Path, size: int, new_users: bool) -> Facts:
    """The titles again and again until there are so many bytes of text, by other users each time or by the same."""
    frame = titles(settings)
    copies = max(1, round(size / frame[TEXT].str.len_bytes().sum()))
    users = int(frame[USER].max()) + 1  # type: ignore[arg-type]
    copied = (frame.with_columns(pl.col(USER) + new_users * users * copy).lazy() for copy in range(copies))
    pl.concat(copied).sink_parquet(path, row_group_size=ROWS_PER_GROUP, compression="lz4")
    return {
        "bytes": copies * int(frame[TEXT].str.len_bytes().sum()),
        "texts": copies * frame.height,
        "users": frame[USER].n_unique() * (copies if new_users else 1),
    }
