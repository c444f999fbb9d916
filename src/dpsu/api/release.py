"""`dpsu.release`: the items that many users share."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpsu.algorithms.algorithm import Algorithm
from dpsu.algorithms.candidate_list import add_candidates
from dpsu.algorithms.catalogue import DEFAULT, find_private, hinted
from dpsu.algorithms.holders import Counts, counting_terms
from dpsu.algorithms.job import SingleJob
from dpsu.algorithms.public_items import read_lists
from dpsu.algorithms.request import Calibration, MaxItems, Request
from dpsu.engines.choose import EngineName, Mode, engine_for
from dpsu.errors import InvalidArgument
from dpsu.hints import known_arguments
from dpsu.outcome.columns import require_free
from dpsu.outcome.ledger import Ledger
from dpsu.outcome.release import Release
from dpsu.report.progress import Progress
from dpsu.run import Terms, run
from dpsu.sources.columns import ColumnNames
from dpsu.sources.corpus import Tokenizer, UserPer
from dpsu.sources.source import Source


@known_arguments()
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
    max_items: MaxItems = "auto",
    algorithm: str | Algorithm = DEFAULT,
    typical_items: float | None = None,
    calibration: Calibration = "exact",
    drop_nulls: bool = False,
    format: str | None = None,
    encoding: str | None = None,
    separator: str | None = None,
    sheet: str | None = None,
    query: str | None = None,
    public_items: Any = None,
    exclude: Any = None,
    candidates: Any = None,
    false_share: float | None = None,
    discover: bool = True,
    counts: bool | Counts = False,
    sums: Mapping[str, tuple[float, float]] | None = None,
    others: bool = False,
    ledger: Ledger | str | Path | None = None,
    title: str | None = None,
    note: str | None = None,
    check_user: bool = True,
    period: str | None = None,
    unsafe: bool = False,
    engine: EngineName | None = None,
    spark_mode: Mode | None = None,
    progress: Progress = None,
) -> Release:
    """Release the items that many users share, (epsilon, delta)-differentially private for every user.

    `source` is a path or glob (Parquet, CSV, JSON lines), a frame with an Arrow interface, or {user: items}. `user` and
    `item` name its columns; several columns make a composite key. At most `max_items` items of one user count; "auto"
    leaves the number to `auto`, and is 300 for every other algorithm.
    `algorithm` is a name, which means its default options, or an object such as `dpsu.PolicyGaussian(alpha=2)`. The default
    takes up to 1.5 % of epsilon for private steps that choose one (docs/auto.md); with candidates it is
    `focused-gaussian`.
    `typical_items` is an option of `auto`: a typical number of items per user that you know without looking at the data.
    `unsafe=True` admits algorithms that are not private. `progress=True` shows a bar, in a terminal or a notebook; a
    function is called with the name of each stage as it begins. Stages are public or follow from the statement, but on Spark
    without `spark_mode` they show which way was taken, which follows from the number of rows.

    `encoding`, `separator` and `sheet` say how files are laid out, where that is not in the byte order mark and the header.
    `query` reads a database: `source` is then its address, or a connection of ADBC or DuckDB (docs/files.md).

    For text, pass `text` instead of `item`: the column of text, whose words are the items. `ngrams=2` takes pairs of words
    and `ngrams=(1, 2, 3)` all sizes up to three. `tokenizer` defines a word: "words", "whitespace", "chars", "icu", a
    regular expression, a function, or a tokenizer of Hugging Face or scikit-learn. {user: texts} has no columns: pass
    `text=True`. Plain text files need `user_per` instead of `text` and `user`: each line, or each file, belongs to one
    user. docs/text.md has examples.

    Items in `public_items` are always in the output and cost nothing; items in `exclude` never are. Both are a list, a
    frame or the Path of a file. `candidates` is a public list of the same kinds of items that could come out. Listed items
    need fewer holders, at the same privacy, but on average up to `false_share` of the released ones are held by
    nobody. The output says which items are `listed`. `discover=False` releases listed items only. A column `weight` of the
    list makes items of a large weight easier to release (docs/lists.md).
    `counts=True` or `dpsu.Counts(…)` adds a noisy number of holders to each item;
    `sums={"amount": (0, 50)}` adds the sum over users of their total for the item, cut to these bounds, and the mean;
    `others=True` gives `release.others` for all items that were not released (docs/counts.md).
    A `ledger` records what is spent and refuses a release that would pass its cap. `title` and `note` go
    into the statement. `check_user=False` silences notes about user columns that do not look like users; these notes are
    for the curator only.

    `period` names the period that the data is from, such as "2026-01", and makes the promise one about a user's data in
    that period alone: a ledger adds up period by period (docs/series.md). `dpsu.Series` protects all periods together.

    `engine="spark"` runs on Spark, as every Spark frame does: small data in one task, larger data in the tasks of a
    barrier stage or in exchanges. `spark_mode` forces one of them (docs/cluster.md).

    >>> import dpsu
    >>> baskets = {f"user {n}": ["bread", "milk", f"secret {n}"] for n in range(1000)}
    >>> dpsu.release(baskets, epsilon=1, delta=1e-6).items
    ['bread', 'milk']
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
        encoding=encoding,
        separator=separator,
        sheet=sheet,
        query=query,
    )
    where = engine_for(source, engine, spark_mode)
    chosen = hinted(find_private(algorithm, unsafe), typical_items).for_engine(where.parts)
    chosen, notes = add_candidates(chosen, candidates, false_share, discover, described.text)
    counting = counting_terms(counts, sums, others)
    if counting is not None:
        require_free(described.item_columns, counting.sums)
    if counting is not None and counting.sums:
        if described.text is not None:
            raise InvalidArgument("sums need a column of items; text has none.")
        described = replace(described, sums=counting.sums)
    lists = read_lists(public_items, exclude, described.text)
    lists = replace(lists, notes=lists.notes + notes)
    request = Request.asked(epsilon, delta, max_items, calibration)
    job = SingleJob(chosen, request, counting)
    return run(job, described, where, Terms(ledger, lists, title, note, check_user, progress, period))
