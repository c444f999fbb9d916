"""`dpsu.release`: the items that many users share."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from dpsu.algorithms.catalogue import DEFAULT, find_private
from dpsu.algorithms.holders import CountingTerms
from dpsu.algorithms.job import SingleJob
from dpsu.algorithms.policy import Policy
from dpsu.algorithms.public_items import read_lists
from dpsu.algorithms.request import DEFAULT_MAX_ITEMS, Calibration, Request
from dpsu.engines.choose import engine_for
from dpsu.errors import InvalidArgument
from dpsu.outcome.ledger import Ledger
from dpsu.outcome.release import Release
from dpsu.run import Terms, run
from dpsu.sources.columns import ColumnNames
from dpsu.sources.corpus import Tokenizer, UserPer
from dpsu.sources.source import Source


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
    title: str | None = None,
    note: str | None = None,
    check_user: bool = True,
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
    `ledger` records what is spent and refuses what would pass its cap. `title` and `note` go into the statement.
    `check_user=False` silences notes about user columns that do not look like users; they are for the curator alone.
    """
    described = Source.of(
        source,
        user=user,
        item=item,
        text=text,
        ngrams=ngrams,
        tokenizer=tokenizer,
        user_per=user_per,
        drop_nulls=drop_nulls,
        format=format,
    )
    entry, where = find_private(algorithm, unsafe), engine_for(source, engine)
    if "parts" in entry.options:
        options.setdefault("parts", where.parts)
    lists = read_lists(public_items, exclude, described.text)
    if (lists or counts) and where.name != "local":
        raise InvalidArgument("public_items, exclude and counts are for the local engine.")
    request = Request(epsilon, delta, max_items, calibration, options)
    job = SingleJob(entry, request, CountingTerms() if counts else None)
    return run(job, described, where, Terms(ledger, lists, title, note, check_user, progress))
