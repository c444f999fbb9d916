"""Signs of a wrong user column: what gives a sentence, and what must not."""

import datetime as dt
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from dpsu.randomness.stream import Stream
from dpsu.sources import pairs as read
from dpsu.sources.advice import COUNTS_UP, FREE_TEXT, ONE_ROW_EACH, TIME, plain_name
from dpsu.sources.corpus import text_rule
from dpsu.sources.pairs import read_sets
from dpsu.sources.text import read_corpus, read_text

STREAM = Stream(bytes(32), seeded=True)
ROWS = 3000
RNG = np.random.default_rng(1)
SPARSE = RNG.choice(10**9, ROWS, replace=False)
DAYS = [dt.date(2020, 1, 1) + dt.timedelta(days=n % 400) for n in range(ROWS)]
NAMES = ["Anna Maria Schmidt", "Jan van der Berg", "Li Wei", "O'Neill, Pat", "María del Carmen Pérez García"]
TEXTS = [
    "it hurts when I walk down stairs",
    "no",
    "the pain comes back at night, since May",
    "see above please",
]
UUIDS = [f"{value:08x}-0000-4000-8000-{value:012x}" for value in SPARSE.tolist()]


def notes(users: Any, name: str = "user", *, shuffled: bool = False) -> tuple[str, ...]:
    """The sentences on a frame with one row for each of these users."""
    frame = pl.DataFrame({name: users, "item": [n % 7 for n in range(len(users))]})
    frame = frame.sample(fraction=1, shuffle=True, seed=1) if shuffled else frame
    return read_sets(frame, user=name, item="item", stream=STREAM).notes


def notes_of_csv(users: Any, folder: Path, name: str = "user") -> tuple[str, ...]:
    pl.DataFrame({name: users, "item": [n % 7 for n in range(len(users))]}).write_csv(folder / "a.csv")
    return read_sets(folder / "a.csv", user=name, item="item", stream=STREAM).notes


ORDINARY = {
    "several rows per user": [n % 100 for n in range(ROWS)],
    "users one after the other": [n // 3 for n in range(ROWS)],
    "one row per user, with gaps": SPARSE,
    "one number missing": [n for n in range(ROWS) if n != 1234],
    "one user twice": [0, *range(ROWS)],
    "numbers and one word": [*map(str, range(ROWS)), "x"],
    "strings": [f"user {n}" for n in range(ROWS)],
    "addresses": [f"person{n}@example.org" for n in range(ROWS)],
    "uuids": UUIDS,
    "names of persons": [NAMES[n % 5] for n in range(ROWS)],
    "years": [1900 + n % 100 for n in range(ROWS)],
    "one user": [7],
    "nobody": [],
    "pairs of numbers": [f"{n % 40}:{n % 90}" for n in range(ROWS)],
}


@pytest.mark.parametrize("users", ORDINARY.values(), ids=ORDINARY.keys())
@pytest.mark.parametrize("name", ["user", "patient", "customer_id", "author"])
def test_ordinary_users_give_no_note(users: Any, name: str, tmp_path: Path) -> None:
    assert notes(users, name) == ()
    assert notes_of_csv(users, tmp_path, name) == ()


@pytest.mark.parametrize(
    "users",
    [
        range(ROWS),
        range(-1, ROWS),
        range(10**9, 10**9 + ROWS),
        pl.Series(range(ROWS), dtype=pl.UInt64) + 2**63,
        pl.Series(range(ROWS), dtype=pl.Int16),
    ],
)
@pytest.mark.parametrize("shuffled", [False, True])
def test_numbers_without_a_gap_count_up_in_whatever_order_and_size_of_batches(
    users: Any, shuffled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read, "BATCH_ROWS", 500)
    assert notes(users, shuffled=shuffled) == (COUNTS_UP, ONE_ROW_EACH)


def test_numbers_that_count_up_in_a_csv(tmp_path: Path) -> None:
    assert notes_of_csv(range(ROWS), tmp_path) == (COUNTS_UP, ONE_ROW_EACH)
    assert notes_of_csv([f"{n:06}" for n in range(ROWS)], tmp_path) == (COUNTS_UP, ONE_ROW_EACH)


@pytest.mark.parametrize(
    "name", ["row_id", "Row ID", "rowId", "RowID", "_id", "ID", "uuid", "event_id", "Unnamed: 0", "index"]
)
def test_one_row_each_under_the_name_of_a_row(name: str, tmp_path: Path) -> None:
    assert notes(UUIDS, name) == (ONE_ROW_EACH,)
    assert notes_of_csv(UUIDS, tmp_path, name) == (ONE_ROW_EACH,)
    assert notes([*UUIDS, UUIDS[0]], name) == ()


def test_names_are_compared_in_one_form() -> None:
    assert {plain_name(name) for name in ("Row ID", "rowId", "row-id", "_ROW_ID_", "RowID")} == {"row_id"}


@pytest.mark.parametrize(
    "users",
    [
        DAYS,
        [dt.datetime.combine(day, dt.time(7, 30)) for day in DAYS],
        [dt.time(n % 24, n % 60) for n in range(ROWS)],
        [f"{n % 24}:{n % 60:02}" for n in range(ROWS)],
        [day.strftime("%d.%m.%Y") for day in DAYS],
        [day.strftime("%m/%d/%y") for day in DAYS],
    ],
)
def test_dates_and_times(users: Any, tmp_path: Path) -> None:
    assert notes(users) == (TIME,)
    assert notes_of_csv(users, tmp_path) == (TIME,)


def test_free_text(tmp_path: Path) -> None:
    texts = [f"{TEXTS[n % 4]} {n} {'and so on ' * (n % 3)}" for n in range(ROWS)]
    assert notes(texts) == (FREE_TEXT,)
    assert notes_of_csv(texts, tmp_path) == (FREE_TEXT,)
    assert notes(pl.Series(texts, dtype=pl.Categorical)) == (FREE_TEXT,)


def test_composite_users_are_wrong_only_if_all_their_columns_are() -> None:
    frame = pl.DataFrame(
        {"who": SPARSE, "day": DAYS, "hour": [dt.time(n % 24) for n in range(ROWS)], "item": 1}
    )
    assert read_sets(frame, user=["who", "day"], item="item", stream=STREAM).notes == ()
    assert read_sets(frame, user=["day", "hour"], item="item", stream=STREAM).notes == (TIME,)


def test_text_has_notes_too_but_not_where_lines_or_files_are_users(tmp_path: Path) -> None:
    frame = pl.DataFrame({"n": range(ROWS), "text": ["some words"] * ROWS})
    corpus = read_corpus(frame, text_rule("text"), user="n", stream=STREAM)  # type: ignore[arg-type]
    assert corpus.notes == (COUNTS_UP, ONE_ROW_EACH)
    assert read_text(frame, text_rule("text"), user="n", stream=STREAM).notes == corpus.notes  # type: ignore[arg-type]
    (tmp_path / "a.txt").write_text("a line\n" * 50)
    for user_per in ("line", "file"):
        sets = read_text(tmp_path, text_rule(None, user_per=user_per), stream=STREAM)  # type: ignore[arg-type]
        assert sets.notes == ()


def test_nothing_but_the_field_shows_notes() -> None:
    frame = pl.DataFrame({"row": range(ROWS), "text": ["some words"] * ROWS})
    sets = read_sets(frame, user="row", item="text", stream=STREAM)
    corpus = read_corpus(frame, text_rule("text"), user="row", stream=STREAM)  # type: ignore[arg-type]
    for each in (sets, corpus):
        assert each.notes
        assert "private" in repr(each)
        assert "row" not in repr(each)
        assert pickle.loads(pickle.dumps(each)).notes == ()
