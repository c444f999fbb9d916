"""Notes for the curator when the user column may not identify users.

A release protects the users that the user column identifies. If it contains row numbers, dates or texts, no person is
protected, and no later step can detect this. The notes are fixed sentences without data, but which of them apply
depends on the data: they are for the curator only. Users with one item each are normal and give no note.
"""

import re
from itertools import chain

import polars as pl

from dpsu.sources.corpus import Tokenizer, runs_of, tokenise

TIME = (
    "The user column contains dates or times. A release protects the users in this column: "
    "each value should stand for a person, a household or an account."
)
FREE_TEXT = (
    "The user column seems to contain free text. A release protects the users in this column: "
    "each value should stand for a person, a household or an account."
)
COUNTS_UP = (
    "The user column counts up row by row, like a row number. If a person can have several rows, "
    "use the column that identifies persons; otherwise only single rows are protected."
)
ONE_ROW_EACH = (
    "Every user has exactly one row, and the user column looks like the key of a row or an event. "
    "If a person can have several rows, use the column that identifies persons; otherwise only single rows are protected."
)

UNDIVIDED = (
    "Most of the text is in a script without spaces between words, which this tokenizer does not divide: whole sentences "
    "become items. Use tokenizer='icu' for words, or tokenizer='chars' with ngrams=(1, 2) for letters."
)

KEYS_OF_ROWS = frozenset(
    """
    comment_id counter doc_id document_id encounter_id entry entry_id event event_id guid hash id idx index invoice_id
    key level_0 line line_id line_no line_nr line_number log_id message_id msg_id nr number oid order_id pk post_id
    primary_key record record_id request_id row row_id row_index row_key row_no row_nr row_num row_number rowid rownum
    seq sequence serial session_id ticket_id transaction_id tweet_id txn_id unnamed_0 uuid visit_id
    """.split()  # noqa: SIM905
)
"""Names of columns whose values are usually unique, in the form of `plain_name`."""

SAMPLE_ROWS = 1000
WORDS_OF_TEXT = 6

SAMPLE_LETTERS = 1000
NO_SPACES = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]"
"""Scripts that do not mark the boundaries of words."""

LONG_RUN = f"{NO_SPACES}{{8}}"
"""More letters than most words of these scripts have."""

DAY, HOUR = "(0?[1-9]|[12][0-9]|3[01])", "([01]?[0-9]|2[0-3]):[0-5][0-9]"
MOMENT = (
    rf"^({HOUR}(:[0-5][0-9]([.,][0-9]+)?)?"
    rf"|([0-9]{{4}}[-/.]{DAY}[-/.]{DAY}|{DAY}/{DAY}/[0-9]{{2}}|{DAY}[-/.]{DAY}[-/.][0-9]{{4}})([T ]+{HOUR}.*)?)$"
)
"""Dates and times in common text formats."""


def notes_on(sample: pl.DataFrame, *, one_row_each: bool, counts_up: bool) -> tuple[str, ...]:
    """The notes for a user column, or for several columns that identify a user together.

    `sample` has some rows of these columns. `one_row_each` says whether every user has exactly one row, `counts_up`
    whether the users are also integers without a gap.
    """
    if sample.is_empty():
        return ()
    columns = sample.get_columns()
    notes = []
    if all(map(holds_times, columns)):
        notes.append(TIME)
    elif all(map(holds_free_text, columns)):
        notes.append(FREE_TEXT)
    if one_row_each and counts_up:
        notes.append(COUNTS_UP)
    if one_row_each and (counts_up or any(plain_name(name) in KEYS_OF_ROWS for name in sample.columns)):
        notes.append(ONE_ROW_EACH)
    return tuple(notes)


def script_notes(text: pl.Series, tokenizer: Tokenizer) -> tuple[str, ...]:
    """The note for a text that the tokenizer does not divide; it looks at the first rows only.

    Of patterns and functions the words show whether they divide the text.
    """
    if tokenizer in ("chars", "icu"):
        return ()
    sample = _text_of(text.head(SAMPLE_ROWS)).str.head(SAMPLE_LETTERS)
    undivided = _letters(sample, NO_SPACES)
    if 2 * undivided <= _letters(sample, r"\p{L}"):
        return ()
    if tokenizer not in ("words", "whitespace"):
        words = pl.Series([*chain(*runs_of(tokenise(sample, tokenizer)))], dtype=pl.String)
        if 2 * _letters(words.filter(words.str.contains(LONG_RUN)), NO_SPACES) <= undivided:
            return ()
    return (UNDIVIDED,)


def _letters(text: pl.Series, kind: str) -> int:
    return int(text.str.count_matches(kind).sum())


def holds_times(column: pl.Series) -> bool:
    """Whether the column contains dates or times: by its type, or by the format of all its strings."""
    if column.dtype.is_temporal():
        return True
    text = _text_of(column)
    return len(text) > 0 and bool(text.str.contains(MOMENT).all())


def holds_free_text(column: pl.Series) -> bool:
    """Whether most distinct values have more words than a name."""
    text = _text_of(column).unique()
    long = text.str.count_matches(r"\S+") >= WORDS_OF_TEXT
    return 2 * int(long.sum()) > len(text)


def plain_name(column: str) -> str:
    """The name in lower case with underscores: row_id for "Row ID", "rowId" and "_row-id"."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", column)
    return re.sub(r"[^a-z0-9]+", "_", apart.lower()).strip("_")


def _text_of(column: pl.Series) -> pl.Series:
    """The strings of the column; none if it has another type."""
    if column.dtype == pl.String or isinstance(column.dtype, pl.Categorical | pl.Enum):
        # Arrow does not check whether strings are UTF-8, and Polars assumes it.
        values = column.cast(pl.String).drop_nulls().cast(pl.Binary).to_list()
        return pl.Series([value.decode(errors="replace") for value in values], dtype=pl.String)
    return pl.Series([], dtype=pl.String)
