"""The way of the data, from a source to a release."""

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from dpsu.algorithms import DEFAULT, calibrate, find
from dpsu.algorithms.counts import share_with_counts
from dpsu.algorithms.policy import Policy
from dpsu.algorithms.request import DEFAULT_MAX_ITEMS, Calibration, Request
from dpsu.engines import engine_for
from dpsu.errors import InvalidArgument, NotPrivate
from dpsu.ledger import Ledger, open_ledger
from dpsu.listed import read_lists
from dpsu.plan import Plan
from dpsu.result import UNSAFE, Release, present
from dpsu.sets import ColumnNames, Tokenizer, UserPer, text_rule
from dpsu.statement import state
from dpsu.stream import open_stream


class EmptyRelease(UserWarning):
    """Nothing was released; the message says how many users must share an item."""


def release(
    source: Any,
    *,
    epsilon: float,
    delta: float,
    user: ColumnNames | None = None,
    item: ColumnNames | None = None,
    text: str | bool | None = None,
    ngrams: int | Sequence[int] = 1,
    tokenizer: Tokenizer = "words",
    user_per: UserPer | None = None,
    max_items: int = DEFAULT_MAX_ITEMS,
    algorithm: str | Policy = DEFAULT,
    calibration: Calibration = "exact",
    drop_nulls: bool = False,
    format: str | None = None,
    public_items: Any = None,
    exclude: Any = None,
    counts: bool = False,
    ledger: Ledger | str | Path | None = None,
    unsafe: bool = False,
    engine: Literal["local", "spark"] | None = None,
    progress: Callable[[str], None] | None = None,
    **options: Any,
) -> Release:
    """Release the items that many users share, (epsilon, delta)-differentially private for every user.

    `source` is a path or glob (Parquet, CSV, JSON lines), a frame that speaks Arrow, or {user: items}; `user` and
    `item` name its columns, several of them for composite keys. At most `max_items` items of one user count.
    `options` are the algorithm's own, such as `alpha` for policies. `unsafe=True` admits algorithms that are not
    private. `progress` is told the stage that begins, which is public.

    `text` instead of `item` names a column of text, whose words are the items, or its `ngrams`: 2, say, or (1, 2, 3)
    for all of these sizes. `tokenizer` says what a word is: "words", "whitespace", a regular expression or a function.
    {user: texts} has no columns: pass `text=True`. Plain text files need neither `text` nor `user` but `user_per`:
    every line, or every file, is one user's. docs/text.md tells more.

    `public_items` are always in the output and cost nothing, those in `exclude` never are: a list, a frame or the Path of
    a file. `counts=True` gives each item a noisy number of its holders, for a tenth of the promise (docs/counts.md). A
    `ledger` records what is spent, before anything leaves, and refuses what would pass its cap.
    """
    tell = progress or _tell_nobody
    tell("calibrating")
    chosen = find(algorithm)
    if not chosen.private and not unsafe:
        raise NotPrivate(
            f"{chosen.name} is not differentially private ({chosen.proof}). To run it for research, pass unsafe=True "
            "(--unsafe); the result must not be published."
        )
    words = text_rule(text, item=item, ngrams=ngrams, tokenizer=tokenizer, user_per=user_per)
    where = engine_for(source, engine)
    if "parts" in chosen.options:
        options.setdefault("parts", where.parts)
    listed, book = read_lists(public_items, exclude), open_ledger(ledger)
    if (listed or counts) and where.name != "local":
        raise InvalidArgument("public_items, exclude and counts are for the local engine.")
    request = Request(epsilon, delta, max_items, calibration, options)
    mechanism, counting = share_with_counts(chosen, request) if counts else (calibrate(chosen, request), None)
    stream = open_stream()
    statement = state(chosen, mechanism, stream, counting)
    if book:
        book.require_room(statement)

    with where:
        tell("reading")
        how: dict[str, Any] = {"stream": stream, "drop_nulls": drop_nulls, "format": format}
        sets = where.read(source, user=user, item=item, words=words, **how)
        tell("weighing and deciding")
        items = mechanism.select(where, listed.leave_out(where, sets, stream), stream)
        tell("decoding")
        names = listed.names(where, sets, items, counting, stream)

    if book:
        book.record(statement)
    result = present(names, statement, None if statement else UNSAFE.format(algorithm=chosen.name))
    if len(result) == 0:
        warnings.warn(Plan(chosen.name, mechanism).when_empty(), EmptyRelease, stacklevel=2)
    return result


def _tell_nobody(stage: str) -> None:
    """The progress of a caller who did not ask for it."""
